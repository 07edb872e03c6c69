DROP FUNCTION IF EXISTS notifyops_private.check_chat_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.check_phone_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.chat_is_plain_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.phone_is_plain_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.is_chat_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.is_phone_v1(text);
