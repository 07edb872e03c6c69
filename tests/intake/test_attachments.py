"""What may be attached: the same by SQL and by Python, refused with a cure, kept apart from the log, and erased."""

from __future__ import annotations

import json
from typing import Any, Final

import psycopg
import pytest
from django.db import DatabaseError, connection, connections, transaction

from notifications import outbox
from notifications.models import Blob, Content, Intent
from notifications.policy import attachments as rules
from tests.intake.attaching import LINK, PDF, attached, linked
from tests.intake.conftest import QUERY

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
MANY: Final = "SELECT position, created FROM notifyops.enqueue_many(%s::jsonb) ORDER BY position"


def by_sql(report: str = "demo-001", **options: Any) -> bool:
    """Enqueue in SQL; give whether it is new."""
    with transaction.atomic(), connection.cursor() as cursor:
        told = json.dumps(options)
        cursor.execute(QUERY, ["report_ready", report, "ana@example.com", '{"title": "Q3"}', told])
        row = cursor.fetchone()
    assert row is not None
    return bool(row[2])


def by_python(report: str = "demo-001", **options: Any) -> bool:
    with transaction.atomic():
        return outbox.enqueue("report_ready", report, "ana@example.com", {"title": "Q3"}, **options).created


def refusal(attachments: Any, **options: Any) -> tuple[str, str, str, str]:
    """Give what the database says: SQLSTATE, message, detail and hint."""
    with pytest.raises(DatabaseError) as caught:
        by_sql(attachments=attachments, **options)
    cause = caught.value.__cause__
    assert isinstance(cause, psycopg.Error)
    diag = cause.diag
    return cause.sqlstate or "", diag.message_primary or "", diag.message_detail or "", diag.message_hint or ""


def test_what_comes_with_the_call_is_kept_once_a_workspace_and_never_with_the_content() -> None:
    assert by_sql(attachments=[attached()])
    assert by_sql("demo-002", attachments=[attached(name="again.pdf")])
    assert by_sql("demo-003", attachments=[attached()], workspace="acme")
    kept = {field: value for field, value in attached().items() if field != "content"}
    assert Content.objects.get(intent__report_id="demo-001").attachments == [kept]
    assert sorted((blob.workspace, bytes(blob.content)) for blob in Blob.objects.all()) == [("", PDF), ("acme", PDF)]


def test_what_lies_elsewhere_is_kept_by_its_address_alone() -> None:
    assert by_sql(attachments=[linked(), attached(b"a;b", name="a.csv", media_type="text/csv")])
    assert [one.get("url") for one in Content.objects.get().attachments or ()] == [LINK, None]
    assert Blob.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT place, media_type, size, is_here FROM notifyops.attachments ORDER BY place")
        assert cursor.fetchall() == [(1, "application/pdf", len(PDF), False), (2, "text/csv", 3, True)]


def test_a_host_projects_test_sees_what_is_attached() -> None:
    with outbox.captured() as box:
        by_python(attachments=[outbox.Attachment.of("q3.pdf", PDF)])
        by_python("demo-002")
    assert [[one["name"] for one in owed.attachments] for owed in box] == [["q3.pdf"], []]


def test_a_rollback_takes_bytes_and_content_with_it() -> None:
    with transaction.atomic():
        by_sql(attachments=[attached()])
        transaction.set_rollback(True)
    assert (Intent.objects.count(), Blob.objects.count()) == (0, 0)


def test_none_and_an_empty_list_are_the_same_as_no_word_of_it() -> None:
    assert by_sql()
    assert not by_sql(attachments=None)
    assert not by_sql(attachments=[])
    assert not by_python(attachments=[])
    assert Content.objects.get().attachments is None


@pytest.mark.parametrize("given", [attached(), linked()], ids=["bytes", "address"])
def test_the_same_call_again_finds_it_wherever_the_bytes_lie(given: dict[str, Any]) -> None:
    assert by_sql(attachments=[given])
    assert not by_sql(attachments=[attached()])
    # A signed link is another one at each call.
    assert not by_sql(attachments=[linked("https://files.example.com/q3.pdf?sig=2")])
    assert not by_python(attachments=[outbox.Attachment.of("q3.pdf", PDF)])


