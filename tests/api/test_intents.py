"""Owe, look, follow and take back over HTTP: the answers of the contract's table."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.models import Intent, LogEntry
from tests.api.callers import caller, wish

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def test_a_new_one_is_201_and_the_same_again_is_200_and_says_so() -> None:
    shop = caller()
    first = shop.post("/intents", wish())
    assert (first.status, first.document["created"], first.document["state"]) == (201, True, "pending")
    assert "Idempotent-Replay" not in first.headers
    again = shop.post("/intents", wish())
    assert (again.status, again.headers["Idempotent-Replay"]) == (200, "true")
    assert again.document == first.document | {"created": False}
    assert Intent.objects.count() == 1


def test_other_content_under_the_same_key_is_422_and_names_the_key() -> None:
    shop = caller()
    shop.post("/intents", wish())
    other = shop.post("/intents", wish(data={"title": "Q4"}))
    assert (other.status, other.code, other.document["existing"]) == (422, "key_reused", "report-ready/demo-001")
    assert Intent.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "status", "code", "where"),
    [
        ({"recipient": "Ana <ana@example.org>"}, 400, "invalid_recipient", "recipient"),
        ({"notification_type": "no_such"}, 404, "unknown_type", "notification_type"),
        ({"data": {}}, 400, "invalid", "data.title"),
        ({"data": {"title": 3}}, 400, "invalid", "data.title"),
        ({"data": {"title": "Q3", "x": "y" * 300_000}}, 413, "too_large", "data"),
        ({"report_id": 7}, 400, "invalid", "report_id"),
        ({"report_id": "a\nb"}, 400, "invalid", "report_id"),
        ({"reportid": "x"}, 400, "invalid", "reportid"),
        ({"eva@example.org": "x"}, 400, "invalid", None),
        ({"data": {"title": "Q3", "eva@example.org": 10**4200}}, 400, "invalid", "…"),
        ({"options": {"expire_at": "2026-12-01T00:00:00Z"}}, 400, "invalid", "options.expire_at"),
        ({"options": {"expires_at": "tomorrow"}}, 400, "invalid", "options.expires_at"),
        ({"options": {"expires_at": "2026-13-41T09:00:00Z"}}, 400, "invalid", "options.expires_at"),
        ({"options": {"priority": "now"}}, 400, "invalid", "options.priority"),
        ({"options": {"channel": "pigeon"}}, 400, "invalid", "options.channel"),
        ({"options": {"supersedes": "no-such"}}, 400, "invalid", "options.supersedes"),
        ({"options": {"workspace": "other"}}, 403, "workspace_refused", "options.workspace"),
        ({"options": {"notification_id": "a~b"}}, 400, "invalid", "options.notification_id"),
    ],
)
def test_what_is_wrong_is_said_with_its_field_and_nothing_is_written(
    changes: dict[str, Any], status: int, code: str, where: str | None
) -> None:
    answer = caller().post("/intents", wish(**changes))
    assert (answer.status, answer.code, answer.document.get("field")) == (status, code, where)
    assert not Intent.objects.exists()


def test_a_token_of_one_workspace_need_not_name_it_and_sees_no_other() -> None:
    acme, other = caller(workspaces=("acme",)), caller(workspaces=("other",))
    made = acme.post("/intents", wish()).document
    assert made["notification_id"] == "acme/report-ready/demo-001"
    assert Intent.objects.get().workspace == "acme"
    for path in ("", "/log"):
        assert other.get(f"/intents/{made['id']}{path}").code == "unknown_intent"
    assert other.post(f"/intents/{made['id']}/cancel", {"reason": "Not wanted."}).code == "unknown_intent"
    assert other.get("/intents?report_id=demo-001").document == {"items": [], "next_after": None}
    assert other.get("/intents?report_id=demo-001&workspace=acme").code == "workspace_refused"
    assert acme.get(f"/intents/{made['id']}").status == 200
    assert caller(workspaces=("*",)).get(f"/intents/{made['id']}").document["workspace"] == "acme"


def test_it_is_found_by_its_key_and_by_its_report_page_by_page() -> None:
    shop = caller()
    made = [shop.post("/intents", wish(options={"notification_id": "first"})).document]
    made += [
        shop.post("/intents", wish(data={"title": f"Q{n}"}, options={"notification_id": f"n{n}", "supersedes": before}))
        .document
        for n, before in ((1, "first"), (2, "n1"))
    ]  # fmt: skip
    by_key = shop.get("/intents?notification_id=n1").document["items"]
    assert [(one["id"], one["supersedes"], one["state"]) for one in by_key] == [(made[1]["id"], "first", "cancelled")]
    page = shop.get("/intents?report_id=demo-001&limit=2").document
    assert [one["id"] for one in page["items"]] == [made[0]["id"], made[1]["id"]]
    rest = shop.get(f"/intents?report_id=demo-001&limit=2&after={page['next_after']}").document
    assert ([one["id"] for one in rest["items"]], rest["next_after"]) == ([made[2]["id"]], None)
    for query in ("", "?report_id=a&notification_id=b", "?report_id=a&limit=0", "?report_id=a&after=x"):
        assert shop.get(f"/intents{query}").code == "invalid"


def test_where_it_stands_and_its_links_and_never_its_address() -> None:
    shop = caller()
    made = shop.post("/intents", wish()).document
    shown = shop.get(made["links"]["self"]).document
    assert shown["links"] == made["links"]
    assert (shown["state"], shown["attempts"], shown["delivery_status"]) == ("pending", 0, "none")
    assert not {"recipient", "data", "subject", "body"} & set(shown)
    for path in ("/intents/999999999", "/intents/99999999999999999999999999", "/intents/999999999/log"):
        assert shop.get(path).code == "unknown_intent"


def test_cancel_answers_at_once_and_the_log_says_whose_token_it_was() -> None:
    shop = caller()
    made = shop.post("/intents", wish()).document
    answer = shop.post(made["links"]["cancel"], {"reason": "The report was withdrawn."})
    assert (answer.status, answer.document["outcome"], answer.document["state"]) == (200, "cancelled", "cancelled")
    again = shop.post(made["links"]["cancel"], {"reason": "The report was withdrawn."}).document
    assert (again["outcome"], again["why"]) == ("already", "It had ended before.")
    assert shop.row is not None
    entry = LogEntry.objects.get(intent_id=made["id"])
    assert entry.detail == {"by": f"token:{shop.row.prefix}", "reason": "The report was withdrawn."}
    story = shop.get(made["links"]["log"]).document
    assert [(one["seq"], one["kind"], one["to_state"]) for one in story["items"]] == [(1, "withdrawn", "cancelled")]
    assert story["next_after"] is None


@pytest.mark.parametrize("reason", ["", "no", "ask ana@example.org", "x" * 501, None, 5])
def test_a_cancel_without_a_good_reason_changes_nothing(reason: Any) -> None:
    shop = caller()
    made = shop.post("/intents", wish()).document
    assert shop.post(made["links"]["cancel"], {"reason": reason}).code == "invalid"
    assert Intent.objects.get().state == "pending"


def test_an_approval_holds_it_and_says_so() -> None:
    made = caller().post("/intents", wish(notification_type="report_approved", options={"actor": "user:ana"}))
    assert (made.status, made.document["state"]) == (201, "needs_review")


def test_a_preview_renders_and_writes_nothing() -> None:
    shop = caller("enqueue")
    seen = shop.post("/previews", {"notification_type": "report_ready", "data": {"title": "Q3", "extra": 1}}).document
    assert "Q3" in seen["subject"] + seen["text"]
    assert seen["warnings"] == ["data.extra is not in the type's schema"]
    assert shop.post("/previews", {"notification_type": "report_ready"}).document["field"] == "data.title"
    assert shop.post("/previews", {"notification_type": "no_such"}).code == "unknown_type"
    assert not Intent.objects.exists()


def test_the_types_are_listed_for_whoever_may_enqueue_and_refusals_name_that_call() -> None:
    shop = caller("enqueue")
    listed = {one["name"]: one for one in shop.get("/types").document["items"]}
    assert listed["report_ready"] == {
        "name": "report_ready",
        "channel": "email",
        "approval": "none",
        "data": {"title": {"type": "string", "required": True}},
    }
    assert listed["report_approved"]["approval"] == "required"
    assert caller("read").get("/types").code == "missing_scope"
    for path in ("/intents", "/previews"):
        body = wish(notification_type="no_such") if path == "/intents" else {"notification_type": "no_such"}
        assert "GET /api/v1/types" in shop.post(path, body).document["hint"]
    wrong = shop.post("/intents", wish(data={"title": 3})).document
    assert "manage.py" not in wrong["hint"]


def test_what_needs_approval_names_who_asks_or_nobody_could_be_kept_from_approving_it() -> None:
    answer = caller().post("/intents", wish(notification_type="report_approved"))
    assert (answer.status, answer.code, answer.document["field"]) == (400, "invalid", "options.actor")
    assert not Intent.objects.exists()


def test_the_key_of_a_corrected_address_finds_its_notification() -> None:
    answer = caller().get("/intents?notification_id=report-ready/r-1~a2")
    assert (answer.status, answer.document["items"]) == (200, [])
    assert caller().get("/intents?notification_id=report-ready/r-1~b2").status == 400
