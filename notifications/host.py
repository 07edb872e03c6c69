"""Who gives a command on this host, as it stands in logs and audits."""

from __future__ import annotations

import os
import pwd
import socket
from typing import Final

# The log's column for the actor.
MAX_ACTOR: Final = 200


def actor() -> str:
    """Give `cli:<user>@<host>`, at most MAX_ACTOR characters."""
    return f"cli:{_login()}@{socket.gethostname()}"[:MAX_ACTOR]


def _login() -> str:
    """Give the login of this process, by the kernel: LOGNAME and USER are whatever their owner sets them to.

    Behind sudo it is the person who called it: root is not one of us.
    """
    number = os.getuid()
    caller = os.environ.get("SUDO_UID", "")
    if number == 0 and caller.isascii() and caller.isdigit() and len(caller) < 10:
        number = int(caller)
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # a container's user id without a name
        return f"uid{number}"
