"""The pages on which a person shows, enrols or renews the second factor. No GET writes anything."""

from __future__ import annotations

import io
from typing import Any

import django_otp
import segno
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice

from reviews.access import login_needed
from reviews.signin import devices, proof

# Read off by a camera at arm's length, printed small.
QR_SCALE = 5


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("code")
@login_needed
def show(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor, or say how it stands; then lead back to where it was asked for."""
    person = _person(request)
    if request.method != "POST":
        return _page(request, person)
    try:
        device = devices.check(person, request.POST.get("code", ""), actor=_actor(person))
    except (devices.WrongCode, devices.TooSoon) as refused:
        return _refused(request, person, refused, "signin/second_factor.html")
    _shown(request, device)
    if isinstance(device, StaticDevice):
        # The page says how many are left, and leads on.
        return _see(f"{reverse('second_factor')}?{urlencode({'next': _next(request)})}")
    return _see(_next(request))


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("code")
@login_needed
def enrol(request: HttpRequest) -> HttpResponse:
    """Take an app into use: begin, scan, type its code. Who has one shows it first."""
    person = _person(request)
    if not _may_change(request, person):
        return _see(f"{reverse('second_factor')}?next={request.path}")
    if request.method != "POST":
        return _page(request, person, "signin/enrol.html")
    if "code" not in request.POST:
        devices.begin(person)
        return _see(request.get_full_path())
    try:
        device, codes_made = devices.confirm(person, request.POST["code"], actor=_actor(person))
    except (devices.WrongCode, devices.TooSoon) as refused:
        return _refused(request, person, refused, "signin/enrol.html")
    _shown(request, device)
    # Whoever knew the password alone, or had the old app, is inside no longer.
    ended = devices.end_sessions(person, but=request.session.session_key)
    return _page(request, person, "signin/codes.html", codes=codes_made, ended=ended)


@require_safe
@login_needed
def picture(request: HttpRequest) -> HttpResponse:
    """Give the secret that is being enrolled as a QR code; nothing once it is in use."""
    device = devices.pending(_person(request)) if _may_change(request, _person(request)) else None
    if device is None:
        raise Http404
    drawn = io.BytesIO()
    code = segno.make(device.config_url, error="m", micro=False)
    code.save(drawn, kind="svg", scale=QR_SCALE, border=4, dark="#000", light="#fff", xmldecl=False)
    answer = HttpResponse(drawn.getvalue(), content_type="image/svg+xml")
    add_never_cache_headers(answer)
    return answer


@require_POST
@login_needed
def codes(request: HttpRequest) -> HttpResponse:
    """Make new recovery codes, and show them this once."""
    person = _person(request)
    if not devices.has_one(person) or not _may_change(request, person):
        return _see(reverse("second_factor"))
    return _page(request, person, "signin/codes.html", codes=devices.make_codes(person, actor=_actor(person)))


@require_POST
@login_needed
def switch_off(request: HttpRequest) -> HttpResponse:
    """Do without a second factor, where none is required."""
    person = _person(request)
    if proof.is_required():
        raise PermissionDenied
    if _may_change(request, person) and devices.forget(person, "switched_off", actor=_actor(person)):
        request.session.pop(proof.SHOWN, None)
        messages.success(request, _("The second factor is switched off. Your password alone lets you in now."))
    return _see(reverse("second_factor"))


def _may_change(request: HttpRequest, person: User) -> bool:
    """Who has a second factor shows it in this session before it is renewed; a password alone is not enough."""
    return not devices.has_one(person) or (proof.is_shown(request) and _is_fresh(request))


def _is_fresh(request: HttpRequest) -> bool:
    return not proof.is_required() or proof.is_recent(request.user)


def _shown(request: HttpRequest, device: Device) -> None:
    django_otp.login(request, device)
    request.session[proof.SHOWN] = proof.now()
    request.session.pop(proof.WANTED, None)
    request.session.cycle_key()


def _page(
    request: HttpRequest, person: User, template: str = "signin/second_factor.html", *, status: int = 200, **more: Any
) -> HttpResponse:
    pending = devices.pending(person)
    context = {
        "has_one": devices.has_one(person),
        "is_shown": proof.is_shown(request),
        "is_required": proof.is_required(),
        "may_change": _may_change(request, person),
        "codes_left": devices.codes_left(person),
        "pending": pending,
        "secret": _spelled(pending.config_url) if pending else "",
        "next": _next(request, default=""),
        **more,
    }
    answer = render(request, template, context, status=status)
    add_never_cache_headers(answer)
    return answer


def _refused(request: HttpRequest, person: User, refused: Exception, template: str) -> HttpResponse:
    if isinstance(refused, devices.TooSoon):
        sentence = _("Too many wrong codes: no code is looked at for %(n)d s, not the right one either.")
        answer = _page(request, person, template, status=429, wrong=sentence % {"n": refused.seconds})
        answer["Retry-After"] = str(refused.seconds)
        return answer
    sentence = _("This is not the code that counts now. Each code is good once; wait for the next one and type that.")
    return _page(request, person, template, status=422, wrong=sentence)


def _spelled(config_url: str) -> str:
    """Give the secret in groups of four, for who cannot scan."""
    secret = config_url.partition("secret=")[2].partition("&")[0]
    return " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))


def _next(request: HttpRequest, default: str = "/reviews/") -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_ours else default


def _see(place: str) -> HttpResponse:
    answer = HttpResponseRedirect(resolve_url(place))
    answer.status_code = 303
    return answer


def _person(request: HttpRequest) -> User:
    assert request.user.pk is not None  # login_needed has seen to it
    return User.objects.get(pk=request.user.pk)


def _actor(person: User) -> str:
    return f"user:{person.get_username()}"
