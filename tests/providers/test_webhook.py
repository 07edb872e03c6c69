"""Webhooks as a channel: what a receiver verifies, what its status proves, and where nothing is ever sent."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from yarl import URL

from notifications.providers import webhook_answers
from notifications.providers.base import Message, Request, SendResult, Unsendable
from notifications.providers.fence import EVERYTHING, Fence, FencedResolver, Forbidden
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.resolver import DaemonResolver
from notifications.providers.standard_webhooks import endpoint_key, key_of, secret_of
from notifications.providers.webhook import Pool, WebhookProvider
from notifications.providers.webhook_message import MAX_BYTES, frozen_call, read_call
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.candidate_webhook import NEW, OLD, TO, saying
from tests.providers.scripted_server import Peer, ScriptedServer, answer, answering, scripted

FACTS = {"type": "report_event", "notification_id": "report-event/demo-001", "report_id": "demo-001"}
MESSAGE = Message(
    sender="Reports <reports@example.com>",
    to=TO,
    subject="Report “Q3” is ready",
    text="Report “Q3” (demo-001) is ready.",
    tags={"site": "test", "intent": "17", "generation": "1"},
    prepared_at=datetime(2026, 12, 1, 6, 0, tzinfo=UTC),
    facts={**FACTS, "data": {"title": "Q3", "big": 10**40}},
)


def secret_for(url: str, secret: str = NEW) -> str:
    return secret_of(endpoint_key(key_of(secret), url))


async def sent(
    provider: WebhookProvider, *, message: Message = MESSAGE, key: str = "report-event/demo-001"
) -> SendResult:
    return await provider.send(Request(key, provider.prepare(message), 30.0, lambda: None))


def posted(request: bytes) -> tuple[dict[str, str], str]:
    """Give the headers and the body of one raw request."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body.decode()


async def with_server(
    script: Any, *, secrets: str = NEW, times: int = 1, **changes: Any
) -> tuple[list[SendResult], ScriptedServer]:
    """Send `times` through a stand-in that plays the script."""
    async with scripted(script) as server:
        provider = WebhookProvider(secrets=secrets, stand_in=server.url + "/in")
        results = [await sent(provider, message=replace(MESSAGE, **changes)) for _ in range(times)]
        await provider.close()
        return results, server


def test_the_receiver_verifies_it_by_the_endpoints_own_secret_and_each_of_two_while_they_rotate() -> None:
    (result,), server = asyncio.run(with_server(saying(202), secrets=f"{NEW},{OLD}"))
    headers, body = posted(server.requests[0])
    for secret in (NEW, OLD):
        document = Webhook(secret_for(TO, secret)).verify(body, headers)
    assert document == json.loads(body)
    assert document["type"] == "report_event"
    assert document["timestamp"] == "2026-12-01T06:00:00.000Z"
    assert {name: document["data"][name] for name in ("notification_id", "report_id", "subject", "text", "tags")} == {
        "notification_id": "report-event/demo-001",
        "report_id": "demo-001",
        "subject": MESSAGE.subject,
        "text": MESSAGE.text,
        "tags": dict(MESSAGE.tags),
    }
    assert document["data"]["data"] == {"title": "Q3", "big": 10**40}
    assert result.provider_message_id == headers["webhook-id"]
    assert re.fullmatch(r"msg_[0-9a-f]{32}", headers["webhook-id"])
    assert headers["content-type"] == "application/json"
    assert (headers.get("cookie"), headers.get("authorization")) == (None, None)
    assert headers["notifyops-endpoint"] == TO
    assert len(headers) == server.requests[0].partition(b"\r\n\r\n")[0].count(b"\r\n")  # none comes twice


@pytest.mark.parametrize("secret", [NEW, secret_for("https://other.example.com/in"), secret_for(TO + "8")])
def test_nobody_elses_secret_verifies_it(secret: str) -> None:
    """Neither the account's own, nor another endpoint's: who knows one can forge nothing for another."""
    _, server = asyncio.run(with_server(saying(200)))
    headers, body = posted(server.requests[0])
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)


