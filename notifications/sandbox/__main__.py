"""`python -m notifications.sandbox`: the sandbox without Django, ready in a fraction of the time."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from notifications.sandbox.options import HELP, add_options, run
from notifications.sandbox.refusals import Misused


def main() -> int:
    parser = ArgumentParser(prog="python -m notifications.sandbox", description=HELP)
    add_options(parser)
    try:
        run(vars(parser.parse_args()), say)
    except Misused as misuse:
        sys.stderr.write(f"{misuse}\n")
        return 1
    return 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
