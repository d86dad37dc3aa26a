"""Test `datahub ingest` against a test double of each server release."""

import json
from pathlib import Path
from typing import Any

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.run.pipeline import Pipeline
from datahub.metadata.schema_classes import (
    DatahubIngestionCheckpointClass,
    DatasetPropertiesClass,
    StatusClass,
    TagPropertiesClass,
)

from gms import Gms

CHECKPOINT = "datahubIngestionCheckpoint"
RELEASES = pytest.mark.parametrize("version", ["1.5.0", "1.6.0", "1.7.0"])


def _urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"


def _write(path: Path, names: list[str]) -> None:
    proposals = [
        MetadataChangeProposalWrapper(
            entityUrn=_urn(name), aspect=DatasetPropertiesClass(name=name)
        )
        for name in names
    ]
    path.write_text(json.dumps([it.to_obj() for it in proposals]))


def _ingest(gms: Gms, path: Path, **sink: object) -> Pipeline:
    recipe: dict[str, Any] = {
        "pipeline_name": "little",
        "source": {
            "type": "file",
            "config": {"path": str(path), "stateful_ingestion": {"enabled": True}},
        },
        "sink": {"type": "datahub-rest", "config": {"server": gms.url, **sink}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    return pipeline


@RELEASES
@pytest.mark.parametrize("endpoint", ["RESTLI", "OPENAPI"])
def test_a_second_run_hides_what_is_gone(version: Any, endpoint: str, tmp_path: Path) -> None:  # noqa: ANN401 - a literal
    path = tmp_path / "metadata.json"
    with Gms(version=version) as gms:
        names = [f"t{number}" for number in range(8)]
        for now in (names, names[1:]):
            _write(path, now)
            pipeline = _ingest(gms, path, endpoint=endpoint)
            pipeline.raise_from_status()
        properties = gms.get(_urn("t3"), DatasetPropertiesClass)
        assert properties == DatasetPropertiesClass(name="t3")
        assert gms.get(_urn("t0"), StatusClass) == StatusClass(removed=True)
        assert gms.get(_urn("t3"), StatusClass) == StatusClass(removed=False)
        assert {it.pipeline for it in gms.writes if it.aspect == "datasetProperties"} == {"little"}
        assert sum(it.aspect == CHECKPOINT for it in gms.writes) == 2
        assert gms.rejected == []
        (job,) = gms.urns("dataJob")
        state = gms.get(job, DatahubIngestionCheckpointClass)
        assert state is not None
        assert state.pipelineName == "little"


@RELEASES
def test_every_write_of_a_run_is_seen(version: Any, tmp_path: Path) -> None:  # noqa: ANN401 - a literal
    path = tmp_path / "metadata.json"
    _write(path, ["a"])
    with Gms(version=version) as gms:
        _ingest(gms, path).raise_from_status()
        change = "PATCH" if version == "1.7.0" else "UPSERT"
        seen = {(it.aspect, it.change) for it in gms.writes if it.entity == "dataset"}
        assert seen == {("datasetProperties", "UPSERT"), ("status", change)}
        assert ("POST", 200) in {(it.method, it.status) for it in gms.requests}


def test_a_run_reports_what_the_server_refuses(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    _write(path, ["a"])
    with Gms() as gms:
        gms.fail("ingestProposalBatch", 422, times=9, message="not today")
        pipeline = _ingest(gms, path, retry_max_times=0)
        failures = str(pipeline.sink.get_report().failures)
        assert "not today" in failures
        assert gms.get(_urn("a"), DatasetPropertiesClass) is None


def test_tags_may_be_ingested(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    tag = MetadataChangeProposalWrapper(entityUrn="urn:li:tag:a", aspect=TagPropertiesClass("a"))
    path.write_text(json.dumps([tag.to_obj()]))
    with Gms() as gms:
        _ingest(gms, path).raise_from_status()
        assert gms.get("urn:li:tag:a", TagPropertiesClass) == TagPropertiesClass("a")
