"""Run commands on a catalog that has a small lake."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gms import Gms
from lakes.lake import describe_folder, write_flights
from lakes.quick_runs import Runs


@pytest.fixture
def runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_spark: None,  # noqa: ARG001 - it must not start
) -> Iterator[Runs]:
    """Return a series of runs that write to the server of the commands."""
    with Gms() as gms:
        monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
        write_flights(tmp_path / "lake")
        describe_folder(gms, tmp_path / "lake")
        yield Runs(gms, tmp_path / "lake")
