"""Test the command `hyperjoin page`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import httpx2
import pytest
from click.testing import CliRunner, Result

from browser.pages import FLIGHTS, PLANES, join, write
from datahub_hyperjoin.cli import main


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "joins.html"
    write(path, [FLIGHTS, PLANES], [join(FLIGHTS, PLANES)])
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["page", *arguments])


def test_a_page_is_opened_as_a_file(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def launch(url: str) -> int:
        opened.append(url)
        return 0

    monkeypatch.setattr(click, "launch", launch)
    result = run(str(page))
    assert (result.exit_code, result.output) == (0, "")
    assert opened == [page.as_uri()]


def test_without_a_browser_the_address_is_told(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click, "launch", lambda _: 1)
    assert run(str(page)).stderr == f"No browser was found here. Open {page.as_uri()} in one\n"


def test_a_faulty_file_of_decisions_stops_the_command(page: Path, tmp_path: Path) -> None:
    faulty = tmp_path / "decisions.csv"
    faulty.write_text("left_table\nx\n")
    result = run(str(page), "--serve", "--port", "0", "--decisions", str(faulty))
    assert result.exit_code == 1
    assert "line 1 lacks" in result.output


def test_another_file_is_no_page(tmp_path: Path) -> None:
    other = tmp_path / "notes.html"
    other.write_text("<html>")
    result = run(str(other), "--serve")
    assert result.output.startswith(f"Error: {other} is no page of joins, or has none.")


def test_the_page_is_served_until_ctrl_c(page: Path, tmp_path: Path) -> None:
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "datahub_hyperjoin.cli", "page", str(page), "--serve"),
            *("--port", "0", "--decisions", str(tmp_path / "d.json")),
        ],
        env=dict(os.environ),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr
    with server.stderr:
        assert server.stderr.readline() == f"Decisions are written to {tmp_path / 'd.json'}\n"
        url = server.stderr.readline().removeprefix("The joins are at ").strip()
        with httpx2.Client(trust_env=False) as client:
            assert "Suggested joins" in client.get(url).text
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 0
        assert server.stderr.read() == ""
