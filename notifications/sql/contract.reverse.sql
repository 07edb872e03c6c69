DROP FUNCTION notifyops.explain(text, text);
DROP FUNCTION notifyops.status(text, text);
DROP VIEW notifyops.attempts;
DROP VIEW notifyops.log;
DROP VIEW notifyops.intents;
DROP FUNCTION notifyops.cancel(text, text, text);
DROP FUNCTION notifyops.enqueue_many(jsonb);
DROP FUNCTION notifyops.enqueue(text, text, text, jsonb, jsonb);
DROP FUNCTION notifyops.api_version();
