"""The one login of the site."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from django.contrib.auth.views import LoginView
from django.http import HttpRequest
from django.urls import reverse

# Places that lead to the login, or out: nobody who has just logged in wants to go there.
_WAYS: Final = ("/admin/login/", "/admin/logout/")


class Login(LoginView):
    """Leads who is logged in on to the page that was asked for, or to the queue; never in a circle."""

    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Give the page to go on to, empty where none was named, or the login itself."""
        wanted = super().get_redirect_url()
        is_way = urlsplit(wanted).path in (reverse("login"), reverse("logout"), *_WAYS)
        return "" if is_way else wanted
