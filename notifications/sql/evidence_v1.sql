-- What the provider last proved about each intent's present generation, and what has happened since.
--
-- Only `found` and `not_found` prove anything. `used`: a person has retried on the strength of it, or of an older one.
-- `outdated`: an attempt began after it that may have reached the provider, so that it says nothing of that attempt.
CREATE FUNCTION notifyops_private.evidence_v1(ids bigint[])
RETURNS TABLE (id bigint, at timestamptz, answer text, named jsonb, used boolean, ordered_for text, outdated boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, e.at, e.outcome, e.detail -> 'ids', r.seq IS NOT NULL, r.reason_code, EXISTS (
        SELECT FROM notifications_logentry c
        WHERE c.intent_id = i.id AND c.month = i.month AND c.kind = 'claimed' AND c.seq > e.seq AND NOT EXISTS (
            SELECT FROM notifications_logentry o WHERE o.intent_id = i.id AND o.month = i.month AND o.kind = 'result'
                AND o.attempt = c.attempt AND o.outcome IN ('not_sent', 'rejected')))
    FROM notifications_intent i
    CROSS JOIN LATERAL (
        SELECT l.seq, l.at, l.outcome, l.detail FROM notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation AND l.kind = 'evidence'
            AND l.outcome IN ('found', 'not_found') AND NOT coalesce(l.detail ? 'generation', false)
        ORDER BY l.seq DESC LIMIT 1
    ) e
    LEFT JOIN LATERAL (
        SELECT l.seq, l.reason_code FROM notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'retried' AND l.seq > e.seq
        ORDER BY l.seq LIMIT 1
    ) r ON true
    WHERE i.id = ANY (ids)
$$;

-- Which of these may be sent once more although the provider's key protects them no longer: a person ordered that very
-- attempt because the provider did not have the message, and has not shown it since. `manual` ends with the attempt, so
-- that the order buys one. It is good for half an hour of a standstill; later the provider must be asked again.
CREATE FUNCTION notifyops_private.excused_v1(ids bigint[], t timestamptz DEFAULT notifyops_private.clock_v1())
RETURNS TABLE (id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id FROM notifications_intent i JOIN notifyops_private.evidence_v1(ids) e ON e.id = i.id
    WHERE i.manual AND NOT e.outdated AND e.answer = 'not_found' AND e.ordered_for = 'evidence_not_sent'
        AND e.at > t - interval '30 minutes'
$$;

-- The newest order of a person to send each of these once more.
CREATE FUNCTION notifyops_private.ordered_v1(ids bigint[])
RETURNS TABLE (id bigint, reason_code text, generation integer, at timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, r.reason_code, r.generation, r.at FROM notifications_intent i CROSS JOIN LATERAL (
        SELECT l.reason_code, l.generation, l.at FROM notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'retried' ORDER BY l.seq DESC LIMIT 1
    ) r
    WHERE i.id = ANY (ids)
$$;

-- Which of these two persons ordered to be sent anew although they may have arrived, and have no new generation yet.
-- Each such order makes one: the next generation is beyond it. Good for half an hour, as an order on evidence is.
CREATE FUNCTION notifyops_private.forced_v1(ids bigint[], t timestamptz DEFAULT notifyops_private.clock_v1())
RETURNS TABLE (id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id FROM ordered_v1(ids) r JOIN notifications_intent i ON i.id = r.id
    WHERE i.manual AND r.reason_code = 'forced_resend' AND r.generation = i.generation
        AND r.at > t - interval '30 minutes'
$$;
