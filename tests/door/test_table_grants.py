"""Which role may do what with which table, as a table: a new grant is a decision that is made here.

`r` reads, `a` adds, `w` changes, `d` deletes; behind a colon stand the only columns that may be changed, behind an
equals sign the only ones that may be read. Nobody truncates, references, or makes a trigger. What a role has nothing of
is not listed.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

Owner = psycopg.Connection[Any]

# Read by the console and the cluster, written by functions alone.
READ: Final = {"worker": "r", "web": "r"}
# Settings, people, and the console's own rows.
SETTINGS: Final = {"worker": "r", "web": "rawd"}
# Who may log in, and with what: no business of what delivers.
LOGIN: Final = {"web": "rawd"}
# The cluster's own.
CLUSTER: Final = {"worker": "rawd", "web": "r"}
# Circuits, questions, runs, and how far an endpoint was fed.
SHARED: Final = {"worker": "rawd", "web": "rawd"}
# Records of what people did, which only grow.
RECORD: Final = {"worker": "r", "web": "ra"}
# What applications may see of their notifications.
CONTRACT: Final = {"worker": "r", "web": "r", "reader": "r"}
MAY: Final[dict[str, dict[str, str]]] = {
    "auth_permission": READ,
    "django_content_type": READ,
    "django_migrations": READ,
    "feed_horizon": READ,
    "move": READ,
    "notifications_apitokenuse": READ,
    "notifications_blob": READ,
    "notifications_content": READ,
    "notifications_doorrole": READ,
    "notifications_intent": READ,
    "notifications_intentkey": READ,
    "notifications_logentry": READ,
    "notifications_notificationtype": READ,
    "notifications_prepared": READ,
    "notifications_providerevent": READ,
    "notifications_ratebucket": READ,
    "notifications_typerevision": READ,
    "notifications_workspacegrant": READ,
    "auth_group": SETTINGS,
    "auth_group_permissions": SETTINGS,
    # What a bulk run's owner may do by now, and nothing of how she logs in.
    "auth_user": {"worker": "=id is_active is_superuser username", "web": "rawd"},
    "auth_user_groups": SETTINGS,
    "auth_user_user_permissions": SETTINGS,
    "notifications_feedendpoint": SETTINGS,
    "notifications_provideraccount": SETTINGS,
    "reviews_approvalrequest": SETTINGS,
    "reviews_bulkrun": SETTINGS,
    "reviews_hold": SETTINGS,
    "reviews_presence": SETTINGS,
    "reviews_savedview": SETTINGS,
    "notifications_apitoken": LOGIN,
    "django_admin_log": LOGIN,
    "axes_accessattempt": LOGIN,
    "axes_accessattemptexpiration": LOGIN,
    "axes_accessfailurelog": LOGIN,
    "axes_accesslog": LOGIN,
    "django_session": LOGIN,
    "otp_static_staticdevice": LOGIN,
    "otp_static_statictoken": LOGIN,
    "otp_totp_totpdevice": LOGIN,
    "django_q_ormq": CLUSTER,
    "django_q_schedule": CLUSTER,
    "django_q_task": CLUSTER,
    "notifications_fetch": CLUSTER,
    "notifications_workerbeat": CLUSTER,
    "notifications_circuit": SHARED,
    "notifications_feedcursor": SHARED,
    "notifications_question": SHARED,
    "notifications_run": SHARED,
    "notifications_runitem": SHARED,
    "notifications_configrevision": RECORD,
    "notifications_siteadoption": RECORD,
    "reviews_accessrecord": RECORD,
    "reviews_note": RECORD,
    "attachments": CONTRACT,
    "attempts": CONTRACT,
    "intents": CONTRACT,
    "log": CONTRACT,
    "notifications_deliveryblock": {"worker": "ra:reason", "web": "r"},
    "notifications_parkedreceipt": {"worker": "rd:due_at", "web": "r"},
    "notifications_pause": {"worker": "r", "web": "ra:resume_reason resumed_at resumed_by"},
    "notifications_recovery": {"worker": "r:marked_at marked_count", "web": "r"},
    "notifications_recoverylist": {"worker": "ra:code cursor done_at", "web": "r"},
    "notifications_unknownmail": {"worker": "ra", "web": "r"},
    "reviews_bulkitem": {"worker": "r:code outcome released_at seq_after settled_at", "web": "ra"},
    "reviews_review": {"worker": "ra", "web": "ra"},
}
_RIGHTS: Final = """
SELECT c.relname, r.role,
    concat(CASE WHEN has_table_privilege(n.login, c.oid, 'SELECT') THEN 'r' END,
        CASE WHEN has_table_privilege(n.login, c.oid, 'INSERT') THEN 'a' END,
        CASE WHEN has_table_privilege(n.login, c.oid, 'UPDATE') THEN 'w' END,
        CASE WHEN has_table_privilege(n.login, c.oid, 'DELETE') THEN 'd' END,
        CASE WHEN has_table_privilege(n.login, c.oid, 'TRUNCATE, REFERENCES, TRIGGER') THEN '!' END,
        (SELECT ':' || string_agg(a.attname, ' ' ORDER BY a.attname) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           AND NOT has_table_privilege(n.login, c.oid, 'UPDATE')
           AND has_column_privilege(n.login, c.oid, a.attnum, 'UPDATE')),
        (SELECT '=' || string_agg(a.attname, ' ' ORDER BY a.attname) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           AND NOT has_table_privilege(n.login, c.oid, 'SELECT')
           AND has_column_privilege(n.login, c.oid, a.attnum, 'SELECT')))
FROM pg_class c CROSS JOIN unnest(ARRAY['worker', 'web', 'writer', 'reader']) AS r(role)
CROSS JOIN LATERAL (SELECT 'notifyops_test_' || r.role AS login) n
WHERE c.relnamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace) AND c.relkind IN ('r', 'p', 'v')
  AND NOT (c.relispartition AND c.relname LIKE 'notifications\\_logentry\\_p%')
"""


def rights(admin: Owner) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table, role, may in admin.execute(_RIGHTS).fetchall():
        if may:
            found.setdefault(table, {})[role] = may
    return found


def test_each_role_may_read_and_change_what_it_needs_and_nothing_else(admin: Owner) -> None:
    assert rights(admin) == MAY
