"""One suite for all adapters: what the engine relies on, whoever the provider is."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import replace

import pytest

from notifications.providers.base import NotWritten, Provider, Request, SendResult
from notifications.providers.kinds import kinds
from notifications.providers.outcomes import OUTCOMES
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.candidates import CANDIDATES, TRIALS
from tests.providers.conformance import RAW, SITUATIONS, Candidate, Trial
from tests.providers.conftest import Runner
from tests.providers.scripted_server import Peer, scripted

pytestmark = pytest.mark.slow

each_candidate = pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
speaks = pytest.mark.parametrize("candidate", [one for one in CANDIDATES if one.trials], ids=str)


def order(candidate: Candidate, provider: Provider, *, timeout_s: float = 5.0) -> Request:
    return Request("report-ready/demo-001", provider.prepare(candidate.message), timeout_s, lambda: None)


async def once(candidate: Candidate, port: int, *, timeout_s: float = 5.0) -> SendResult:
    provider = candidate.open(port)
    try:
        return await provider.send(order(candidate, provider, timeout_s=timeout_s))
    finally:
        await provider.close()


def test_every_kind_of_account_is_in_the_suite() -> None:
    assert {candidate.kind for candidate in CANDIDATES} == set(kinds())


@speaks
def test_every_situation_is_scripted(candidate: Candidate) -> None:
    assert {trial.situation for trial in candidate.trials} >= set(SITUATIONS)


@pytest.mark.parametrize(("candidate", "trial"), TRIALS, ids=str)
def test_each_situation_has_its_truth_and_its_code_by_one_attempt(
    run: Runner, candidate: Candidate, trial: Trial
) -> None:
    """No raise, no second connection or message, and not a second beyond the deadline."""

    async def play() -> None:
        async with scripted(trial.script) as server:
            started = asyncio.get_running_loop().time()
            result = await once(candidate, server.port, timeout_s=0.6)
            assert asyncio.get_running_loop().time() - started < 1.2
            assert (result.outcome, result.code, result.phase) == (trial.outcome, trial.code, trial.phase)
            assert (server.connections, len(server.requests)) == (1, trial.messages)
            assert OUTCOMES[result.result_class] is result.outcome
            assert result.outcome in SITUATIONS.get(trial.situation, set(Outcome))
            assert not any(word in repr(result) for word in RAW.split())
            assert (result.provider_message_id is not None) == (result.outcome is Outcome.ACCEPTED)

    run(play())


@speaks
def test_what_condemns_the_recipient_and_what_the_account_are_told_apart(candidate: Candidate) -> None:
    async def play(situation: str) -> ResultClass:
        async with scripted(candidate.script(situation)) as server:
            return (await once(candidate, server.port)).result_class

    assert asyncio.run(play("refuses the recipient")) is ResultClass.RECIPIENT
    assert asyncio.run(play("refuses the account")) is ResultClass.FIX_CONFIG
    assert asyncio.run(play("takes no more for now")) in (ResultClass.RATE_LIMITED, ResultClass.RETRYABLE)


@speaks
def test_nobody_at_the_port_is_not_sent(run: Runner, candidate: Candidate) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = run(once(candidate, unused.getsockname()[1]))
    assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.refused")
    assert result.phase is Phase.NOT_CONNECTED


@speaks
def test_a_service_that_never_speaks_is_bounded_by_the_deadline(run: Runner, candidate: Candidate) -> None:
    async def play() -> None:
        async with scripted(Peer.wait) as server:
            started = asyncio.get_running_loop().time()
            result = await once(candidate, server.port, timeout_s=0.3)
            assert asyncio.get_running_loop().time() - started < 0.9
            assert result.code in ("not_sent.deadline", "unknown.deadline")
            assert (result.code == "not_sent.deadline") == (result.outcome is Outcome.NOT_SENT)

    run(play())


@speaks
@pytest.mark.parametrize("refusal", [NotWritten("lease_over"), ZeroDivisionError("a bug")], ids=repr)
def test_the_last_check_keeps_the_message_here(run: Runner, candidate: Candidate, refusal: Exception) -> None:
    asked = 0

    def refuse() -> None:
        nonlocal asked
        asked += 1
        raise refusal

    async def play() -> None:
        async with scripted(candidate.script("accepts")) as server:
            provider = candidate.open(server.port)
            result = await provider.send(replace(order(candidate, provider), may_write=refuse))
            await provider.close()
            await asyncio.sleep(0.05)
            assert (result.outcome, asked, server.requests) == (Outcome.NOT_SENT, 1, [])
            expected = "lease_over" if isinstance(refusal, NotWritten) else "internal_error"
            assert result.code == f"not_sent.{expected}"

    run(play())


@speaks
def test_the_last_check_is_asked_once_and_before_the_service_has_the_message(candidate: Candidate) -> None:
    async def play() -> None:
        async with scripted(candidate.script("accepts")) as server:
            provider = candidate.open(server.port)
            seen: list[int] = []
            await provider.send(
                replace(order(candidate, provider), may_write=lambda: seen.append(len(server.requests)))
            )
            await provider.close()
            assert (seen, len(server.requests)) == ([0], 1)

    asyncio.run(play())


class Told(BaseException):
    """A stop of the process, as SystemExit is."""


@speaks
def test_a_stop_passes_through_and_sends_nothing(run: Runner, candidate: Candidate) -> None:
    async def play() -> None:
        async with scripted(candidate.script("accepts")) as server:
            provider = candidate.open(server.port)

            def stop() -> None:
                raise Told

            with pytest.raises(Told):
                await provider.send(replace(order(candidate, provider), may_write=stop))
            await provider.close()
            assert server.requests == []

    run(play())


@speaks
def test_a_cancelled_call_ends_at_once(run: Runner, candidate: Candidate) -> None:
    async def play() -> None:
        async with scripted(candidate.script("stays silent")) as server:
            provider = candidate.open(server.port)
            call = asyncio.create_task(provider.send(order(candidate, provider)))
            while not server.requests:
                await asyncio.sleep(0.01)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(call, 1)
            assert call.cancelled()
            await provider.close()
            await provider.close()

    run(play())


@speaks
def test_no_proxy_of_the_environment_is_used(candidate: Candidate, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with scripted(Peer.wait) as proxy, scripted(candidate.script("accepts")) as server:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            monkeypatch.delenv("no_proxy", raising=False)
            result = await once(candidate, server.port)
            assert (result.outcome, proxy.connections) == (Outcome.ACCEPTED, 0)

    asyncio.run(play())


@speaks
def test_bytes_of_another_kind_never_raise(candidate: Candidate) -> None:
    """An account may have got another adapter after the bytes were frozen."""

    async def play(body: bytes) -> None:
        async with scripted(candidate.script("stays silent")) as server:
            provider = candidate.open(server.port)
            result = await provider.send(replace(order(candidate, provider, timeout_s=0.3), body=body))
            await provider.close()
            assert result.outcome in (Outcome.REJECTED, Outcome.UNKNOWN)

    for body in (b"", b"\xff\x00", b'{"to":["a@example.com"]}', b"RCPT TO:<a@example.com>\r\n\r\n\r\n"):
        asyncio.run(play(body))


@each_candidate
def test_the_capabilities_are_declared_and_agree(candidate: Candidate) -> None:
    promised = candidate.open(9).capabilities
    assert promised.max_recipients == 1
    assert promised.key_scope
    if promised.idempotency == "none":
        assert (promised.idempotency_window, promised.idempotency_key_max) == (None, None)
    if promised.idempotency == "key":
        assert promised.idempotency_window is not None
    assert (promised.lookup_retention is None) or promised.lookup
    assert bool(promised.lookup) <= (kinds()[candidate.kind].lookup is not None)
