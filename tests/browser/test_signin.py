"""Login, second factor and admin in a real browser: nothing that the policy forbids, and no fault that axe finds."""

from __future__ import annotations

from typing import Any

import pytest
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import Page

from tests.browser.console_site import Chromium, log_in
from tests.browser.test_console_looks import _faults
from tests.reviews import cases
from tests.reviews.cases import make_case, make_person
from tests.signin.factors import code_of, on_screen, wrong_code

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ADMIN = (
    *("", "notifications/intent/", "notifications/logentry/", "notifications/provideraccount/", "reviews/review/"),
    *("notifications/apitoken/add/", "auth/user/", "auth/user/add/", "reviews/accessrecord/"),
)


def secret_of(page: Page) -> str:
    return "".join(page.inner_text("code[data-copy]").split())


def enrol(page: Page, site: str) -> list[str]:
    """Begin, up to the picture to scan."""
    log_in(page, site, "olga")
    faults = _faults(page, f"{site}/second-factor/")
    page.click("main a")
    faults += _faults(page, page.url)
    page.click("main button")
    page.wait_for_selector("main img")
    # The picture is a file of its own, since nothing inline is shown.
    # Asked again and again from outside: the page's policy lets nobody evaluate a string inside it.
    width = 0
    for _ in range(150):
        width = page.evaluate("document.querySelector('main img').naturalWidth")
        if width > 100:
            break
        page.wait_for_timeout(200)
    assert width > 100
    assert len(secret_of(page)) == 32
    return faults + _faults(page, page.url)


def confirm(page: Page, site: str, device: TOTPDevice, wrong: str) -> list[str]:
    """Type a wrong code, then the right one."""
    log_in(page, site, "olga")
    page.goto(f"{site}/second-factor/enrol/")
    page.fill("[name=code]", wrong)
    page.press("[name=code]", "Enter")
    page.wait_for_selector("[role=alert]")
    assert page.evaluate("document.activeElement.matches('[role=alert]')")
    page.wait_for_timeout(1500)  # a wrong code puts the next try off by a second
    page.fill("[name=code]", on_screen(device))
    page.press("[name=code]", "Enter")
    page.wait_for_selector("ul code")
    assert page.locator("ul code").count() == 10
    page.click("main p a")
    page.wait_for_url(f"{site}/reviews/")
    return _faults(page, f"{site}/second-factor/")


def next_login(page: Page, site: str, device: TOTPDevice) -> list[str]:
    """Log in anew: the password, then the code, then where it was to lead."""
    page.goto(f"{site}/login/?next=/reviews/?code=none")
    page.fill("[name=username]", "olga")
    page.fill("[name=password]", "pw")
    page.press("[name=password]", "Enter")
    page.wait_for_selector("[name=code]")
    faults = _faults(page, page.url)
    page.fill("[name=code]", on_screen(device))
    page.press("[name=code]", "Enter")
    page.wait_for_url(f"{site}/reviews/?code=none")
    return faults


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_second_factor_from_the_first_scan_to_the_next_login(chromium: Chromium, site: str, width, theme) -> None:
    make_person("olga")
    look: dict[str, Any] = {"viewport": {"width": width, "height": 800}, "color_scheme": theme}
    assert chromium.run(lambda page: enrol(page, site), **look) == []
    device = TOTPDevice.objects.get(confirmed=False)
    wrong = wrong_code(device)
    assert chromium.run(lambda page: confirm(page, site, device, wrong), answers=[422], **look) == []
    code_of(device)  # what it showed is good once more
    assert chromium.run(lambda page: next_login(page, site, device), **look) == []


def test_a_locked_login_says_so(chromium: Chromium, site: str) -> None:
    make_person("olga")

    def knock(page: Page) -> list[str]:
        for _ in range(5):
            page.goto(f"{site}/login/")
            page.fill("[name=username]", "olga")
            page.fill("[name=password]", "wrong")
            page.press("[name=password]", "Enter")
            page.wait_for_selector("[role=alert]")
        assert "Login locked" in page.inner_text("h1")
        from axe_playwright_python.sync_playwright import Axe

        return [one["id"] for one in Axe().run(page).response["violations"]]

    assert chromium.run(knock, answers=[429], viewport={"width": 320, "height": 800}) == []


def test_the_admin_asks_for_nothing_that_the_policy_forbids(chromium: Chromium, site: str) -> None:
    from django.contrib.auth.models import User

    make_person("lena")
    User.objects.filter(username="lena").update(is_superuser=True)
    intent = make_case(cases.UNKNOWN)

    def look(page: Page) -> int:
        log_in(page, site, "lena", to="/admin/")
        for place in (*ADMIN, f"notifications/intent/{intent.pk}/change/"):
            page.goto(f"{site}/admin/{place}")
            page.wait_for_load_state("networkidle")
            assert page.locator("#site-name").count() == 1, place
        return len(ADMIN)

    assert chromium.run(look) == len(ADMIN)
