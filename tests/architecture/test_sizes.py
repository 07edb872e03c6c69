"""How big a file, a function and a list of arguments may be."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BASE: Final = Path(__file__).resolve().parents[2]
CODE: Final = [
    path
    for package in ("notifyops", "notifications", "reviews", "bench")
    for path in sorted((BASE / package).rglob("*.py"))
    if "migrations" not in path.parts
]
TESTS: Final = sorted((BASE / "tests").rglob("*.py"))
TEMPLATES: Final = [
    path for root in ("templates", "notifications", "reviews") for path in (BASE / root).rglob("*.html")
]
FILE_MAX, FILE_MEDIAN, TEST_MAX, TEMPLATE_MAX = 250, 90, 300, 80
FUNCTION_MAX, FUNCTION_P90, ARGUMENTS_MAX = 40, 25, 5
# Django calls these by position; their form is not ours to choose.
DJANGOS: Final = frozenset({"save_model"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def too_long(paths: list[Path], limit: int) -> list[str]:
    return [f"{path.relative_to(BASE)}: {lines(path)} lines" for path in paths if lines(path) > limit]


def functions(paths: list[Path]) -> Iterator[tuple[Path, Function]]:
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield path, node


def length(function: Function) -> int:
    """Count the lines of a function without its decorators and its docstring, which says what code cannot."""
    first = function.body[0]
    is_doc = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    doc = (first.end_lineno or first.lineno) - first.lineno + 1 if is_doc else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - doc


def named(path: Path, function: Function) -> str:
    return f"{path.relative_to(BASE)}:{function.lineno} {function.name}"


def test_no_code_file_is_longer_than_the_limit() -> None:
    assert too_long(CODE, FILE_MAX) == []


def test_half_of_the_code_files_are_short() -> None:
    assert statistics.median(lines(path) for path in CODE if lines(path)) <= FILE_MEDIAN


def test_no_test_file_is_longer_than_the_limit() -> None:
    assert too_long(TESTS, TEST_MAX) == []


def test_no_template_is_longer_than_the_limit() -> None:
    assert too_long(TEMPLATES, TEMPLATE_MAX) == []


def test_no_function_is_longer_than_the_limit() -> None:
    found = functions([*CODE, *TESTS])
    assert [f"{named(path, each)}: {length(each)}" for path, each in found if length(each) > FUNCTION_MAX] == []


def test_nine_of_ten_functions_are_short() -> None:
    found = sorted(length(each) for _path, each in functions(CODE))
    assert found[int(len(found) * 0.9)] <= FUNCTION_P90


def test_no_function_takes_more_arguments_than_a_reader_can_keep() -> None:
    found = []
    for path, each in functions(CODE):
        taken = [argument.arg for argument in (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)]
        if len([name for name in taken if name not in ("self", "cls")]) > ARGUMENTS_MAX:
            found.append(named(path, each))
    assert found == []


def test_a_yes_or_no_is_always_named_by_its_caller() -> None:
    found = []
    for path, each in functions(CODE):
        if each.name in DJANGOS:
            continue
        for argument in (*each.args.posonlyargs, *each.args.args):
            if argument.annotation is not None and ast.unparse(argument.annotation) == "bool":
                found.append(f"{named(path, each)}: {argument.arg}")
    assert found == []


def test_every_module_opens_with_what_it_is_for() -> None:
    paths = [path for path in CODE if lines(path)]
    missing = [path for path in paths if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert [str(path.relative_to(BASE)) for path in missing] == []
