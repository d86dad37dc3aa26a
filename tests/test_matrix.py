"""Test the script that runs the tests with each Python version.

Here, no version can be started.
"""

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / ".ci" / "matrix"


def test_a_release_without_an_interpreter_that_starts_is_reported(tmp_path: Path) -> None:
    shim = tmp_path / "python3.99"  # pyenv leaves such shims for releases that are not active
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    run = subprocess.run(
        [SCRIPT, "3.98", "3.99"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYENV_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stdout.splitlines() == [
        "Python 3.98  not found on this machine",
        "Python 3.99  not found on this machine",
    ]
