"""Test that kept values verify pairs as tables do, and are kept only where they may be."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.verification import values as values_module
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.values import (
    ColumnTuple,
    RequestedColumns,
    prune_value_files,
    read_values,
    value_files,
)
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, size_to_read, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table
from datahub_hyperjoin.value_forms import Notation

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
_NO_SYNONYMS: Mapping[str, Synonyms] = {}


@pytest.fixture
def tables(make_table: MakeTable) -> list[Table]:
    """Return two tables with known states, which join in several ways."""
    orders = "id,code,line\n" + "".join(f"{at % 60},00{at % 50},{at % 7}\n" for at in range(300))
    items = "id,code,line\nNA,x,1\n" + "".join(f"{at},{at},{at % 7}\n" for at in range(40))
    made = [make_table("orders.csv", orders), make_table("items.csv", items)]
    return [replace(table, state="first") for table in made]


@pytest.fixture
def config(tmp_path: Path, tables: list[Table]) -> ProfileConfig:
    """Return settings with a store that is ready for values."""
    config = ProfileConfig(store=tmp_path / "store")
    prune_value_files(config, tables)
    return config


def pairs_of(tables: list[Table]) -> list[tuple[ColumnId, ColumnId]]:
    left, right = (table.id for table in tables)
    return [(ColumnId(left, path), ColumnId(right, path)) for path in ("id", "code")]


def kinds_of(tables: list[Table]) -> ColumnKinds:
    return ColumnKinds(notations={ColumnId(tables[0].id, "code"): Notation.PADDED})


def lose(table: Table) -> None:
    Path(table.location.uri).unlink()  # type: ignore[union-attr]


def files_in(config: ProfileConfig) -> list[Path]:
    assert config.store
    return sorted((config.store / "values").iterdir())


@pytest.mark.parametrize("on_spark", [False, True])
def test_kept_values_verify_as_their_tables_do(
    spark: SparkSession, tables: list[Table], config: ProfileConfig, *, on_spark: bool
) -> None:
    session = spark if on_spark else None
    pairs, kinds = pairs_of(tables), kinds_of(tables)
    reference = tuple(
        (ColumnId(tables[0].id, p), ColumnId(tables[1].id, p)) for p in ("id", "line")
    )
    texts = {reference[0][1]}
    expected = verify_joins(session, tables, pairs, kinds=kinds)
    composite = verify_composites(session, tables, [reference], texts=texts)
    assert expected[pairs[1]].compared_as
    for _ in range(2):
        assert verify_joins(session, tables, pairs, kinds=kinds, config=config) == expected
        found = verify_composites(session, tables, [reference], texts=texts, config=config)
        assert found == composite
        # In the second turn, the first table can no longer be read.
        Path(tables[0].location.uri).unlink(missing_ok=True)  # type: ignore[union-attr]
    assert verify_joins(session, tables, pairs, kinds=kinds) == {}


def test_a_column_that_was_not_kept_is_read(tables: list[Table], config: ProfileConfig) -> None:
    id_, code = pairs_of(tables)
    verify_joins(None, tables, [id_], config=config)
    verify_joins(None, tables, [code], config=config)
    lose(tables[0])
    # Both are kept now, and no third.
    assert len(verify_joins(None, tables, [id_, code], config=config)) == 2
    line = ColumnId(tables[0].id, "line"), ColumnId(tables[1].id, "line")
    assert verify_joins(None, tables, [line], config=config) == {}


def test_a_damaged_file_is_reported_and_made_anew(
    tables: list[Table], config: ProfileConfig, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = pairs_of(tables)
    expected = verify_joins(None, tables, pairs, config=config)
    file = files_in(config)[0]
    whole = file.read_bytes()
    for at in range(0, len(whole), 97):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert verify_joins(None, tables, pairs, config=config) == expected
        assert any(str(file) in record.getMessage() for record in caplog.records)
        file.write_bytes(whole)


def test_a_file_of_someone_else_stays(tables: list[Table], config: ProfileConfig) -> None:
    file = value_files(config, tables)[tables[0].id]
    file.write_text("mine")
    pairs = pairs_of(tables)
    assert verify_joins(None, tables, pairs, config=config) == verify_joins(None, tables, pairs)
    assert file.read_text() == "mine"


def test_values_of_changed_tables_are_deleted(tables: list[Table], config: ProfileConfig) -> None:
    verify_joins(None, tables, pairs_of(tables), config=config)
    kept = value_files(config, tables)[tables[1].id]
    prune_value_files(config, [replace(tables[0], state="second"), tables[1]])
    assert files_in(config) == [kept]
    prune_value_files(replace(config, force=True), tables)
    assert files_in(config) == []


def test_nothing_is_kept_if_no_values_may_stay(tables: list[Table], config: ProfileConfig) -> None:
    verify_joins(None, tables, pairs_of(tables), config=config)
    discreet = replace(config, keep_values=False)
    prune_value_files(discreet, tables)
    assert files_in(config) == []
    verify_joins(None, tables, pairs_of(tables), config=discreet)
    assert files_in(config) == []


def test_tables_without_a_state_or_beyond_the_limit_are_not_kept(
    tables: list[Table], config: ProfileConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = [replace(tables[0], state=""), tables[1]]
    assert value_files(config, unknown).keys() == {tables[1].id}
    small = min(tables, key=lambda table: table.size)
    monkeypatch.setattr(values_module, "_FEW_BYTES", 8)
    monkeypatch.setattr(values_module, "_MOST_BYTES", small.size + 1)
    assert value_files(config, tables).keys() == {small.id}
    # The values of a table may not take more space than the table.
    assert list(read_values([request(replace(small, size=7), config)], _NO_SYNONYMS, Databases()))
    assert files_in(config) == []


def request(table: Table, config: ProfileConfig) -> RequestedColumns:
    file = value_files(config, [table])[table.id]
    return RequestedColumns(table, {"id": {"": 0}}, kept=file)


def test_tuples_are_told_apart_by_their_texts(tables: list[Table], config: ProfileConfig) -> None:
    wanted = {ColumnTuple(("id", "line")): 0}
    both = [
        replace(request(tables[1], config), columns={}, tuples=wanted, texts=texts)
        for texts in ((), ("id",))
    ]
    rows = [
        int(values.counts.sum())
        for each in (*both, *both)
        for _, values in read_values([each], _NO_SYNONYMS, Databases())
    ]
    # `NA` is a value in a column of text only.
    assert rows == [40, 41, 40, 41]


def test_kept_tables_count_with_the_bytes_to_load(
    tables: list[Table], config: ProfileConfig
) -> None:
    pairs, kinds = pairs_of(tables), kinds_of(tables)
    large = [replace(table, size=1 << 30) for table in tables]
    assert [table.size for table in size_to_read(large, pairs, kinds, config)] == [1 << 30] * 2
    verify_joins(None, large, pairs, kinds=kinds, config=config)
    sizes = [table.size for table in size_to_read(large, pairs, kinds, config)]
    # Hashes and counts of 60 and 50 distinct values, the latter also in another form.
    assert sizes[0] == 16 * (60 + 50 + 50)
    assert 0 < sizes[1] < 1 << 12


def test_without_the_folder_nothing_is_kept(tables: list[Table], tmp_path: Path) -> None:
    elsewhere = ProfileConfig(store=tmp_path / "of another machine")
    pairs = pairs_of(tables)
    assert verify_joins(None, tables, pairs, config=elsewhere) == verify_joins(None, tables, pairs)
    assert not (tmp_path / "of another machine").exists()
