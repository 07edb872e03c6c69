"""What an enqueue over HTTP costs, beside the same by SQL: the real site, in one process of uvicorn."""

from __future__ import annotations

import contextlib
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Final

from bench import rows
from bench.figures import Figure, Report, median, shown
from bench.intake import CALLERS, furnish
from bench.stage import Stage, free_port, wait
from notifyops.children import Child, stop

_WHY: Final = "The benchmark calls the API."


def measure(stage: Stage, report: Report) -> None:
    """Measure calls of one each and batches of a hundred, and SQL in turn with them."""
    found: dict[str, list[float]] = {kind: [] for kind in ("sql-enqueue", "http", "http-batch")}
    made = stage.run(
        ("manage.py", "notify", "token", "create", "bench", "--scope", "enqueue", "--workspace", "", "--json",
         "--per-minute", "1000000", "--reason", _WHY),
        stage.env("web"),
    )  # fmt: skip
    token = json.loads(made)["token"]
    with _served(stage) as url:
        for number in range(stage.runs):
            for kind, rates in found.items():
                rates.append(_rate(stage, kind, number, {"BENCH_API_URL": url, "BENCH_API_TOKEN": token}))
    sql = shown(median(found["sql-enqueue"]))
    report.add(
        Figure("enqueue over HTTP", "calls/s", tuple(found["http"]), None, f"{CALLERS} callers; by SQL {sql}/s"),
        Figure("enqueue over HTTP, batches of 100", "rows/s", tuple(found["http-batch"]), None, f"{CALLERS} callers"),
    )


def _rate(stage: Stage, kind: str, number: int, api: dict[str, str]) -> float:
    with stage.owner() as owner:
        rows.clear(owner)
        furnish(owner)
    argv = ("-m", "bench.callers", kind, str(CALLERS), str(stage.sized(5, 2)), str(number))
    return float(stage.run(argv, stage.env("web", NOTIFYOPS_DATABASE_URL=stage.urls["writer"], **api)))


@contextlib.contextmanager
def _served(stage: Stage) -> Iterator[str]:
    """Serve the site as `make up` does; give its address."""
    port = free_port()
    listen = ("--host", "127.0.0.1", "--port", str(port), "--no-access-log", "--lifespan", "off")
    argv = ("-m", "uvicorn", "notifyops.asgi:application", *listen, "--timeout-graceful-shutdown", "2")
    child = Child(stage.command("web", argv, stage.env("web", NOTIFYOPS_WEB_POOL=32)))
    child.start()
    try:
        wait(lambda: _answers(port), 60, child, "the site did not answer")
        yield f"http://127.0.0.1:{port}"
    finally:
        stop([child])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            return False
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(urllib.error.URLError), opener.open(f"http://127.0.0.1:{port}/healthz", timeout=10) as one:
        return bool(one.status == 200)
    return False
