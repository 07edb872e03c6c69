-- What persons override of the types that the code declares. The newest revision of a type counts; it makes a type stricter,
-- never laxer than its code: off, approval required. How long what is new stays wanted may be set either way.
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_typerevision');

-- Puts a type's override over what the code declares; after a migrate, and after each change.
CREATE FUNCTION notifyops_private.apply_override_v1(name_ text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    UPDATE notifications_notificationtype n
    SET enabled = coalesce((n.declared ->> 'enabled')::boolean, false) AND r.after ->> 'enabled' IS DISTINCT FROM 'false',
        approval = coalesce(r.after ->> 'approval', n.declared ->> 'approval', n.approval),
        expires_after = make_interval(secs => coalesce(r.after ->> 'expires_s', n.declared ->> 'expires_s')::float8)
    FROM (SELECT t.after FROM notifications_typerevision t WHERE t.type_id = name_ ORDER BY t.revision DESC LIMIT 1) r
    WHERE n.name = name_;
$$;

-- One change by a person, who saw revision `seen` (0: none yet). Gives the new revision; NULL where somebody was faster, or
-- there is no such type. The row of the type is locked until the caller's end.
CREATE FUNCTION notifyops_private.override_type_v1(name_ text, seen integer, wanted jsonb, actor_ text, reason_ text)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    last notifications_typerevision;
BEGIN
    PERFORM person_only_v1('overrides a type', actor_);
    IF wanted - ARRAY['enabled', 'approval', 'expires_s'] <> '{}' OR length(btrim(coalesce(reason_, ''))) < 10
       OR coalesce(wanted -> 'enabled', 'null') NOT IN ('null', 'false')
       OR coalesce(wanted -> 'approval', 'null') NOT IN ('null', '"required"')
       OR coalesce((wanted ->> 'expires_s')::float8, 60) NOT BETWEEN 60 AND 31536000 THEN
        RAISE EXCEPTION USING ERRCODE = 'NO400', MESSAGE = 'this is no override of a type, or it lacks its reason';
    END IF;
    PERFORM FROM notifications_notificationtype n WHERE n.name = name_ FOR UPDATE;
    SELECT t.* INTO last FROM notifications_typerevision t WHERE t.type_id = name_ ORDER BY t.revision DESC LIMIT 1;
    IF coalesce(last.revision, 0) IS DISTINCT FROM seen
       OR NOT EXISTS (SELECT FROM notifications_notificationtype n WHERE n.name = name_) THEN
        RETURN NULL;
    END IF;
    INSERT INTO notifications_typerevision (type_id, revision, actor, reason, before, after)
    VALUES (name_, seen + 1, actor_, reason_, last.after, jsonb_strip_nulls(wanted));
    PERFORM apply_override_v1(name_);
    RETURN seen + 1;
END $$;
