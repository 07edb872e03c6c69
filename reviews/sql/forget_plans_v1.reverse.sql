DROP FUNCTION IF EXISTS notifyops_private.forget_plans_v1(integer);
