"""What a first run prints of its demo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from notifyops import firstrun


def test_the_demo_is_printed_as_it_is_and_played_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manage.py").write_text("import sys\nprint(sys.argv[-1], 'played')\nprint('  its detail')\n")
    for _run in range(2):
        firstrun.play(tmp_path, base=tmp_path, env=os.environ)
    assert capsys.readouterr().out == "demo played\n  its detail\nseed_demo played\n  its detail\n"
