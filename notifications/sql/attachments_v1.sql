-- Attachments by reference: what may be attached, where their bytes are kept, and who still needs them.

-- Bytes are kept once a workspace. They are what their key says, or they are not kept at all.
ALTER TABLE notifyops_private.notifications_blob
    ADD CONSTRAINT blob_is_its_hash CHECK (sha256(content) = sha256),
    -- Documents are compressed already: trying it again costs a second for 25 MB.
    ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TRIGGER only_grows BEFORE UPDATE ON notifyops_private.notifications_blob
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.refuse_change_v1();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON notifyops_private.notifications_blob
    FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.refuse_change_v1();
ALTER TABLE notifyops_private.notifications_blob ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE notifyops_private.notifications_blob ENABLE ALWAYS TRIGGER no_truncate;

-- The media types that go with a name's ending, the usual one first; NULL where the ending is none of these. A provider
-- may take a message whose file is of another type than its name says, and leave the file out without a word.
-- The same as notifications/policy/attachments.py, which a test compares.
CREATE FUNCTION notifyops_private.media_types_v1(ending text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN CASE ending
    WHEN 'pdf' THEN ARRAY['application/pdf'] WHEN 'rtf' THEN ARRAY['application/rtf', 'text/rtf']
    WHEN 'txt' THEN ARRAY['text/plain'] WHEN 'log' THEN ARRAY['text/plain'] WHEN 'csv' THEN ARRAY['text/csv']
    WHEN 'tsv' THEN ARRAY['text/tab-separated-values'] WHEN 'md' THEN ARRAY['text/markdown']
    WHEN 'html' THEN ARRAY['text/html'] WHEN 'htm' THEN ARRAY['text/html'] WHEN 'ics' THEN ARRAY['text/calendar']
    WHEN 'vcf' THEN ARRAY['text/vcard'] WHEN 'xml' THEN ARRAY['application/xml', 'text/xml']
    WHEN 'json' THEN ARRAY['application/json'] WHEN 'yaml' THEN ARRAY['application/yaml']
    WHEN 'zip' THEN ARRAY['application/zip'] WHEN 'gz' THEN ARRAY['application/gzip']
    WHEN '7z' THEN ARRAY['application/x-7z-compressed'] WHEN 'tar' THEN ARRAY['application/x-tar']
    WHEN 'doc' THEN ARRAY['application/msword'] WHEN 'xls' THEN ARRAY['application/vnd.ms-excel']
    WHEN 'ppt' THEN ARRAY['application/vnd.ms-powerpoint']
    WHEN 'docx' THEN ARRAY['application/vnd.openxmlformats-officedocument.wordprocessingml.document']
    WHEN 'xlsx' THEN ARRAY['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet']
    WHEN 'pptx' THEN ARRAY['application/vnd.openxmlformats-officedocument.presentationml.presentation']
    WHEN 'odt' THEN ARRAY['application/vnd.oasis.opendocument.text']
    WHEN 'ods' THEN ARRAY['application/vnd.oasis.opendocument.spreadsheet']
    WHEN 'odp' THEN ARRAY['application/vnd.oasis.opendocument.presentation']
    WHEN 'epub' THEN ARRAY['application/epub+zip'] WHEN 'p7s' THEN ARRAY['application/pkcs7-signature']
    WHEN 'png' THEN ARRAY['image/png'] WHEN 'jpg' THEN ARRAY['image/jpeg'] WHEN 'jpeg' THEN ARRAY['image/jpeg']
    WHEN 'gif' THEN ARRAY['image/gif'] WHEN 'webp' THEN ARRAY['image/webp'] WHEN 'svg' THEN ARRAY['image/svg+xml']
    WHEN 'tif' THEN ARRAY['image/tiff'] WHEN 'tiff' THEN ARRAY['image/tiff'] WHEN 'bmp' THEN ARRAY['image/bmp']
    WHEN 'heic' THEN ARRAY['image/heic'] WHEN 'avif' THEN ARRAY['image/avif']
    WHEN 'mp3' THEN ARRAY['audio/mpeg'] WHEN 'wav' THEN ARRAY['audio/wav', 'audio/x-wav'] WHEN 'ogg' THEN ARRAY['audio/ogg']
    WHEN 'm4a' THEN ARRAY['audio/mp4'] WHEN 'mp4' THEN ARRAY['video/mp4'] WHEN 'mov' THEN ARRAY['video/quicktime']
    WHEN 'webm' THEN ARRAY['video/webm']
END;

-- A name alone: no folder, nothing that ends a header or turns the reading direction, nothing that a system would cut.
CREATE FUNCTION notifyops_private.file_name_is_plain_v1(name text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(name) BETWEEN 1 AND 120 AND octet_length(name) <= 240 AND name !~ '[/\\:*?"<>|[:cntrl:]]'
    AND name !~ '[\u0080-\u009f\u2028-\u202e\u2066-\u2069\ufeff\ufffd]' AND name !~ '(^[ .]|[ .]$)', false);

-- As an address that is called, but longer: what signs a link makes it so.
CREATE FUNCTION notifyops_private.link_is_plain_v1(link text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(link) <= 4000 AND link ~ (
    '^https?://([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])'
    '(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9][0-9]|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?'
    '([/?]([A-Za-z0-9._~!$&''()*+,;=:/?-]|%[0-9A-Fa-f]{2})*)?$'), false);

-- Checks one; gives what is kept of it beside its bytes. No refusal repeats a name or a link: both may be personal.
CREATE FUNCTION notifyops_private.check_attachment_v1(given jsonb, place text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    known CONSTANT text[] := ARRAY['name', 'media_type', 'size', 'sha256', 'url', 'content'];
    field record;
    ending text;
    fits text[];
    bytes bytea;
BEGIN
    IF jsonb_typeof(given) <> 'object' THEN
        PERFORM refuse_v1('NO400', 'an attachment must be a JSON object', format('field: %s', place),
            'Known: ' || array_to_string(known, ', ') || '.');
    END IF;
    FOR field IN SELECT key, jsonb_typeof(value) AS type FROM jsonb_each(given) LOOP
        IF NOT field.key = ANY (known) THEN
            PERFORM refuse_v1('NO400', 'an attachment has an unknown field', format('field: %s', place),
                'Known: ' || array_to_string(known, ', ') || '.');
        ELSIF field.type <> (CASE field.key WHEN 'size' THEN 'number' ELSE 'string' END)
              AND NOT (field.type = 'null' AND field.key IN ('url', 'content')) THEN
            PERFORM refuse_v1('NO400', format('an attachment''s %s must be a %s', field.key,
                CASE field.key WHEN 'size' THEN 'number' ELSE 'string' END), format('field: %s.%s', place, field.key),
                'Only the size is a number, in bytes.');
        END IF;
    END LOOP;
    IF NOT file_name_is_plain_v1(given ->> 'name') THEN
        PERFORM refuse_v1('NO400', 'an attachment''s name is not one plain file name', format('field: %s.name', place),
            'Give 1 to 120 characters such as report.pdf: no folder, none of \ / : * ? " < > |, no control character, no '
            'blank or dot at an end.');
    END IF;
    ending := CASE WHEN position('.' IN given ->> 'name') > 0 THEN lower(substring(given ->> 'name' FROM '[^.]*$')) END;
    fits := coalesce(media_types_v1(ending), ARRAY['application/octet-stream']);
    IF NOT coalesce(given ->> 'media_type' = ANY (fits), false) THEN
        PERFORM refuse_v1('NO400', 'an attachment''s media type does not fit the ending of its name',
            format('field: %s.media_type', place), CASE WHEN media_types_v1(ending) IS NULL
                THEN 'A name whose ending is not in the list of docs/attachments.md goes with application/octet-stream.'
                ELSE format('A name that ends in .%s goes with %s, without parameters.', ending, array_to_string(fits, ' or ')) END);
    ELSIF NOT coalesce((given ->> 'size') ~ '^[0-9]{1,12}$' AND given ->> 'size' <> '0', false) THEN
        PERFORM refuse_v1('NO400', 'an attachment''s size is not a whole number of bytes above 0',
            format('field: %s.size', place), 'Give the number of bytes of the file itself, before any encoding.');
    ELSIF NOT coalesce((given ->> 'sha256') ~ '^[0-9a-f]+$' AND length(given ->> 'sha256') = 64, false) THEN
        PERFORM refuse_v1('NO400', 'an attachment''s sha256 is not 64 hexadecimal digits in lower case',
            format('field: %s.sha256', place), 'Give the SHA-256 of the file itself, as sha256sum prints it.');
    ELSIF (given ->> 'url' IS NULL) = (given ->> 'content' IS NULL) THEN
        PERFORM refuse_v1('NO400', 'an attachment must have either a url or content', format('field: %s', place),
            'Give the address that its bytes are fetched from, or the bytes themselves in base64.');
    ELSIF given ->> 'url' IS NOT NULL AND NOT link_is_plain_v1(given ->> 'url') THEN
        PERFORM refuse_v1('NO400', 'an attachment''s url is not one plain address', format('field: %s.url', place),
            'Give one such as https://files.example.com/q3.pdf, at most 4,000 characters: host in lower case, no login, '
            'no @, no part behind a #.');
    END IF;
    IF given ->> 'content' IS NOT NULL THEN
        -- Before the decoding: what is far too long is not worth it. Three bytes are four characters.
        IF length(given ->> 'content') > 14000000 THEN
            PERFORM refuse_v1('NO413', 'attachments with content of more than 10,000,000 bytes', format('field: %s', place),
                'Give a url for the larger ones.');
        END IF;
        BEGIN
            bytes := decode(given ->> 'content', 'base64');
        EXCEPTION WHEN data_exception THEN
            PERFORM refuse_v1('NO400', 'an attachment''s content is not base64', format('field: %s.content', place),
                'Encode the bytes of the file itself by RFC 4648, with + and /.');
        END;
        IF octet_length(bytes) <> (given ->> 'size')::bigint THEN
            PERFORM refuse_v1('NO400', format('an attachment''s content has %s bytes, and its size says %s',
                octet_length(bytes), given ->> 'size'), format('field: %s.size', place),
                'Give the number of bytes of the file itself, before any encoding.');
        ELSIF sha256(bytes) <> decode(given ->> 'sha256', 'hex') THEN
            PERFORM refuse_v1('NO400', 'an attachment''s content has another SHA-256 than it says',
                format('field: %s.sha256', place), 'Give the SHA-256 of the file itself, before any encoding.');
        END IF;
    END IF;
    RETURN jsonb_strip_nulls(given - 'content');
END $$;

-- Checks all of them; gives what is kept beside their bytes, NULL where there are none.
CREATE FUNCTION notifyops_private.check_attachments_v1(wanted jsonb, channel text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    item record;
    kept jsonb := '[]';
    inlined bigint := 0;
BEGIN
    IF wanted IS NULL OR wanted IN ('null', '[]') THEN
        RETURN NULL;
    ELSIF jsonb_typeof(wanted) <> 'array' THEN
        PERFORM refuse_v1('NO400', 'attachments must be a JSON array of objects', 'field: options.attachments',
            'Give [{"name": …, "media_type": …, "size": …, "sha256": …, "url": …}].');
    ELSIF is_called_v1(channel) THEN
        PERFORM refuse_v1('NO400', format('channel "%s" carries no attachments', left(channel, 32)),
            'field: options.attachments', 'Put a link into data instead.');
    ELSIF jsonb_array_length(wanted) > 10 THEN
        PERFORM refuse_v1('NO413', 'more than 10 attachments', 'field: options.attachments',
            'Put them into one archive, or put links into data.');
    END IF;
    FOR item IN SELECT value AS v, ordinality - 1 AS place FROM jsonb_array_elements(wanted) WITH ORDINALITY LOOP
        kept := kept || check_attachment_v1(item.v, format('options.attachments[%s]', item.place));
        IF item.v ->> 'content' IS NOT NULL THEN
            inlined := inlined + (item.v ->> 'size')::bigint;
        END IF;
    END LOOP;
    IF attached_bytes_v1(kept) > 25000000 THEN
        PERFORM refuse_v1('NO413', 'attachments of more than 25,000,000 bytes together', 'field: options.attachments',
            'Put links to the larger ones into data.');
    ELSIF inlined > 10000000 THEN
        PERFORM refuse_v1('NO413', 'attachments with content of more than 10,000,000 bytes',
            'field: options.attachments', 'Give a url for the larger ones.');
    ELSIF (SELECT count(DISTINCT lower(a ->> 'name')) FROM jsonb_array_elements(kept) AS a) < jsonb_array_length(kept) THEN
        PERFORM refuse_v1('NO400', 'two attachments have the same name', 'field: options.attachments',
            'Name them apart: a mail program would keep the last of them alone.');
    END IF;
    RETURN kept;
END $$;

-- How many bytes all of them have, before any encoding.
CREATE FUNCTION notifyops_private.attached_bytes_v1(kept jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(sum((a ->> 'size')::bigint), 0)::bigint FROM jsonb_array_elements(kept) AS a
$$;

-- What a wish is compared by: not where the bytes lie, since a signed link is another one at each call.
CREATE FUNCTION notifyops_private.attachments_print_v1(kept jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT field_v1('attachments') || string_agg(field_v1(a ->> 'name') || field_v1(a ->> 'media_type')
        || field_v1(a ->> 'size') || field_v1(a ->> 'sha256'), '' ORDER BY n)
    FROM jsonb_array_elements(kept) WITH ORDINALITY AS u(a, n)
$$;

-- Keeps the bytes that came with a call, and holds them until its transaction ends: an erasure of the last other one who
-- needs them waits for this one.
CREATE FUNCTION notifyops_private.keep_contents_v1(space text, wanted jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT DISTINCT ON (a ->> 'sha256') decode(a ->> 'sha256', 'hex') AS hash, a ->> 'content' AS said
                FROM jsonb_array_elements(wanted) AS a WHERE a ->> 'content' IS NOT NULL ORDER BY a ->> 'sha256' LOOP
        LOOP
            PERFORM FROM notifications_blob b WHERE b.workspace = space AND b.sha256 = item.hash FOR KEY SHARE;
            EXIT WHEN FOUND;
            INSERT INTO notifications_blob (workspace, sha256, content)
            VALUES (space, item.hash, decode(item.said, 'base64')) ON CONFLICT DO NOTHING;
        END LOOP;
    END LOOP;
END $$;

-- Keeps bytes that a worker has fetched, where a notification of that workspace still wants them; says whether it does.
-- The lock makes an erasure wait, which then finds them; after an erasure nobody wants them any more.
CREATE FUNCTION notifyops_private.keep_fetched_v1(intent bigint, bytes bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    space text;
    hash bytea := sha256(bytes);
BEGIN
    SELECT i.workspace INTO space FROM notifications_content c JOIN notifications_intent i ON i.id = c.intent_id
    WHERE c.intent_id = intent AND c.attachments @> jsonb_build_array(jsonb_build_object('sha256', encode(hash, 'hex')))
    FOR SHARE OF c;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO notifications_blob (workspace, sha256, content) VALUES (space, hash, bytes) ON CONFLICT DO NOTHING;
    RETURN true;
END $$;

-- Erases the bytes that only these had attached, whose content is erased in this transaction.
CREATE FUNCTION notifyops_private.forget_blobs_v1(space text, hashes bytea[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    -- First the locks: whoever is attaching the same bytes just now is waited for, and seen by the next statement.
    PERFORM FROM notifications_blob b WHERE b.workspace = space AND b.sha256 = ANY (hashes) ORDER BY b.sha256 FOR UPDATE;
    DELETE FROM notifications_blob b WHERE b.workspace = space AND b.sha256 = ANY (hashes) AND NOT EXISTS (
        SELECT FROM notifications_content c JOIN notifications_intent i ON i.id = c.intent_id
        WHERE i.workspace = space
          AND c.attachments @> jsonb_build_array(jsonb_build_object('sha256', encode(b.sha256, 'hex'))));
END $$;

-- One row per attachment, for as long as the content is kept. Never a name or an address: both may be personal.
CREATE VIEW notifyops.attachments AS
SELECT i.notification_id AS id, i.workspace, a.n::int AS place, a.value ->> 'media_type' AS media_type,
    (a.value ->> 'size')::bigint AS size, a.value ->> 'sha256' AS sha256,
    EXISTS (SELECT FROM notifyops_private.notifications_blob b
            WHERE b.workspace = i.workspace AND b.sha256 = decode(a.value ->> 'sha256', 'hex')) AS is_here,
    i.id AS intent_id
FROM notifyops_private.notifications_content c
JOIN notifyops_private.notifications_intent i ON i.id = c.intent_id
CROSS JOIN LATERAL jsonb_array_elements(c.attachments) WITH ORDINALITY AS a(value, n);
