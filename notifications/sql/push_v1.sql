-- Addresses of browsers: channels whose name is `push`, or begins with `push-`.
-- OR REPLACE: the way back leaves them.

CREATE OR REPLACE FUNCTION notifyops_private.is_pushed_v1(channel text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN split_part(channel, '-', 1) = 'push';

-- The one form that is kept, of what a browser gives as JSON; any other text as it is. The same as
-- notifications/policy/subscriptions.py, which a test compares.
CREATE OR REPLACE FUNCTION notifyops_private.push_address_v1(recipient text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    plain text := btrim(recipient);
    told jsonb;
BEGIN
    IF left(plain, 1) IS DISTINCT FROM '{' OR length(plain) > 4000 THEN
        RETURN plain;
    END IF;
    BEGIN
        told := plain::jsonb;
    EXCEPTION WHEN data_exception OR statement_too_complex THEN
        RETURN plain;
    END;
    IF jsonb_typeof(told -> 'endpoint') IS DISTINCT FROM 'string'
        OR jsonb_typeof(told #> '{keys,p256dh}') IS DISTINCT FROM 'string'
        OR jsonb_typeof(told #> '{keys,auth}') IS DISTINCT FROM 'string' THEN
        RETURN plain;
    END IF;
    RETURN (told ->> 'endpoint') || '#' || translate(rtrim(told #>> '{keys,p256dh}', '='), '+/', '-_')
        || '.' || translate(rtrim(told #>> '{keys,auth}', '='), '+/', '-_');
END $$;

-- Whether 65 bytes in base64url are a point of the curve P-256 (SP 800-186 section 3.2.1.3): for any other nothing could
-- be encrypted, and that is better said to the caller than found out by a worker.
CREATE OR REPLACE FUNCTION notifyops_private.on_p256_v1(key text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p CONSTANT numeric := 115792089210356248762697446949407573530086143415290314195533631308867097853951;
    b CONSTANT numeric := 41058363725152142129326129780047268409114441015993725554835256314039467401291;
    point bytea := decode(translate(key, '-_', '+/') || '=', 'base64');
    x numeric := 0;
    y numeric := 0;
BEGIN
    FOR k IN 0..7 LOOP
        x := x * 4294967296 + ('x' || encode(substr(point, 2 + 4 * k, 4), 'hex'))::bit(32)::bigint;
        y := y * 4294967296 + ('x' || encode(substr(point, 34 + 4 * k, 4), 'hex'))::bit(32)::bigint;
    END LOOP;
    RETURN x < p AND y < p AND mod(y * y - x * x * x + 3 * x - b, p) = 0;
END $$;

-- Endpoint, `#`, p256dh, `.`, auth. The last letter of each key holds unused bits, which must be nought: two ways to write
-- one key would be two addresses. No @ anywhere: address_v1 parts an address there.
CREATE OR REPLACE FUNCTION notifyops_private.subscription_is_plain_v1(recipient text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    endpoint text := split_part(btrim(recipient), '#', 1);
    keys text := split_part(btrim(recipient), '#', 2);
BEGIN
    IF NOT coalesce(length(btrim(recipient)) <= 1000 AND btrim(recipient) = endpoint || '#' || keys
        AND endpoint ~ '^https://[^[]' AND strpos(endpoint, ' ') = 0 AND url_is_plain_v1(endpoint)
        AND length(keys) = 110 AND strpos(keys, '.') = 88
        AND keys ~ '^B[A-P][A-Za-z0-9_-]*[AEIMQUYcgkosw048]\.[A-Za-z0-9_-]*[AQgw]$', false) THEN
        RETURN false;
    END IF;
    RETURN on_p256_v1(left(keys, 87));
END $$;

CREATE OR REPLACE FUNCTION notifyops_private.check_subscription_v1(recipient text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT subscription_is_plain_v1(recipient) THEN
        PERFORM refuse_v1('NO400', 'recipient is not one push subscription', 'field: recipient',
            'Give the JSON of the browser''s subscription: an endpoint that begins with https://, and both keys.');
    END IF;
END $$;
