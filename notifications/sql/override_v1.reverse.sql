DROP FUNCTION IF EXISTS notifyops_private.override_type_v1(text, integer, jsonb, text, text);
DROP FUNCTION IF EXISTS notifyops_private.apply_override_v1(text);
DROP TRIGGER IF EXISTS only_grows ON notifyops_private.notifications_typerevision;
DROP TRIGGER IF EXISTS no_truncate ON notifyops_private.notifications_typerevision;
