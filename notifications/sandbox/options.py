"""The sandbox's command line, shared by `manage.py sandbox` and `python -m notifications.sandbox`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from notifications.sandbox.app import Server, run_until_told
from notifications.sandbox.journal import Journal
from notifications.sandbox.knobs import Knobs, tuned
from notifications.sandbox.refusals import Misused

DEFAULT_PORT = 8025
HELP = "Run a faithful local stand-in for the Resend API. It needs no database and no account, and mails nobody."


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=_port, help="default: NOTIFYOPS_SANDBOX_PORT, else 8025; 0 takes a free one")
    add("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    add("--control", action="store_true", help="open the control plane under /__sandbox__/; it has no password")
    add("--journal", type=Path, help="a file by which a restarted sandbox remembers mails, keys and webhooks")
    rate_help = "requests a second for the whole team; Resend's own is 10 (default: off, to let demos run)"
    add("--rate", type=_rate, help=rate_help)
    add("--domain", action="append", dest="domains", help="a verified sender domain (default: example.com)")
    add("--daily-quota", type=int, help="recipients a day, as on Resend's free plan (default: none)")
    add("--monthly-quota", type=int, help="recipients a month (default: none)")
    add("--delivery-delay", type=float, dest="delivery_delay_s", help="seconds from sent to delivered (default: 0.2)")
    add("--latency", type=float, dest="latency_s", help="seconds added to every answer (default: 0)")
    add("--retry-scale", type=float, help="factor on the webhook retry schedule (default: 1)")
    add("--lenient-digest", action="store_true", help="compare normalised bodies instead of bytes for a used key")
    add("--remember-errors", action="store_true", help="let a refused request occupy its key")


def run(options: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Serve until told to end, then end the process; `say` gets the line that tells the address. Raises Misused.

    The API keys come from the environment (NOTIFYOPS_SANDBOX_SENDING_KEY, NOTIFYOPS_SANDBOX_FULL_KEY): a command line
    can be read by every user of the machine.
    """
    port = options["port"] if options["port"] is not None else _port_from_environment()
    server = Server(_knobs(options), Journal(options["journal"]), with_control=options["control"])
    run_until_told(server, options["host"], port, lambda url: say(f"sandbox ready {url}"))
    sys.stderr.flush()
    # To free a million objects one by one takes longer than a supervisor waits for. `say` has flushed what it said.
    os._exit(0)


def _knobs(options: Mapping[str, Any]) -> Knobs:
    names = ("domains", "daily_quota", "monthly_quota", "delivery_delay_s", "latency_s", "retry_scale")
    given = {name: options[name] for name in names if options[name] is not None}
    keys = {"sending_key": "NOTIFYOPS_SANDBOX_SENDING_KEY", "full_key": "NOTIFYOPS_SANDBOX_FULL_KEY"}
    given |= {name: os.environ[variable] for name, variable in keys.items() if os.environ.get(variable)}
    given["rate_per_s"] = options["rate"]
    given["strict_digest"] = not options["lenient_digest"]
    given["remember_errors"] = options["remember_errors"]
    return tuned(Knobs(), given)


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:6]) <= 65_535:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535, where 0 takes a free one")


def _port_from_environment() -> int:
    text = os.environ.get("NOTIFYOPS_SANDBOX_PORT", "")
    try:
        return _port(text) if text else DEFAULT_PORT
    except ArgumentTypeError as problem:
        raise Misused(f"NOTIFYOPS_SANDBOX_PORT: {problem}.") from None


def _rate(text: str) -> int | None:
    if text == "off":
        return None
    if text.isascii() and text.isdigit() and int(text[:9]) >= 1:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a rate: a whole number of requests a second, or `off`")
