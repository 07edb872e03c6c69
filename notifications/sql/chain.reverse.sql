DROP FUNCTION notifyops_private.entry_hash_v1(bytea, bigint, integer, timestamptz, text, text, text, integer, integer,
    text, integer, text, text, text, text, integer, integer, text, text, text, jsonb);
DROP FUNCTION notifyops_private.genesis_v1(bigint, text, text, text, text, text, text, timestamptz);
DROP FUNCTION notifyops_private.micros_v1(timestamptz);
DROP FUNCTION notifyops_private.field_v1(text);
