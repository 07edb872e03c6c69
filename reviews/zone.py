"""In which zone a page writes its times: the one chosen in this browser, else the device's, else UTC.

A script tells the device's zone by a cookie, since nothing else can (static/console.js). The admin, and all that
programs read, stay in UTC.
"""

from __future__ import annotations

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from reviews import times

CHOSEN: Final = "zone"
DEVICE: Final = "device_zone"
_YEAR_S: Final = 31_536_000
# What is offered: places, and none of the abbreviations and old names that zones are kept under as well.
_PARTS: Final = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific",
)  # fmt: skip
_ELSEWHERE: Final = ("/admin/", "/api/")


class Zone(MiddlewareMixin):
    """Set the reader's zone for one request, whoever it was before."""

    def process_request(self, request: HttpRequest) -> None:
        """Activate it; what is no zone counts as none."""
        name = "" if request.path_info.startswith(_ELSEWHERE) else zone_of(request)
        timezone.activate(ZoneInfo(name)) if name else timezone.deactivate()

    def process_response(self, request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
        """Leave the thread as it was."""
        timezone.deactivate()
        return answer


def zone_of(request: HttpRequest) -> str:
    """Give the name of the reader's zone; empty where nobody said one that exists."""
    return next((name for name in map(request.COOKIES.get, (CHOSEN, DEVICE)) if name in _known()), None) or ""


def context(_request: HttpRequest) -> dict[str, str]:
    """Give templates `zone`: the name of the zone in which the page writes its times."""
    return {"zone": times.zone_name()}


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """Show the zones on offer; keep the posted one for this browser, and go back to `next`, where that is ours."""
    back = request.POST.get("next", request.GET.get("next", ""))
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = "/"
    if request.method != "POST":
        device = request.COOKIES.get(DEVICE, "")
        found = {
            "back": back,
            "chosen": request.COOKIES.get(CHOSEN, ""),
            "device": device if device in _known() else "",
            "parts": _offered(),
        }
        answer = render(request, "zone.html", found)
        add_never_cache_headers(answer)
        return answer
    led = HttpResponseRedirect(back)
    if (name := request.POST.get("zone", "")) in _known():
        # No secret, but it goes where the session's cookie goes, and no script needs it.
        led.set_cookie(
            CHOSEN, name, max_age=_YEAR_S, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
        )
    else:
        led.delete_cookie(CHOSEN, samesite="Lax")
    return led


@cache
def _known() -> frozenset[str]:
    # Never a name as it came: it would be a path below the host's folder of zones.
    return frozenset(available_timezones())


@cache
def _offered() -> tuple[tuple[str, tuple[str, ...]], ...]:
    names = sorted(_known())
    return tuple((part, tuple(name for name in names if name.startswith(f"{part}/"))) for part in _PARTS)
