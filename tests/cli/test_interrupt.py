"""Test what Ctrl-C shows while the command `hyperjoin` starts."""

import os
import signal
import subprocess
import sys


def test_ctrl_c_during_the_imports_shows_no_traceback() -> None:
    program = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "datahub_hyperjoin.cli", "joins", "--help"],
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr
    while not program.stderr.readline().endswith(" tabulate\n"):
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=60)
    assert (output, program.returncode) == ("", -signal.SIGINT)
    assert "Traceback" not in errors
