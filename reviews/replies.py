"""Page or fragment, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

# Remembers the queue's query, so that a case leads back to it; a cookie, since opening a page writes nothing.
QUEUE_COOKIE: Final = "queue"
_QUEUE_COOKIE_S: Final = 12 * 3600
_LONGEST_QUERY: Final = 1500
# htmx puts the answer into the page, and asks no more.
END_OF_POLLING: Final = 286
_VARY: Final = ("HX-Request", "HX-History-Restore-Request", "HX-Boosted")


def wants_fragment(request: HttpRequest) -> bool:
    """Tell whether htmx will put the answer into a page. Going back in history needs the whole page."""
    headers = request.headers
    is_whole = headers.get("HX-Boosted") == "true" or headers.get("HX-History-Restore-Request") == "true"
    return headers.get("HX-Request") == "true" and not is_whole


def fragment_or_page(request: HttpRequest, name: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """Render `reviews/<name>.html`, or only its fragment `reviews/_<name>.html` for htmx."""
    is_part = wants_fragment(request)
    template = f"reviews/_{name}.html" if is_part else f"reviews/{name}.html"
    response = render(request, template, dict(context), status=status)
    if is_part and "standing" in context:
        # The header says as of when the page is: it goes with whatever takes its place there.
        header = render_to_string("_standing.html", {"standing": context["standing"], "is_news": True}, request)
        response.write(header)
    patch_vary_headers(response, _VARY)
    add_never_cache_headers(response)
    return response


def remember_queue(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Keep the query of the queue for the way back."""
    query = request.GET.urlencode()
    if len(query) <= _LONGEST_QUERY:
        response.set_cookie(
            QUEUE_COOKIE, query, max_age=_QUEUE_COOKIE_S, path=reverse("reviews:queue"), httponly=True, samesite="Lax"
        )
    return response


def queue_url(request: HttpRequest) -> str:
    """Give the queue as this browser saw it last."""
    query = queue_query(request).urlencode()
    return f"{reverse('reviews:queue')}?{query}" if query else reverse("reviews:queue")


def queue_query(request: HttpRequest) -> QueryDict:
    """Give the query of the queue as this browser saw it last."""
    return QueryDict(request.COOKIES.get(QUEUE_COOKIE, "")[:_LONGEST_QUERY])


def back_to(request: HttpRequest, intent_id: int, notice: str) -> HttpResponse:
    """Answer 303 to the page that bore the form, with a notice."""
    messages.success(request, notice)
    page = request.POST.get("next", "")
    is_ours = page.startswith("/reviews/") and url_has_allowed_host_and_scheme(page, allowed_hosts=None)
    response = HttpResponseRedirect(page if is_ours else reverse("reviews:case", args=[intent_id]))
    response.status_code = 303
    return response
