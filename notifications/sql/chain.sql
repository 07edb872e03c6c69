-- One field of a hashed entry: its length and its bytes, so that no two lists of fields ever read alike.
CREATE FUNCTION notifyops_private.field_v1(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(octet_length(value)::text || ':' || value, '-');

-- Time as whole microseconds since 1970, the only form of a time that is hashed.
CREATE FUNCTION notifyops_private.micros_v1(at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM at) * 1000000)::bigint::text;

-- The first link of an intent's chain: sha256 over its identity.
CREATE FUNCTION notifyops_private.genesis_v1(
    id bigint, notification_id text, key_suffix text, report_id text, type text, channel text, workspace text,
    created_at timestamptz
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256(convert_to('notifyops:1' || concat(
    notifyops_private.field_v1(id::text), notifyops_private.field_v1(notification_id),
    notifyops_private.field_v1(key_suffix), notifyops_private.field_v1(report_id), notifyops_private.field_v1(type),
    notifyops_private.field_v1(channel), notifyops_private.field_v1(workspace),
    notifyops_private.field_v1(notifyops_private.micros_v1(created_at))), 'UTF8'));

-- The hash of one entry: version, previous hash, then every column of the entry in the table's order.
CREATE FUNCTION notifyops_private.entry_hash_v1(
    prev bytea, intent_id bigint, seq integer, at timestamptz, kind text, from_state text, to_state text,
    attempt integer, generation integer, trigger text, fence integer, worker text, outcome text, code text, phase text,
    http_status integer, duration_ms integer, provider_message_id text, actor text, reason_code text, detail jsonb
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256('\x01'::bytea || prev || convert_to(concat(
    notifyops_private.field_v1(intent_id::text), notifyops_private.field_v1(seq::text),
    notifyops_private.field_v1(notifyops_private.micros_v1(at)), notifyops_private.field_v1(kind),
    notifyops_private.field_v1(from_state), notifyops_private.field_v1(to_state),
    notifyops_private.field_v1(attempt::text), notifyops_private.field_v1(generation::text),
    notifyops_private.field_v1(trigger), notifyops_private.field_v1(fence::text), notifyops_private.field_v1(worker),
    notifyops_private.field_v1(outcome), notifyops_private.field_v1(code), notifyops_private.field_v1(phase),
    notifyops_private.field_v1(http_status::text), notifyops_private.field_v1(duration_ms::text),
    notifyops_private.field_v1(provider_message_id), notifyops_private.field_v1(actor),
    notifyops_private.field_v1(reason_code), notifyops_private.field_v1(detail::text)), 'UTF8'));
