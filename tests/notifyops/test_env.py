"""Bad settings are refused with a sentence that names the variable and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from notifyops.env import (
    BadValue,
    Environment,
    agree,
    database_urls,
    home,
    hosts,
    networks,
    origins,
    redirect_to,
    resend_base_url,
)


def given(**values: str) -> Environment:
    return Environment(values)


def test_unset_and_blank_values_mean_the_default() -> None:
    assert given().whole("A", 3, low=1, high=9) == 3
    assert given(A=" ").whole("A", 3, low=1, high=9) == 3


@pytest.mark.parametrize("value", ["0", "10", "1.5", "x", "١", "9" * 40, "--1"])
def test_a_whole_number_out_of_range_names_variable_and_range(value: str) -> None:
    with pytest.raises(BadValue, match=r"^A is .*: it must be a whole number from 1 to 9\.$"):
        given(A=value).whole("A", 3, low=1, high=9)


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "-0.1", "60,0", "", "0.5"])
def test_a_number_is_finite_and_in_range(value: str) -> None:
    if value in ("", "0.5"):
        assert given(A=value).number("A", 0.5, low=0, high=1) == 0.5
        return
    with pytest.raises(BadValue, match="A is .* a number from 0 to 1"):
        given(A=value).number("A", 0.5, low=0, high=1)


@pytest.mark.parametrize(("value", "expected"), [("60,300", (60, 300)), ("0", (0,)), (" 0.2 , 5 ", (0.2, 5))])
def test_delays_are_seconds_separated_by_commas(value: str, expected: tuple[float, ...]) -> None:
    assert given(A=value).delays("A", (1,), high=900) == expected


@pytest.mark.parametrize("value", ["60,", "a", "-1", "901", ",".join("1" * 21), "60;300"])
def test_bad_delays_are_refused_with_an_example(value: str) -> None:
    with pytest.raises(BadValue, match="A is .* such as 60,300"):
        given(A=value).delays("A", (1,), high=900)


def test_a_choice_lists_the_allowed_words() -> None:
    assert given(A="live").choice("A", "off", ("off", "live")) == "live"
    with pytest.raises(BadValue, match="A is 'LIVE': it must be one of off, live"):
        given(A="LIVE").choice("A", "off", ("off", "live"))


def test_a_file_may_hold_the_value(tmp_path: Path) -> None:
    kept = tmp_path / "key"
    kept.write_text("re_secret\n")
    assert given(A_FILE=str(kept)).secret("A") == "re_secret"


def test_a_file_that_is_missing_empty_or_not_text_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="A_FILE names .*, which cannot be read: no such file or directory"):
        given(A_FILE=str(tmp_path / "none")).secret("A")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(BadValue, match="which is empty"):
        given(A_FILE=str(tmp_path / "empty")).secret("A")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadValue, match="not UTF-8 text"):
        given(A_FILE=str(tmp_path / "binary")).secret("A")


def test_a_value_and_its_file_together_are_refused() -> None:
    with pytest.raises(BadValue, match="A and A_FILE are both set: keep one"):
        given(A="1", A_FILE="/x").secret("A")


def test_no_refusal_and_no_repr_shows_a_secret() -> None:
    bad = given(A="hunter2 hunter2")
    for read in (
        lambda: bad.secret("A", pattern=r"\S+", allowed="one word"),
        lambda: bad.url("A"),
        lambda: bad.words("A", pattern="x", allowed="x"),
    ):
        with pytest.raises(BadValue) as refusal:
            read()
        assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(bad)


@pytest.mark.parametrize("value", ["ftp://a", "example.com", "http://", "http://a:0", "http://a:x", "http://[::1"])
def test_an_address_needs_a_scheme_and_a_host(value: str) -> None:
    with pytest.raises(BadValue, match="A cannot be used: it must be an address that begins with http or https"):
        given(A=value).url("A")


def test_an_address_loses_its_closing_slash() -> None:
    assert given(A="https://example.com/").url("A") == "https://example.com"


def test_the_home_is_what_the_variable_says_or_one_per_checkout() -> None:
    assert home(given(NOTIFYOPS_HOME="/data"), checkout=Path("/a")) == Path("/data")
    as_root = home(given(), checkout=Path("/a/clone"), is_root=True)
    assert as_root.parent == Path("/var/lib/notifyops")
    assert as_root != home(given(), checkout=Path("/b/clone"), is_root=True)
    assert home(given(HOME="/u"), checkout=Path("/a"), is_root=False).is_relative_to("/u/.local/share/notifyops")
    assert home(given(XDG_DATA_HOME="/x"), checkout=Path("/a"), is_root=False).is_relative_to("/x/notifyops")


def test_a_relative_home_is_refused() -> None:
    with pytest.raises(BadValue, match="NOTIFYOPS_HOME is 'data': it must be an absolute path"):
        home(given(NOTIFYOPS_HOME="data"), checkout=Path("/a"))
    with pytest.raises(BadValue, match="set NOTIFYOPS_HOME"):
        home(given(HOME="relative"), checkout=Path("/a"), is_root=False)


def test_a_lease_outlasts_its_call_by_two_seconds() -> None:
    agree(timeout_s=10, lease_s=12, window_s=10, margin_s=9)
    with pytest.raises(BadValue, match=r"NOTIFYOPS_LEASE_S is 11.9: .* which is 12"):
        agree(timeout_s=10, lease_s=11.9, window_s=10, margin_s=9)


def test_the_margin_is_less_than_the_window() -> None:
    with pytest.raises(BadValue, match="NOTIFYOPS_KEY_MARGIN_S is 10: it must be less than NOTIFYOPS_KEY_WINDOW_S"):
        agree(timeout_s=10, lease_s=12, window_s=10, margin_s=10)


def test_a_site_that_may_not_mail_never_gets_the_real_provider() -> None:
    real = given(NOTIFYOPS_RESEND_BASE_URL="https://api.resend.com")
    for mode in ("off", "sandbox"):
        with pytest.raises(BadValue, match=f"the real Resend while NOTIFYOPS_SITE_MODE is {mode}"):
            resend_base_url(real, site_mode=mode, sandbox_url="", sandbox_port=0)
        assert resend_base_url(given(), site_mode=mode, sandbox_url="http://s", sandbox_port=0) == "http://s"
        assert resend_base_url(given(), site_mode=mode, sandbox_url="", sandbox_port=9) == "http://127.0.0.1:9"
        assert resend_base_url(given(), site_mode=mode, sandbox_url="", sandbox_port=0) == ""
    assert (
        resend_base_url(given(), site_mode="live", sandbox_url="http://s", sandbox_port=9) == "https://api.resend.com"
    )


def test_only_a_command_gets_the_owner_of_a_running_installation() -> None:
    known = {"owner": "o", "worker": "k", "web": "b"}
    admin = {"NOTIFYOPS_DATABASE_URL": "admin"}
    assert database_urls(given(**admin), known=known) == {"worker": "k", "web": "b"}
    assert database_urls(given(NOTIFYOPS_PROCESS="command", **admin), known=known) == known


def test_without_an_installation_the_variables_name_the_database() -> None:
    assert database_urls(given(), known={}) == {}
    both = given(NOTIFYOPS_DATABASE_URL="u", NOTIFYOPS_OWNER_DATABASE_URL="o")
    assert database_urls(both, known={}) == {"worker": "u", "web": "u", "owner": "o"}


def test_the_public_address_is_an_allowed_host_and_a_trusted_origin() -> None:
    assert hosts(
        given(NOTIFYOPS_ALLOWED_HOSTS="a.example.com, b.example.com"), public_url="https://c.example.com:8/"
    ) == [
        "a.example.com",
        "b.example.com",
        "c.example.com",
    ]
    assert origins("https://c.example.com:8/x") == ["https://c.example.com:8"]
    assert origins("") == []


def test_redirecting_needs_one_bare_address_and_no_other_mode_keeps_it() -> None:
    named = given(NOTIFYOPS_REDIRECT_TO="team@example.com")
    assert redirect_to(named, site_mode="redirect") == "team@example.com"
    assert redirect_to(named, site_mode="live") == ""
    with pytest.raises(BadValue, match="set NOTIFYOPS_REDIRECT_TO to the address that gets all mail"):
        redirect_to(given(), site_mode="redirect")
    for wrong in ("team", "a@example.com,b@example.com", "Team <team@example.com>", "team@localhost"):
        with pytest.raises(BadValue, match="one bare address"):
            redirect_to(given(NOTIFYOPS_REDIRECT_TO=wrong), site_mode="redirect")


def test_networks_are_read_and_a_bad_one_is_not_repeated() -> None:
    found = networks(given(NETS="10.1.0.0/16, fd12::/16 192.0.2.7"), "NETS")
    assert [str(one) for one in found] == ["10.1.0.0/16", "fd12::/16", "192.0.2.7/32"]
    assert networks(given(), "NETS") == ()
    for bad in ("10.1.0.1/16", "everything", "10.0.0.0/8;fd12::/16"):
        with pytest.raises(BadValue, match="NETS cannot be used: write networks as") as refusal:
            networks(given(NETS=bad), "NETS")
        assert bad not in str(refusal.value)
