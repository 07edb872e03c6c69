DROP FUNCTION notifyops_private.resend_barred_v1(bigint, boolean, text, timestamptz, text);
DROP FUNCTION notifyops_private.again_v1(bigint[], text, timestamptz);
DROP FUNCTION notifyops_private.permitted_v1(bigint[], timestamptz);
DROP FUNCTION notifyops_private.earlier_v1(bigint, text);
DROP FUNCTION notifyops_private.doubted_v1(bigint, text);
DROP FUNCTION notifyops_private.arrived_v1(bigint[], text);
DROP FUNCTION notifyops_private.is_elsewhere_v1(bigint, integer, text);
DROP FUNCTION notifyops_private.kin_v1(bigint[]);
