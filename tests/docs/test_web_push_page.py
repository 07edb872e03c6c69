"""The page and the service worker of docs/web-push.md, run by Node.js: what they tell us, and what they show of ours."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from notifications.policy.endpoints import push_address
from notifications.providers.webpush import CAPABILITIES
from notifications.providers.webpush_crypto import public_key
from notifications.providers.webpush_message import frozen_push, read_push
from tests.providers.candidate_webpush import AUTH, BROWSER, ENDPOINT, P256DH, SECRET, TO, saying
from tests.providers.test_webpush import MESSAGE, posted, with_server

PAGE: Final = (Path(__file__).parents[2] / "docs" / "web-push.md").read_text("utf-8")

# A browser as far as these files need one. It reads the message by its own few lines: RFC 8188 section 2, RFC 8291
# section 3.4.
BROWSER_JS: Final = """
import { createDecipheriv, createECDH, hkdfSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { subscribe } from "./push.mjs";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const bytes = (text) => Buffer.from(text, "base64url");
const told = { asked: [], opened: [], shown: [], recipients: [], ended: 0 };

let subscription = !given.known ? null : {
  options: { applicationServerKey: Uint8Array.from(bytes(given.known)).buffer },
  toJSON: () => given.subscription,
  unsubscribe: async () => { told.ended += 1; },
};
const pushManager = {
  getSubscription: async () => subscription,
  subscribe: async (options) => {
    told.asked.push({ ...options, applicationServerKey: Buffer.from(options.applicationServerKey).toString("base64url") });
    return { options, toJSON: () => given.subscription };
  },
};
const registration = { pushManager, showNotification: async (title, options) => { told.shown.push({ title, ...options }); } };
const serviceWorker = { register: async () => registration, ready: Promise.resolve(registration) };
Object.defineProperty(globalThis, "navigator", { value: { serviceWorker }, configurable: true });
globalThis.fetch = async (url) => ({ ok: url === given.url, status: 404, json: async () => ({ key: given.key }) });

await subscribe("https://notify.example.com", "push", async (text) => told.recipients.push(text));

const heard = {};
globalThis.self = {
  registration,
  addEventListener: (kind, listener) => { heard[kind] = listener; },
  clients: { openWindow: async (url) => told.opened.push(url) },
  location: { origin: "https://shop.example.com" },
};
runInThisContext(readFileSync("push-worker.js", "utf8"));

function decrypted(message) {
  const [salt, size] = [message.subarray(0, 16), message.readUInt32BE(16)];
  const sender = message.subarray(21, 21 + message[20]);
  const record = message.subarray(21 + message[20]);
  const own = createECDH("prime256v1");
  own.setPrivateKey(bytes(given.browser));
  const info = Buffer.concat([Buffer.from("WebPush: info\\0"), own.getPublicKey(), sender]);
  const secret = Buffer.from(hkdfSync("sha256", own.computeSecret(sender), bytes(given.subscription.keys.auth), info, 32));
  const part = (name, length) => Buffer.from(hkdfSync("sha256", secret, salt, `Content-Encoding: ${name}\\0`, length));
  if (record.length > size) throw new Error("more than one record");
  const cipher = createDecipheriv("aes-128-gcm", part("aes128gcm", 16), part("nonce", 12));
  cipher.setAuthTag(record.subarray(-16));
  const plain = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
  const end = plain.lastIndexOf(2);
  return plain.subarray(0, end).toString("utf8");
}

const wait = [];
heard.push({ data: { json: () => JSON.parse(decrypted(bytes(given.message))) }, waitUntil: (work) => wait.push(work) });
const [{ data }] = told.shown;
heard.notificationclick({ notification: { data, close: () => {} }, waitUntil: (work) => wait.push(work) });
await Promise.all(wait);
console.log(JSON.stringify(told));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, each where its first line says, and the browser beside them."""
    assert shutil.which("node"), "Node.js is needed: run `make node-pg`"
    made = tmp_path_factory.mktemp("site")
    for block in re.findall(r"^```js\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        named = re.match(r"// ([\w.-]+)", block)
        assert named
        (made / named[1]).write_text(block, "utf-8")
    (made / "browser.mjs").write_text(BROWSER_JS, "utf-8")
    return made


def node(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["node", *arguments], cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def played(folder: Path, known: str = "") -> dict[str, Any]:
    """Subscribe, get one message, and click on it. `known`: the key that this browser has subscribed with before."""
    _, server = asyncio.run(with_server(saying(201)))
    _, body = posted(server.requests[0])
    given = {
        "url": "https://notify.example.com/api/v1/push/key?account=push",
        "key": public_key(SECRET),
        "known": known,
        "browser": BROWSER,
        "subscription": {"endpoint": ENDPOINT, "expirationTime": None, "keys": {"p256dh": P256DH, "auth": AUTH}},
        "message": _as_url(body),
    }
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    told: dict[str, Any] = json.loads(node(folder, "browser.mjs", "given.json"))
    return told


def _as_url(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


@pytest.mark.parametrize("name", ["push.mjs", "push-worker.js"])
def test_the_files_of_the_page_are_programs(folder: Path, name: str) -> None:
    node(folder, "--check", name)


def test_a_new_browser_subscribes_and_shows_what_was_frozen(folder: Path) -> None:
    told = played(folder)
    assert told["asked"] == [{"userVisibleOnly": True, "applicationServerKey": public_key(SECRET)}]
    assert [push_address(text) for text in told["recipients"]] == [TO]
    push = read_push(frozen_push(MESSAGE))
    assert push is not None
    assert told["shown"] == [json.loads(push.body)]
    assert told["opened"] == ["https://shop.example.com/reports/demo-001"]


def test_one_that_subscribed_with_this_key_stays_and_one_with_an_older_key_does_so_anew(folder: Path) -> None:
    told = played(folder, known=public_key(SECRET))
    assert (told["asked"], told["ended"], len(told["recipients"])) == ([], 0, 1)
    told = played(folder, known=P256DH)
    assert (len(told["asked"]), told["ended"], len(told["recipients"])) == (1, 1, 1)


def test_the_message_of_the_page_has_the_names_of_ours() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    push = read_push(frozen_push(MESSAGE))
    assert push is not None
    said, ours = json.loads(shown), json.loads(push.body)
    assert (set(said), set(said["data"])) == (set(ours), set(ours["data"]))
    assert (len(said["tag"]), said["title"], said["body"]) == (32, ours["title"], ours["body"])


def test_what_the_page_says_is_declared_is() -> None:
    names, _, values = re.findall(r"^\| `?(?:idempotency|--|collapse).*$", PAGE.partition("What the adapter declares")[2], re.M)
    said = dict(zip(re.findall(r"`(\w+)`", names), [cell.strip() for cell in values.strip("|").split("|")], strict=True))
    words: dict[Any, str] = {None: "none", False: "no", True: "yes"}
    declared = {name: getattr(CAPABILITIES, name) or None for name in said}
    declared |= {name: bool(declared[name]) for name in ("shares_fate", "dates_messages")}
    assert said == {name: words.get(value, str(value)) for name, value in declared.items()}
