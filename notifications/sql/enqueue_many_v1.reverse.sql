DROP FUNCTION notifyops_private.enqueue_many_v1(jsonb);
DROP FUNCTION notifyops_private.enqueue_set_v1(notifyops_private.wish_v1[], timestamptz);
DROP FUNCTION notifyops_private.key_of_v1(text, text, text, text);
DROP FUNCTION notifyops_private.enqueue_each_v1(jsonb);
DROP FUNCTION notifyops_private.wishes_v1(jsonb, timestamptz);
DROP TYPE notifyops_private.wish_v1;
