"""Test what all commands share: the end of the output, of memory and of the program."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.errors import OutputError

HYPERJOIN = f"{sys.executable} -m datahub_hyperjoin.cli"


def shell(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env={**os.environ, "PYTHONUNBUFFERED": "", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_output_that_is_full_is_told_in_a_sentence(tmp_path: Path) -> None:
    tmp_path.joinpath("a.csv").write_text("id\n" + "".join(f"K{at}\n" for at in range(30)))
    tmp_path.joinpath("b.csv").write_text("a_id\n" + "".join(f"K{at % 9}\n" for at in range(30)))
    for command in ("--help", f"find {tmp_path} --format json"):
        done = shell(f"{HYPERJOIN} {command} > /dev/full")
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            "Error: the output cannot be written: No space left on device. Free space, or name "
            "another place"
        )
        assert "Traceback" not in done.stderr
    done = shell(f"{HYPERJOIN} find {tmp_path} --page /dev/full")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "Error: /dev/full cannot be written: No space left on device. Name another path"
    )


def test_without_a_reader_the_program_ends_silently() -> None:
    done = shell(f"{HYPERJOIN} find --help | true")
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OutputError("the page is gone"), "Error: the page is gone\n"),
        (MemoryError(), "Error: the system gives this program no more memory or threads. Raise "),
        (RuntimeError("can't start new thread"), "Error: the system gives this program no more "),
    ],
)
def test_errors_are_one_sentence(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command("page")
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "get_command", lambda *_: fail)
    result = CliRunner().invoke(main, ["page"])
    assert result.exit_code == 1
    assert result.output.startswith(told)


IN_GROUPS = """
import click, errno
from datahub_hyperjoin.cli import main

class Group(Exception):  # as those of Python 3.11
    def __init__(self, inner):
        self.exceptions = [inner]

@click.command("mcp")
def fail():
    raise Group(Group(OSError(errno.ENOSPC, "No space left on device")))

main.get_command = lambda *_: fail
main(["mcp"])
"""


def test_an_error_of_the_output_may_come_in_a_group() -> None:
    done = subprocess.run([sys.executable, "-c", IN_GROUPS], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: the output cannot be written: No space left on device.")


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RuntimeError("another"), OSError(errno.ENOENT, "another")):

        @click.command("page")
        def fail(error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(main, "get_command", lambda *_, fail=fail: fail)
        assert CliRunner().invoke(main, ["page"]).exception is error
