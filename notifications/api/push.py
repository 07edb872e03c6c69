"""`/push/key`: what a page needs to subscribe a browser. Public, for pages of any origin, and without a token."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe

from notifications.api.gate import roomed
from notifications.api.problems import Problem
from notifications.models import ProviderAccount

# A page asks once a visit. After a rotation, what subscribes within this time must do so again.
CACHED_S = 300


@require_safe
def key(request: HttpRequest) -> HttpResponseBase:
    """Give the public key of an account that pushes; `account` may be left out where there is but one."""
    answer = _asked(request)
    answer["Access-Control-Allow-Origin"] = "*"
    if answer.status_code == 200:
        answer["Cache-Control"] = f"public, max-age={CACHED_S}"
    return answer


def _found(request: HttpRequest) -> HttpResponse:
    rows = ProviderAccount.objects.filter(kind="webpush", enabled=True).exclude(vapid_public_key="")
    name = request.GET.get("account")
    if name is not None:
        rows = rows.none() if "\0" in name else rows.filter(name=name)
    found = list(rows.order_by("id")[:2])
    if len(found) != 1:
        hint = "Name an account of kind webpush as `account`; notify vapid-key gives it a key."
        return Problem("not_found", "No account with a key was named, or several have one.", hint).response()
    return JsonResponse({"account": found[0].name, "key": found[0].vapid_public_key})


_asked = roomed(_found)
