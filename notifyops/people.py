"""Make the demo accounts of a first run: `python -m notifyops.people` takes a JSON list and prints the names made."""

from __future__ import annotations

import json
import os
import sys
from typing import Final

GROUPS: Final = {"operator": "Operators", "lead": "Leads", "viewer": "Viewers"}


def make(people: list[dict[str, str]]) -> list[str]:
    """Create those that are missing, each in the group of its role; an account that is there keeps its password."""
    from django.contrib.auth.models import Group, User

    made = []
    for person in people:
        if User.objects.filter(username=person["username"]).exists():
            continue
        user = User.objects.create_user(
            person["username"], email=f"{person['username']}@example.com", password=person["password"], is_staff=True
        )
        user.groups.add(Group.objects.get(name=GROUPS[person["role"]]))
        made.append(user.username)
    return made


def main() -> None:
    """Set Django up, read the people, make them."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
    import django

    django.setup()
    sys.stdout.write(json.dumps(make(json.load(sys.stdin))))


if __name__ == "__main__":
    main()
