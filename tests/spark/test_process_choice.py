"""Test which tables are profiled in the process of the run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.local_batch import profile_here
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.routes import are_short_texts
from datahub_hyperjoin.stages import profiling
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.tables import Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]


def test_profiles_are_those_of_other_processes(make_table: MakeTable) -> None:
    tables = [
        make_table("a.csv", "id;day\n1;2024-01-31\n2;NA\n"),
        make_table("b.tsv", "code\tprice\n0007\t1,50\n0008\t\n"),
        make_table("empty.csv", "id,name\n"),
        make_table("lost.csv", b"\0\1"),
    ]
    config = ProfileConfig()
    assert profile_here(tables, config) == profile_lake(None, tables, config)


def test_only_short_plain_texts_are_read_here(make_table: MakeTable) -> None:
    text = make_table("a.csv", "a\n1\n")
    far = replace(text, location=File(uri="s3a://lake/a.csv", format="csv"))
    packed = replace(text, location=File(uri="/lake/a.csv.gz", format="csv"))
    assert are_short_texts([text, make_table("b.tsv", "b\n1\n")])
    assert not are_short_texts([text, far])
    assert not are_short_texts([text, packed])
    assert not are_short_texts([text, make_table("c.parquet", pa.table({"c": [1]}))])
    assert not are_short_texts([replace(text, size=1 << 22), text])


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_a_first_run_reads_in_other_processes(
    make_table: MakeTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: int
) -> None:
    tables = [replace(make_table(f"{at}.csv", "a\n1\n"), state="first") for at in range(2)]
    config, here = ProfileConfig(store=tmp_path / "store"), list[str]()

    def note(read: list[Table], config: ProfileConfig) -> object:
        here.extend(table.title for table in read)
        return profile_here(read, config)

    monkeypatch.setattr(profiling, "profile_here", note)
    read_profiles(tables, lambda: None, config, RunProgress())
    assert here == []
    rewritten = [
        replace(make_table(f"{at}.csv", "a\n2\n"), state="second") for at in range(changed)
    ]
    later = rewritten + tables[changed:]
    read_profiles(later, lambda: None, config, RunProgress())
    # If all have changed, nothing is known yet of any table.
    assert here == (["0"] if changed == 1 else [])
