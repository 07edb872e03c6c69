DROP FUNCTION notifyops_private.heir_v1(text, text);
DROP FUNCTION notifyops_private.line_v1(text, text);
DROP FUNCTION notifyops_private.base_key_v1(text);
DROP FUNCTION notifyops_private.identity_v1(text);
