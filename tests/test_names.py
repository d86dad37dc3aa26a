"""Test the check that no public name is defined in two modules."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / ".ci" / "check_names.py"


def check(root: Path, **modules: str) -> tuple[int, str]:
    """Write modules into a package, run the check there, and return its exit code and errors."""
    for name, text in modules.items():
        folder = root / name.split("_", maxsplit=1)[0]
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, SCRIPT, root], capture_output=True, text=True, check=False
    )
    return run.returncode, run.stderr


def test_a_public_name_has_one_definition(tmp_path: Path) -> None:
    status, message = check(
        tmp_path,
        model_a="class Twice: ...\ndef once(): ...\n",
        model_b="from model_a import once\nLIMIT = 1\n",
        spark_c="def Twice(): ...\nLIMIT: int = 2\n",
    )
    assert status == 1
    assert message.splitlines() == [
        "LIMIT is defined in model/model_b.py, spark/spark_c.py",
        "Twice is defined in model/model_a.py, spark/spark_c.py",
        "Rename all but one, or import one definition everywhere.",
    ]


def test_private_names_loggers_and_nested_names_may_repeat(tmp_path: Path) -> None:
    text = "_LIMIT = 1\nlogger = None\n__all__ = []\nclass {}:\n    x = 1\n    def y(self): ...\n"
    assert check(tmp_path, model_a=text.format("A"), model_b=text.format("B")) == (0, "")


def test_one_module_may_define_a_name_again(tmp_path: Path) -> None:
    assert check(tmp_path, model_a="def f(x): ...\ndef f(x, y): ...\n") == (0, "")
