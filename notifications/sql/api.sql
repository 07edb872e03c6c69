-- A token is made and revoked, nothing else: whoever could raise its scopes afterwards would leave no trace.
CREATE FUNCTION notifyops_private.guard_apitoken_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL
       AND to_jsonb(NEW) - ARRAY['revoked_at', 'revoked_by', 'revoke_reason']
         = to_jsonb(OLD) - ARRAY['revoked_at', 'revoked_by', 'revoke_reason'] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('token %s is frozen', OLD.prefix),
        HINT = 'Revoke it and make another one.';
END $$;
CREATE TRIGGER guarded BEFORE UPDATE ON notifyops_private.notifications_apitoken
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.guard_apitoken_v1();
CREATE TRIGGER never_deleted BEFORE DELETE ON notifyops_private.notifications_apitoken
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.refuse_change_v1();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON notifyops_private.notifications_apitoken
    FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.refuse_change_v1();
ALTER TABLE notifyops_private.notifications_apitoken ENABLE ALWAYS TRIGGER guarded;
ALTER TABLE notifyops_private.notifications_apitoken ENABLE ALWAYS TRIGGER never_deleted;
ALTER TABLE notifyops_private.notifications_apitoken ENABLE ALWAYS TRIGGER no_truncate;

-- Draws up to `wanted` requests of a token's limit for this minute: one row for all hosts, locked for an instant. A host
-- draws many at once and counts them itself, so that few requests come here. Never grants more than `most` a minute.
CREATE FUNCTION notifyops_private.draw_v1(token bigint, wanted integer, most integer)
RETURNS TABLE (granted integer, remaining integer, resets_in_s double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    minute timestamptz := date_trunc('minute', t);
    so_far integer;
BEGIN
    INSERT INTO notifications_apitokenuse AS u (token_id, minute_at, drawn) VALUES (token, minute, 0)
    ON CONFLICT (token_id) DO NOTHING;
    SELECT CASE WHEN u.minute_at = minute THEN u.drawn ELSE 0 END INTO so_far
    FROM notifications_apitokenuse u WHERE u.token_id = token FOR UPDATE;
    granted := greatest(0, least(wanted, most - so_far));
    UPDATE notifications_apitokenuse u SET minute_at = minute, drawn = so_far + granted WHERE u.token_id = token;
    remaining := greatest(0, most - so_far - granted);
    resets_in_s := extract(epoch FROM minute + interval '1 minute' - t);
    RETURN NEXT;
END $$;

-- The same as notifyops.cancel, but the log says whose token it was; and only in the workspaces of a token that counts.
CREATE FUNCTION notifyops_private.cancel_by_token_v1(wanted text, reason text, space text, token bigint)
RETURNS TABLE (notification_id text, outcome text, state text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    asker text;
BEGIN
    SELECT 'token:' || a.prefix INTO asker FROM notifications_apitoken a
    WHERE a.id = token AND a.revoked_at IS NULL AND a.scopes ? 'enqueue' AND a.workspaces ?| ARRAY[space, '*'];
    IF asker IS NULL THEN
        PERFORM refuse_v1('NO403', format('the token has no grant for workspace "%s"', space), '',
            'Use a token that has it, or have one made with: manage.py notify token create.');
    END IF;
    RETURN QUERY SELECT * FROM cancel_v1(wanted, reason, space, asker);
END $$;
