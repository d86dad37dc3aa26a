"""Test what happens to an earlier output file if a run does not reach its end."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.fs.local_fs import LocalFileSystem
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError
from typing_extensions import Self

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.emit.watched_joins import Watched
from datahub_hyperjoin.findings import Findings
from lakes.lake import write_flights
from lakes.quick_runs import CARRIER, GivenJoins, join_of

_EARLIER = '[{"earlier": true}]'


class WithJoins(GivenJoins):
    """A source that returns one join, and is not interrupted."""

    joins = (join_of(CARRIER),)


class InterruptedBefore(WithJoins):
    """A source that Ctrl-C interrupts while DataHub creates it."""

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003
        raise KeyboardInterrupt


class Refused(WithJoins):
    """A source that refuses its recipe."""

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003
        message = "refused"
        raise ValueError(message)


class InterruptedWithin(WithJoins):
    """A source that Ctrl-C ends after half of its metadata."""

    def _write(
        self, catalog: Catalog, findings: Findings, watched: Sequence[Watched]
    ) -> Iterator[MetadataWorkUnit]:
        written = [*super()._write(catalog, findings, watched)]
        yield from written[: len(written) // 2]
        raise KeyboardInterrupt


def run(source: type[GivenJoins], folder: Path) -> str:
    """Run a source whose output file already exists, and return the file's content afterwards."""
    output = folder / "joins.json"
    output.write_text(_EARLIER)
    write_flights(folder / "lake")
    recipe = {
        "source": {
            "type": f"{source.__module__}.{source.__name__}",
            "config": {"catalog": {"folder": str(folder / "lake")}},
        },
        "sink": {"type": "file", "config": {"filename": str(output)}},
    }
    try:
        Pipeline.create(recipe, report_to=None, no_progress=True).run()
    finally:
        after = output.read_text()
    return after


@pytest.mark.parametrize("source", [InterruptedBefore, InterruptedWithin])
def test_an_interrupted_run_keeps_the_earlier_output_and_says_so(
    source: type[GivenJoins], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(source, tmp_path)
    assert tmp_path.joinpath("joins.json").read_text() == _EARLIER
    assert f"Run interrupted: {tmp_path}/joins.json keeps its earlier content" in caplog.text


def test_a_recipe_that_is_refused_keeps_the_earlier_output(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(PipelineInitError, match="refused"):
        run(Refused, tmp_path)
    assert tmp_path.joinpath("joins.json").read_text() == _EARLIER
    assert f"Run refused: {tmp_path}/joins.json keeps its earlier content" in caplog.text


def test_an_error_of_the_caller_does_not_keep_the_sink_from_writing(tmp_path: Path) -> None:
    try:
        int("no number")
    except ValueError:
        run(WithJoins, tmp_path)
    assert tmp_path.joinpath("joins.json").read_text() != _EARLIER


def test_the_report_of_an_interrupted_run_says_that_it_is_incomplete(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(InterruptedWithin, tmp_path)
    assert "The metadata is incomplete. Run again" in caplog.text
    assert not any(record.exc_info for record in caplog.records)


def test_a_run_that_ends_replaces_the_earlier_output(tmp_path: Path) -> None:
    written = run(WithJoins, tmp_path)
    assert "earlier" not in written
    assert "erModelRelationship" in written


def test_an_interrupt_while_the_output_is_written_leaves_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_slowly(_: LocalFileSystem, path: str, content: str) -> None:
        with Path(path).open("w") as file:
            file.write(content[:100])
            os.kill(os.getpid(), signal.SIGINT)
            file.write(content[100:])

    expected = run(WithJoins, tmp_path)
    # Spark replaces the handler if an earlier test has started it.
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(LocalFileSystem, "write", write_slowly)
    assert len(run(WithJoins, tmp_path)) == len(expected)
    assert signal.getsignal(signal.SIGINT) is handler
