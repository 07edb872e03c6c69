"""Web push: what a browser decrypts, what a push service verifies, and where nothing is ever sent."""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import http_ece
import pytest
import trustme
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from notifications.providers.base import Message, Request, SendResult
from notifications.providers.webpush import LONGEST_TTL_S, Reach, WebPushProvider
from notifications.providers.webpush_crypto import Ephemeral, encrypted
from notifications.providers.webpush_message import frozen_push, read_push
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.candidate_webpush import (
    AUTH,
    BROWSER,
    ENDPOINT,
    P256DH,
    SECRET,
    TO,
    private_key,
    public_bytes,
    raw,
    saying,
)
from tests.providers.scripted_server import Peer, ScriptedServer, answer, answering, scripted
from tests.providers.test_webhook import INSIDE

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
FACTS = {"type": "report_push", "notification_id": "report-push/demo-001", "report_id": "demo-001"}
MESSAGE = Message(
    sender="Reports <reports@example.com>",
    to=TO,
    subject="Report “Q3” is ready",
    text="Open it here: demo-001.\n",
    tags={"site": "test", "intent": "17", "generation": "1"},
    prepared_at=NOW,
    facts={**FACTS, "data": {"title": "Q3", "url": "/reports/demo-001", "own": "not for the browser"}},
)
KEY = "report-push/demo-001"


async def sent(provider: WebPushProvider, *, message: Message = MESSAGE, key: str = KEY) -> SendResult:
    return await provider.send(Request(key, provider.prepare(message), 30.0, lambda: None))


async def with_server(
    script: Any, *, times: int = 1, reach: Reach | None = None, **changes: Any
) -> tuple[list[SendResult], ScriptedServer]:
    """Send `times` through a stand-in that plays the script."""
    async with scripted(script) as server:
        provider = WebPushProvider(
            secret=SECRET, stand_in=server.url + "/in", reach=reach, clock=lambda: NOW.timestamp() + 60
        )
        results = [await sent(provider, message=replace(MESSAGE, **changes)) for _ in range(times)]
        await provider.close()
        return results, server


