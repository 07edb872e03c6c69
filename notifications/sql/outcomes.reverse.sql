DROP FUNCTION IF EXISTS notifyops.outcomes(bigint, integer, text);
DROP FUNCTION IF EXISTS notifyops_private.outcomes_v1(bigint, bigint, integer, text[]);
DROP FUNCTION IF EXISTS notifyops_private.feed_window_v1(bigint, integer);
DROP FUNCTION IF EXISTS notifyops_private.outcome_of_v1(text, text, text, jsonb);
DROP FUNCTION IF EXISTS notifyops_private.advance_horizon_v1();
DROP FUNCTION IF EXISTS notifyops_private.log_writers_v1(boolean);
DROP TABLE IF EXISTS notifyops_private.feed_horizon;
