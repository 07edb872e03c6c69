-- What of a notification is out already, or may be: by whichever generation, and to whichever address. Every guard that
-- lets something be sent once more, or says that nothing was sent, asks here.
--
-- `here` is the site mode: what another one's messages met says nothing of the recipient in this one. Empty: any.

-- All notifications of each one's caller's key: itself, and those with a corrected address, before and after it.
--
-- ROWS: mostly each alone. Left at the default of a thousand, the planner reads the whole log to join it.
CREATE FUNCTION notifyops_private.kin_v1(ids bigint[]) RETURNS TABLE (id bigint, of_id bigint, month date)
LANGUAGE sql STABLE ROWS 10 SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, i.id, i.month FROM notifications_intent i WHERE i.id = ANY (ids)
    UNION
    SELECT i.id, p.id, p.month FROM notifications_intent i
    CROSS JOIN LATERAL line_v1(i.notification_id, i.workspace) k JOIN notifications_intent p ON p.id = k.intent_id
    WHERE i.id = ANY (ids)
$$;

-- Whether a generation was made for another site mode. What nobody remembers to have made counts in each.
CREATE FUNCTION notifyops_private.is_elsewhere_v1(intent bigint, made integer, here text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT here <> '' AND EXISTS (SELECT FROM notifications_prepared p
        WHERE p.intent_id = intent AND p.generation = made AND p.site_mode NOT IN ('', here))
$$;

-- Which of these the recipient has already: by a generation's message of its own (`own`), or by one to another address
-- under the same caller's key. `undisputed`: one of its own, which never came back, not even for a while. `heard_at`:
-- the newest proof.
--
-- Proofs are the words `delivered` and `complained`, whoever says them; and that the provider has what two persons gave
-- up for lost, or what went to another address. What then came back for good has not arrived; after the provider's mere
-- having it, what came back at all. A soft bounce undoes no delivery: it may be of a copy.
CREATE FUNCTION notifyops_private.arrived_v1(ids bigint[], here text DEFAULT '')
RETURNS TABLE (id bigint, own boolean, undisputed boolean, heard_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH told AS (
        SELECT n.id, n.of_id, l.at, l.kind, l.code, l.generation, l.detail ? 'may_duplicate' AS gives_up,
            coalesce(l.detail ->> 'second', '') AS mail,
            coalesce((l.detail ->> 'generation')::integer, l.generation) AS about,
            CASE l.kind WHEN 'late' THEN CASE l.outcome WHEN 'accepted' THEN 'none' END
                WHEN 'evidence' THEN CASE l.outcome WHEN 'found' THEN l.detail ->> 'status' END
                ELSE l.detail ->> 'says' END AS word
        FROM kin_v1(ids) n JOIN notifications_logentry l ON l.intent_id = n.of_id AND l.month = n.month
        WHERE l.kind IN ('receipt', 'settled', 'contradicted', 'late', 'evidence', 're_prepared')
    )
    SELECT t.id, bool_or(t.of_id = t.id),
        bool_or(t.of_id = t.id AND NOT EXISTS (
            SELECT FROM told b WHERE (b.id, b.of_id, b.about, b.mail) = (t.id, t.of_id, t.about, t.mail)
                AND b.word IN ('soft_bounced', 'failed'))),
        max(t.at)
    FROM told t
    WHERE (t.word IN ('delivered', 'complained') OR (t.word IN ('none', 'deferred') AND (t.of_id <> t.id
            OR (t.about < t.generation AND EXISTS (SELECT FROM told r WHERE (r.id, r.of_id) = (t.id, t.of_id)
                AND r.kind = 're_prepared' AND r.about = t.about + 1 AND r.gives_up)))))
      AND NOT (t.kind = 'evidence' AND EXISTS (SELECT FROM told o WHERE (o.id, o.of_id) = (t.id, t.of_id)
          AND o.code = 'id_of_another'))
      AND NOT EXISTS (SELECT FROM told b WHERE (b.id, b.of_id, b.about, b.mail) = (t.id, t.of_id, t.about, t.mail)
          AND (b.word IN ('bounced', 'suppressed')
              OR (t.word IN ('none', 'deferred') AND b.word IN ('soft_bounced', 'failed'))))
      AND NOT is_elsewhere_v1(t.of_id, t.about, here)
    GROUP BY t.id
$$;

-- Whether something of this notification that was given up may be out: a generation that two persons had followed by
-- another one, and that is not proven to have come back; or a message under the same caller's key to another address,
-- which may have been accepted. A doubt outlives the generations that follow: only what came back ends it.
CREATE FUNCTION notifyops_private.doubted_v1(intent bigint, here text DEFAULT '') RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM kin_v1(ARRAY[intent]) n JOIN notifications_intent p ON p.id = n.of_id
        WHERE (p.id <> intent AND coalesce(p.known, '') NOT IN ('bounced', 'soft_bounced', 'suppressed', 'invalid')
            AND (p.first_ambiguous_at IS NOT NULL OR p.provider_message_id IS NOT NULL OR p.known = 'conflict'
                OR p.state = 'sending')
            AND NOT is_elsewhere_v1(p.id, p.generation, here))
        OR EXISTS (
            SELECT FROM notifications_logentry r WHERE r.intent_id = p.id AND r.month = p.month
                AND r.kind = 're_prepared' AND r.detail ? 'may_duplicate'
                AND NOT is_elsewhere_v1(p.id, r.generation - 1, here)
                AND EXISTS (
                    SELECT FROM notifications_logentry c WHERE c.intent_id = p.id AND c.month = p.month
                        AND c.kind = 'claimed' AND c.generation = r.generation - 1 AND NOT EXISTS (
                            SELECT FROM notifications_logentry o WHERE o.intent_id = p.id AND o.month = p.month
                                AND o.kind = 'result' AND o.attempt = c.attempt
                                AND o.outcome IN ('not_sent', 'rejected')))
                AND NOT EXISTS (
                    SELECT FROM notifications_logentry b WHERE b.intent_id = p.id AND b.month = p.month
                        AND coalesce((b.detail ->> 'generation')::integer, b.generation) = r.generation - 1
                        AND NOT b.detail ? 'second' AND ((b.kind = 'receipt' AND b.detail ->> 'says' IN (
                            'soft_bounced', 'failed', 'suppressed', 'bounced')) OR (b.kind = 'evidence'
                                AND b.outcome = 'found' AND b.detail ->> 'status' IN (
                                    'soft_bounced', 'failed', 'suppressed', 'bounced'))))))
$$;

-- The word for it that people see: `arrived`, `disputed` (it did, and came back, or went to another address: two
-- persons may overrule that), `given_up` (it may have); NULL where nothing earlier is out.
CREATE FUNCTION notifyops_private.earlier_v1(intent bigint, here text DEFAULT '') RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT coalesce((SELECT CASE WHEN a.undisputed THEN 'arrived' ELSE 'disputed' END
                     FROM arrived_v1(ARRAY[intent], here) a),
        CASE WHEN doubted_v1(intent, here) THEN 'given_up' END)
$$;

-- Which of these two persons let go, as the last thing that anybody ordered, within half an hour: by a resend
-- (`forced`), which is good for the generation that it makes, or by approving what another one had asked for.
CREATE FUNCTION notifyops_private.permitted_v1(ids bigint[], t timestamptz)
RETURNS TABLE (id bigint, forced boolean, at timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, r.kind = 'retried', r.at FROM notifications_intent i CROSS JOIN LATERAL (
        SELECT l.kind, l.reason_code, l.generation, l.at FROM notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.kind IN ('retried', 'released')
        ORDER BY l.seq DESC LIMIT 1
    ) r
    WHERE i.id = ANY (ids) AND r.at > t - interval '30 minutes'
        AND (r.kind = 'released' OR (r.reason_code = 'forced_resend' AND r.generation >= i.generation - 1))
$$;

-- What the claim needs to know, a row for each: `arrived` (`own`, `elsewhere`) where no two persons overruled that
-- proof; `doubted` as above; `overdue`: it is, nothing of the present generation may be out, and no order of two
-- persons for it is younger than half an hour; `insisted`: the order that is to be carried out says why it must go out.
CREATE FUNCTION notifyops_private.again_v1(
    ids bigint[], here text DEFAULT '', t timestamptz DEFAULT notifyops_private.clock_v1()
) RETURNS TABLE (id bigint, arrived text, doubted boolean, overdue boolean, insisted boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id,
        CASE WHEN a.heard_at >= CASE WHEN p.forced THEN p.at ELSE '-infinity' END THEN
            CASE WHEN a.own THEN 'own' ELSE 'elsewhere' END END,
        d.doubted, d.doubted AND i.first_ambiguous_at IS NULL AND p.id IS NULL,
        i.manual AND coalesce((SELECT l.detail ? 'insists' FROM notifications_logentry l
            WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'retried' ORDER BY l.seq DESC LIMIT 1), false)
    FROM notifications_intent i
    LEFT JOIN arrived_v1(ids, here) a ON a.id = i.id
    LEFT JOIN permitted_v1(ids, t) p ON p.id = i.id
    CROSS JOIN LATERAL (SELECT doubted_v1(i.id, here) AS doubted OFFSET 0) d
    WHERE i.id = ANY (ids)
$$;

-- Why a resend may not be asked for now (`asking`), or not be confirmed by this person; NULL where it may.
--
-- It is for what may be out, or is and does not serve: an attempt that no key protects and of which the provider was
-- asked and cannot tell; an earlier message that was given up, whatever became of the present one; one that was delivered
-- and came back, or went to another address. The second person confirms what the first one saw, within half an hour:
-- nothing has moved, and nobody has taken it back.
CREATE FUNCTION notifyops_private.resend_barred_v1(
    intent bigint, asking boolean, person text, t timestamptz, here text DEFAULT ''
) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT CASE
        WHEN coalesce(i.known, '') NOT IN ('unknown', 'not_sent', 'invalid', 'soft_bounced')
            OR (w.word IS NULL AND (i.known <> 'unknown' OR i.first_ambiguous_at IS NULL)) THEN 'known'
        WHEN w.word = 'arrived' THEN 'arrived'
        WHEN i.first_ambiguous_at IS NOT NULL AND i.safe_until > t
            AND NOT (w.word IS NOT NULL AND coalesce(said.outcome = 'not_found', false)) THEN 'window_open'
        WHEN i.first_ambiguous_at IS NOT NULL AND (
            (said.outcome IS DISTINCT FROM 'inconclusive' AND NOT (w.word IS NOT NULL AND said.outcome = 'not_found'))
            OR EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.generation = i.generation AND l.kind = 'evidence' AND l.outcome = 'found'
                AND NOT coalesce(l.detail ? 'generation', false))) THEN 'no_evidence'
        WHEN i.first_ambiguous_at IS NOT NULL AND EXISTS (
            SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.kind = 'claimed' AND l.seq > said.seq) THEN 'evidence_old'
        WHEN i.first_ambiguous_at IS NOT NULL AND asking AND said.at <= t - interval '10 minutes' THEN 'evidence_old'
        WHEN asking THEN CASE WHEN last.kind = 'resend_asked' AND last.at > t - interval '30 minutes' THEN 'asked' END
        WHEN last.kind IS DISTINCT FROM 'resend_asked' OR last.at <= t - interval '30 minutes' THEN 'not_asked'
        WHEN identity_v1(last.actor) = identity_v1(person) THEN 'same_person'
    END
    FROM notifications_intent i
    CROSS JOIN LATERAL (SELECT earlier_v1(i.id, here) AS word OFFSET 0) w
    LEFT JOIN LATERAL (
        SELECT l.seq, l.at, l.outcome FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
            AND l.generation = i.generation AND l.kind = 'evidence' AND NOT coalesce(l.detail ? 'generation', false)
        ORDER BY l.seq DESC LIMIT 1
    ) said ON true
    LEFT JOIN LATERAL (
        SELECT l.kind, l.at, l.actor FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
            AND (l.from_state <> l.to_state OR l.kind IN ('resend_asked', 'resend_dropped'))
        ORDER BY l.seq DESC LIMIT 1
    ) last ON true
    WHERE i.id = intent
$$;
