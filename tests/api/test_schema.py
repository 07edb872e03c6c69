"""What the description says is what the API does: schemathesis reads it, and tries to find where it is not so."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode

from notifications.api import openapi, pages, problems
from tests.api.callers import caller, wish

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
# Whether a value fits is the database's to say, too: a type's data, an account's channel, a key that is used.
CONFIG = {
    "checks": {"positive_data_acceptance": {"expected-statuses": [200, 201, 400, 403, 404, 413, 422]}},
}
BOUNDED = hypothesis.settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


@pytest.fixture
def described() -> Any:
    """Give the description as it is served, and the application that it is about, both in this process."""
    from django.core.wsgi import get_wsgi_application

    config = schemathesis.Config.from_dict(CONFIG)
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application(), config=config)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
@pytest.mark.parametrize(("method", "path"), list(openapi._OF), ids=[" ".join(one) for one in openapi._OF])
def test_nothing_answers_otherwise_than_described(described: Any, method: str, path: str, mode: GenerationMode) -> None:
    everyone = caller("enqueue", "read", workspaces=("*",), per_minute=1_000_000)
    assert everyone.post("/intents", wish()).status == 201
    headers = {"Authorization": f"Bearer {everyone.token}"}
    seen: list[int] = []

    @BOUNDED
    @hypothesis.given(case=described[f"/api/v1{path}"][method].as_strategy(generation_mode=mode))
    def holds(case: Any) -> None:
        seen.append(case.call_and_validate(headers=headers).status_code)

    holds()
    assert len(seen) >= 10


def test_the_description_covers_every_call_and_every_code() -> None:
    found = pages.description()
    assert found["openapi"].startswith("3.1")
    described = {(method, path.removeprefix("/api/v1")) for path, item in found["paths"].items() for method in item}
    assert described == set(openapi._OF)
    named = {
        code
        for item in found["paths"].values()
        for one in item.values()
        for answer in one["responses"].values()
        for kind, content in answer.get("content", {}).items()
        if kind == problems.MEDIA_TYPE
        for code in content["examples"]
    }
    elsewhere = {"token_revoked", "token_expired", "not_found", "method_not_allowed"}
    assert named | elsewhere == set(problems.CODES)
