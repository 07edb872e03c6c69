"""What programs pass: text that PostgreSQL cannot hold, values that JSON does not know, calls at the wrong time."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from notifications import outbox
from notifications.models import Content, Intent
from notifications.outbox_json import dumped, plain, visible

both = pytest.mark.django_db(databases=["default", "owner"])


def owe(data: Any, to: Any = "ana@example.com", report_id: Any = "demo-001", **options: Any) -> outbox.Enqueued:
    return outbox.enqueue("report_ready", report_id, to, data, **options)


@both
def test_text_that_postgresql_cannot_hold_is_made_visible_and_never_fatal() -> None:
    owe({"title": "a\0b\ud800c", "deep": [{"k\0": "\udfff"}], "emoji": "😀", "line": "a\r\nb\u2028"})
    assert Content.objects.get().data == {
        "title": "a\ufffdb\ufffdc",
        "deep": [{"k\ufffd": "\ufffd"}],
        "emoji": "😀",
        "line": "a\r\nb\u2028",
    }


@given(
    st.dictionaries(
        st.text(st.characters(codec=None), max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(codec=None)),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    )
)  # fmt: skip
def test_whatever_passes_can_be_written_as_utf8_without_nul(data: dict[str, Any]) -> None:
    if len({visible(key) for key in data}) < len(data):
        with pytest.raises(outbox.SchemaError, match="two keys"):
            plain(data, "data")
        return
    text = dumped(plain(data, "data"))
    assert b"\\u0000" not in text.encode("utf-8").replace(b"\\\\", b"")


REFUSED: list[tuple[object, str]] = [
    (float("nan"), "no number"),
    (float("-inf"), "no number"),
    (10**5000, "digits"),
    (datetime(2026, 11, 2, tzinfo=UTC), "datetime"),
    (Decimal("1.10"), "Decimal"),
    (UUID(int=1), "UUID"),
    ({1, 2}, "set"),
    (b"bytes", "bytes"),
    (gettext_lazy("Report"), "__proxy__"),
    (object(), "object"),
    ({1: "x"}, "no text"),
    ({None: "x"}, "no text"),
    ({"a\0": 1, "a\ud800": 2}, "two keys"),
]


@pytest.mark.parametrize(("value", "sentence"), REFUSED, ids=[type(value).__name__ for value, _ in REFUSED])
def test_what_json_does_not_know_is_refused_by_its_place(value: object, sentence: str) -> None:
    with pytest.raises(outbox.SchemaError, match=sentence) as caught:
        owe({"title": "Q3", "parts": [{"value": value}]})
    assert caught.value.field == "data.parts[0].value"


def test_a_structure_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"title": "Q3"}
    loop["self"] = loop
    with pytest.raises(outbox.SchemaError, match="deeper than 32"):
        owe(loop)


@both
def test_tuples_subclasses_of_text_and_large_numbers_are_plain_json() -> None:
    owe({"title": mark_safe("<b>Q3</b>"), "pair": (1, 2), "big": 2**200, "small": -0.5})
    assert Content.objects.get().data == {"title": "<b>Q3</b>", "pair": [1, 2], "big": 2**200, "small": -0.5}


@pytest.mark.parametrize("data", [None, {}, {"title": None}, {"title": 3}, {"title": ["Q3"]}, {"Title": "Q3"}])
def test_data_that_does_not_fit_the_type_is_refused_before_the_database_is_asked(data: Any) -> None:
    with pytest.raises(outbox.SchemaError, match="title") as caught:
        owe(data)
    assert caught.value.field == "data.title"


@pytest.mark.parametrize("data", [["title"], "title", 3])
def test_data_must_be_a_mapping(data: Any) -> None:
    with pytest.raises(outbox.SchemaError, match="mapping"):
        owe(data)


@pytest.mark.parametrize("to", [None, 3, "", "a@b", "a@example.com,b@example.com", "a@example.com\nBcc: x@example.com"])
def test_a_recipient_that_is_no_address_is_refused_by_python_too(to: Any) -> None:
    with pytest.raises(outbox.InvalidRecipient) as caught:
        owe({"title": "Q3"}, to=to)
    assert caught.value.field == "recipient"


@pytest.mark.parametrize("report_id", [None, 3, UUID(int=1), "a\0b", "a\ud800"])
def test_a_report_id_that_is_no_text_is_refused(report_id: Any) -> None:
    with pytest.raises(outbox.SchemaError, match="report_id"):
        owe({"title": "Q3"}, report_id=report_id)


@both
def test_options_are_refused_by_their_name() -> None:
    bad: dict[str, Any] = {
        "not_before": datetime(2026, 11, 2),  # noqa: DTZ001
        "locale": datetime(2026, 11, 2, tzinfo=UTC),
        "priority": 3,
        "workspace": "a b",
        "expire_at": "2035-01-01T00:00:00Z",
        "actor": "a\0",
    }
    for name, value in bad.items():
        with pytest.raises(outbox.SchemaError) as caught:
            owe({"title": "Q3"}, **{name: value})
        assert caught.value.field == f"options.{name}"
    assert owe({"title": "Q3"}, locale=None).created


@both
def test_data_above_256_kb_is_refused() -> None:
    with pytest.raises(outbox.PayloadTooLarge, match="256 kB"):
        owe({"title": "x" * 262_144})


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_outside_a_transaction_an_enqueue_is_refused_unless_the_site_allows_it(
    transactional_db: None, settings: Any
) -> None:
    assert getattr(django_settings, "NOTIFYOPS_REQUIRE_ATOMIC", True)
    with pytest.raises(outbox.NotInTransaction, match=r"transaction\.atomic"):
        owe({"title": "Q3"})
    with pytest.raises(outbox.NotInTransaction):
        outbox.enqueue_many([])
    settings.NOTIFYOPS_REQUIRE_ATOMIC = False
    assert owe({"title": "Q3"}).created
    settings.NOTIFYOPS_REQUIRE_ATOMIC = True
    with transaction.atomic():
        assert not owe({"title": "Q3"}).created
    assert Intent.objects.count() == 1
