"""Database addresses survive being taken apart and written again, whatever a password holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifyops import dsn
from notifyops.databases import databases
from notifyops.env import BadValue

# NUL cannot be in an address at all.
texts = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(user=texts, password=texts, name=texts)
def test_any_login_and_name_come_back_as_they_were(user: str, password: str, name: str) -> None:
    parts = {"host": "127.0.0.1", "port": "5432", "user": user, "password": password, "dbname": name}
    assert dsn.read(dsn.write(parts), name="A") == parts


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@db.example.com:5433/app?sslmode=require&connect_timeout=3",
        "postgresql://u@[::1]:5432/app",
        "postgresql://u@/app?host=/var/run/postgresql",
        "postgresql://u@a.example.com,b.example.com/app?target_session_attrs=read-write",
        "host=db.example.com user=u dbname='my app'",
    ],
)
def test_every_form_of_address_gives_another_role_on_the_same_server(url: str) -> None:
    before = dsn.read(url, name="A")
    after = dsn.read(dsn.with_login(url, user="v", password="p/:@?&"), name="A")
    assert after == before | {"user": "v", "password": "p/:@?&"}


@pytest.mark.parametrize("rest", ["hunter2@[::1/", "hunter2@host:port/", "hunter2@host:1/?nonsense=1", "%zz@host/"])
def test_a_bad_address_is_a_sentence_without_the_password(rest: str) -> None:
    with pytest.raises(BadValue, match="A cannot be used: it must be a PostgreSQL address") as refusal:
        dsn.read(f"postgresql://u:{rest}", name="A")
    assert "hunter2" not in str(refusal.value)


def test_the_place_of_an_address_has_no_password() -> None:
    assert dsn.place("postgresql://u:hunter2@db.example.com/app") == "db.example.com:5432/app"
    assert dsn.place("dbname=app") == "the local socket:5432/app"


def test_role_names_fit_into_a_name_of_the_database() -> None:
    assert max(len(name) for name in dsn.role_names("x" * 20).values()) <= 63
    assert dsn.role_names("local")["owner"] == "notifyops_local_owner"


def test_only_the_cluster_keeps_connections_and_has_limits() -> None:
    url = "postgresql://u:p@127.0.0.1/app?options=-c%20jit%3Doff"
    cluster = databases(url, owner_url="", in_cluster=True)["default"]
    web = databases(url, owner_url="", in_cluster=False)["default"]
    assert (cluster["CONN_MAX_AGE"], cluster["CONN_HEALTH_CHECKS"]) == (60, True)
    assert (web["CONN_MAX_AGE"], web["CONN_HEALTH_CHECKS"]) == (0, False)
    assert cluster["OPTIONS"]["options"].endswith("idle_in_transaction_session_timeout=60s -c jit=off")
    assert web["OPTIONS"]["options"] == "-c jit=off"
    assert "pool" not in cluster["OPTIONS"]


def test_the_owner_is_an_alias_only_where_it_is_known() -> None:
    url = "postgresql://u:p@127.0.0.1/app"
    assert set(databases(url, owner_url="", in_cluster=False)) == {"default"}
    known = databases(url, owner_url=url, in_cluster=False)
    assert set(known) == {"default", "owner"}
    assert known["default"]["TEST"] == {"MIRROR": "owner"}


def test_without_an_address_settings_still_load() -> None:
    assert databases("", owner_url="", in_cluster=False)["default"]["NAME"] == "-"


def test_only_a_web_process_keeps_a_pool() -> None:
    url = "postgresql://someone@127.0.0.1:5432/app"
    web = databases(url, owner_url=url, in_cluster=False, serves=True, pool=32)
    assert (web["default"]["ENGINE"], web["default"]["OPTIONS"]["pool"]) == ("notifyops.kept", 32)
    assert (web["default"]["CONN_MAX_AGE"], web["default"]["CONN_HEALTH_CHECKS"]) == (0, False)
    for none in (
        web["owner"],
        databases(url, owner_url="", in_cluster=True, pool=32)["default"],
        databases(url, owner_url="", in_cluster=False)["default"],
    ):
        assert (none["ENGINE"], "pool" in none["OPTIONS"]) == ("django.db.backends.postgresql", False)


def test_a_process_that_serves_waits_for_nothing_without_a_bound_and_a_command_for_its_work() -> None:
    url = "postgresql://someone@127.0.0.1:5432/app?options=-c%20jit%3Doff"
    serving = databases(url, owner_url=url, in_cluster=False, serves=True)
    options = serving["default"]["OPTIONS"]
    assert options["options"].split("-c ")[1:] == [
        "lock_timeout=3s ", "statement_timeout=20s ", "idle_in_transaction_session_timeout=60s ", "jit=off",
    ]  # fmt: skip
    assert (options["tcp_user_timeout"], options["keepalives_idle"], options["connect_timeout"]) == (10000, 10, "3")
    assert (
        databases(f"{url}&connect_timeout=9", owner_url="", in_cluster=False, serves=True)["default"]["OPTIONS"][
            "connect_timeout"
        ]
        == "9"
    )
    command = databases(url, owner_url="", in_cluster=False)["default"]["OPTIONS"]
    for said in (command, serving["owner"]["OPTIONS"]):
        assert (said["options"], said["connect_timeout"], "tcp_user_timeout" in said) == ("-c jit=off", "10", False)
