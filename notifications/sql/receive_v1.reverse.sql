DROP FUNCTION notifyops_private.receive_v1(bigint, jsonb, text);
DROP TRIGGER only_grows ON notifyops_private.notifications_providerevent;
DROP TRIGGER no_truncate ON notifyops_private.notifications_providerevent;
