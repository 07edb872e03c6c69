"""Apps of an installation's own: Python packages with notification types and templates, named by NOTIFYOPS_APPS."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Collection
from typing import Final

from notifyops.env import BadValue, Environment

NAME: Final = "NOTIFYOPS_APPS"
_MODULE: Final = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"


def named(env: Environment, *, ours: Collection[str]) -> list[str]:
    """Give the apps in their order. Raises BadValue for what Python does not find here, is ours, or is named twice."""
    found: list[str] = []
    for name in filter(None, re.split(r"[,\s]+", env.text(NAME))):
        if not re.fullmatch(_MODULE, name):
            raise BadValue(f"{NAME} names {name!r}: it must be the name of a Python package, such as shop_mail.")
        if name in ours or name in found:
            raise BadValue(f"{NAME} names {name}, which is installed already: name it once, or not at all.")
        if not _is_there(name):
            raise BadValue(
                f"{NAME} names {name}, which Python does not find here: install it beside notifyops "
                f"(python -m pip install …), or correct the name."
            )
        found.append(name)
    return found


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # one of its parents
        return False
