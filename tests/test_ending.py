"""Test that SIGTERM and SIGHUP end programs as Ctrl-C does, and take over no host's handler."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread

import pytest

from datahub_hyperjoin.ending import tidy_end
from datahub_hyperjoin.storage import temporary_folder

PROGRAM = """
import signal, sys, time
from datahub_hyperjoin.storage import temporary_folder
{before}
with temporary_folder() as folder, temporary_folder():
    folder.joinpath("values").write_text("x")
    print("ready", flush=True)
    time.sleep(30)
print("went on")
"""


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Let signals have their default effect, whatever started the tests, as `nohup` may have."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run(program: Sequence[str], numbers: Sequence[int], folder: Path) -> tuple[int, str]:
    """Send signals to a program once it is ready; return its exit status and output."""
    started = subprocess.Popen(
        program,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert started.stdout
    while "ready" not in (line := started.stdout.readline()):
        assert line, "the program has ended"
    for number in numbers:
        started.send_signal(number)
    output = started.communicate(timeout=30)[0]
    return started.returncode, output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_program_and_its_folders(tmp_path: Path, number: signal.Signals) -> None:
    program = [sys.executable, "-c", PROGRAM.format(before="")]
    status, output = run(program, [number, number], tmp_path)  # as `timeout` does
    assert status == -number
    assert output == f"{number.name} ends this program\n"
    assert [*tmp_path.iterdir()] == []


def test_a_program_that_catches_the_interrupt_ends_nevertheless(tmp_path: Path) -> None:
    caught = PROGRAM.replace("time.sleep(30)", "try: time.sleep(30)\n    except: pass")
    status, output = run(
        [sys.executable, "-c", caught.format(before="")], [signal.SIGTERM], tmp_path
    )
    assert (status, "went on" in output) == (-signal.SIGTERM, False)


def test_a_handler_of_the_program_stays_in_use(tmp_path: Path) -> None:
    own = "signal.signal(signal.SIGTERM, lambda *_: sys.exit('my own end'))"
    program = [sys.executable, "-c", PROGRAM.format(before=own)]
    assert run(program, [signal.SIGTERM], tmp_path) == (1, "my own end\n")
    assert [*tmp_path.iterdir()] == []


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does"
    program = [sys.executable, "-c", PROGRAM.format(before=ignored).replace("30", "0.5")]
    assert run(program, [signal.SIGHUP], tmp_path) == (0, "went on\n")


def test_after_the_block_signals_have_their_default_effect() -> None:
    with tidy_end(), tidy_end():
        assert signal.getsignal(signal.SIGTERM) not in {signal.SIG_DFL, signal.SIG_IGN}
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_other_threads_change_no_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def work() -> None:
        with temporary_folder():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    hanging = """
import threading, time
from datahub_hyperjoin import ending
ending._PATIENCE = 0.3
with ending.tidy_end():
    try:
        print("ready", flush=True)
        time.sleep(30)
    finally:
        threading.Event().wait()
"""
    status, _ = run([sys.executable, "-c", hanging], [signal.SIGTERM], tmp_path)
    assert status == -signal.SIGKILL
