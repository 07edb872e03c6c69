"""What a fresh installation needs besides processes: tables, people, grants, a webhook and a first story."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

import psycopg

from notifyops import children, keep
from notifyops.env import BadValue
from notifyops.installation import Person
from notifyops.terminal import say

WEBHOOK_KEPT_IN: Final = "sandbox-webhook-secret"
ROLES: Final = {"olga": "operator", "lena": "lead", "vera": "viewer"}
# What `make up` lets the writer role enqueue in: the default workspace and the one of the documents' examples.
WORKSPACES: Final = ("", "acme")
GRANT: Final = """
    INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""


def run(argv: tuple[str, ...], *, base: Path, env: Mapping[str, str], stdin: str = "") -> str:
    """Run a short-lived Python program of ours to its end and give what it printed; its failure is a sentence."""
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=base,
        env=dict(env),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=children.die_with(os.getpid()),
        start_new_session=True,
    )
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.strip()]
        raise BadValue(f"`{' '.join(argv)}` failed: {words[-1] if words else f'exit code {done.returncode}'}")
    return done.stdout


def people(home: Path, *, base: Path, env: Mapping[str, str]) -> tuple[Person, ...]:
    """Give the demo people; the first time, make them and keep their passwords in the home."""
    kept = home / "people.json"
    if kept.exists():
        return tuple(Person(**person) for person in json.loads(kept.read_text(encoding="utf-8")))
    drawn = [Person(username=name, password=secrets.token_urlsafe(9), role=role) for name, role in ROLES.items()]
    # Kept before they are used: a start that is interrupted in between must not lose a password.
    asked = keep.once(home / "people-wanted.json", json.dumps([asdict(person) for person in drawn]))
    made = json.loads(run(("-m", "notifyops.people"), base=base, env=env, stdin=asked))
    found = tuple(Person(**person) for person in json.loads(asked) if person["username"] in made)
    keep.write(kept, json.dumps([asdict(person) for person in found], indent=2))
    for person in found:
        say(f"  {person.role}: {person.username} / {person.password}")
    return found


def grant_workspaces(owner_url: str, writer: str) -> None:
    """Let the writer role enqueue in the default workspace and in `acme`."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        for workspace in WORKSPACES:
            owner.execute(GRANT, [writer, workspace])


def webhook_secret(home: Path, *, sandbox_url: str, web_url: str, key: str) -> str:
    """Register the console's address with the sandbox unless it is, and give the signing secret.

    Where the sandbox does not take it, a sentence says so, and the kept one is given: it is registered later. One that
    was rotated at the sandbox takes the place of the one that was kept: the sandbox signs with both for a day.
    """
    address = f"{web_url}/api/v1/providers/resend/events"
    try:
        listed = _ask(f"{sandbox_url}/webhooks", key)["data"]
        known = [hook["signing_secret"] for hook in listed if hook["endpoint"] == address]
        body = {"endpoint": address, "events": ["email.sent", *EVENTS], "signing_secret": kept_secret(home)}
        secret = known[0] if known else str(_ask(f"{sandbox_url}/webhooks", key, body)["signing_secret"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        detail = error.read().decode("utf-8", "replace") if isinstance(error, urllib.error.HTTPError) else str(error)
        say(f"  The sandbox did not take the webhook, so no receipts will come: {detail}")
        return kept_secret(home)
    keep.write(home / WEBHOOK_KEPT_IN, secret)
    return secret


def kept_secret(home: Path) -> str:
    """Give the secret that the console checks receipts with, made on first use: known before the sandbox is there."""
    # Source: standard-webhooks spec, Signature scheme: whsec_ and 24 to 64 random bytes in base64.
    return keep.once(home / WEBHOOK_KEPT_IN, f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}")


# Source: resend.com/docs/webhooks/emails: the events about one e-mail.
EVENTS: Final = (
    "email.delivered",
    "email.delivery_delayed",
    "email.bounced",
    "email.complained",
    "email.failed",
    "email.suppressed",
)


def _ask(url: str, key: str, body: object = None) -> dict[str, list[dict[str, str]]]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310 - our own sandbox
    # Never through a proxy: the sandbox is on loopback.
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
        found: dict[str, list[dict[str, str]]] = json.load(answer)
    return found


def play(home: Path, *, base: Path, env: Mapping[str, str]) -> None:
    """On the first run, play the story and fill the first screen; an interrupted first run plays again."""
    done = home / "first-run-done"
    if done.exists():
        return
    for argv in (("manage.py", "notify", "demo"), ("manage.py", "seed_demo")):
        try:
            printed = run(argv, base=base, env=env)
        except BadValue as bad:
            # The installation is whole without its demo: say so and go on.
            say(f"  {bad}")
            return
        for line in printed.splitlines():
            say(line)
    keep.write(done, "yes")
