-- Leaves addresses alone on the channel of the named intents, each for its reason: `bounced`, `complained` or `gone`.
--
-- The graver reason stays, a recipient's own wish is never overwritten, and a repeat is nothing. What was redirected
-- went to our own address: its bounce says nothing of the recipient's. A block holds in the site mode that the message
-- was made in: the sandbox's invented bounces must not keep mail from people, nor a person's from the sandbox. Of what a
-- restored database has forgotten to have made, that is the mode in which the recovery ran, or else that of the newest
-- generation that it knows.
CREATE FUNCTION notifyops_private.block_v1(ids bigint[], generations integer[], reasons text[]) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    INSERT INTO notifications_deliveryblock AS b (channel, commitment, scope, reason, site_mode)
    SELECT DISTINCT ON (c.commitment, i.channel, m.mode) i.channel, c.commitment, '', u.reason, m.mode
    FROM unnest(ids, generations, reasons) AS u(id, generation, reason)
    JOIN notifications_intent i ON i.id = u.id
    JOIN notifications_content c ON c.intent_id = i.id AND c.erased_at IS NULL
    CROSS JOIN LATERAL (
        SELECT coalesce((SELECT p.site_mode FROM notifications_prepared p
                         WHERE p.intent_id = i.id AND p.generation = u.generation),
            (SELECT l.detail ->> 'mode' FROM notifications_logentry l
             WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'restored' AND l.detail ? 'mode'
             ORDER BY l.seq DESC LIMIT 1),
            (SELECT p.site_mode FROM notifications_prepared p
             WHERE p.intent_id = i.id ORDER BY p.generation DESC LIMIT 1),
            '') AS mode
    ) m
    WHERE m.mode <> 'redirect'
    ORDER BY c.commitment, i.channel, m.mode, u.reason DESC
    ON CONFLICT (commitment, channel, scope, site_mode) DO UPDATE SET reason = excluded.reason
    WHERE b.reason = 'bounced' AND excluded.reason = 'complained'
$$;
