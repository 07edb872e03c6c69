-- Addresses that are called instead of written to: channels whose name is `webhook`, or begins with `webhook-`.

CREATE OR REPLACE FUNCTION notifyops_private.is_called_v1(channel text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN split_part(channel, '-', 1) = 'webhook';

-- The one form that is kept, since a block and a comparison know an address by its letters. The same as
-- notifications/policy/endpoints.py, which a test compares. No @ anywhere: address_v1 parts an address there.
CREATE OR REPLACE FUNCTION notifyops_private.url_is_plain_v1(recipient text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(btrim(recipient)) <= 1000 AND btrim(recipient) ~ (
    '^https?://([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])'
    '(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9][0-9]|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?'
    '([/?]([A-Za-z0-9._~!$&''()*+,;=:/?-]|%[0-9A-Fa-f]{2})*)?$'), false);

CREATE OR REPLACE FUNCTION notifyops_private.check_url_v1(recipient text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT url_is_plain_v1(recipient) THEN
        PERFORM refuse_v1('NO400', 'recipient is not one plain address to call', 'field: recipient',
            'Give one such as https://hooks.example.com/in: host in lower case, no login, no @, no part behind a #.');
    END IF;
END $$;
