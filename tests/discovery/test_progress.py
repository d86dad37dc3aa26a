"""Test the progress bar of a run on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.progress import Task, TaskID

from datahub_hyperjoin.discovery.progress import STAGES, BarProgress, RunProgress, time_left_column
from datahub_hyperjoin.discovery.run import run_discovery
from lakes.lake import write_flights


class Said(RunProgress):
    """A progress report that keeps its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_the_time_of_every_stage_is_known(tmp_path: Path) -> None:
    write_flights(tmp_path)
    progress = Said()
    run_discovery([tmp_path], progress)
    assert [line for line in progress.lines if line in STAGES] == [*STAGES]


@pytest.mark.parametrize("sql", [True, False])
def test_the_bar_is_full_when_the_last_stage_ends(*, sql: bool) -> None:
    progress = BarProgress(sql=sql)
    with progress.shown() as bar:
        [task] = bar.tasks
        for name in STAGES:
            if sql or name != "Running the SQL":
                assert task.completed < (task.total or 0)
                with progress.stage(name):
                    pass
        assert task.completed == task.total


def task(share: float, *, stepped: float, elapsed: float) -> Task:
    """Return a task of 100 steps at a given time."""
    made = Task(TaskID(0), "", 100, 100 * share, _get_time=lambda: elapsed)
    made.start_time = 0
    made.fields["stepped"] = stepped
    return made


def test_the_time_left_is_counted_down_between_stages() -> None:
    shown = [
        str(time_left_column().render(task(0.25, stepped=10, elapsed=elapsed)))
        for elapsed in (10, 20.5, 41)
    ]
    assert shown == ["about 31 s left", "about 20 s left", ""]


def test_no_time_is_guessed_before_the_first_stages_end() -> None:
    assert not str(time_left_column().render(task(0.005, stepped=1, elapsed=1)))


def find_on_terminal(folder: Path) -> str:
    """Run `hyperjoin find` with a terminal as standard error, and return what it shows there."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "datahub_hyperjoin.cli", "find", str(folder)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with (
        open(ours, "rb", buffering=0) as screen,  # noqa: PTH123 - a number, not a path
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment
        ) as running,
    ):
        os.close(theirs)
        shown = b""
        try:
            while read := screen.read(1 << 16):
                shown += read
        except OSError:  # how Linux reports that the other end was closed
            pass
        assert running.wait() == 0
    return shown.decode()


def test_a_terminal_shows_the_stage_and_the_time_left(tmp_path: Path) -> None:
    write_flights(tmp_path)
    shown = find_on_terminal(tmp_path)
    assert "Ranking candidates, 5 tables" in shown
    assert " s left" in shown
    # Libraries that count their objects at the end would list those that the run had exempted.
    assert "leaked" not in shown
