"""Make the demo accounts of a first run: `python -m notifyops.people` takes a JSON list and prints the names made."""

from __future__ import annotations

import json
import os
import sys
from typing import Final

GROUPS: Final = {"operator": "Operators", "lead": "Leads", "viewer": "Viewers"}


def make(people: list[dict[str, str]]) -> list[str]:
    """Create those that are missing, each in the group of its role; give those that have the named password.

    Only a lead has business in the admin.
    An account of somebody else keeps its password and is not given; one of an interrupted earlier try is.
    """
    from django.contrib.auth.models import Group, User
    from django.db import transaction

    made = []
    for person in people:
        name, password = person["username"], person["password"]
        user = User.objects.filter(username=name).first()
        if user is None:
            with transaction.atomic():
                user = User.objects.create_user(
                    name, f"{name}@example.com", password, is_staff=person["role"] == "lead"
                )
                user.groups.add(Group.objects.get(name=GROUPS[person["role"]]))
        if user.check_password(password):
            made.append(name)
    return made


def main() -> None:
    """Set Django up, read the people, make them."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
    import django

    django.setup()
    sys.stdout.write(json.dumps(make(json.load(sys.stdin))))


if __name__ == "__main__":
    main()