def test_all_attempts_of_one_generation_have_one_id_and_the_same_bytes() -> None:
    script = answering(*[answer(b"", status=f"{status} Said") for status in (500, 503, 200)])
    results, server = asyncio.run(with_server(script, times=3))
    found = [posted(request) for request in server.requests]
    assert [result.outcome for result in results] == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.ACCEPTED]
    assert len({headers["webhook-id"] for headers, _ in found}) == len({body for _, body in found}) == 1


def test_where_nobody_can_tell_the_log_gets_the_id_to_ask_about() -> None:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        await peer.reset()

    (result,), server = asyncio.run(with_server(script))
    assert (result.outcome, result.code) == (Outcome.UNKNOWN, "unknown.disconnected")
    assert result.trace_id == posted(server.requests[0])[0]["webhook-id"]


def test_bytes_that_name_no_address_are_never_called() -> None:
    for url in ("https://user@hooks.example.com/", "POST", "ftp://hooks.example.com/", "https://hooks.example.com:0/"):
        assert read_call(frozen_call(MESSAGE).replace(TO.encode(), url.encode())) is None


def test_another_generation_and_another_site_have_other_ids() -> None:
    call = read_call(frozen_call(MESSAGE))
    other = read_call(frozen_call(replace(MESSAGE, tags={**MESSAGE.tags, "site": "staging"})))
    assert call is not None
    assert other is not None
    assert len({call.id("demo-001"), call.id("demo-001~g2"), other.id("demo-001")}) == 3


@pytest.mark.parametrize(
    "status",
    [
        *range(300, 304),
        *range(305, 309),
        *range(400, 419),
        421,
        *range(422, 432),
        451,
        499,
        *range(500, 512),
        599,
        600,
        999,
    ],
)
def test_each_status_has_one_class_and_keeps_what_is_true(status: int) -> None:
    (result,), _ = asyncio.run(with_server(saying(status)))
    assert result.http_status == status
    assert OUTCOMES[result.result_class] is result.outcome
    assert result.code in webhook_answers.CODES
    assert result.phase is Phase.ANSWER_READ
    assert result.provider_message_id is None
    # Only a 4xx and a redirect say for certain that it was not taken; the two that a proxy gives late do not.
    certain = status < 500 and status not in (408, 425)
    assert (result.outcome is Outcome.UNKNOWN) is not certain
    assert result.address_gone is (status == 410)


@pytest.mark.parametrize("status", [429, 503])
def test_the_wait_that_a_receiver_asks_for_is_told(status: int) -> None:
    (result,), _ = asyncio.run(with_server(saying(status, "Retry-After: 120")))
    assert (result.retry_after_s, result.retry_after_raw) == (120.0, "120")
    expected = ResultClass.RATE_LIMITED if status == 429 else ResultClass.UNKNOWN
    assert result.result_class is expected


def test_any_2xx_accepts_whatever_the_body_says() -> None:
    for status in (200, 201, 202, 204, 299):
        script = answering(
            answer(b"", status=f"{status} Said") if status == 204 else answer(b"\xff<", status=f"{status} x")
        )
        (result,), _ = asyncio.run(with_server(script))
        assert (result.outcome, result.code) == (Outcome.ACCEPTED, "webhook.accepted")


def test_a_body_without_an_end_is_not_read_whole() -> None:
    big = answer(b"x" * 5_000_000)
    (result,), _ = asyncio.run(with_server(answering(big)))
    assert result.outcome is Outcome.ACCEPTED


