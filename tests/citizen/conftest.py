"""Run `datahub ingest` as a user does, against a test double of DataHub's server."""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from click.testing import CliRunner
from datahub.entrypoints import datahub
from datahub.ingestion.sink import datahub_rest
from datahub.utilities.partition_executor import BatchPartitionExecutor

from gms import Gms
from lakes.lake import describe_folder, write_flights
from lakes.quick_runs import Runs

OURS = {
    "dataset": {"embed", "structuredProperties", "upstreamLineage"},
    "schemaField": {"structuredProperties", "glossaryTerms", "aiContext"},
    "glossaryNode": {"glossaryNodeInfo"},
    "glossaryTerm": {"glossaryTermInfo", "status"},
    "erModelRelationship": {"erModelRelationshipProperties", "globalTags", "status"},
    "query": {"queryProperties", "querySubjects", "dataPlatformInstance", "status"},
    "document": {"documentInfo", "documentSettings", "status"},
    "semanticModel": {"semanticModelInfo", "status"},
    "tag": {"tagKey", "tagProperties"},
    "structuredProperty": {"propertyDefinition", "structuredPropertySettings"},
    # DataHub's own record of a run.
    "dataJob": {"datahubIngestionCheckpoint", "status"},
    "dataHubIngestionSource": {"dataHubIngestionSourceInfo"},
    "dataHubExecutionRequest": {
        "dataHubExecutionRequestInput",
        "dataHubExecutionRequestResult",
    },
}
"""Aspects that a run may write: no status of datasets or columns, and no aspect of connectors."""


class Prompt(BatchPartitionExecutor):
    """An executor that sends the last records of a run without delay.

    DataHub's own looks for them only every three seconds.
    """

    def __init__(self, **arguments: Any) -> None:  # noqa: ANN401 - DataHub's own
        super().__init__(**arguments, read_from_pending_interval=timedelta(milliseconds=50))


class Ingest(Protocol):
    """A function that runs a recipe to the end and returns its output."""

    def __call__(self, *options: str, **config: Any) -> str: ...  # noqa: ANN401


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    write_flights(folder)
    return folder


def check_manners(gms: Gms) -> None:
    """Check that runs wrote only allowed aspects, and that hidden entities stayed hidden."""
    hidden: set[str] = set()
    for write in gms.writes:
        if write.by != "ingestion":
            hidden |= {write.urn} if write.aspect == "status" and write.body["removed"] else set()
            continue
        assert write.aspect in OURS[write.entity], write
        if write.aspect == "status" and write.entity in (
            "erModelRelationship",
            "query",
            "document",
            "semanticModel",
        ):
            assert write.urn not in hidden, write


@pytest.fixture
def gms(lake: Path) -> Iterator[Gms]:
    with Gms() as server:
        describe_folder(server, lake)
        yield server
        check_manners(server)


@pytest.fixture
def run(
    lake: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., str]:
    """Return a function that runs a recipe against a server.

    Only tests that name the fixture `spark` use Spark.
    """
    monkeypatch.setattr(datahub_rest, "BatchPartitionExecutor", Prompt)
    if "spark" not in request.fixturenames:
        request.getfixturevalue("without_spark")

    def ingest(
        server: Gms,
        *options: str,
        pipeline: str = "joins",
        fails: bool = False,
        sink: Mapping[str, int] = {},
        **config: Any,  # noqa: ANN401
    ) -> str:
        recipe = {
            "pipeline_name": pipeline,
            "source": {
                "type": "hyperjoin",
                "config": {
                    "catalog": {"folder": str(lake)},
                    "stateful_ingestion": {"enabled": True},
                    **config,
                },
            },
            "sink": {"type": "datahub-rest", "config": {"server": server.url, **sink}},
        }
        file = tmp_path / "recipe.yml"
        file.write_text(yaml.safe_dump(recipe))
        settings = {**os.environ, "DATAHUB_TELEMETRY_ENABLED": "false"}
        done = CliRunner().invoke(
            datahub, ["ingest", "run", "-c", str(file), *options], env=settings
        )
        assert (done.exit_code != 0) is fails, done.output
        return done.output

    return ingest


@pytest.fixture
def ingest(gms: Gms, run: Callable[..., str]) -> Ingest:
    def against_gms(*options: str, **config: Any) -> str:  # noqa: ANN401
        return run(gms, *options, **config)

    return against_gms


@pytest.fixture
def quick(gms: Gms, lake: Path) -> Runs:
    """Return a series of runs that publish given joins, and search for none."""
    return Runs(gms, lake)
