"""Test that the lakes profiled in memory are those that are written to files."""

from pathlib import Path

import numpy as np
from pyarrow import parquet

from benchmarks.area_lake import AREA, write_areas
from benchmarks.area_profiles import profile_areas


def test_profiles_describe_the_files(tmp_path: Path) -> None:
    write_areas(tmp_path, AREA + 2)
    profiles = [*profile_areas(AREA + 2)]
    files = {str(file.relative_to(tmp_path)): file for file in tmp_path.rglob("*.parquet")}
    assert {profile.table.id.name for profile in profiles} == files.keys()
    for profile in profiles:
        table = parquet.read_table(files[profile.table.id.name])
        assert [column.id.path for column in profile.columns] == table.column_names
        for column in profile.columns:
            cells = table[column.id.path]
            assert column.rows == len(cells)
            assert column.distinct == len(cells.unique()) >= len(column.sample)
            hashes = np.frombuffer(column.sketch, "<u8")
            assert len(hashes) == min(column.distinct, 4096)
            assert (np.diff(hashes) > 0).all()


def test_equal_values_have_equal_sketches() -> None:
    tables = [*profile_areas(4 * AREA)]
    states = [column for table in tables for column in table.columns if column.id.path == "status"]
    assert len({column.sketch for column in states}) == 4 < len(states)
