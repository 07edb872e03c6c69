"""What one installation is made of: its directory, ports, addresses, keys, and how each of its processes is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from notifyops import hosting, keep
from notifyops.children import Child, Command
from notifyops.env import Environment
from notifyops.installation import Installation

BASE: Final = Path(__file__).resolve().parent.parent
# What belongs to the supervisor alone, or to one process: never handed on.
PRIVATE: Final = (
    "NOTIFYOPS_DATABASE_URL",
    "NOTIFYOPS_OWNER_DATABASE_URL",
    "NOTIFYOPS_ROLE",
    "NOTIFYOPS_PROCESS",
)
WEBHOOK_SECRETS: Final = "NOTIFYOPS_RESEND_WEBHOOK_SECRETS"


@dataclass(frozen=True, slots=True)
class Database:
    """Each role's address, and the server's process where it is our own."""

    urls: Mapping[str, str] = field(repr=False)
    child: Child | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is decided before the first process starts."""

    home: Path
    site: str
    roles: Mapping[str, str]
    port: int
    sandbox_port: int
    uses_sandbox: bool
    sandbox_sending_key: str = field(repr=False)
    sandbox_full_key: str = field(repr=False)
    database_url: str = field(repr=False)
    owner_database_url: str = field(repr=False)
    # One sentence for each variable that was given and counts for nothing here.
    ignored: tuple[str, ...] = ()

    @property
    def logs(self) -> Path:
        """Give the folder of the processes' logs."""
        return self.home / "logs"

    @property
    def sandbox_journal(self) -> Path:
        """Give the file by which a restarted sandbox remembers."""
        return self.home / "sandbox.journal"

    @property
    def web_url(self) -> str:
        """Give the root of the console."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def sandbox_url(self) -> str:
        """Give the root of the stand-in for the provider."""
        return f"http://127.0.0.1:{self.sandbox_port}"

    def installation(self, urls: Mapping[str, str]) -> Installation:
        """Give what the file for other processes says; people and process ids come as they are known."""
        return Installation(
            web_url=self.web_url,
            sandbox_url=self.sandbox_url,
            sandbox_control_url=f"{self.sandbox_url}/__sandbox__",
            database=dict(urls),
            home=str(self.home),
            logs=str(self.logs),
            pids={"supervisor": os.getpid()},
        )

    def shared_settings(self) -> dict[str, str]:
        """Give the variables that all processes of the installation share, the sandbox's keys among them."""
        given = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("NOTIFYOPS_") and name.removesuffix("_FILE") not in (*PRIVATE, "NOTIFYOPS_HOME")
        }
        ours = {"NOTIFYOPS_PORT": str(self.port), "NOTIFYOPS_SANDBOX_PORT": str(self.sandbox_port)}
        if self.uses_sandbox:
            ours |= {
                "NOTIFYOPS_RESEND_BASE_URL": self.sandbox_url,
                "NOTIFYOPS_RESEND_API_KEY": self.sandbox_sending_key,
                "NOTIFYOPS_RESEND_LOOKUP_KEY": self.sandbox_full_key,
            }
        return {name: value for name, value in given.items() if name.removesuffix("_FILE") not in ours} | ours

    def env(self) -> dict[str, str]:
        """Give a child's environment: ours without what is private, and the shared settings."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("NOTIFYOPS_")}
        return plain | self.shared_settings() | {"NOTIFYOPS_HOME": str(self.home), "PYTHONUNBUFFERED": "1"}

    def sandbox(self) -> Command:
        """Run the stand-in; its journal lets a restarted one remember mails, keys and webhooks."""
        keys = {
            "NOTIFYOPS_SANDBOX_SENDING_KEY": self.sandbox_sending_key,
            "NOTIFYOPS_SANDBOX_FULL_KEY": self.sandbox_full_key,
        }
        journal = ("--journal", str(self.sandbox_journal))
        argv = ("-m", "notifications.sandbox", "--port", str(self.sandbox_port), "--control", *journal)
        return self._python("sandbox", argv, self.env() | keys, grace_s=5)

    def web(self, *, webhook_secret: str = "") -> Command:
        """Run the console and the API. Open streams would hold it for ever, so they get two seconds to end.

        Where the sandbox is the provider its secret joins those that were given, behind them; elsewhere it counts
        for nothing.
        """
        secret: dict[str, str] = {}
        if webhook_secret and self.uses_sandbox:
            # A secret that is being rotated, or one that a trial signs with, is accepted as well.
            given = Environment(os.environ).words(WEBHOOK_SECRETS, pattern=r".+", allowed="a secret such as whsec_…")
            secret = {WEBHOOK_SECRETS: ",".join(dict.fromkeys((*given, webhook_secret)))}
        env = {name: value for name, value in self.env().items() if name.removesuffix("_FILE") not in secret}
        # Unasked, uvicorn believes whatever a process on this host says about who is calling: see notifyops/proxy.py.
        quiet = ("--no-access-log", "--no-server-header", "--no-proxy-headers")
        listen = ("--host", "127.0.0.1", "--port", str(self.port), *quiet)
        ending = ("--lifespan", "off", "--timeout-graceful-shutdown", "2")
        argv = ("-m", "uvicorn", "notifyops.asgi:application", *listen, *ending)
        return self._python("web", argv, env | secret, grace_s=6)

    def cluster(self) -> Command:
        """Run the delivery loops; calls in flight get twenty seconds to end and be recorded."""
        return self._python("qcluster", ("manage.py", "qcluster"), self.env(), grace_s=20)

    def _python(self, name: str, argv: tuple[str, ...], env: Mapping[str, str], *, grace_s: float) -> Command:
        return Command(
            name=name,
            argv=(sys.executable, *argv),
            log=self.logs / f"{name}.log",
            cwd=BASE,
            env=env,
            grace_s=grace_s,
        )


def read() -> Plan:
    """Decide everything from the settings, whose own checks have passed when this is called."""
    from notifyops import settings

    variables, home = Environment(os.environ), settings.NOTIFYOPS_HOME
    # Whoever names an address brings the key for it.
    uses_sandbox = settings.NOTIFYOPS_SITE_MODE in ("off", "sandbox") and not variables.url("NOTIFYOPS_RESEND_BASE_URL")
    sending_key, full_key = (variables.secret(f"NOTIFYOPS_SANDBOX_{which}_KEY") for which in ("SENDING", "FULL"))
    return Plan(
        home=home,
        site=settings.NOTIFYOPS_SITE,
        roles=settings.NOTIFYOPS_ROLES,
        port=settings.NOTIFYOPS_PORT,
        sandbox_port=settings.NOTIFYOPS_SANDBOX_PORT or hosting.kept_port(home / "sandbox-port"),
        uses_sandbox=uses_sandbox,
        sandbox_sending_key=sending_key or keep.token(home / "sandbox-sending-key", prefix="re_"),
        sandbox_full_key=full_key or keep.token(home / "sandbox-full-key", prefix="re_"),
        database_url=variables.secret("NOTIFYOPS_DATABASE_URL"),
        owner_database_url=variables.secret("NOTIFYOPS_OWNER_DATABASE_URL"),
        ignored=tuple(ignored(os.environ, uses_sandbox=uses_sandbox)),
    )


def ignored(given: Mapping[str, str], *, uses_sandbox: bool) -> Iterator[str]:
    """Give a sentence for each variable that has no effect in such an installation, so that nobody waits for one."""
    unless = "set NOTIFYOPS_RESEND_BASE_URL or another NOTIFYOPS_SITE_MODE to use it"
    idle: dict[str, str] = {
        "NOTIFYOPS_ROLE": "each process gets its own role",
        "NOTIFYOPS_PROCESS": "each process gets its own",
    }
    if uses_sandbox:
        idle |= dict.fromkeys(
            ("NOTIFYOPS_RESEND_API_KEY", "NOTIFYOPS_RESEND_LOOKUP_KEY"), f"all goes to the sandbox; {unless}"
        )
    if not any(given.get(f"NOTIFYOPS_DATABASE_URL{suffix}") for suffix in ("", "_FILE")):
        idle["NOTIFYOPS_OWNER_DATABASE_URL"] = "it counts only beside NOTIFYOPS_DATABASE_URL"
    for name, value in given.items():
        if value and name.removesuffix("_FILE") in idle:
            yield f"{name} is ignored: {idle[name.removesuffix('_FILE')]}."
