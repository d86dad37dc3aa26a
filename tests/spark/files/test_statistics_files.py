"""Test that the tables of Stata and SAS are read."""

from base64 import b85decode
from pathlib import Path
from zlib import decompress

import pandas as pd
import pytest

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.formats import format_of_suffix
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

TRANSPORT = (
    r"c-r%Db#!qJQV4Q&_78H=f&d>+ry$3mNCgjMIYkICzzY-<f*peuKmdsb8mFLOre|OV;wKfSnCKZP-~`47e*R%bW"
    r">$tKR)*$QhDPXo1qy)&7XSLX`Z@u{i1V+Z8JuNefZaToVCSHKkRXb}&&4ssG1xT(#0N14b@=%?`nm=a@~<&=|1"
    r"vN#Ffed1FlMHZ=N<+S0GffqCl@dQF$)7zUSe)4*=}LLa0>@nZh?dgGpWG>Of0S;p1!U)!i9$%r%*e+_&Wt-$`P"
    r"4A90ee5a?Hz9@Tf@q0cI;8-04x#qXA;;LERpee|WV=#pbQJ`~d*YTe~6"
)
"""A transport file of SAS with the columns id, name and d (a date in seconds since 1960)."""


def rows_of(path: Path, paths: set[str] | None = None) -> list[dict[str, object]]:
    found = format_of_suffix(path.suffix.upper())
    assert found is not None
    location = File(uri=str(path), format=found.name)
    table = Table(id=TableId("file", path.name), title=path.stem, location=location, size=1)
    stream = read_table(table, Databases(), max_rows=1_000_000, paths=paths)
    return [row for batch in stream.batches for row in batch.to_pylist()]


def test_files_of_stata_are_read_with_codes(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    names = pd.Series(["Ann", "", "Zoë"])
    frame = pd.DataFrame({"id": [7, 8, 9], "name": names, "city": pd.Categorical(["b", "a", "b"])})
    frame.to_stata(path, write_index=False)
    rows = [{"id": 7, "name": "Ann", "city": 1}, {"id": 8, "name": None, "city": 0}]
    assert rows_of(path)[:2] == rows
    assert rows_of(path, {"name"}) == [{"name": "Ann"}, {"name": None}, {"name": "Zoë"}]
    pd.DataFrame({"id": range(40_000)}).to_stata(path, write_index=False)
    assert [row["id"] for row in rows_of(path)] == [*range(40_000)]


def test_transport_files_of_sas_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    path.write_bytes(decompress(b85decode(TRANSPORT)))
    assert rows_of(path, {"id", "name"}) == [
        {"id": 1, "name": "Ann"},
        {"id": 2, "name": None},
        {"id": None, "name": "Zoë"},
    ]


@pytest.mark.parametrize("suffix", [".dta", ".sas7bdat", ".xpt"])
def test_other_files_are_refused_with_the_reason(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    for content in (b"nothing", b"nothing" * 999):
        path.write_bytes(content)
        with pytest.raises(UnreadableTableError, match=r"cannot be read: .*\. Fix the file"):
            rows_of(path)
