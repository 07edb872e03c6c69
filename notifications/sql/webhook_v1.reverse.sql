DROP FUNCTION IF EXISTS notifyops_private.check_url_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.url_is_plain_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.is_called_v1(text);
