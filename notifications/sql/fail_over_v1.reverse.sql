DROP FUNCTION notifyops_private.fail_over_v1(bigint[], integer, text, bigint[]);
DROP TRIGGER opening ON notifyops_private.notifications_circuit;
DROP FUNCTION notifyops_private.note_opening_v1();
