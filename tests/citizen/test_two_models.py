"""Test that two pipelines with different models stop changing the catalog after a few runs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from datahub.entrypoints import datahub
from pyspark.sql import SparkSession

from gms import Gms
from lake import codes, describe_folder, write_table

LAYERS = {"queries": True, "lineage": True}
TOWNS = [f"town {letter}{number}" for letter in "abcdefgh" for number in range(5)]


@pytest.fixture
def ingest(gms: Gms, lake: Path, tmp_path: Path, spark: SparkSession) -> Callable[[str, int], None]:  # noqa: ARG001 - borrowed
    """Return a function that runs a pipeline with a network of the given width."""

    def run(pipeline: str, width: int) -> None:
        recipe = {
            "pipeline_name": pipeline,
            "source": {
                "type": "hyperjoin",
                "config": {
                    "catalog": {"folder": str(lake)},
                    "model": {
                        "network": {"width": width},
                        "training": {"epochs": width // 16},
                        "ranking": {"scoring": "blend"},
                    },
                    "emit": LAYERS,
                },
            },
            "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
        }
        file = tmp_path / f"{pipeline}.yml"
        file.write_text(yaml.safe_dump(recipe))
        settings = {**os.environ, "DATAHUB_TELEMETRY_ENABLED": "false"}
        done = CliRunner().invoke(
            datahub, ["ingest", "run", "--no-default-report", "-c", str(file)], env=settings
        )
        assert done.exit_code == 0, done.output

    return run


@pytest.mark.slow
def test_pipelines_with_different_networks_come_to_rest(
    gms: Gms, ingest: Callable[[str, int], None], lake: Path
) -> None:
    for at in range(5):
        towns = [TOWNS[number * (at + 2) % 40] for number in range(60)]
        write_table(lake, f"visits{at}.csv", {"town": towns, "visit": codes(f"v{at}-", 60)})
    describe_folder(gms, lake)
    widths = {"first": 32, "second": 64}
    for pipeline, width in widths.items():
        ingest(pipeline, width)
    before = len(gms.writes)
    for pipeline, width in widths.items():
        ingest(pipeline, width)
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
