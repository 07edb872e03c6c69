"""Too many wrong passwords: counted by name and address together, said honestly, undone by a named person."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from notifyops.env import BadValue, Environment
from notifyops.proxy import NAME, trusted
from reviews.signin.models import AccessRecord
from tests.api.callers import caller
from tests.reviews.cases import make_person

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "She called from her own number."


def member(name: str) -> None:
    """Make one of the people, with a password that this process can check."""
    person = make_person(name)
    person.set_password("pw")
    person.save()


def give(password: str, name: str = "olga", client: Client | None = None, **more: Any) -> Any:
    return (client or Client()).post("/login/", {"username": name, "password": password}, **more)


def lock(name: str = "olga", **more: Any) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        give("wrong", name, **more)


def test_the_fifth_wrong_password_locks_and_the_right_one_is_then_refused_too() -> None:
    member("olga")
    answers = [give("wrong").status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert answers == [200, 200, 200, 200, 429]
    refused = give("pw")
    assert (refused.status_code, refused["Retry-After"]) == (429, "900")
    assert "For 15 minutes no password is looked at, not the right one either." in refused.content.decode()
    assert "sessionid" not in refused.cookies


def test_one_right_password_before_that_begins_the_count_anew() -> None:
    member("olga")
    for _ in range(2):
        for _ in range(settings.AXES_FAILURE_LIMIT - 1):
            assert give("wrong").status_code == 200
        assert give("pw").status_code == 302


def test_others_at_that_address_and_the_same_name_elsewhere_are_not_locked() -> None:
    member("olga")
    member("lena")
    lock()
    assert give("pw", "lena").status_code == 302
    assert give("pw", REMOTE_ADDR="192.0.2.7").status_code == 302


def test_a_name_that_nobody_has_is_locked_in_the_same_words() -> None:
    member("olga")
    lock("olga")
    lock("nobody")
    pages = [give("pw", name).content.decode() for name in ("olga", "nobody")]
    said = [re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page) for page in pages]
    assert said[0] == said[1]


def test_the_page_speaks_the_language_of_the_browser() -> None:
    member("olga")
    lock()
    html = give("pw", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "登录已锁定" in html
    assert "Too many wrong" not in html


def test_the_lock_ends_by_itself_and_knocking_does_not_prolong_it() -> None:
    member("olga")
    lock()
    before = AccessAttempt.objects.get().attempt_time
    assert give("wrong").status_code == 429
    assert AccessAttempt.objects.get().attempt_time == before
    AccessAttempt.objects.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))
    assert give("pw").status_code == 302


def test_the_admin_has_the_same_login() -> None:
    member("lena")
    client = Client()
    asked = client.get("/admin/", follow=True)
    assert asked.redirect_chain[-1][0] == "/login/?next=%2Fadmin%2F"
    posted = client.post("/admin/login/?next=/admin/", {"username": "lena", "password": "pw"})
    assert (posted.status_code, posted["Location"]) == (302, "/login/?next=/admin/")
    assert "_auth_user_id" not in client.session
    lock("lena")
    assert give("pw", "lena").status_code == 429


def test_the_api_s_tokens_know_of_no_lock() -> None:
    shop = caller("read")
    lock()
    assert shop.get("/outcomes").status == 200
    for _ in range(settings.AXES_FAILURE_LIMIT + 1):
        assert Client().get("/api/v1/outcomes", headers={"Authorization": "Bearer nops_wrong"}).status_code == 401
    assert shop.get("/outcomes").status == 200


def test_a_stranger_s_word_about_where_he_is_counts_for_nothing() -> None:
    member("olga")
    for n in range(settings.AXES_FAILURE_LIMIT):
        last = give("wrong", headers={"X-Forwarded-For": f"192.0.2.{n}"})
    assert last.status_code == 429


@pytest.mark.parametrize(
    ("far", "said", "counts_as"),
    [
        ("10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "198.51.100.1, 192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "198.51.100.1, 192.0.2.7, 10.0.0.2", "192.0.2.7"),
        ("10.0.0.1", "192.0.2.7, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "[2001:db8::1]", "2001:db8::1"),
        ("10.0.0.1", "[2001:db8::1]:50123", "2001:db8::1"),
        ("10.0.0.1", "192.0.2.7:50123", "192.0.2.7"),
        ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("10.0.0.1", "198.51.100.1:1, 192.0.2.7:2, 10.0.0.2:3", "192.0.2.7"),
        ("10.0.0.1", "198.51.100.1, 192.0.2.7:port", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, [192.0.2.7", "10.0.0.1"),
        ("192.0.2.9", "198.51.100.1", "192.0.2.9"),
        ("", "192.0.2.7", "192.0.2.7"),
    ],
)
def test_behind_our_proxies_the_nearest_stranger_is_the_client(
    settings: Any, far: str, said: str, counts_as: str
) -> None:
    settings.NOTIFYOPS_TRUSTED_PROXIES = trusted(Environment({NAME: "10.0.0.0/24, unix"}))
    give("wrong", REMOTE_ADDR=far, headers={"X-Forwarded-For": said})
    assert AccessAttempt.objects.get().ip_address == counts_as


def test_only_a_proxy_of_ours_is_believed_that_the_client_came_by_tls(settings: Any) -> None:
    settings.NOTIFYOPS_TRUSTED_PROXIES = trusted(Environment({NAME: "10.0.0.1"}))
    settings.SECURE_SSL_REDIRECT = True
    claim = {"X-Forwarded-Proto": "https"}
    assert Client(REMOTE_ADDR="10.0.0.1").get("/login/", headers=claim).status_code == 200
    assert Client(REMOTE_ADDR="192.0.2.1").get("/login/", headers=claim).status_code == 301
    assert Client(REMOTE_ADDR="192.0.2.1").get("/healthz").status_code == 200


def test_a_bad_proxy_stops_the_start_with_a_sentence() -> None:
    with pytest.raises(BadValue, match="it must be addresses or networks such as"):
        trusted(Environment({NAME: "nginx"}))


def test_unlocking_says_why_and_is_kept() -> None:
    member("olga")
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("people", "unlock", "olga", "--reason", WHY)
    lock()
    with pytest.raises(CommandError, match="Say why"):
        call_command("people", "unlock", "olga")
    with pytest.raises(CommandError, match="refer by ID"):
        call_command("people", "unlock", "olga", "--reason", "ana@example.com asked for it")
    with pytest.raises(CommandError, match="no such account"):
        call_command("people", "unlock", "nobody", "--reason", WHY)
    assert give("pw").status_code == 429
    out = StringIO()
    call_command("people", "list", stdout=out)
    assert "LOCKED" in out.getvalue()
    call_command("people", "unlock", "olga", "--reason", WHY, stdout=out)
    assert give("pw").status_code == 302
    kept = AccessRecord.objects.get()
    assert (kept.user.username, kept.deed, kept.reason, kept.actor[:4]) == ("olga", "unlocked", WHY, "cli:")


def test_neither_names_nor_addresses_nor_passwords_reach_the_logs(caplog: pytest.LogCaptureFixture) -> None:
    member("olga")
    with caplog.at_level(logging.DEBUG):
        lock(REMOTE_ADDR="192.0.2.77")
    said = "\n".join(f"{record.getMessage()} {record.__dict__.get('path', '')}" for record in caplog.records)
    assert "login locked" in said
    assert [word for word in ("olga", "192.0.2.77", "wrong\n") if word in said] == []
    kept = AccessAttempt.objects.get()
    assert "password=wrong" not in kept.post_data
