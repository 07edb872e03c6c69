"""Migrations read their SQL from files, so that a function is reviewed where it stands."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

_FOLDER = Path(__file__).parent / "sql"


def run_sql(name: str, reverse: str | None = None) -> migrations.RunSQL:
    """Run sql/<name>.sql; the way back is the older version's file, or <name>.reverse.sql."""
    back = f"{reverse or name + '.reverse'}.sql"
    return migrations.RunSQL((_FOLDER / f"{name}.sql").read_text("utf-8"), (_FOLDER / back).read_text("utf-8"))
