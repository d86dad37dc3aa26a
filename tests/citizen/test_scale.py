"""Test that a second run over more than a hundred tables writes nothing."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gms import Gms
from lakes.lake import codes, describe_folder, write_table

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]  # tracing would double its minutes
GROUPS, TABLES, KEYS = 26, 4, 2


def write_families(folder: Path) -> None:
    """Write groups of tables that join with each other by shared keys.

    Tables share keys within their group only.
    """
    for group in range(GROUPS):
        keys = {f"key{key}": codes(f"G{group}K{key}-", 24) for key in range(KEYS)}
        for member in range(TABLES):
            own = {"note": codes(f"G{group}T{member}-", 24)}
            write_table(folder, f"g{group}/t{member}.csv", {**keys, **own})


def test_a_second_run_over_a_hundred_tables_writes_nothing(
    tmp_path: Path, run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "families"
    write_families(folder)
    recipe = {
        "catalog": {"folder": str(folder), "separate_files": True},
        # Tables with the same columns are a family, whose joins follow from others.
        "model": {"ranking": {"list_all": True}},
    }
    with Gms() as gms:
        describe_folder(gms, folder)
        run(gms, "--no-default-report", **recipe)
        assert gms.rejected == []
        joins = len(gms.urns("erModelRelationship"))
        assert joins >= 300
        writes, requests = len(gms.writes), len(gms.requests)
        run(gms, "--no-default-report", **recipe)
        assert {write.entity for write in gms.writes[writes:]} <= {"dataJob"}
        with capsys.disabled():
            sys.stdout.write(
                f"\n{joins} joins of {GROUPS * TABLES} tables; a second run made "
                f"{len(gms.requests) - requests} requests and wrote its checkpoints only\n"
            )
        assert len(gms.requests) - requests < GROUPS * TABLES / 4
