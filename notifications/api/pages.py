"""The description of the API as a document for programs and as a page for people, both without a token."""

from __future__ import annotations

import functools
import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from notifications.api import openapi
from notifications.api.problems import CODES, Problem
from notifications.api.v1 import api


@functools.cache
def description() -> dict[str, Any]:
    """Give the OpenAPI document, made once a process."""
    return openapi.completed(api.get_openapi_schema(path_prefix="/api/v1/"))


@require_safe
def document(_request: HttpRequest) -> HttpResponse:
    """Give the OpenAPI document."""
    answer = HttpResponse(json.dumps(description(), ensure_ascii=False), content_type="application/json")
    answer["Cache-Control"] = "public, max-age=300"
    return answer


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show the description: plain HTML, nothing from elsewhere."""
    found = description()
    calls = [
        _call(path, method, operation) for path, item in found["paths"].items() for method, operation in item.items()
    ]
    problems = [
        {"code": code, "status": status, "title": title, "cure": cure} for code, (status, title, cure) in CODES.items()
    ]
    return render(
        request, "api/docs.html", {"about": found["info"]["description"], "calls": calls, "problems": problems}
    )


def nothing(_request: HttpRequest, **_path: str) -> HttpResponse:
    """Answer for addresses below /api/v1 that are none."""
    return Problem("not_found").response()


def _call(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", ""),
        "parameters": [_parameter(one) for one in operation.get("parameters", [])],
        "fields": list(_fields(body)) if body else [],
        "example": json.dumps(_example(body), ensure_ascii=False, indent=2) if body else "",
        "answers": [
            {"status": status, "description": answer["description"], "fields": list(_answer_fields(answer))}
            for status, answer in operation["responses"].items()
        ],
    }


def _parameter(one: dict[str, Any]) -> dict[str, Any]:
    schema = one["schema"]
    return {
        "name": one["name"],
        "place": one["in"],
        "required": one.get("required", False),
        "kind": _kind(schema),
        "about": one.get("description") or schema.get("description", ""),
    }


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        found: dict[str, Any] = description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    if "allOf" in schema:
        return _resolved(schema["allOf"][0])
    return schema


def _fields(schema: dict[str, Any], prefix: str = "") -> Any:
    """Give the fields of an object, those of inner objects after their own."""
    found = _resolved(schema)
    for name, one in found.get("properties", {}).items():
        inner = _resolved(one)
        yield {
            "name": f"{prefix}{name}",
            "required": name in found.get("required", ()),
            "kind": _kind(one),
            "about": one.get("description") or ("" if one is inner else inner.get("description", "")),
        }
        listed = inner.get("items")
        if inner.get("properties"):
            yield from _fields(inner, f"{prefix}{name}.")
        elif listed and _resolved(listed).get("properties"):
            yield from _fields(listed, f"{prefix}{name}[].")


def _answer_fields(answer: dict[str, Any]) -> Any:
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    return _fields(schema) if schema else ()


def _kind(schema: dict[str, Any]) -> str:
    """Give the JSON type in a word or two."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    found = _resolved(schema)
    if "enum" in found:
        return ", ".join(str(one) for one in found["enum"])
    if found.get("type") == "array":
        return f"array of {_kind(found['items'])}"
    return str(found.get("format") or found.get("const") or found.get("type", "any"))


def _example(schema: dict[str, Any]) -> Any:
    """Give an example of the required fields, and of those that have one of their own."""
    found = _resolved(schema)
    if found.get("examples"):
        return found["examples"][0]
    if found.get("type") == "object" and "properties" in found:
        needed = found.get("required", ())
        return {name: _example(one) for name, one in found["properties"].items() if name in needed or "examples" in one}
    if found.get("type") == "array":
        return [_example(found["items"])]
    return found.get("enum", ["…"])[0]
