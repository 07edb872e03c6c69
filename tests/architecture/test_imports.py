"""Who may import whom: the table of the house, read from the code by its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

BASE: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("notifyops", "notifications", "reviews")
FILES: Final = sorted(path for package in PACKAGES for path in (BASE / package).rglob("*.py"))
TREES: Final = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}

# What the lower parts of `notifications` may import, and nothing else of ours.
PURE: Final = {
    "states": frozenset[str](),
    "types": frozenset({"states"}),
    "providers": frozenset({"providers", "states"}),
    "policy": frozenset({"policy", "states", "types", "providers.base"}),
    "models": frozenset({"models", "states"}),
    "door": frozenset({"models", "states"}),
    "sandbox": frozenset({"sandbox", "providers.base"}),
}
# Each stands above all of PURE but the sandbox, which is the outside world; siblings meet only through the outbox.
# Whatever is named in neither (wiring, chores, tasks, cli, api, management, views) joins the rest and may import it.
MIDDLE: Final = frozenset({"outbox", "delivery", "receipts", "people", "inbox", "retention"})
REVIEWS_MAY: Final = (
    "models",
    "states",
    "types",
    "policy",
    "door",
    "outbox",
    "delivery.reconcile",
    "metrics",
    "runs",
    "run_wishes",
    "works",
    "command_line",
    "advising",
    "host",
    "pausing",
    "live",
    "way_back",
)
FORBIDDEN_NAMES: Final = frozenset({"utils", "helpers", "common", "services", "core", "util", "helper", "misc"})


def module_of(path: Path) -> str:
    parts = path.relative_to(BASE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Give every module of ours that the file imports anywhere, functions included, with the line."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if is_module(whole) else node.module), node.lineno


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


def is_module(name: str) -> bool:
    path = BASE.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def part_of(module: str) -> str:
    """Give the part of `notifications` that a module belongs to: `models.intent` belongs to `models`.

    A module named after a middle part, such as outbox_json, belongs to it.
    """
    first = module.split(".")[1] if "." in module else ""
    prefix = first.partition("_")[0]
    return prefix if prefix in MIDDLE else first


def complaints() -> Iterator[str]:
    for path in FILES:
        importer = module_of(path)
        for imported, line in imports_of(path):
            if not may_import(importer, imported):
                yield f"{path.relative_to(BASE)}:{line}: {importer} may not import {imported}"


def may_import(importer: str, imported: str) -> bool:
    package, target = importer.partition(".")[0], imported.partition(".")[0]
    if package == "notifyops":
        return target == "notifyops" or importer == "notifyops.urls"
    if target == "notifyops":
        return False
    if package == "reviews":
        return target == "reviews" or within(imported, REVIEWS_MAY)
    if target == "reviews":
        return False
    return may_import_inside(importer, imported)


def may_import_inside(importer: str, imported: str) -> bool:
    part, wanted = part_of(importer), part_of(imported)
    if part in PURE:
        return within(imported, PURE[part])
    if part in MIDDLE and not importer.endswith(("views", "stream")):
        return wanted in {part, "outbox", *(set(PURE) - {"sandbox"}), *SHARED}
    return wanted != "sandbox" or part == "management"


# Small parts between the pure ones and the middle ones; they hold no rule of the domain and import only pure parts.
SHARED: Final = frozenset({"runtime", "sqlfile", "grants", "seal", "host"})


def within(module: str, allowed: frozenset[str] | tuple[str, ...]) -> bool:
    return any(module == f"notifications.{name}" or module.startswith(f"notifications.{name}.") for name in allowed)


def test_every_import_goes_down() -> None:
    assert list(complaints()) == []


def test_every_import_names_its_package() -> None:
    """A relative import would slip past the table above."""
    found = []
    for path, tree in TREES.items():
        relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        found += [f"{path.relative_to(BASE)}:{node.lineno}" for node in relative]
    assert found == []


def test_imports_inside_functions_are_seen() -> None:
    supervisor = BASE / "notifyops" / "supervisor.py"
    assert "notifyops.settings" in {name for name, _line in imports_of(supervisor)}


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("notifications.policy.retry", "notifications.models.intent", False),
        ("notifications.policy.retry", "notifications.providers.base", True),
        ("notifications.policy.retry", "notifications.providers.http", False),
        ("notifications.models.intent", "notifications.door", False),
        ("notifications.delivery.claim", "notifications.receipts.parse", False),
        ("notifications.delivery.claim", "notifications.outbox", True),
        ("notifications.sandbox.app", "notifications.states", False),
        ("notifications.tasks", "notifications.delivery.loop", True),
        ("notifications.delivery.claim", "notifications.tasks", False),
        ("notifications.tasks", "reviews.models", False),
        ("reviews.actions", "notifications.delivery.claim", False),
        ("reviews.actions", "notifications.delivery.reconcile", True),
        ("reviews.actions", "notifications.door", True),
        ("notifications.cli.info", "notifyops.installation", False),
        ("notifyops.supervisor", "notifications.states", False),
        ("notifyops.urls", "reviews.urls", True),
    ],
)
def test_the_table_itself_allows_and_refuses(importer: str, imported: str, allowed: bool) -> None:
    assert may_import(importer, imported) is allowed


def test_providers_and_policy_read_no_settings_clock_or_chance() -> None:
    found = []
    for path in FILES:
        if part_of(module_of(path)) not in ("providers", "policy") or module_of(path).startswith("reviews"):
            continue
        for node in ast.walk(TREES[path]):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path.relative_to(BASE)}: {name}" for name in names if name.partition(".")[0] == "django"]
            if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today"):
                found.append(f"{path.relative_to(BASE)}:{node.lineno}: .{node.attr}")
    assert found == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [module_of(path) for path in FILES if FORBIDDEN_NAMES & set(module_of(path).split("."))] == []


def test_nothing_happens_behind_the_back_of_a_save() -> None:
    """No @receiver, and no model that overrides save or delete: what happens stands where it is called."""
    found = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                if bases & {"Model", "QuerySet", "Manager"} and methods & {"save", "delete", "bulk_create"}:
                    found.append(f"{path.relative_to(BASE)}:{node.lineno}: {node.name}")
            if isinstance(node, ast.FunctionDef) and any(
                "receiver" in ast.unparse(each) for each in node.decorator_list
            ):
                found.append(f"{path.relative_to(BASE)}:{node.lineno}: @receiver {node.name}")
    assert found == []
