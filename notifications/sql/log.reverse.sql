ALTER TABLE notifyops_private.notifications_intent RESET (
    fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay,
    autovacuum_analyze_scale_factor
);
DROP TABLE notifyops_private.move;
DROP TABLE notifyops_private.notifications_logentry;