def posted(request: bytes) -> tuple[dict[str, str], bytes]:
    """Give the headers and the body of one raw request."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    assert len({name.lower() for name, _ in lines}) == len(lines)  # none comes twice
    return {name.lower(): value for name, value in lines}, body


def decrypted(body: bytes) -> bytes:
    """Read it as the browser does, with its own private key."""
    plain: bytes = http_ece.decrypt(body, private_key=private_key(BROWSER), auth_secret=raw(AUTH))
    return plain


def claims_of(authorization: str) -> dict[str, Any]:
    """Verify a VAPID header as a push service does, by its own words alone: RFC 8292 section 3, RFC 7515 (ES256)."""
    scheme, _, rest = authorization.partition(" ")
    given = dict(part.split("=", 1) for part in rest.replace(" ", "").split(","))
    assert scheme == "vapid"
    assert set(given) == {"t", "k"}
    signed, _, signature = given["t"].rpartition(".")
    number = raw(signature)
    assert len(number) == 64
    pair = encode_dss_signature(int.from_bytes(number[:32], "big"), int.from_bytes(number[32:], "big"))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw(given["k"]))
    key.verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))
    header, _, claims = signed.partition(".")
    assert json.loads(raw(header)) == {"typ": "JWT", "alg": "ES256"}
    return {"k": given["k"], **json.loads(raw(claims))}


def test_the_browser_reads_exactly_what_was_frozen() -> None:
    (result,), server = asyncio.run(with_server(saying(201)))
    headers, body = posted(server.requests[0])
    frozen = read_push(frozen_push(MESSAGE))
    assert frozen is not None
    assert decrypted(body) == frozen.body
    assert json.loads(frozen.body) == {
        "title": "Report “Q3” is ready",
        "body": "Open it here: demo-001.",
        "tag": headers["topic"],
        "timestamp": int(NOW.timestamp() * 1000),
        "data": {**FACTS, "url": "/reports/demo-001", "generation": "1"},
    }
    assert (headers["content-encoding"], headers["content-type"]) == ("aes128gcm", "application/octet-stream")
    assert (headers["ttl"], headers["urgency"]) == (str(LONGEST_TTL_S), "normal")
    assert headers["notifyops-endpoint"] == ENDPOINT
    assert not {"cookie", "expect"} & set(headers)
    assert (result.outcome, result.code) == (Outcome.ACCEPTED, "webpush.accepted")


def test_the_example_of_the_standard_is_encrypted_to_its_bytes() -> None:
    """RFC 8291, appendix A: salt, sender's key, text and the whole message."""
    by = Ephemeral(private_key(SECRET), raw("DGv6ra1nlYgDCS1FRnbzlw"))
    body = encrypted(b"When I grow up, I want to be a watermelon", p256dh=raw(P256DH), auth=raw(AUTH), by=by)
    assert body == raw(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
        "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_the_service_verifies_who_sends_and_to_whom() -> None:
    _, server = asyncio.run(with_server(saying(201)))
    headers, _ = posted(server.requests[0])
    told = claims_of(headers["authorization"])
    assert raw(told["k"]) == public_bytes(private_key(SECRET))
    assert (told["aud"], told["sub"]) == ("https://push.example.com", "mailto:reports@example.com")
    assert NOW.timestamp() < told["exp"] <= NOW.timestamp() + 86_400
    token = headers["authorization"]
    with pytest.raises(InvalidSignature):
        claims_of(token.replace("t=" + token[len("vapid t=") :].partition(".")[0], "t=eyJhbGciOiJFUzI1NiJ9"))


def test_each_service_is_named_itself() -> None:
    """The library's own claims would keep the first audience for all others."""

    async def play() -> list[str]:
        async with scripted(answering(*[answer(b"", status="201 Created")] * 2)) as server:
            provider = WebPushProvider(secret=SECRET, stand_in=server.url)
            for endpoint in (ENDPOINT, "https://other.example.net:8443/p/1"):
                await sent(provider, message=replace(MESSAGE, to=TO.replace(ENDPOINT, endpoint)))
            await provider.close()
            return [claims_of(posted(one)[0]["authorization"])["aud"] for one in server.requests]

    assert asyncio.run(play()) == ["https://push.example.com", "https://other.example.net:8443"]


def test_all_attempts_say_the_same_and_no_two_are_encrypted_alike() -> None:
    script = answering(*[answer(b"", status=f"{status} Said") for status in (500, 503, 201)])
    results, server = asyncio.run(with_server(script, times=3))
    bodies = [posted(request)[1] for request in server.requests]
    assert [result.outcome for result in results] == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.ACCEPTED]
    assert len(set(bodies)) == len({body[:16] for body in bodies}) == 3
    assert len({decrypted(body) for body in bodies}) == len({posted(one)[0]["topic"] for one in server.requests}) == 1
    assert len({hashlib.sha256(frozen_push(MESSAGE)).digest() for _ in range(3)}) == 1
    # All are known by the same name of ours, by which the log tells them to belong together.
    assert results[0].trace_id == results[1].trace_id == results[2].provider_message_id


def test_another_generation_replaces_the_first_one_and_another_notification_does_not() -> None:
    def topic(**tags: str) -> str:
        push = read_push(frozen_push(replace(MESSAGE, tags={**MESSAGE.tags, **tags})))
        assert push is not None
        assert len(push.topic) == 32  # RFC 8030 section 5.4
        return push.topic

    assert topic() == topic(generation="2")
    assert len({topic(), topic(intent="18"), topic(site="staging")}) == 3


