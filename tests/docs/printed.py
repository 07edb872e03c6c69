"""What docs/state-machine.md and docs/schema.md must say, made from code and database. Print it to mend the pages:

python -m tests.docs.printed
"""

from __future__ import annotations

from collections import defaultdict

from notifications.states import MOVES, EntryKind, State, Who

STATES = list(State)


def moves_table() -> str:
    """Give MOVES as a table: a row per kind and from-state, targets and writers joined."""
    found: dict[tuple[EntryKind, State], tuple[set[State], set[Who]]] = defaultdict(lambda: (set(), set()))
    for move in MOVES:
        targets, writers = found[move.kind, move.from_state]
        targets.add(move.to_state)
        writers.add(move.who)
    rows = ["| kind | from | to | who |", "| -- | -- | -- | -- |"]
    for kind in EntryKind:
        for state in STATES:
            if (kind, state) in found:
                targets, writers = found[kind, state]
                to = ", ".join(
                    target.value if target is not state else "no move" for target in STATES if target in targets
                )
                rows.append(f"| `{kind}` | {state} | {to} | {', '.join(sorted(writers))} |")
    return "\n".join(rows)


def diagram() -> str:
    """Give the states and the kinds that lead from one to another, as a Mermaid diagram."""
    arrows: dict[tuple[State, State], list[str]] = defaultdict(list)
    for move in MOVES:
        if move.from_state is not move.to_state and move.kind.value not in arrows[move.from_state, move.to_state]:
            arrows[move.from_state, move.to_state].append(move.kind.value)
    lines = ["stateDiagram-v2", "    [*] --> pending: enqueue"]
    for (source, target), kinds in sorted(arrows.items(), key=lambda one: [STATES.index(state) for state in one[0]]):
        lines.append(f"    {source} --> {target}: {', '.join(kinds)}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(diagram(), moves_table(), sep="\n\n")  # noqa: T201
