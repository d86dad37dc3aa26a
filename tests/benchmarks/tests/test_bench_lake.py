"""Test the lakes of `bench_lake`, and that each stage of a whole run is measured."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.common import PipelineContext, RecordEnvelope
from datahub.ingestion.api.sink import NoopWriteCallback
from datahub.ingestion.sink.file import FileSink
from datahub.metadata.schema_classes import TagPropertiesClass
from pyarrow import parquet

from benchmarks.area_lake import AREA, write_areas
from benchmarks.area_references import written_references
from benchmarks.bench_lake import exponent, measure
from benchmarks.streaming_sink import StreamingFileSink

_STAGES = {
    "Reading the catalog",
    "Profiling tables",
    "Building the hypergraph",
    "Ranking candidates",
    "Verifying on the data",
    "Deciding roles",
    "Finding keys of several columns",
    "Writing suggestions",
}


def read(folder: Path) -> dict[str, pa.Table]:
    return {file.stem: parquet.read_table(file) for file in sorted(folder.rglob("*.parquet"))}


def test_a_lake_has_keys_references_and_seven_columns_a_table(tmp_path: Path) -> None:
    write_areas(tmp_path, 10 * AREA)
    tables = read(tmp_path)
    assert len(tables) == 10 * AREA
    assert sum(table.num_columns for table in tables.values()) / len(tables) == pytest.approx(
        7, abs=0.3
    )
    keys = {table.column_names[0]: table.column(0).to_pylist() for table in tables.values()}
    assert all(len(set(values)) == len(values) for values in keys.values())
    references = [
        (name, table.column(name).to_pylist())
        for table in tables.values()
        for name in table.column_names[1:]
        if name in keys
    ]
    assert len(references) > len(tables)
    assert all(set(values) <= set(keys[name]) for name, values in references)


def test_a_smaller_lake_is_the_start_of_a_larger_one(tmp_path: Path) -> None:
    write_areas(tmp_path / "small", AREA + 5)
    write_areas(tmp_path / "large", 2 * AREA)
    small, large = read(tmp_path / "small"), read(tmp_path / "large")
    assert len(small) == AREA + 5
    assert all(table.equals(large[name]) for name, table in small.items())


def test_references_lead_to_the_key_of_their_area_or_else_of_the_first(tmp_path: Path) -> None:
    def write(file: str, *columns: str) -> None:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.table({name: ["x"] for name in columns}), path)

    write("sales_0/customer.parquet", "customer_id")
    write("sales_10/customer.parquet", "customer_id")
    write("sales_10/order.parquet", "order_id", "customer_id", "remark")
    write("sales_2/visit.parquet", "visit_id", "customer_id", "unknown_id")
    assert written_references(tmp_path) == {
        ("sales_10/order.parquet", "customer_id", "sales_10/customer.parquet"),
        ("sales_2/visit.parquet", "customer_id", "sales_0/customer.parquet"),
    }


def test_every_stage_of_a_run_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_areas(tmp_path / "lake", AREA)
    cost = measure(tmp_path)
    assert cost.tables == AREA
    assert cost.relationships > 0
    assert 0.9 * cost.references <= cost.found <= cost.references
    assert cost.false < cost.found
    assert set(cost.driver) - {"all"} >= _STAGES
    assert all(cost.seconds[stage] >= 0 for stage in _STAGES)
    assert cost.seconds["all"] == pytest.approx(
        sum(seconds for stage, seconds in cost.seconds.items() if stage != "all")
    )
    assert cost.driver["all"] == max(cost.driver.values()) > 50
    printed = capsys.readouterr().err
    assert all(
        f"{stage}: {cost.seconds[stage]:,.1f} CPU s, {cost.driver[stage]:,.0f} MiB" in printed
        for stage in _STAGES
    )


def test_the_sink_writes_the_file_of_datahub_s_sink(tmp_path: Path) -> None:
    def write(sink: type[FileSink], records: int) -> str:
        file = tmp_path / sink.__name__
        context = PipelineContext(run_id="one")
        with sink.create({"filename": str(file)}, context) as opened:
            for number in range(records):
                record = MetadataChangeProposalWrapper(
                    entityUrn=f"urn:li:tag:t{number}", aspect=TagPropertiesClass(name="é")
                )
                envelope = RecordEnvelope[Any](record, {})
                opened.write_record_async(envelope, NoopWriteCallback())
        return file.read_text("utf-8")

    for records in (1, 3):
        assert write(StreamingFileSink, records) == write(FileSink, records)


def test_the_exponent_of_a_noisy_power_is_its_slope() -> None:
    assert exponent([1, 10, 100], [5, 5, 5]) == pytest.approx(0, abs=1e-9)
    assert exponent([10, 20, 40], [100, 400, 1600]) == pytest.approx(2)
    assert exponent([1, 10, 100], [1, 20, 100]) == pytest.approx(1)
