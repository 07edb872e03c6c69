"""Two questions from outside: does the process live, and can it serve?"""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process lives; asks nothing of the database."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 where the database answers and has every migration, else 503 and the first thing that is missing."""
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return HttpResponse("database: no answer\n", status=503, content_type="text/plain")
    if waiting:
        names = ", ".join(f"{step.app_label}.{step.name}" for step, _ in waiting[:3])
        return HttpResponse(f"migrations: {len(waiting)} to run: {names}\n", status=503, content_type="text/plain")
    return HttpResponse("ready\n", content_type="text/plain")
