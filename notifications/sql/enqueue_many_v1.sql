-- Many enqueues in one call, all or none, as sets: 25 µs a row instead of 400. What enqueue_v1 promises of one row holds
-- of each here; tests/intake/test_many.py compares the two. All writes are in the order of (workspace, report, type,
-- key), the order in which both of the keys' unique indexes conflict: two calls over the same notifications, under
-- whatever ids and in whatever order, wait for each other instead of deadlocking.

CREATE TYPE notifyops_private.wish_v1 AS (
    id bigint, place integer, type text, report text, recipient text, data jsonb, options jsonb, space text, key text,
    channel text, account bigint, is_held boolean, failure_limit smallint, starts timestamptz, ends timestamptz,
    print bytea, commitment bytea
);

-- Row by row: for a call in which something is wrong, so that the refusal is enqueue_v1's own and names the item; and
-- for one that supersedes, where each row must see what the rows before it did, or that has attachments.
CREATE FUNCTION notifyops_private.enqueue_each_v1(items jsonb)
RETURNS TABLE ("position" integer, id bigint, notification_id text, created boolean, state text)
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    item record;
    made record;
BEGIN
    FOR item IN
        SELECT e.value AS v, e.ordinality::int AS place
        FROM jsonb_array_elements(items) WITH ORDINALITY AS e
        CROSS JOIN LATERAL (SELECT coalesce(e.value #>> '{options,workspace}', '') AS name) space
        ORDER BY space.name COLLATE "C", e.value ->> 'report_id' COLLATE "C", e.value ->> 'notification_type' COLLATE "C",
            coalesce(e.value #>> '{options,notification_id}', notifyops_private.default_key_v1(
                space.name, e.value ->> 'notification_type', e.value ->> 'report_id')) COLLATE "C", e.ordinality
    LOOP
        BEGIN
            IF jsonb_typeof(item.v) <> 'object' THEN
                PERFORM refuse_v1('NO400', 'an item must be a JSON object', '',
                    'Known: notification_type, report_id, recipient, data, options.');
            ELSIF EXISTS (SELECT FROM jsonb_object_keys(item.v) AS k WHERE k NOT IN
                          ('notification_type', 'report_id', 'recipient', 'data', 'options')) THEN
                PERFORM refuse_v1('NO400', 'an item has unknown fields', '',
                    'Known: notification_type, report_id, recipient, data, options.');
            END IF;
            SELECT * INTO made FROM notifyops_private.enqueue_v1(item.v ->> 'notification_type', item.v ->> 'report_id',
                item.v ->> 'recipient', coalesce(item.v -> 'data', '{}'), coalesce(item.v -> 'options', '{}'));
        EXCEPTION WHEN SQLSTATE 'NO400' OR SQLSTATE 'NO403' OR SQLSTATE 'NO404' OR SQLSTATE 'NO413' OR SQLSTATE 'NO422' THEN
            DECLARE
                d text;
                h text;
            BEGIN
                GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
                PERFORM refuse_v1(SQLSTATE, format('item %s: %s', item.place, SQLERRM), d, h);
            END;
        END;
        "position" := item.place;
        id := made.id;
        notification_id := made.notification_id;
        created := made.created;
        state := made.state;
        RETURN NEXT;
    END LOOP;
END $$;

-- Reads and checks all items; gives them in the order of their writes. Any refusal here only says that one is due.
CREATE FUNCTION notifyops_private.wishes_v1(items jsonb, t timestamptz) RETURNS notifyops_private.wish_v1[]
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    inner_key bytea := (SELECT s.value FROM notifications_sitesecret s WHERE s.name = 'hmac_inner');
    outer_key bytea := (SELECT s.value FROM notifications_sitesecret s WHERE s.name = 'hmac_outer');
    wishes wish_v1[];
BEGIN
    SELECT array_agg(ROW(nextval('notifyops_private.notifications_intent_id_seq'), r.*)::wish_v1) INTO wishes FROM (
        SELECT w.place, w.type, w.report, w.recipient, w.data, w.options, w.space, w.key, w.channel, a.id,
            n.approval = 'required', n.failure_limit,
            greatest(CASE WHEN w.options ? 'not_before' THEN time_option_v1(w.options, 'not_before') END, t),
            coalesce(asked.ends, t + n.expires_after),
            -- Not over not_before: a caller's later retry of the same wish must not conflict.
            hmac_by_v1(concat(field_v1(w.type), field_v1(w.report), field_v1(w.space), field_v1(address.plain),
                field_v1(w.channel), field_v1(w.data::text), field_v1(w.options ->> 'actor'),
                field_v1(micros_v1(asked.ends))), inner_key, outer_key),
            hmac_by_v1('address:' || address.plain, inner_key, outer_key)
        FROM (
            SELECT e.ordinality::int AS place, e.value ->> 'notification_type' AS type, e.value ->> 'report_id' AS report,
                CASE WHEN is_pushed_v1(coalesce(o.options ->> 'channel', k.channel))
                    THEN push_address_v1(e.value ->> 'recipient') ELSE e.value ->> 'recipient' END AS recipient,
                coalesce(e.value -> 'data', '{}') AS data, o.options, o.space,
                coalesce(o.options ->> 'notification_id', default_key_v1(
                    o.space, e.value ->> 'notification_type', e.value ->> 'report_id')) AS key,
                coalesce(o.options ->> 'channel', k.channel) AS channel
            FROM jsonb_array_elements(items) WITH ORDINALITY AS e
            CROSS JOIN LATERAL (SELECT coalesce(e.value -> 'options', '{}') AS options,
                coalesce(e.value #>> '{options,workspace}', '') AS space OFFSET 0) o
            LEFT JOIN notifications_notificationtype k ON k.name = e.value ->> 'notification_type'
        ) w
        LEFT JOIN notifications_notificationtype n ON n.name = w.type AND n.enabled
        CROSS JOIN LATERAL (SELECT address_v1(w.recipient) AS plain OFFSET 0) address
        CROSS JOIN LATERAL (SELECT CASE WHEN w.options ? 'expires_at' THEN time_option_v1(w.options, 'expires_at') END
                            AS ends OFFSET 0) asked
        LEFT JOIN LATERAL (SELECT p.id FROM notifications_provideraccount p WHERE p.channel = w.channel
                           ORDER BY p.enabled DESC, p.id LIMIT 1) a ON true
        ORDER BY w.space COLLATE "C", w.report COLLATE "C", w.type COLLATE "C", w.key COLLATE "C", w.place
    ) r;
    PERFORM check_workspace_v1(s.space) FROM (SELECT DISTINCT w.space FROM unnest(wishes) AS w) s;
    PERFORM check_options_v1(w.options) FROM unnest(wishes) AS w WHERE w.options <> '{}';
    PERFORM check_data_v1(w.type, w.data, n.required)
    FROM unnest(wishes) AS w LEFT JOIN notifications_notificationtype n ON n.name = w.type;
    IF EXISTS (
        SELECT FROM unnest(wishes) AS w
        -- No limit: there is no such type, or it is retired. No account: there is no such channel.
        WHERE w.failure_limit IS NULL OR w.account IS NULL OR NOT report_is_plain_v1(w.report)
           OR NOT key_is_plain_v1(w.key) OR (w.channel = 'email' AND NOT address_is_plain_v1(w.recipient))
           OR (is_called_v1(w.channel) AND NOT url_is_plain_v1(w.recipient))
           OR (is_phone_v1(w.channel) AND NOT phone_is_plain_v1(w.recipient))
           OR (is_chat_v1(w.channel) AND NOT chat_is_plain_v1(w.recipient))
           OR (is_pushed_v1(w.channel) AND NOT subscription_is_plain_v1(w.recipient))
    ) THEN
        PERFORM refuse_v1('NO400', 'an item is not as it must be', '', 'Call enqueue for each.');
    END IF;
    RETURN wishes;
END $$;

-- The notification that stands in a key's place: the one of that key, or else of that report and type.
CREATE FUNCTION notifyops_private.key_of_v1(wanted text, space text, report text, notification_type text)
RETURNS TABLE (key text, fingerprint bytea, intent_id bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT coalesce(a.key, b.key)::text, coalesce(a.fingerprint, b.fingerprint), coalesce(a.intent_id, b.intent_id)
    FROM (VALUES (1)) AS one
    LEFT JOIN LATERAL (SELECT k.* FROM notifyops_private.notifications_intentkey k
                       WHERE k.key = $1 AND k.workspace = $2 LIMIT 1) a ON true
    LEFT JOIN LATERAL (SELECT k.* FROM notifyops_private.notifications_intentkey k
                       WHERE a.key IS NULL AND k.report_id = $3 AND k.workspace = $2 AND k.type = $4 AND k.singular
                       LIMIT 1) b ON true
$$;

-- Writes wishes that are checked and in order.
CREATE FUNCTION notifyops_private.enqueue_set_v1(wishes notifyops_private.wish_v1[], t timestamptz)
RETURNS TABLE ("position" integer, id bigint, notification_id text, created boolean, state text)
-- Look-ups by index, whatever the statistics say of a young table. (jit: such plans look dear to the planner.)
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    reused record;
    held jsonb;
BEGIN
    INSERT INTO notifications_intentkey (key, workspace, report_id, type, singular, fingerprint, intent_id)
    SELECT w.key, w.space, w.report, w.type, true, w.print, w.id FROM unnest(wishes) AS w
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    -- A look of its own, after the insert: it also sees what others committed while that waited for them.
    IF made < cardinality(wishes) THEN
        SELECT w.place, old.key INTO reused
        FROM unnest(wishes) WITH ORDINALITY AS w(id, place, type, report, recipient, data, options, space, key, channel,
            account, is_held, failure_limit, starts, ends, print, commitment, n)
        CROSS JOIN LATERAL notifyops_private.key_of_v1(w.key, w.space, w.report, w.type) old
        WHERE old.fingerprint NOT IN (w.print, '') ORDER BY w.n LIMIT 1;
        IF FOUND THEN
            PERFORM refuse_reused_v1(format('item %s: ', reused.place), reused.key);
        END IF;
    END IF;

    WITH fresh AS MATERIALIZED (
        SELECT w.*, CASE WHEN EXISTS (
            -- Those of this very call count as in enqueue_v1: the first to come has the plain key.
            SELECT FROM notifications_intentkey k WHERE k.key = w.key AND k.workspace <> w.space
            AND NOT (k.intent_id > w.id AND EXISTS (SELECT FROM unnest(wishes) AS o WHERE o.id = k.intent_id))
        ) THEN '~w' || w.id ELSE '' END AS suffix
        FROM unnest(wishes) AS w
        WHERE made = cardinality(wishes) OR EXISTS (
            SELECT FROM notifications_intentkey k WHERE k.key = w.key AND k.workspace = w.space AND k.intent_id = w.id)
    ), owed AS (
        INSERT INTO notifications_intent (id, notification_id, key_suffix, report_id, type, channel, workspace,
            account_id, lane, next_attempt_at, expires_at, failure_limit, head, month, actor, created_at, created_by)
        SELECT f.id, f.key, f.suffix, f.report, f.type, f.channel, f.space, f.account,
            lane_v1(f.options ->> 'priority', f.space), f.starts, f.ends, f.failure_limit,
            genesis_v1(f.id, f.key, f.suffix, f.report, f.type, f.channel, f.space, t),
            date_trunc('month', t AT TIME ZONE 'UTC')::date, f.options ->> 'actor', t, session_user
        FROM fresh f
    ), said AS (
        INSERT INTO notifications_content (intent_id, recipient, commitment, data, locale)
        SELECT f.id, btrim(f.recipient), f.commitment, f.data, f.options ->> 'locale' FROM fresh f
    )
    SELECT jsonb_agg(jsonb_build_object('id', f.id, 'to_state', 'needs_review', 'code', 'awaiting_approval', 'known',
        'awaiting_approval', 'next_action', 'approve')) FILTER (WHERE f.is_held) INTO held FROM fresh f;
    IF held IS NOT NULL THEN
        -- Not held would be sent, without anybody's approval.
        PERFORM check_intake_v1(true) FROM append_v1('held', held) a WHERE a.refused IS NOT NULL;
    END IF;
    IF EXISTS (SELECT FROM unnest(wishes) AS w WHERE NOT w.is_held AND w.starts = t) THEN
        PERFORM wake_v1();
    END IF;
    RETURN QUERY SELECT w.place, old.intent_id, old.key::text, old.intent_id = w.id,
        coalesce((SELECT i.state::text FROM notifications_intent i WHERE i.id = old.intent_id), 'archived')
    FROM unnest(wishes) AS w CROSS JOIN LATERAL notifyops_private.key_of_v1(w.key, w.space, w.report, w.type) old;
END $$;

CREATE FUNCTION notifyops_private.enqueue_many_v1(items jsonb)
RETURNS TABLE ("position" integer, id bigint, notification_id text, created boolean, state text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    is_plain boolean;
    wishes wish_v1[];
BEGIN
    IF items IS NULL OR jsonb_typeof(items) <> 'array' THEN
        PERFORM refuse_v1('NO400', 'items must be a JSON array of objects', 'field: items',
            'Give [{"notification_type": …, "report_id": …, "recipient": …, "data": {…}, "options": {…}}].');
    ELSIF jsonb_array_length(items) > 10000 THEN
        PERFORM refuse_v1('NO413', 'more than 10,000 items in one call', 'field: items', 'Call once per 10,000.');
    ELSIF items = '[]' THEN
        RETURN;
    END IF;
    SELECT bool_and(CASE WHEN jsonb_typeof(e) = 'object' THEN e #>> '{options,supersedes}' IS NULL
        AND e #> '{options,attachments}' IS NULL AND e - ARRAY['notification_type', 'report_id', 'recipient', 'data', 'options'] = '{}' ELSE false END)
    INTO is_plain FROM jsonb_array_elements(items) AS e;
    IF is_plain THEN
        -- Nothing is written in here, so that the savepoint costs no transaction id.
        BEGIN
            wishes := wishes_v1(items, t);
        EXCEPTION WHEN SQLSTATE 'NO400' OR SQLSTATE 'NO403' OR SQLSTATE 'NO404' OR SQLSTATE 'NO413' THEN
            is_plain := false;
        END;
    END IF;
    IF is_plain THEN
        RETURN QUERY SELECT * FROM notifyops_private.enqueue_set_v1(wishes, t);
    ELSE
        RETURN QUERY SELECT * FROM notifyops_private.enqueue_each_v1(items);
    END IF;
END $$;
