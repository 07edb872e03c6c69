-- Intake: a notification is written inside the caller's own transaction. Nothing else happens here but a gated NOTIFY.

CREATE FUNCTION notifyops_private.refuse_v1(state text, message text, detail text DEFAULT '', hint text DEFAULT '')
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF detail = '' THEN  -- an empty one would be shown as an empty line
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, HINT = hint;
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail, HINT = hint;
END $$;

-- HMAC-SHA256 by two padded keys (RFC 2104); pgcrypto is not everywhere. Inlined where it is called.
CREATE FUNCTION notifyops_private.hmac_by_v1(message text, inner_key bytea, outer_key bytea) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256(outer_key || sha256(inner_key || convert_to(message, 'UTF8')));

-- The same by the keys of the site.
CREATE FUNCTION notifyops_private.hmac_v1(message text) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT hmac_by_v1(message, i.value, o.value)
    FROM notifications_sitesecret i, notifications_sitesecret o
    WHERE i.name = 'hmac_inner' AND o.name = 'hmac_outer'
$$;

-- The address as it is compared: surrounding blanks cut, domain in lower case.
CREATE FUNCTION notifyops_private.address_v1(recipient text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN split_part(btrim(recipient), '@', 1) || '@' || lower(split_part(btrim(recipient), '@', 2));

-- One plain address, no display name: nothing that no mail server could deliver or that would smuggle a header.
CREATE FUNCTION notifyops_private.address_is_plain_v1(recipient text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(btrim(recipient)) <= 254 AND length(split_part(btrim(recipient), '@', 1)) <= 64
    AND btrim(recipient) ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[^][:space:][:cntrl:]@<>,;:"()\\[]+$'
    AND split_part(btrim(recipient), '@', 2) ~ '^[^.-][^.]*(\.[^.-][^.]*)+$'
    AND split_part(btrim(recipient), '@', 1) !~ '(^\.|\.$|\.\.)'
    -- Blanks, invisible and direction marks that the classes above miss outside ASCII.
    AND recipient !~ '[\u0080-\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufffd]', false);

-- Lengths apart from patterns, here and below: a bound such as {1,200} makes a pattern fifty times slower.
CREATE FUNCTION notifyops_private.report_is_plain_v1(report text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(report) BETWEEN 1 AND 200 AND report !~ '[[:cntrl:]]', false);

CREATE FUNCTION notifyops_private.key_is_plain_v1(key text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(key) BETWEEN 1 AND 200 AND key ~ '^[A-Za-z0-9._:/-]+$', false);

-- The key of a notification whose caller names none.
CREATE FUNCTION notifyops_private.default_key_v1(space text, notification_type text, report text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN space = '' THEN '' ELSE space || '/' END || replace(notification_type, '_', '-') || '/' || report;

-- Priority class × 16 + hash(workspace) mod 16.
CREATE FUNCTION notifyops_private.lane_v1(priority text, space text) RETURNS smallint
LANGUAGE sql IMMUTABLE
RETURN ((CASE coalesce(priority, 'normal') WHEN 'urgent' THEN 0 WHEN 'normal' THEN 16 ELSE 32 END)
    + (hashtext(space) & 15))::smallint;

CREATE FUNCTION notifyops_private.check_email_v1(recipient text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF recipient IS NULL OR btrim(recipient) = '' THEN
        PERFORM refuse_v1('NO400', 'recipient is empty', 'field: recipient', 'Give one address such as ana@example.com.');
    ELSIF NOT address_is_plain_v1(recipient) THEN
        PERFORM refuse_v1('NO400', 'recipient is not one plain e-mail address', 'field: recipient',
            'Give exactly one address such as ana@example.com: no name, list, blank or line break inside.');
    END IF;
END $$;

CREATE FUNCTION notifyops_private.check_options_v1(options jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    known CONSTANT text[] := ARRAY['notification_id', 'channel', 'workspace', 'locale', 'actor', 'not_before', 'expires_at',
                                   'priority', 'supersedes', 'attachments'];
    option record;
BEGIN
    IF options = '{}' THEN
        RETURN;
    END IF;
    IF jsonb_typeof(options) <> 'object' THEN
        PERFORM refuse_v1('NO400', 'options must be a JSON object', 'field: options',
            'Give {} or an object of strings such as {"workspace": "acme"}.');
    END IF;
    FOR option IN SELECT key, jsonb_typeof(value) AS type FROM jsonb_each(options) LOOP
        IF NOT option.key = ANY (known) THEN
            PERFORM refuse_v1('NO400', format('unknown option %s', left(option.key, 60)),
                format('field: options.%s', left(option.key, 60)), 'Known: ' || array_to_string(known, ', ') || '.');
        ELSIF option.key = 'attachments' THEN
            CONTINUE;  -- the only one that is no string; check_attachments_v1 looks into it
        ELSIF option.type NOT IN ('string', 'null') THEN
            PERFORM refuse_v1('NO400', format('option %s must be a string', option.key),
                format('field: options.%s', option.key), 'Put its value into quotes.');
        END IF;
    END LOOP;
    IF coalesce(options ->> 'workspace', '') !~ '^[A-Za-z0-9._-]*$' OR length(options ->> 'workspace') > 64 THEN
        PERFORM refuse_v1('NO400', 'workspace has characters outside A-Z a-z 0-9 . _ - or over 64 of them',
            'field: options.workspace', 'Give the name as the grant has it, such as acme, or leave it out.');
    ELSIF coalesce(options ->> 'priority', 'normal') NOT IN ('urgent', 'normal', 'bulk') THEN
        PERFORM refuse_v1('NO400', 'priority must be urgent, normal or bulk', 'field: options.priority',
            'Give one of these, or leave it out for normal.');
    ELSIF coalesce(options ->> 'locale', 'en') !~ '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' OR length(options ->> 'locale') > 16 THEN
        PERFORM refuse_v1('NO400', 'locale must be a language tag such as en or zh-Hans', 'field: options.locale',
            'Leave it out for the plain templates.');
    ELSIF coalesce(options ->> 'actor', '') ~ '[[:cntrl:]]' OR length(coalesce(options ->> 'actor', '')) > 200 THEN
        PERFORM refuse_v1('NO400', 'actor has control characters or over 200 characters', 'field: options.actor',
            'Give an ID such as user:4711.');
    END IF;
END $$;

-- A time given as text, or a sentence instead of PostgreSQL's own error.
CREATE FUNCTION notifyops_private.time_option_v1(options jsonb, name text) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    found timestamptz;
BEGIN
    IF options ->> name IS NULL THEN
        RETURN NULL;
    END IF;
    -- Only the ISO form: PostgreSQL would also read `tomorrow` and `now`, and so never the same time twice.
    IF options ->> name !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(Z|[+-]\d\d(:?\d\d)?)$' THEN
        PERFORM refuse_v1('NO400', format('%s is not a time with a time zone', name), format('field: options.%s', name),
            'Write it as 2026-11-02T09:00:00Z.');
    END IF;
    BEGIN
        found := (options ->> name)::timestamptz;
    EXCEPTION WHEN data_exception THEN
        PERFORM refuse_v1('NO400', format('%s is not a time', name), format('field: options.%s', name),
            'Write it as 2026-11-02T09:00:00Z.');
    END;
    RETURN found;
END $$;

CREATE FUNCTION notifyops_private.check_data_v1(kind text, data jsonb, required jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    wanted record;
BEGIN
    IF data IS NULL OR jsonb_typeof(data) <> 'object' THEN
        PERFORM refuse_v1('NO400', 'data must be a JSON object', 'field: data',
            'Give {} or an object such as {"title": "Q3"}; a list goes into one of its fields.');
    ELSIF octet_length(data::text) > 262144 THEN
        PERFORM refuse_v1('NO413', 'data is larger than 256 kB', format('field: data, bytes: %s', octet_length(data::text)),
            'Put large content behind a link.');
    ELSIF jsonb_path_exists(data, '$.** ? (@.type() == "number" && (@ > 1e300 || @ < -1e300))') THEN
        PERFORM refuse_v1('NO400', 'data holds a number beyond 1e300', 'field: data', 'Send it as text.');
    ELSIF jsonb_path_exists(data, '$.**{33 to last}') THEN
        PERFORM refuse_v1('NO400', 'data is nested deeper than 32 levels', 'field: data',
            'Send only what the template shows.');
    END IF;
    FOR wanted IN SELECT key, value #>> '{}' AS type FROM jsonb_each(required) LOOP
        IF NOT data ? wanted.key THEN
            PERFORM refuse_v1('NO400', format('data.%s is missing', wanted.key), format('field: data.%s', wanted.key),
                format('Type %s needs it, as %s.', kind, wanted.type));
        ELSIF jsonb_typeof(data -> wanted.key) <> wanted.type THEN
            PERFORM refuse_v1('NO400', format('data.%s must be a %s', wanted.key, wanted.type),
                format('field: data.%s, given: %s', wanted.key, jsonb_typeof(data -> wanted.key)),
                format('Type %s takes it so; see: manage.py notify types.', kind));
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION notifyops_private.check_workspace_v1(wanted text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM notifications_workspacegrant g
                   WHERE g.role = session_user AND g.workspace IN (wanted, '*')) THEN
        PERFORM refuse_v1('NO403', format('role %s has no grant for workspace "%s"', session_user, wanted), '',
            'An administrator adds it with: manage.py notify grant ROLE WORKSPACE.');
    END IF;
END $$;

-- A role with a workspace that the door does not take for intake: the grant was written past `notify grant`.
CREATE FUNCTION notifyops_private.check_intake_v1(is_refused boolean) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF is_refused THEN
        PERFORM refuse_v1('NO403', format('role %s is not known to the door', session_user), '',
            'An administrator runs: manage.py notify grant ROLE WORKSPACE.');
    END IF;
END $$;

CREATE FUNCTION notifyops_private.refuse_reused_v1(place text, key text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    PERFORM refuse_v1('NO422', format('%snotification "%s" exists with other content', place, key),
        format('existing: %s', key),
        'Send the same content again. For another notification give another report_id, and no notification_id that is '
        'taken; to replace this one give another notification_id, and name this one in supersedes.');
END $$;

-- All checks come before the first write, so that a refusal leaves nothing behind even where the caller goes on.
CREATE FUNCTION notifyops_private.enqueue_v1(
    notification_type text, report text, recipient text, data jsonb, options jsonb
) RETURNS TABLE (id bigint, notification_id text, created boolean, state text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    kind notifications_notificationtype;
    space text := coalesce(options ->> 'workspace', '');
    wanted text := options ->> 'notification_id';
    target text;
    starts timestamptz;
    ends timestamptz;
    older bigint;
    tried bigint;
    print bytea;
    commitment bytea;
    head bytea;
    month date;
    actor text := options ->> 'actor';
    new_id bigint;
    suffix text := '';
    lane smallint;
    account bigint;
    singular boolean := options ->> 'supersedes' IS NULL;
    old notifications_intentkey;
    refusal text;
    attached jsonb;
BEGIN
    PERFORM check_options_v1(options);
    PERFORM check_workspace_v1(space);
    SELECT * INTO kind FROM notifications_notificationtype n WHERE n.name = notification_type;
    IF kind.name IS NULL OR NOT kind.enabled THEN
        PERFORM refuse_v1('NO404', format('unknown notification type "%s"', left(notification_type, 64)),
            'field: notification_type', 'List the types with: manage.py notify types.');
    END IF;
    IF NOT report_is_plain_v1(report) THEN
        PERFORM refuse_v1('NO400', 'report_id must have 1 to 200 characters and no control characters',
            'field: report_id', 'Give the ID of what it is about, such as demo-001.');
    END IF;
    IF wanted IS NULL THEN
        wanted := default_key_v1(space, notification_type, report);
    END IF;
    IF NOT key_is_plain_v1(wanted) THEN
        PERFORM refuse_v1('NO400', 'notification_id must have 1 to 200 of the characters A-Z a-z 0-9 . _ : / -',
            'field: options.notification_id',
            CASE WHEN options ->> 'notification_id' IS NULL
                 THEN 'It was made of type and report_id; give one as options.notification_id.'
                 ELSE 'Make it of IDs, such as report-ready/demo-001, or leave it out.' END);
    END IF;
    target := coalesce(options ->> 'channel', kind.channel);
    IF target = 'email' THEN
        PERFORM check_email_v1(recipient);
    ELSIF is_called_v1(target) THEN
        PERFORM check_url_v1(recipient);
    ELSIF is_phone_v1(target) THEN
        PERFORM check_phone_v1(recipient);
    ELSIF is_chat_v1(target) THEN
        PERFORM check_chat_v1(recipient);
    ELSIF is_pushed_v1(target) THEN
        recipient := push_address_v1(recipient);
        PERFORM check_subscription_v1(recipient);
    END IF;
    PERFORM check_data_v1(notification_type, data, kind.required);
    IF options ? 'attachments' THEN
        attached := check_attachments_v1(options -> 'attachments', target);
    END IF;
    starts := time_option_v1(options, 'not_before');
    ends := coalesce(time_option_v1(options, 'expires_at'), t + kind.expires_after);
    SELECT a.id INTO account FROM notifications_provideraccount a WHERE a.channel = target
    ORDER BY a.enabled DESC, a.id LIMIT 1;
    IF account IS NULL THEN
        PERFORM refuse_v1('NO400', format('channel "%s" has no provider account', left(target, 32)),
            'field: options.channel', 'Add one in the admin, or leave the channel out.');
    END IF;

    -- Not over not_before: a caller's later retry of the same wish must not conflict.
    print := hmac_v1(concat(field_v1(notification_type), field_v1(report), field_v1(space),
        field_v1(address_v1(recipient)), field_v1(target), field_v1(data::text), field_v1(actor),
        field_v1(micros_v1(time_option_v1(options, 'expires_at'))),
        CASE WHEN attached IS NOT NULL THEN attachments_print_v1(attached) END));
    new_id := nextval('notifyops_private.notifications_intent_id_seq');
    INSERT INTO notifications_intentkey (key, workspace, report_id, type, singular, fingerprint, intent_id)
    VALUES (wanted, space, report, notification_type, singular, print, new_id)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT * INTO old FROM notifications_intentkey k WHERE k.key = wanted AND k.workspace = space;
        IF old.key IS NULL THEN
            SELECT * INTO old FROM notifications_intentkey k
            WHERE k.report_id = report AND k.workspace = space AND k.type = notification_type AND k.singular;
        END IF;
        -- Of what was erased nobody can tell whether it was the same wish; it is answered as it stands.
        IF old.fingerprint NOT IN (print, '') THEN
            PERFORM refuse_reused_v1('', old.key);
        END IF;
        RETURN QUERY SELECT old.intent_id, old.key::text, false,
            coalesce((SELECT i.state::text FROM notifications_intent i WHERE i.id = old.intent_id), 'archived');
        RETURN;
    END IF;

    WHILE NOT singular LOOP
        -- What a person went on with under a corrected address is what the caller means; also where that was done while
        -- this waited for its lock.
        older := nullif(heir_v1(options ->> 'supersedes', space), new_id);
        IF older IS NULL THEN
            PERFORM refuse_v1('NO400', 'supersedes names no notification of this workspace', 'field: options.supersedes',
                'Give the notification_id of one that stands in the same workspace, or leave it out.');
        END IF;
        EXIT WHEN older = tried;
        tried := older;
        -- What cannot be taken back any more (it left, or may have) stays; its successor is owed all the same.
        -- A refusal gives the lock back, or this transaction would hold up the recording of the older one's answer.
        BEGIN
            SELECT a.refused INTO refusal FROM append_v1('superseded', jsonb_build_array(jsonb_build_object(
                'id', older, 'to_state', 'cancelled', 'detail', jsonb_build_object('by', wanted)))) a;
            IF refusal IS NOT NULL THEN
                RAISE EXCEPTION SQLSTATE 'NO409';
            END IF;
        EXCEPTION WHEN SQLSTATE 'NO409' THEN
            PERFORM check_intake_v1(refusal = 'role');
        END;
        EXIT WHEN refusal IS DISTINCT FROM 'move';
    END LOOP;
    IF EXISTS (SELECT FROM notifications_intentkey k WHERE k.key = wanted AND k.workspace <> space) THEN
        suffix := '~w' || new_id;
    END IF;
    -- Values first, so that the inserts are plain ones, planned once a session.
    commitment := hmac_v1('address:' || address_v1(recipient));
    head := genesis_v1(new_id, wanted, suffix, report, notification_type, target, space, t);
    month := date_trunc('month', t AT TIME ZONE 'UTC')::date;
    starts := greatest(starts, t);
    lane := lane_v1(options ->> 'priority', space);
    INSERT INTO notifications_intent (id, notification_id, key_suffix, report_id, type, channel, workspace, account_id,
        lane, next_attempt_at, expires_at, failure_limit, supersedes_id, head, month, actor, created_at, created_by)
    VALUES (new_id, wanted, suffix, report, notification_type, target, space, account, lane, starts, ends,
        kind.failure_limit, older, head, month, actor, t, session_user);
    INSERT INTO notifications_content (intent_id, recipient, commitment, data, locale, attachments)
    VALUES (new_id, btrim(recipient), commitment, data, options ->> 'locale', attached);
    IF attached IS NOT NULL THEN
        PERFORM keep_contents_v1(space, options -> 'attachments');
    END IF;
    IF kind.approval = 'required' THEN
        SELECT a.refused INTO refusal FROM append_v1('held', jsonb_build_array(jsonb_build_object(
            'id', new_id, 'to_state', 'needs_review', 'code', 'awaiting_approval', 'known', 'awaiting_approval',
            'next_action', 'approve'))) a;
        -- Not held would be sent, without anybody's approval.
        PERFORM check_intake_v1(refusal IS NOT NULL);
    ELSIF starts = t THEN
        PERFORM notifyops_private.wake_v1();
    END IF;
    RETURN QUERY SELECT new_id, wanted, true, CASE WHEN kind.approval = 'required' THEN 'needs_review' ELSE 'pending' END;
END $$;

-- Wakes the loops, unless another committing transaction is doing it now: an ungated NOTIFY serialises all commits
-- (5,587 → 423 commits/s), and a lost wake-up costs one poll.
CREATE FUNCTION notifyops_private.wake_v1() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pg_try_advisory_xact_lock(7802, 1) THEN pg_notify('notifyops_due', '') END
$$;

-- Whether a text holds an e-mail address or a phone number, also as East Asian keyboards write them: what is kept for
-- ever names nobody. The same as notifications/policy/reasons.py, which a test compares.
CREATE FUNCTION notifyops_private.is_personal_v1(said text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN said ~ '[^[:space:]@<>]+[@\uff20][^[:space:]@<>]+[.\u3002\uff0e][^[:space:]@<>]'
    OR said ~ '[+\uff0b][[:space:]]?[0-9\uff10-\uff19][0-9\uff10-\uff19[:space:]().-]{4,}[0-9\uff10-\uff19]';

-- Takes back what has not left yet. `outcome`: cancelled; cancelled_maybe_sent (no more is sent, but an earlier attempt may
-- have been accepted); already (it was cancelled or closed before); too_late.
-- `asker` is who the log says it was.
CREATE FUNCTION notifyops_private.cancel_v1(wanted text, reason text, space text, asker text DEFAULT session_user)
RETURNS TABLE (notification_id text, outcome text, state text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found notifications_intent;
    tried bigint;
    done record;
BEGIN
    PERFORM check_workspace_v1(space);
    IF reason IS NULL OR length(btrim(reason)) NOT BETWEEN 3 AND 500 OR is_personal_v1(reason) THEN
        PERFORM refuse_v1('NO400', 'reason must have 3 to 500 characters and no address or phone number',
            'field: reason', 'Refer to people by ID.');
    END IF;
    LOOP
        -- Also where a person went on with it under a corrected address, before this or while it waited for the lock.
        SELECT i.* INTO found FROM notifications_intent i WHERE i.id = heir_v1(wanted, space);
        IF found.id IS NULL THEN
            PERFORM refuse_v1('NO404', format('no notification "%s"', left(wanted, 200)), 'field: key',
                'Give its notification_id, and its workspace where it has one.');
        END IF;
        EXIT WHEN found.id = tried;
        tried := found.id;
        -- A refusal gives the lock back: a caller's long transaction must not hold up the recording of the answer.
        BEGIN
            SELECT * INTO done FROM append_v1('withdrawn', jsonb_build_array(jsonb_build_object(
                'id', found.id, 'to_state', 'cancelled', 'reason_code', 'business_cancelled',
                'detail', jsonb_build_object('by', asker, 'reason', btrim(reason)))));
            IF done.refused IS NOT NULL THEN
                RAISE EXCEPTION SQLSTATE 'NO409';
            END IF;
        EXCEPTION WHEN SQLSTATE 'NO409' THEN
            PERFORM check_intake_v1(done.refused = 'role');
        END;
        EXIT WHEN done.refused IS DISTINCT FROM 'move';
    END LOOP;
    RETURN QUERY SELECT found.notification_id::text,
        CASE WHEN done.refused IS NULL THEN (
                -- Read again, under the lock: an attempt may have ended since.
                SELECT CASE WHEN i.first_ambiguous_at IS NULL AND i.provider_message_id IS NULL
                    AND i.known IS DISTINCT FROM 'conflict'
                    -- A resend, or another address, leaves the doubt about the message before it where it was.
                    AND earlier_v1(i.id) IS NULL THEN 'cancelled' ELSE 'cancelled_maybe_sent' END
                FROM notifications_intent i WHERE i.id = found.id)
             WHEN done.new_state IN ('cancelled', 'closed') THEN 'already'
             ELSE 'too_late' END,
        done.new_state;
END $$;
