-- Whose notification it is, and which notifications are one matter: what guards, intake and doctor all ask.

-- Whose name it is, by whichever way they came: `olga`, `user:olga` and `cli:olga@host` are one person. The same as
-- reviews/person.py, which a test compares.
CREATE FUNCTION notifyops_private.identity_v1(actor text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN lower(regexp_replace(regexp_replace(actor, '^cli:(.*)@[^@]*$', '\1'), '^user:', ''));

-- The key that a caller gave: `demo~a3`, the demo with its address corrected twice, is `demo` to its caller. `~` is
-- outside the callers' alphabet, so that no caller's key looks like one of ours.
CREATE FUNCTION notifyops_private.base_key_v1(key text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN regexp_replace(key, '~a[0-9]+$', '');

-- All notifications of one caller's key: its own, and those with a corrected address. Two short ranges of the keys.
CREATE FUNCTION notifyops_private.line_v1(any_key text, space text) RETURNS TABLE (key text, intent_id bigint)
LANGUAGE sql STABLE ROWS 2 SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT k.key::text, k.intent_id FROM notifications_intentkey k
    WHERE k.key = base_key_v1(any_key) AND k.workspace = space
    UNION ALL
    SELECT k.key::text, k.intent_id FROM notifications_intentkey k
    WHERE k.key > base_key_v1(any_key) || '~a' AND k.key < base_key_v1(any_key) || '~b' AND k.workspace = space
$$;

-- The one of them that is still open, or else the newest: what a caller means who names the key.
CREATE FUNCTION notifyops_private.heir_v1(any_key text, space text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT l.intent_id FROM line_v1(any_key, space) l LEFT JOIN notifications_intent i ON i.id = l.intent_id
    ORDER BY coalesce(i.state IN ('closed', 'cancelled'), true), length(l.key) DESC, l.key DESC LIMIT 1
$$;
