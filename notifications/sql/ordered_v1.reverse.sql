DROP FUNCTION notifyops_private.ordered_v1(text, jsonb, text);
