"""Test that programs get exact names, and terminals no escape sequences."""

import sys

import pytest

from datahub_hyperjoin.cli.output import print_result

SQL = 'SELECT "\x1b[2J"\nFROM victims;\n'


@pytest.mark.parametrize(
    ("is_terminal", "printed"),
    [(False, SQL), (True, 'SELECT "\\u001b[2J"\nFROM victims;\n')],
)
def test_only_a_terminal_gets_escapes(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,  # noqa: FBT001 - a parameter
    printed: str,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    print_result(SQL, nl=False)
    assert capsys.readouterr().out == printed
