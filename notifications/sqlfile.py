"""Migrations read their SQL from files, so that a function is reviewed where it stands."""

from __future__ import annotations

import re
from pathlib import Path

from django.db import migrations

_FOLDER = Path(__file__).parent / "sql"


_FUNCTION = r"^CREATE (?:OR REPLACE )?FUNCTION {name}\(.*?^(?:END )?\$\$;$"


_DROP = """
DO $do$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace::regnamespace::text || '.' || p.proname = '{name}' LOOP
        EXECUTE format('DROP FUNCTION %s', f);
    END LOOP;
END $do$;
"""


def remade(file: str, *names: str) -> list[migrations.RunSQL]:
    """As `renewed`, where what the functions take or give has changed: whatever bears such a name goes first."""
    dropped = "".join(_DROP.format(name=name) for name in names)
    return [migrations.RunSQL(dropped, migrations.RunSQL.noop), renewed(file, *names)]


def renewed(file: str, *names: str) -> migrations.RunSQL:
    """Bring functions of sql/<file>.sql to what stands there now, where an older migration has made them already.

    Their arguments and what they give are unchanged. The way back leaves them: the older text is not at hand.
    """
    text = (_FOLDER / f"{file}.sql").read_text("utf-8")
    found = [re.search(_FUNCTION.format(name=re.escape(name)), text, re.MULTILINE | re.DOTALL) for name in names]
    made = [re.sub(r"^CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", one[0]) for one in found if one]
    if len(made) != len(names):
        raise ValueError(f"{file}.sql does not make all of {', '.join(names)}")
    return migrations.RunSQL("\n".join(made), migrations.RunSQL.noop)


def run_sql(name: str, reverse: str | None = None) -> migrations.RunSQL:
    """Run sql/<name>.sql; the way back is the older version's file, or <name>.reverse.sql."""
    back = f"{reverse or name + '.reverse'}.sql"
    return migrations.RunSQL((_FOLDER / f"{name}.sql").read_text("utf-8"), (_FOLDER / back).read_text("utf-8"))
