-- Lifts what a provider's word has put on the address of a notification: that it bounced, or is gone. In this site mode,
-- on its channel; gives what it lifted. A complaint, and a recipient's wish, is the recipient's own word and stays. A
-- claim that has begun does not see it, the next one does; a further bounce blocks anew. Who says so, and why, is kept by
-- the caller in the record of decisions (reviews_review), in this transaction.
CREATE FUNCTION notifyops_private.unblock_v1(intent bigint, actor_ text, here text)
RETURNS TABLE (reason text, since timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM person_only_v1('lifts a block', actor_);
    RETURN QUERY DELETE FROM notifications_deliveryblock b USING notifications_intent i, notifications_content c
    WHERE i.id = intent AND c.intent_id = i.id AND c.erased_at IS NULL AND b.commitment = c.commitment
      AND b.channel = i.channel AND b.scope IN ('', i.type) AND b.reason IN ('bounced', 'gone')
      AND b.site_mode IN ('', here)
    RETURNING b.reason::text, b.created_at;
END $$;
