"""Adopting a database for a site: on installing it, and by a person after it was copied or restored."""

from __future__ import annotations

from django.db import connections

# What a word of `site_trouble_v1` means, and what to do.
_ADOPT = "Make sure that no other installation sends from a copy of it, then run manage.py notify adopt-site."
_RECOVER = (
    "Run manage.py notify recover, which shows what it will ask about; where nothing can be missing, notify recover "
    "--waive with the reason."
)
TROUBLES = {
    "not_adopted": f"No site has taken this database as its own. {_ADOPT}",
    "other_site": f"This database belongs to another site than NOTIFYOPS_SITE says. {_ADOPT}",
    "copied": f"This database is a copy: its server is another than when it was adopted, and what was sent since may "
    f"be missing from it. Make sure that nobody sends from the old one. {_RECOVER}",
    "restored": "This database was restored or its standby promoted: what was sent last may be missing from it. "
    f"{_RECOVER}",
    "recovering": "A recovery is under way: the provider is asked about all that may have been sent already. See how "
    "far it is with manage.py notify recover, or end it with --waive and a reason.",
}
TROUBLE = "SELECT notifyops_private.site_trouble_v1(%s)"
_ADOPTION = """
INSERT INTO notifyops_private.notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
SELECT %(site)s, coalesce(a.system_identifier, h.system_identifier), coalesce(a.timeline, h.timeline),
    coalesce(a.database, h.database), %(actor)s, %(reason)s
FROM notifyops_private.site_here_v1() h
LEFT JOIN LATERAL (
    SELECT s.* FROM notifyops_private.notifications_siteadoption s ORDER BY s.id DESC LIMIT 1
) a ON true
"""
_FIRST = " WHERE NOT EXISTS (SELECT FROM notifyops_private.notifications_siteadoption)"


def trouble(site: str, *, using: str = "default") -> str | None:
    """Give the word for why `site` may not send from this database, a key of TROUBLES; None where it may."""
    with connections[using].cursor() as cursor:
        cursor.execute(TROUBLE, [site])
        row = cursor.fetchone()
    return None if row is None or row[0] is None else str(row[0])


def adopt(site: str, *, actor: str, reason: str, using: str = "default", only_first: bool = False) -> bool:
    """Record that `site` takes the database; give whether a row was written.

    Another site's passes to it with the place where that one had it: a copy stays one until it is recovered or waived.
    `only_first` writes nothing where any site has adopted it before: what an installation does by itself.
    """
    with connections[using].cursor() as cursor:
        values = {"site": site, "actor": actor, "reason": reason}
        cursor.execute(_ADOPTION + (_FIRST if only_first else ""), values)
        return bool(cursor.rowcount)