OTHERS: Final[dict[str, list[dict[str, Any]]]] = {
    "none": [],
    "another name": [attached(name="q4.pdf")],
    "another type": [attached(name="q3.txt", media_type="text/plain")],
    "other bytes": [attached(b"other")],
    "one more": [attached(), attached(name="q4.pdf")],
    "another order": [attached(name="q4.pdf"), attached()],
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_the_same_key_with_other_attachments_is_a_conflict(other: list[dict[str, Any]]) -> None:
    by_sql(attachments=[attached()])
    assert refusal(other)[0] == "NO422"
    by_sql("demo-002", attachments=OTHERS["one more"])
    with pytest.raises(outbox.KeyReused):
        by_python("demo-002", attachments=other if len(other) != 2 or other[0]["name"] != "q3.pdf" else [attached()])


FAR: Final = "https://files.example.com/" + "x" * 4000
BIG: Final = rules.MOST_BYTES
BAD: Final[list[tuple[Any, str, str]]] = [
    ({"a": 1}, "NO400", ""),
    (["q3.pdf"], "NO400", "[0]"),
    ([attached(), attached(colour="red")], "NO400", "[1]"),
    ([attached(name=None)], "NO400", "[0].name"),
    *(([attached(name=name)], "NO400", "[0].name") for name in (3, "", "a/q3.pdf", "..\\q3.pdf", "q3.pdf\n")),
    ([attached(name=" q3.pdf")], "NO400", "[0].name"),
    *(([attached(name=name)], "NO400", "[0].name") for name in ("q3.pdf.", "x" * 121, "gpj.\u202etxt", "a\u0085.pdf")),
    *(([attached(name=name)], "NO400", "[0].media_type") for name in ("q3.txt", "q3", "q3.pdf.exe", "q3.PNG")),
    ([attached(media_type="application/pdf; charset=utf-8")], "NO400", "[0].media_type"),
    ([attached(media_type="APPLICATION/PDF")], "NO400", "[0].media_type"),
    ([attached(media_type=None)], "NO400", "[0].media_type"),
    *(([attached(size=size)], "NO400", "[0].size") for size in ("26", 0, -1, 27, None, True)),
    *(([attached(sha256=digest)], "NO400", "[0].sha256") for digest in ("AB" * 32, "ab" * 31, "0" * 64, None, 3)),
    ([attached(b"", size=0)], "NO400", "[0].size"),
    ([attached(url=LINK)], "NO400", "[0]"),
    ([attached(content=None)], "NO400", "[0]"),
    *(([attached(content=said)], "NO400", "[0].content") for said in ("%%%", "abc", "JVBERi0_")),
    *(
        ([linked(url)], "NO400", "[0].url")
        for url in ("ftp://x.example.com/a", "//x.example.com/a", "https://u:p@x.example.com/", "https://X.example.com/",
                    "https://x.example.com/a#b", "https://x.example.com/a b", " https://x.example.com/a", FAR, "file:///a")
    ),
    ([linked(name=f"{place}.pdf") for place in range(11)], "NO413", ""),
    ([linked(size=BIG), linked(name="b.pdf", size=1)], "NO413", ""),
    ([linked(), linked(name="Q3.PDF")], "NO400", ""),
]  # fmt: skip


@pytest.mark.parametrize(("given", "state", "field"), BAD)
def test_what_is_not_right_is_refused_by_sql_and_python_alike(given: Any, state: str, field: str) -> None:
    found, sentence, detail, hint = refusal(given)
    assert (found, f"{detail},".startswith(f"field: options.attachments{field},"), bool(hint)) == (state, True, True)
    with pytest.raises(outbox.EnqueueError) as caught:
        by_python(attachments=given)
    python = caught.value
    assert (type(python), python.field) == (
        outbox.PayloadTooLarge if state == "NO413" else outbox.SchemaError,
        f"options.attachments{field}",
    )
    assert python.hint
    # Names and links may be personal, and refusals are logged.
    told = " ".join((sentence, detail, hint, str(python)))
    assert "q3.pdf" not in told.lower().replace("/q3.pdf", "")
    assert "u:p" not in told
    assert (Intent.objects.count(), Blob.objects.count()) == (0, 0)


def test_content_of_more_than_ten_megabytes_wants_an_address() -> None:
    half = [attached(bytes(5_000_001), name=f"{name}.zip", media_type="application/zip") for name in "ab"]
    assert refusal(half)[0] == "NO413"
    with pytest.raises(outbox.PayloadTooLarge):
        by_python(attachments=half)
    assert refusal([attached(bytes(10_600_000), name="a.zip", media_type="application/zip")])[0] == "NO413"


def test_a_channel_that_is_called_carries_none() -> None:
    options: dict[str, Any] = {"channel": "webhook", "attachments": [attached()]}
    with pytest.raises(DatabaseError, match="not one plain address"):
        by_sql(**options)
    with pytest.raises(outbox.SchemaError, match="carries no attachments"), transaction.atomic():
        outbox.enqueue("report_ready", "demo-1", "https://hooks.example.com/", {"title": "Q3"}, **options)
    said = json.dumps(options)
    refused = pytest.raises(DatabaseError, match="carries no attachments")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(QUERY, ["report_ready", "demo-1", "https://hooks.example.com/in", '{"title": "Q3"}', said])


def test_sql_and_python_know_the_same_endings_names_and_links() -> None:
    names = [
        "a",
        "a.b",
        "ä报.pdf",
        "x" * 120,
        "报" * 80,
        "报" * 81,
        "a\u200d.pdf",
        "a\u00ad.pdf",
        "a\ufffd",
        ".a",
        "a:b",
        "a\tb",
    ]
    endings = [*rules.MEDIA_TYPES, "exe", "PDF", ""]
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT array_agg(to_jsonb(notifyops_private.media_types_v1(e)) ORDER BY n) "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS u(e, n)",
            [endings],
        )
        told = [None if types is None else tuple(json.loads(types)) for types in cursor.fetchone()[0]]
        assert told == [rules.MEDIA_TYPES.get(ending) for ending in endings]
        cursor.execute(
            "SELECT array_agg(notifyops_private.file_name_is_plain_v1(e) ORDER BY n) "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS u(e, n)",
            [names],
        )
        assert cursor.fetchone()[0] == [rules.is_plain_name(name) for name in names]


def test_many_at_once_may_have_some() -> None:
    item = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
    items = [item | {"report_id": f"r-{n}", "options": {"attachments": [attached()]} if n else {}} for n in range(3)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MANY, [json.dumps(items)])
        assert [row[1] for row in cursor.fetchall()] == [True, True, True]
    assert (Content.objects.filter(attachments__isnull=False).count(), Blob.objects.count()) == (2, 1)
    named = [
        outbox.Item("report_ready", f"r-{n}", "ana@example.com", {"title": "Q3"}, {"attachments": [attached()]})
        for n in (1, 4)
    ]
    with transaction.atomic():
        assert [one.created for one in outbox.enqueue_many(named)] == [False, True]
    broken = outbox.Item("report_ready", "r-9", "a@example.com", {"title": "Q3"}, {"attachments": [linked(size=0)]})
    with transaction.atomic(), pytest.raises(outbox.SchemaError, match="item 2: an attachment's size"):
        outbox.enqueue_many([named[0], broken])
