DROP FUNCTION notifyops_private.doctor_v1();
DROP FUNCTION notifyops_private.doctor_v1(bigint[]);