@pytest.mark.parametrize(
    ("expires_at", "ttl_s", "told"),
    [
        (None, 3600, 3600),
        (NOW.replace(hour=7), LONGEST_TTL_S, 3540),
        (NOW.replace(hour=7), 600, 600),
        (NOW, 600, 0),
        (datetime(9999, 12, 31, tzinfo=UTC), LONGEST_TTL_S, LONGEST_TTL_S),
    ],
)
def test_no_service_keeps_it_longer_than_it_is_wanted(expires_at: datetime | None, ttl_s: int, told: int) -> None:
    """The clock stands a minute after the bytes were made: a repeat asks for less."""
    _, server = asyncio.run(with_server(saying(201), reach=Reach(ttl_s=ttl_s), expires_at=expires_at))
    assert posted(server.requests[0])[0]["ttl"] == str(told)


def test_what_is_urgent_may_wake_a_device_and_what_is_not_need_not() -> None:
    for priority, urgency in (("urgent", "high"), ("normal", "normal"), ("bulk", "low")):
        _, server = asyncio.run(with_server(saying(201), priority=priority))
        assert posted(server.requests[0])[0]["urgency"] == urgency


@pytest.mark.parametrize("host", [host for host in INSIDE if "[" not in host])
def test_nothing_inside_our_network_is_called(host: str) -> None:
    async def play() -> None:
        async with scripted(saying(201)) as server:
            provider = WebPushProvider(secret=SECRET)
            to = TO.replace(ENDPOINT, f"https://{host}:{server.port}/p")
            result = await sent(provider, message=replace(MESSAGE, to=to))
            await provider.close()
            assert (result.outcome, result.code) == (Outcome.REJECTED, "webpush.forbidden_address")
            assert (result.result_class, result.phase) == (ResultClass.RECIPIENT, Phase.NOT_CONNECTED)
            assert server.connections == 0

    asyncio.run(play())


def test_a_network_that_was_allowed_is_called_by_tls_and_no_redirect_is_followed(authority: trustme.CA) -> None:
    serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(serving)
    authority.configure_trust(trusting)

    async def play() -> None:
        async with scripted(answering(answer(b"", status="307 Go", headers=("Location: /in",))), tls=serving) as server:
            reach = Reach(networks=(ip_network("127.0.0.0/8"), ip_network("::1/128")), tls=trusting)
            provider = WebPushProvider(secret=SECRET, reach=reach)
            to = TO.replace(ENDPOINT, f"https://localhost:{server.port}/p/ana")
            result = await sent(provider, message=replace(MESSAGE, to=to))
            await provider.close()
            assert (result.outcome, result.code) == (Outcome.REJECTED, "webpush.redirected")
            (request,) = server.requests
            headers, body = posted(request)
            assert request.startswith(b"POST /p/ana HTTP/1.1\r\n")
            assert claims_of(headers["authorization"])["aud"] == f"https://localhost:{server.port}"
            assert decrypted(body)
            assert "notifyops-endpoint" not in headers

    asyncio.run(play())


def test_a_service_that_cannot_prove_its_name_gets_nothing(authority: trustme.CA) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(serving)

    async def play() -> None:
        async with scripted(Peer.wait, tls=serving) as server:
            provider = WebPushProvider(secret=SECRET, reach=Reach(networks=(ip_network("127.0.0.0/8"),)))
            to = TO.replace(ENDPOINT, f"https://127.0.0.1:{server.port}/p")
            result = await sent(provider, message=replace(MESSAGE, to=to))
            await provider.close()
            assert (result.outcome, result.code, server.requests) == (Outcome.NOT_SENT, "not_sent.tls", [])

    asyncio.run(play())


@pytest.mark.parametrize("secret", ["", "x", "whsec_" + "A" * 40, "A" * 43, "_" * 43, SECRET + "=", "-----BEGIN"])
def test_a_key_that_is_none_is_refused_and_never_repeated(secret: str) -> None:
    with pytest.raises(ValueError, match="32 bytes in base64url") as refusal:
        WebPushProvider(secret=secret)
    assert len(secret) < 10 or secret not in str(refusal.value)
