-- The one way in for what a provider says afterwards: events that were verified, each kept once and parked if it may
-- concern a message of ours. The caller has verified them; the body itself is never handed over, only its hash. That is
-- kept by the site's key: a plain one could be tried with one address after another, also after its erasure.
--
-- `events` is a JSON array of objects with the columns of ProviderEvent, `sha256` in hexadecimal, and `parked`.
-- Returns how many were new. A repeat waits for the first one's commit, and is then nothing.
CREATE FUNCTION notifyops_private.receive_v1(account_ bigint, events jsonb, source_ text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    made integer;
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(events) AS g(
            event_id text, type text, occurred_at timestamptz, provider_message_id text, tag_site text,
            tag_intent bigint, tag_generation smallint, tag_root bigint, bounce_class text, code text, sha256 text,
            parked boolean)
    ), new AS (
        INSERT INTO notifications_providerevent (account_id, event_id, type, occurred_at, received_at,
            provider_message_id, tag_site, tag_intent, tag_generation, tag_root, bounce_class, code, source,
            raw_sha256)
        SELECT account_, g.event_id, g.type, g.occurred_at, t, g.provider_message_id, g.tag_site, g.tag_intent,
            g.tag_generation, g.tag_root, g.bounce_class, g.code, source_, hmac_v1(g.sha256)
        -- In one order: two calls over the same events wait for each other instead of deadlocking.
        FROM given g ORDER BY g.event_id
        ON CONFLICT (account_id, event_id) DO NOTHING
        RETURNING id, event_id
    ), queued AS (
        INSERT INTO notifications_parkedreceipt (event_id, due_at)
        SELECT n.id, t FROM new n WHERE EXISTS (SELECT FROM given g WHERE g.event_id = n.event_id AND g.parked)
    )
    SELECT count(*) INTO made FROM new;
    RETURN made;
END $$;

SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_providerevent');