INSIDE = (
    "127.0.0.1",
    "localhost",
    "[::1]",
    "10.0.0.1",
    "2130706433",
    "0x7f.1",
    "127.1",
    "[::]",
    "0.0.0.0",  # noqa: S104
    "[::ffff:7f00:1]",
)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", INSIDE)
def test_nothing_inside_our_network_is_called(host: str, scheme: str) -> None:
    async def play() -> None:
        async with scripted(saying(200)) as server:
            provider = WebhookProvider(secrets=NEW)
            result = await sent(provider, message=replace(MESSAGE, to=f"{scheme}://{host}:{server.port}/in"))
            await provider.close()
            assert (result.outcome, result.code) == (Outcome.REJECTED, "webhook.forbidden_address")
            assert (result.result_class, result.phase) == (ResultClass.RECIPIENT, Phase.NOT_CONNECTED)
            assert server.connections == 0

    asyncio.run(play())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_network_that_was_allowed_is_called_and_signed(host: str) -> None:
    async def play() -> None:
        async with scripted(saying(200)) as server:
            url = f"http://{host}:{server.port}/in"
            provider = WebhookProvider(secrets=NEW, pool=Pool(4, (*EVERYTHING,)))
            result = await sent(provider, message=replace(MESSAGE, to=url))
            await provider.close()
            assert result.outcome is Outcome.ACCEPTED
            headers, body = posted(server.requests[0])
            Webhook(secret_for(url)).verify(body, headers)
            assert "notifyops-endpoint" not in headers

    asyncio.run(play())


def test_a_name_is_resolved_once_and_what_was_checked_is_what_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers with an open address first and with ours afterwards gains nothing."""
    answers = iter(["93.184.215.14", "127.0.0.1"])
    asked: list[str] = []

    async def lie(self: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        asked.append(host)
        return [{"hostname": host, "host": next(answers), "port": port, "family": 2, "proto": 6, "flags": 0}]

    monkeypatch.setattr(DaemonResolver, "resolve", lie)

    async def play() -> tuple[Any, Any]:
        resolver = FencedResolver(Fence(), "https")
        first = await resolver.resolve("rebind.example.com", 443)
        with pytest.raises(Forbidden):
            await resolver.resolve("rebind.example.com", 443)
        return first, asked

    (found,), names = asyncio.run(play())
    assert (found["host"], names) == ("93.184.215.14", ["rebind.example.com"] * 2)


def test_one_private_address_among_open_ones_forbids_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def both(self: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        found = ("93.184.215.14", "10.0.0.1")
        return [{"hostname": host, "host": one, "port": port, "family": 2, "proto": 6, "flags": 0} for one in found]

    monkeypatch.setattr(DaemonResolver, "resolve", both)
    provider = WebhookProvider(secrets=NEW)

    async def play() -> SendResult:
        result = await sent(provider)
        await provider.close()
        return result

    assert asyncio.run(play()).code == "webhook.forbidden_address"


def test_http_goes_only_where_it_was_allowed() -> None:
    inside = Fence(tuple(network for network in EVERYTHING if network.version == 4))
    assert inside.admits("10.0.0.1", "http")
    assert not Fence().admits("93.184.215.14", "http")
    assert Fence().admits("93.184.215.14", "https")
    for scheme in ("ftp", "file", "gopher", ""):
        assert not inside.admits("10.0.0.1", scheme)
    with pytest.raises(Forbidden):
        Fence().check(URL("http://hooks.example.com/"))


def test_large_content_belongs_behind_a_link() -> None:
    with pytest.raises(Unsendable) as refusal:
        frozen_call(replace(MESSAGE, text="x" * MAX_BYTES))
    assert refusal.value.code == "too_large"


@pytest.mark.parametrize("secrets", ["", " , ", "whsec_c2hvcnQ=", f"{NEW},short", "re_0123456789012345678901234"])
def test_what_is_no_signing_secret_is_refused_and_not_repeated(secrets: str) -> None:
    with pytest.raises(ValueError, match="whsec_") as refusal:
        WebhookProvider(secrets=secrets)
    assert not secrets.strip(" ,") or secrets not in str(refusal.value)
