"""Every error is a problem with a stable code: also those that Django, the server or the wire make."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from notifications.api import gate, problems, reading
from notifications.api.problems import Problem
from notifications.models import Intent
from tests.api.callers import Answer, Caller, caller, wish

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


@pytest.mark.parametrize("path", ["/nothing", "/intents/", "/intents/x", "/intents/1/nothing", "/", "/intents/-1"])
def test_an_address_that_is_none_is_404_with_or_without_a_token(path: str) -> None:
    for one in (Caller(), caller()):
        assert one.get(path).code == "not_found"


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/intents/1"), ("PATCH", "/intents"), ("POST", "/outcomes")])
def test_a_method_that_does_not_fit_is_405_and_says_which_do(method: str, path: str) -> None:
    answer = caller().ask(method, path)
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["Allow"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_of_another_type_is_415(kind: str) -> None:
    answer = caller().ask("POST", "/intents", json.dumps(wish()).encode(), **{"Content-Type": kind})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1, "a": 2}', b'\xff\xfe{"a"', b"[" * 100_000,
     b"1" * 5000, b'{"report_id": "\xe9"}', b'"\x00"'],
)  # fmt: skip
def test_a_body_that_is_not_json_is_malformed(body: bytes) -> None:
    answer = caller().ask("POST", "/intents", body)
    assert (answer.status, answer.code) == (400, "malformed")


def test_half_a_surrogate_and_nul_are_refused_or_made_visible_and_never_a_fault() -> None:
    shop = caller()
    odd = wish(data={"title": "Q\ud83d \0"})
    made = shop.ask("POST", "/intents", json.dumps(odd).encode())
    assert made.status == 201
    for field in ("report_id", "recipient", "notification_type"):
        answer = shop.ask("POST", "/intents", json.dumps(wish(**{field: "a\ud83d\0"})).encode())
        assert answer.status in (400, 404), answer.text
    assert shop.post(made.document["links"]["cancel"], {"reason": "a\0b\0c"}).code == "invalid"
    assert shop.get("/intents?report_id=a%00b").code == "invalid"
    assert shop.get("/intents?notification_id=%ff").code == "invalid"


def test_a_body_that_is_too_large_is_413() -> None:
    answer = caller().ask("POST", "/intents", b'"' + b"a" * 4_194_304 + b'"')
    assert (answer.status, answer.code) == (413, "too_large")


def test_a_body_that_is_too_large_is_refused_before_it_is_read_in_the_same_words() -> None:
    from notifyops.asgi import application

    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("it was read")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", b"4194305"), (b"host", b"localhost")]
    scope = {"type": "http", "path": "/api/v1/intents", "method": "POST", "headers": headers}
    asyncio.run(application(scope, receive, send))
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"content-type"]) == (413, b"application/problem+json")
    words = Problem("too_large", "The body has more than 4194304 bytes.").document()
    assert json.loads(sent[1]["body"]) == words


def test_a_wrong_host_is_a_problem_too() -> None:
    assert Client().get("/api/v1/outcomes", headers={"host": "evil.example.com"}).json()["code"] == "malformed"


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_fault_of_ours_is_500_and_says_nothing_about_itself(as_role: Any) -> None:
    owner, enqueue = as_role("owner"), "FUNCTION notifyops.enqueue(text, text, text, jsonb, jsonb)"
    shop = caller()
    owner.execute(f"REVOKE EXECUTE ON {enqueue} FROM notifyops_test_web")
    try:
        answer = shop.post("/intents", wish())
    finally:
        owner.execute(f"GRANT EXECUTE ON {enqueue} TO notifyops_test_web")
    assert (answer.status, answer.code, answer.document["detail"]) == (500, "internal", "A fault of ours")
    assert shop.post("/intents", wish()).status == 201


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_server_that_cuts_the_connection_off_is_503_with_a_time_to_wait(as_role: Any) -> None:
    holder, admin, shop = as_role("owner", autocommit=False), as_role("postgres"), caller()
    holder.execute("LOCK TABLE notifyops_private.notifications_intentkey")
    answers: list[Answer] = []
    waiting = threading.Thread(target=lambda: answers.append(_closing(shop)))
    waiting.start()
    end = time.monotonic() + 60
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND query LIKE '%enqueue%' AND datname = current_database()"
    )
    while not admin.execute(cut).fetchall() and time.monotonic() < end:
        time.sleep(0.05)
    waiting.join(60)
    holder.rollback()
    assert [(one.status, one.code) for one in answers] == [(503, "unavailable")]
    assert int(answers[0].headers["Retry-After"]) > 0
    assert shop.post("/intents", wish()).status == 201


def _closing(shop: Caller) -> Answer:
    try:
        return shop.post("/intents", wish())
    finally:
        connections.close_all()


def test_no_more_at_once_than_there_are_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "WAIT_S", 0.01)
    shop = caller()
    taken = [gate.ROOM.acquire(blocking=False) for _ in range(16)]
    try:
        answer = shop.get("/outcomes")
    finally:
        for _ in filter(None, taken):
            gate.ROOM.release()
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "2")
    assert shop.get("/outcomes").status == 200


def test_a_session_of_the_console_is_no_token(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_superuser("lena"))
    answer = client.post("/api/v1/intents", json.dumps(wish()), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert not Intent.objects.exists()


def test_receipts_keep_their_own_address_and_words() -> None:
    answer = Client().post("/api/v1/providers/resend/events", b"{}", content_type="application/json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (401, "text/plain")


def test_every_code_has_a_title_a_cure_and_a_place_on_the_page() -> None:
    html = Client().get("/api/v1/docs").content.decode()
    for code, (status, title, cure) in problems.CODES.items():
        assert 400 <= status < 600, code
        assert title, code
        assert cure, code
        assert f'id="problem-{code}"' in html


def test_a_parameter_that_is_unknown_or_stands_twice_is_refused() -> None:
    shop = caller()
    for query in ("?afer=5", "?after=1&after=2", "?limit=10&x="):
        assert shop.get(f"/outcomes{query}").code == "invalid"
    assert set(reading.Asked.model_fields) == gate.NAMES


def test_an_unknown_field_is_named_where_its_name_is_harmless() -> None:
    shop = caller()
    told = shop.post("/intents", wish(colour="red")).document
    assert (told["field"], told["detail"]) == ("colour", "colour: an unknown field.")
    assert told["errors"] == [{"field": "colour", "message": "an unknown field"}]
    assert shop.post("/intents", wish(options={"expire_at": "x"})).document["field"] == "options.expire_at"
    for odd in ("ana@example.com", "a b", "x" * 41, "é"):
        hidden = shop.post("/intents", wish(**{odd: "1"}))
        assert hidden.document["errors"] == [{"field": "", "message": f"an unknown field of {len(odd)} characters"}]
        assert "/api/v1/docs" in hidden.document["hint"]
        assert "`field`" not in hidden.document["hint"]
        assert odd not in hidden.text
