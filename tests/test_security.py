"""Test that SECURITY.md names an existing test for every threat."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
THREATS = TEXT.partition("## Threats")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (?!threat |---)(.*) \|$", THREATS, flags=re.MULTILINE)


def test_there_are_threats() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.partition(" | ")[0])
def test_a_test_holds_the_threat(row: str) -> None:
    _, _, held_by = row.split(" | ")
    named = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", held_by)
    assert named, held_by
    path, name = named.groups()
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")
