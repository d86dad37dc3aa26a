"""Test that garbage collection is paused, and continues afterwards as before."""

import gc
import subprocess
import sys
from contextlib import suppress

import pytest

from datahub_hyperjoin.spark.memory import exempt_imports, gc_paused


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_continues_as_before(*, enabled: bool) -> None:
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with suppress(KeyError), gc_paused():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_imports_are_exempted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = list[None]()
    monkeypatch.setattr(gc, "freeze", lambda: times.append(None))
    exempt_imports.cache_clear()
    exempt_imports()
    exempt_imports()
    exempt_imports.cache_clear()
    assert len(times) == 1


def test_duckdb_reports_no_leak_of_what_is_exempt() -> None:
    code = """import duckdb
from datahub_hyperjoin.spark.memory import exempt_imports

exempt_imports()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
