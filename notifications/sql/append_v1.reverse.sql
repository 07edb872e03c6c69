DROP FUNCTION notifyops_private.append_v1;
