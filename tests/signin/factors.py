"""People with a second factor in tests: an app that can be read at any time, and sites where one is required."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from reviews.signin import devices
from tests.reviews.cases import make_person

SHOW, ENROL = "/second-factor/", "/second-factor/enrol/"


def required(settings: Any) -> None:
    """Let this process be a live site, as far as logins go."""
    settings.NOTIFYOPS_SECOND_FACTOR = "required"


def code_of(device: TOTPDevice) -> str:
    """Give what the app shows now; a code that was used before is made fresh by forgetting that."""
    TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1, throttling_failure_count=0, drift=0)
    return on_screen(device)


def on_screen(device: TOTPDevice) -> str:
    """Give what the app shows now; asks the database for nothing."""
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time()
    return f"{totp.token():06d}"


def wrong_code(device: TOTPDevice) -> str:
    """Give six digits that no step near now has."""
    near = []
    for step in range(-3, 4):
        totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
        totp.time = time.time() + step * 30
        near.append(f"{totp.token():06d}")
    return next(f"{n:06d}" for n in range(100) if f"{n:06d}" not in near)


def enrolled(name: str) -> tuple[User, TOTPDevice]:
    """Give one of the people, with an app in use."""
    person = User.objects.filter(username=name).first() or make_person(name)
    devices.begin(person)
    device = devices.pending(person)
    assert device is not None
    devices.confirm(person, code_of(device), actor=f"user:{name}")
    return person, TOTPDevice.objects.get(user=person)


def shown(name: str) -> Client:
    """Give a browser in which somebody has logged in and shown the second factor."""
    person, device = enrolled(name)
    client = Client()
    client.force_login(person)
    answer = client.post(SHOW, {"code": code_of(device)})
    assert answer.status_code == 303, answer.content.decode()
    return client


def put_back(client: Client, key: str, by_s: int) -> None:
    """Let something in the browser's session be older."""
    session = client.session
    session[key] -= by_s
    session.save()
