DROP FUNCTION notifyops_private.share_v1(bigint[], integer);
DROP FUNCTION notifyops_private.with_tokens_v1(bigint[], timestamptz);
DROP FUNCTION notifyops_private.close_circuit_v1(bigint);
DROP FUNCTION notifyops_private.ramp_v1(bigint);
DROP FUNCTION notifyops_private.learn_v1(bigint, double precision, integer);
DROP FUNCTION notifyops_private.spend_v1(bigint[], integer[]);
DROP FUNCTION notifyops_private.token_at_v1(bigint, timestamptz);
DROP FUNCTION notifyops_private.tokens_v1(double precision, timestamptz, double precision, timestamptz);
DROP FUNCTION notifyops_private.rate_v1(double precision, double precision, timestamptz, timestamptz);
