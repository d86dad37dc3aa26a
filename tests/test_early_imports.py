import sys
from pathlib import Path

import pytest

from datahub_hyperjoin.early_imports import import_early


def test_a_module_is_imported_while_the_program_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("slow_to_import.py").write_text("import time\ntime.sleep(0.2)\nANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_early("slow_to_import")
    assert not hasattr(sys.modules.get("slow_to_import"), "ANSWER")
    import slow_to_import  # type: ignore[import-not-found] # noqa: PLC0415

    assert slow_to_import.ANSWER == 42
    monkeypatch.delitem(sys.modules, "slow_to_import")
