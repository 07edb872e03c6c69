"""Read settings from the environment, refuse bad ones with a sentence that says how to mend them.

Every variable may be given as NAME, or as NAME_FILE: a path to a file that holds the value (for secrets).
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

RESEND: Final = "https://api.resend.com"
# Roles are named after the site, and a role's name may have 63 bytes.
SITE: Final = r"[a-z0-9_]{1,20}"
MAILBOX: Final = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
SITE_SAYS: Final = "1 to 20 of the characters a-z, 0-9 and _"


class BadValue(Exception):
    """A setting cannot be used; the text names the variable and what is allowed."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Typed readers over a mapping of variables."""

    # The process's own environment is full of secrets: a traceback must not print it.
    source: Mapping[str, str] = field(repr=False)

    def text(self, name: str, default: str = "", *, pattern: str = "", allowed: str = "") -> str:
        """Give the variable's text, stripped; `pattern` must match all of it and `allowed` says so in words."""
        value = self._raw(name)
        if not value:
            return default
        if pattern and not re.fullmatch(pattern, value):
            raise BadValue(f"{name} is {value!r}: it must be {allowed}.")
        return value

    def secret(self, name: str, default: str = "", *, pattern: str = "", allowed: str = "") -> str:
        """Give the variable's text like `text`, but never repeat it in a refusal."""
        value = self._raw(name)
        if value and pattern and not re.fullmatch(pattern, value):
            raise BadValue(f"{name} cannot be used: it must be {allowed}.")
        return value or default

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """Give one of the allowed words."""
        value = self._raw(name) or default
        if value not in allowed:
            raise BadValue(f"{name} is {value!r}: it must be one of {', '.join(allowed)}.")
        return value

    def whole(self, name: str, default: int, *, low: int, high: int) -> int:
        """Give a whole number between low and high, both included."""
        value = self._raw(name)
        if not value:
            return default
        if not re.fullmatch(r"-?[0-9]{1,18}", value) or not low <= int(value) <= high:
            raise BadValue(f"{name} is {value!r}: it must be a whole number from {low} to {high}.")
        return int(value)

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        """Give a number between low and high, both included."""
        value = self._raw(name)
        if not value:
            return default
        parsed = as_number(value)
        if parsed is None or not low <= parsed <= high:
            raise BadValue(f"{name} is {value!r}: it must be a number from {low:g} to {high:g}.")
        return parsed

    def delays(self, name: str, default: tuple[float, ...], *, high: float) -> tuple[float, ...]:
        """Give seconds separated by commas, such as 60,300; each from 0 to high, one to twenty of them."""
        value = self._raw(name)
        if not value:
            return default
        parsed = tuple(as_number(part.strip()) for part in value.split(","))
        good = tuple(delay for delay in parsed if delay is not None and 0 <= delay <= high)
        if len(good) != len(parsed) or len(good) > 20:
            raise BadValue(
                f"{name} is {value!r}: it must be one to twenty numbers of seconds from 0 to {high:g}, "
                f"separated by commas, such as 60,300."
            )
        return good

    def url(self, name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
        """Give an address without its closing slash; the address is never repeated in a refusal (it may hold a key)."""
        value = self._raw(name)
        if not value:
            return default
        try:
            parts = urlsplit(value)
            usable = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise BadValue(f"{name} cannot be used: it must be an address that begins with {' or '.join(schemes)}://.")
        return value.rstrip("/")

    def words(self, name: str, *, pattern: str, allowed: str) -> tuple[str, ...]:
        """Give secrets separated by commas or blanks, each matching the pattern; never repeated in a refusal."""
        found = tuple(part for part in re.split(r"[,\s]+", self._raw(name)) if part)
        if any(not re.fullmatch(pattern, part) for part in found):
            raise BadValue(f"{name} cannot be used: each of its values must be {allowed}.")
        return found

    def _raw(self, name: str) -> str:
        direct, path = self.source.get(name, "").strip(), self.source.get(f"{name}_FILE", "").strip()
        if direct and path:
            raise BadValue(f"{name} and {name}_FILE are both set: keep one.")
        if not path:
            return direct
        try:
            value = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadValue(f"{name}_FILE names {path}, which cannot be read: {reason(error)}.") from error
        if not value:
            raise BadValue(f"{name}_FILE names {path}, which is empty.")
        return value


def as_number(text: str) -> float | None:
    """Read a finite decimal number; None where it is none (so `nan`, `inf` and `1e400` are none)."""
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def reason(error: BaseException) -> str:
    """Give the operating system's short reason for an error, without the path that the sentence has already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def home(env: Environment, *, checkout: Path, is_root: bool | None = None) -> Path:
    """Give the data directory: NOTIFYOPS_HOME, or one per checkout where the database's own user can reach it."""
    given = env.text("NOTIFYOPS_HOME")
    if given:
        if not Path(given).is_absolute():
            raise BadValue(f"NOTIFYOPS_HOME is {given!r}: it must be an absolute path.")
        return Path(given)
    mark = hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
    name = f"{checkout.name or 'checkout'}-{mark}"
    if os.geteuid() == 0 if is_root is None else is_root:
        return Path("/var/lib/notifyops") / name
    return data_directory(env) / "notifyops" / name


def data_directory(env: Environment) -> Path:
    """Give the user's own data directory, as the XDG base directory specification says."""
    given = env.text("XDG_DATA_HOME")
    if given and Path(given).is_absolute():
        return Path(given)
    try:
        folder = Path(env.text("HOME")) if env.text("HOME") else Path.home()
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():
        raise BadValue("There is no home directory to keep data in: set NOTIFYOPS_HOME to an absolute path.")
    return folder / ".local" / "share"


def agree(*, timeout_s: float, lease_s: float, window_s: float, margin_s: float) -> None:
    """Refuse settings that are each allowed but cannot go together."""
    if lease_s < timeout_s + 2:
        raise BadValue(
            f"NOTIFYOPS_LEASE_S is {lease_s:g}: it must be at least NOTIFYOPS_PROVIDER_TIMEOUT_S + 2, "
            f"which is {timeout_s + 2:g}, or a lease ends while its call is still open."
        )
    if margin_s >= window_s:
        raise BadValue(
            f"NOTIFYOPS_KEY_MARGIN_S is {margin_s:g}: it must be less than NOTIFYOPS_KEY_WINDOW_S, "
            f"which is {window_s:g}, or no message could ever be tried again."
        )


def resend_base_url(env: Environment, *, site_mode: str, sandbox_url: str, sandbox_port: int) -> str:
    """Give the address of Resend, or of its sandbox where the site may not mail real people; empty if unknown."""
    given = env.url("NOTIFYOPS_RESEND_BASE_URL")
    if site_mode in ("live", "redirect"):
        return given or RESEND
    if urlsplit(given).hostname == urlsplit(RESEND).hostname:
        raise BadValue(
            f"NOTIFYOPS_RESEND_BASE_URL is the real Resend while NOTIFYOPS_SITE_MODE is {site_mode}: "
            f"leave it unset to use the sandbox, or set NOTIFYOPS_SITE_MODE to redirect or live."
        )
    return given or sandbox_url or (f"http://127.0.0.1:{sandbox_port}" if sandbox_port else "")


def redirect_to(env: Environment, *, site_mode: str) -> str:
    """Give who gets everything in mode `redirect`; empty in any other."""
    given = env.text("NOTIFYOPS_REDIRECT_TO", pattern=MAILBOX, allowed="one bare address such as team@example.com")
    if site_mode == "redirect" and not given:
        raise BadValue(
            "NOTIFYOPS_SITE_MODE is redirect: set NOTIFYOPS_REDIRECT_TO to the address that gets all mail, "
            "for example team@example.com."
        )
    return given if site_mode == "redirect" else ""


def networks(env: Environment, name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Give the networks that a variable names, parted by commas or blanks. Raises BadValue."""
    try:
        return tuple(ipaddress.ip_network(part) for part in re.split(r"[,\s]+", env.text(name)) if part)
    except ValueError:
        raise BadValue(f"{name} cannot be used: write networks as 10.1.0.0/16, with no bit behind the slash.") from None


def database_urls(env: Environment, *, known: Mapping[str, str]) -> dict[str, str]:
    """Give the addresses of the roles that this process can be; empty where no database is known.

    A running installation wins over NOTIFYOPS_DATABASE_URL, which under `make up` is its administrator's. Only
    management commands get the owner's address from it: what serves or delivers must not hold it.
    """
    owner = env.secret("NOTIFYOPS_OWNER_DATABASE_URL")
    if known:
        may_own = env.text("NOTIFYOPS_PROCESS") == "command"
        return {role: url for role, url in known.items() if role != "owner" or may_own}
    given = env.secret("NOTIFYOPS_DATABASE_URL")
    urls = dict.fromkeys(("worker", "web"), given) if given else {}
    return urls | ({"owner": owner} if owner else {})


def hosts(env: Environment, *, public_url: str) -> list[str]:
    """Give the host names under which the console is reached besides loopback."""
    named = re.split(r"[,\s]+", env.text("NOTIFYOPS_ALLOWED_HOSTS"))
    return [host for host in (*named, urlsplit(public_url).hostname) if host]


def origins(public_url: str) -> list[str]:
    """Give the origin of the public address, which a proxy in front of us keeps from the request."""
    parts = urlsplit(public_url)
    return [f"{parts.scheme}://{parts.netloc}"] if public_url else []
