DROP FUNCTION notifyops_private.clock_v1();
