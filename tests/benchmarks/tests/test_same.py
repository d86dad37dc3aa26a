"""Test that what two versions find is compared line by line."""

from pathlib import Path

import pytest

from benchmarks.same import ROOT, compare


def test_lines_that_differ_are_printed_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(code: Path, out: Path) -> str:
        return f"{out}\nthe join {'after' if code == ROOT else 'before'}"

    rows = compare({"lake": run, "other": lambda *_: "a\nb"}, tmp_path / "code", tmp_path)
    assert rows == [("lake", 2, "2 lines differ"), ("other", 2, "same")]
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == ["lake: -the join before", "lake: +the join after"]
