-- The two ways out that write more than a log entry: a corrected address, and erasing what was withdrawn.

-- Owes the same notification to another address, under a key of its own, and closes the one that could not arrive.
--
-- `here` is the site mode: what another one's messages met says nothing of the address in this one (as in pick_v1).
-- `refused` says why not: a word of the door, or erased, address, same_address, blocked_address, expired, known,
-- arrived, recovering, forgotten. Then nothing is written. The address goes into Content and nowhere else; `masks` are what people may see of
-- the two addresses, kept in the log beside a hash whose salt is erased with the content. The caller owns the
-- transaction.
CREATE FUNCTION notifyops_private.correct_v1(
    old_id bigint, seen_seq integer, address text, masks jsonb, person text, delay_s double precision,
    here text DEFAULT ''
) RETURNS TABLE (id bigint, notification_id text, refused text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    old notifications_intent;
    said notifications_content;
    kind notifications_notificationtype;
    plain text := address_v1(address);
    salt bytea := uuid_send(gen_random_uuid());
    print bytea := hmac_v1('address:' || address_v1(address));
    new_id bigint;
    account bigint;
    wanted text;
    suffix text := '';
    why text;
    is_doubted boolean;
BEGIN
    -- First the lock: two persons who correct the same case take the next number one after the other.
    SELECT i.* INTO old FROM notifications_intent i WHERE i.id = old_id FOR NO KEY UPDATE;
    SELECT c.* INTO said FROM notifications_content c WHERE c.intent_id = old_id;
    SELECT n.* INTO kind FROM notifications_notificationtype n WHERE n.name = old.type;
    why := CASE
        WHEN old.id IS NULL THEN 'missing'
        WHEN old.seq IS DISTINCT FROM seen_seq THEN 'seq'
        WHEN old.state <> 'needs_review' THEN 'move'
        WHEN forgotten_v1(old_id) IS NOT NULL THEN forgotten_v1(old_id)
        WHEN NOT (old.known IN ('bounced', 'soft_bounced', 'suppressed') OR (old.known IN ('invalid', 'not_sent')
            AND old.next_action = 'correct_address' AND old.first_ambiguous_at IS NULL)) THEN 'known'
        WHEN EXISTS (SELECT FROM arrived_v1(ARRAY[old_id], here)) THEN 'arrived'
        WHEN said.recipient IS NULL THEN 'erased'
        WHEN old.expires_at <= t THEN 'expired'
        WHEN old.channel = 'email' AND NOT address_is_plain_v1(address) THEN 'address'
        WHEN is_called_v1(old.channel) AND NOT url_is_plain_v1(address) THEN 'address'
        WHEN is_phone_v1(old.channel) AND NOT phone_is_plain_v1(address) THEN 'address'
        WHEN is_chat_v1(old.channel) AND NOT chat_is_plain_v1(address) THEN 'address'
        WHEN is_pushed_v1(old.channel) AND NOT subscription_is_plain_v1(address) THEN 'address'
        WHEN print = said.commitment THEN 'same_address'
        WHEN EXISTS (SELECT FROM notifications_deliveryblock b WHERE b.commitment = print
            AND b.channel = old.channel AND b.scope IN ('', old.type)
            AND (b.site_mode IN ('', here) OR here = '')) THEN 'blocked_address'
    END;
    IF why IS NOT NULL THEN
        RETURN QUERY SELECT NULL::bigint, NULL::text, why;
        RETURN;
    END IF;
    is_doubted := doubted_v1(old_id, here);
    SELECT base_key_v1(old.notification_id) || '~a'
        || 1 + greatest(1, max(substr(l.key, length(base_key_v1(old.notification_id)) + 3)::int)
            FILTER (WHERE l.key ~ '~a[0-9]+$'))
    INTO wanted FROM line_v1(old.notification_id, old.workspace) l;
    SELECT a.refused INTO why FROM append_v1('closed', jsonb_build_array(jsonb_build_object('id', old_id,
        'to_state', 'closed', 'seq', seen_seq, 'reason_code', 'address_corrected', 'detail', masks || jsonb_build_object(
            'by', wanted, 'hash', encode(sha256(salt || convert_to(plain, 'UTF8')), 'hex')))), NULL, person) a;
    IF why IS NOT NULL THEN
        RETURN QUERY SELECT NULL::bigint, NULL::text, why;
        RETURN;
    END IF;

    new_id := nextval('notifyops_private.notifications_intent_id_seq');
    -- Not singular: the report's own key stays the one that its caller gave.
    INSERT INTO notifications_intentkey (key, workspace, report_id, type, singular, fingerprint, intent_id)
    VALUES (wanted, old.workspace, old.report_id, old.type, false,
        -- Nobody enqueues under this key, so that nothing is ever compared with it: it says nothing of the address.
        uuid_send(gen_random_uuid()), new_id);
    IF EXISTS (SELECT FROM notifications_intentkey k WHERE k.key = wanted AND k.workspace <> old.workspace) THEN
        suffix := '~w' || new_id;
    END IF;
    SELECT a.id INTO account FROM notifications_provideraccount a WHERE a.channel = old.channel
    ORDER BY a.enabled DESC, a.id LIMIT 1;
    INSERT INTO notifications_intent (id, notification_id, key_suffix, report_id, type, channel, workspace, account_id,
        lane, next_attempt_at, expires_at, failure_limit, supersedes_id, head, month, actor, created_at, created_by)
    VALUES (new_id, wanted, suffix, old.report_id, old.type, old.channel, old.workspace,
        coalesce(account, old.account_id), old.lane & 15, t + make_interval(secs => delay_s), old.expires_at,
        coalesce(kind.failure_limit, old.failure_limit), old_id,
        genesis_v1(new_id, wanted, suffix, old.report_id, old.type, old.channel, old.workspace, t),
        date_trunc('month', t AT TIME ZONE 'UTC')::date, old.actor, t, person);
    INSERT INTO notifications_content (intent_id, recipient, commitment, salt, data, locale, attachments)
    VALUES (new_id, btrim(address), print, salt, said.data, said.locale, said.attachments);
    IF kind.approval = 'required' OR is_doubted THEN
        -- What was approved was for another recipient; and what may be a second message is let go by two persons.
        SELECT a.refused INTO why FROM append_v1('held', jsonb_build_array(jsonb_build_object('id', new_id,
            'to_state', 'needs_review', 'code', 'awaiting_approval', 'known', 'awaiting_approval',
            'next_action', 'approve'))) a;
        PERFORM check_intake_v1(why IS NOT NULL);
    END IF;
    RETURN QUERY SELECT new_id, wanted, NULL::text;
END $$;

-- Erases the content of what a person has withdrawn with the words that it be erased, and of all notifications under
-- the same caller's key: a corrected address stands in another row than the first one. Gives how many rows held content.
-- Bytes of attachments go with the last content that names them.
-- The log keeps its entries; the hashes in it cannot be compared with an address any more, as the salts are gone. So
-- with the keys: they stay taken, and what they were known by, which is made of the address, is emptied.
CREATE FUNCTION notifyops_private.erase_v1(withdrawn bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    found notifications_intent;
    ids bigint[];
    hashes bytea[];
    erased integer;
BEGIN
    SELECT i.* INTO found FROM notifications_intent i WHERE i.id = withdrawn FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = 'person')
       OR NOT EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = found.id AND l.month = found.month
                      AND l.seq = found.seq AND l.kind = 'withdrawn' AND l.actor IS NOT NULL AND l.detail ? 'erased') THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403',
            MESSAGE = format('intent %s: only what a person has just withdrawn for erasing is erased', withdrawn);
    END IF;
    ids := ARRAY(SELECT l.intent_id FROM line_v1(found.notification_id, found.workspace) l);
    hashes := ARRAY(SELECT DISTINCT decode(a ->> 'sha256', 'hex') FROM notifications_content c
        CROSS JOIN LATERAL jsonb_array_elements(c.attachments) AS a WHERE c.intent_id = ANY (ids));
    UPDATE notifications_content c SET recipient = NULL, data = NULL, commitment = '', salt = NULL, attachments = NULL,
        erased_at = notifyops_private.clock_v1()
    WHERE c.intent_id = ANY (ids) AND c.erased_at IS NULL;
    GET DIAGNOSTICS erased = ROW_COUNT;
    UPDATE notifications_prepared p SET body = NULL, subject = NULL WHERE p.intent_id = ANY (ids);
    IF hashes <> '{}' THEN
        PERFORM forget_blobs_v1(found.workspace, hashes);
    END IF;
    UPDATE notifications_intentkey k SET fingerprint = '' WHERE k.intent_id = ANY (ids) AND k.fingerprint <> '';
    RETURN erased;
END $$;
