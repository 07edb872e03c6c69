"""Light, dark, or as the device says: kept in a cookie of this browser, and on the page before it is painted."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

COOKIE: Final = "theme"
# What the cookie can say; without it the device decides.
CHOSEN: Final = ("light", "dark")
_YEAR_S: Final = 31_536_000


def context(request: HttpRequest) -> dict[str, str]:
    """Give templates `theme`: `light`, `dark`, or empty where the device decides."""
    said = request.COOKIES.get(COOKIE, "")
    return {"theme": said if said in CHOSEN else ""}


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the posted `theme` for this browser, and go back to `next`, where that is a page of ours."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = "/"
    answer = HttpResponseRedirect(back)
    if (theme := request.POST.get("theme")) in CHOSEN:
        # No secret, but it goes where the session's cookie goes, and no script needs it.
        answer.set_cookie(
            COOKIE, theme, max_age=_YEAR_S, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
        )
    else:
        answer.delete_cookie(COOKIE, samesite="Lax")
    return answer
