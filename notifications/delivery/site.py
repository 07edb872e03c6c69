"""Adopting a database for a site: on installing it, and by a person after it was copied or restored."""

from __future__ import annotations

from django.db import connections

# What a word of `site_trouble_v1` means, and what to do.
_ADOPT = "Make sure that no other installation sends from a copy of it, then run manage.py notify adopt-site."
TROUBLES = {
    "not_adopted": f"No site has taken this database as its own. {_ADOPT}",
    "other_site": f"This database belongs to another site than NOTIFYOPS_SITE says. {_ADOPT}",
    "copied": f"This database is a copy: its server is another than when it was adopted. {_ADOPT}",
    "restored": "This database was restored or its standby promoted: what was sent last may be missing from it. "
    "That goes out again: within a day under the same key, later as a second message. Cancel what must not, then run "
    "manage.py notify adopt-site.",
}
TROUBLE = "SELECT notifyops_private.site_trouble_v1(%s)"
_ADOPTION = """
INSERT INTO notifyops_private.notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
SELECT %(site)s, h.system_identifier, h.timeline, h.database, %(actor)s, %(reason)s
FROM notifyops_private.site_here_v1() h
"""
_FIRST = " WHERE NOT EXISTS (SELECT FROM notifyops_private.notifications_siteadoption)"


def trouble(site: str, *, using: str = "default") -> str | None:
    """Give the word for why `site` may not send from this database, a key of TROUBLES; None where it may."""
    with connections[using].cursor() as cursor:
        cursor.execute(TROUBLE, [site])
        row = cursor.fetchone()
    return None if row is None or row[0] is None else str(row[0])


def adopt(site: str, *, actor: str, reason: str, using: str = "default", only_first: bool = False) -> bool:
    """Record that `site` takes the database as it stands here and now; give whether a row was written.

    `only_first` writes nothing where any site has adopted it before: what an installation does by itself.
    """
    with connections[using].cursor() as cursor:
        values = {"site": site, "actor": actor, "reason": reason}
        cursor.execute(_ADOPTION + (_FIRST if only_first else ""), values)
        return bool(cursor.rowcount)
