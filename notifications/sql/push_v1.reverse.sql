DROP FUNCTION IF EXISTS notifyops_private.check_subscription_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.subscription_is_plain_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.on_p256_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.push_address_v1(text);
DROP FUNCTION IF EXISTS notifyops_private.is_pushed_v1(text);
