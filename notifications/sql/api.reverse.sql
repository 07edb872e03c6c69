DROP FUNCTION IF EXISTS notifyops_private.cancel_by_token_v1(text, text, text, bigint);
DROP FUNCTION IF EXISTS notifyops_private.draw_v1(bigint, integer, integer);
DROP FUNCTION IF EXISTS notifyops_private.guard_apitoken_v1() CASCADE;
