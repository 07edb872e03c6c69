-- Addresses that no mail goes to. Channels whose name is `sms`, or begins with `sms-`, have phone numbers; `telegram` and
-- `telegram-…` have chats. The forms are those of notifications/policy/phones.py, which a test compares.

CREATE OR REPLACE FUNCTION notifyops_private.is_phone_v1(channel text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN split_part(channel, '-', 1) = 'sms';

CREATE OR REPLACE FUNCTION notifyops_private.is_chat_v1(channel text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN split_part(channel, '-', 1) = 'telegram';

-- One way of writing it, since a block and a comparison know an address by its letters.
CREATE OR REPLACE FUNCTION notifyops_private.phone_is_plain_v1(recipient text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(length(btrim(recipient)) BETWEEN 9 AND 16 AND btrim(recipient) ~ '^\+[1-9][0-9]+$', false);

CREATE OR REPLACE FUNCTION notifyops_private.chat_is_plain_v1(recipient text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(CASE left(btrim(recipient), 1)
    WHEN '@' THEN length(btrim(recipient)) BETWEEN 5 AND 33 AND btrim(recipient) ~ '^@[A-Za-z][A-Za-z0-9_]+$'
    ELSE length(ltrim(btrim(recipient), '-')) <= 16 AND btrim(recipient) ~ '^-?[1-9][0-9]*$' END, false);

CREATE OR REPLACE FUNCTION notifyops_private.check_phone_v1(recipient text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT phone_is_plain_v1(recipient) THEN
        PERFORM refuse_v1('NO400', 'recipient is not one plain phone number', 'field: recipient',
            'Give one such as +447700900123: + and the country code, 8 to 15 digits, no blank, dash or bracket.');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION notifyops_private.check_chat_v1(recipient text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT chat_is_plain_v1(recipient) THEN
        PERFORM refuse_v1('NO400', 'recipient is not one plain chat of Telegram', 'field: recipient',
            'Give its number, such as 123456789 or -1001234567890, or a public channel such as @acme_news.');
    END IF;
END $$;
