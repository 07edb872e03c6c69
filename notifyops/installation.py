"""The running installation, as written by the supervisor and read by every command: `installation.json`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from notifyops import keep
from notifyops.env import BadValue, reason

NAME: Final = "installation.json"
# The settings that the supervisor was started with, so that commands need only NOTIFYOPS_HOME to agree with it.
SETTINGS: Final = "environment.json"


@dataclass(frozen=True, slots=True)
class Person:
    """A demo account of the first run."""

    username: str
    password: str = field(repr=False)
    role: str


@dataclass(frozen=True, slots=True)
class Installation:
    """Where everything of one running installation is. Addresses hold passwords; the file is 0600."""

    web_url: str
    sandbox_url: str
    sandbox_control_url: str
    database: Mapping[str, str] = field(repr=False)
    home: str
    logs: str
    people: tuple[Person, ...] = ()
    pids: Mapping[str, int] = field(default_factory=dict)


def write(found: Installation) -> None:
    """Replace the file in the installation's home."""
    keep.write(Path(found.home) / NAME, json.dumps(asdict(found), indent=2))


def write_settings(home: Path, settings: Mapping[str, str]) -> None:
    """Keep the variables that every process of this installation shares."""
    keep.write(home / SETTINGS, json.dumps(dict(settings), indent=2))


def remove(home: Path) -> None:
    """Say that nothing runs here any more."""
    (home / NAME).unlink(missing_ok=True)
    (home / SETTINGS).unlink(missing_ok=True)


def settings_of(found: Installation | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Give a process's variables over those of the running installation, which it need not repeat."""
    shared: dict[str, str] = {}
    if found is not None:
        with contextlib.suppress(OSError, ValueError):
            shared = json.loads((Path(found.home) / SETTINGS).read_text(encoding="utf-8"))
    # NAME and NAME_FILE are one variable: whichever the process has hides both.
    own = {name.removesuffix("_FILE") for name, value in environ.items() if value}
    return {name: value for name, value in shared.items() if name.removesuffix("_FILE") not in own} | dict(environ)


def read(home: Path) -> Installation | None:
    """Give the installation that runs in this home; None where none was started, or its supervisor is gone."""
    path = home / NAME
    try:
        found = _parse(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise BadValue(f"{path} cannot be read: {reason(error)}. Run as the user who ran `make up`.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValue(f"{path} is damaged: stop `make up` if it runs, remove the file, start again.") from error
    return found if _lives(found.pids.get("supervisor", 0)) else None


def _parse(raw: dict[str, object]) -> Installation:
    people, database, pids = raw["people"], raw["database"], raw["pids"]
    if not isinstance(people, list) or not isinstance(database, dict) or not isinstance(pids, dict):
        raise TypeError("installation.json does not have its form")
    texts = {key: str(raw[key]) for key in ("web_url", "sandbox_url", "sandbox_control_url", "home", "logs")}
    return Installation(
        **texts,
        database={str(key): str(value) for key, value in database.items()},
        people=tuple(Person(**person) for person in people),
        pids={str(key): int(value) for key, value in pids.items()},
    )


def _lives(pid: int) -> bool:
    """Tell whether the supervisor's process exists; a reused number only means that its database does not answer."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return pid > 0
