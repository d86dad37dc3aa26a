"""Compare training on the processor, on a GPU of this machine, and on a GPU of a Spark cluster.

`python -m benchmarks.bench_gpu_cluster` ingests lakes of `area_lake`, each run in a process of its
own. The cluster is a standalone one on this machine, whose worker offers the machine's GPU to its
executor; the run's own process sees no GPU then. Embeddings of a GPU differ in their last digits
between runs. So the table tells which share of the joins has the same columns and role as those
of the run on its own GPU, which runs twice.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from datahub.ingestion.run.pipeline import Pipeline
from tabulate import tabulate

from benchmarks.area_lake import write_areas
from benchmarks.area_references import written_relationships
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import SessionConfig
from services import clusters

SIZES = (250, 1_000)
_STAGE = "Encoding columns"
_MEMORY = {"spark.executor.memory": "2g"}


@dataclass(frozen=True)
class TrainedRun:
    """What a run with the network took and found."""

    training: float
    """Seconds of training the network and encoding the columns, with the start of Spark."""

    whole: float
    """Seconds of the run, without imports."""

    columns: int
    """Number of profiled columns."""

    trained: int
    """Number of networks that were trained."""

    warnings: list[str]
    """The titles of the report's warnings."""

    joins: list[str]
    """Each written join: its columns and cardinality, without scores."""


@contextmanager
def executor() -> Iterator[SessionConfig]:
    """Train on the GPU of a standalone cluster."""
    with (
        tempfile.TemporaryDirectory() as folder,
        clusters.standalone_with_gpus(Path(folder, "cluster"), clusters.OWN_GPU) as config,
    ):
        yield replace(config, settings={**config.settings, **_MEMORY})


@contextmanager
def connect_server() -> Iterator[SessionConfig]:
    """Train on the GPU of such a cluster, behind a Spark Connect server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        clusters.connect_with_gpus(Path(folder, "cluster"), clusters.OWN_GPU) as config,
    ):
        yield config


class Place(NamedTuple):
    """Where a network can be trained."""

    start: Callable[[], AbstractContextManager[SessionConfig]]
    """Function that starts what the run's Spark session needs."""

    sees_gpu: bool = False
    """Whether the run's own process sees the GPU."""


def _own_process() -> AbstractContextManager[SessionConfig]:
    return nullcontext(SessionConfig())


PLACES: Mapping[str, Place] = {
    "processor": Place(_own_process),
    "own GPU": Place(_own_process, sees_gpu=True),
    "own GPU again": Place(_own_process, sees_gpu=True),
    "executor": Place(executor),
    "executor behind Connect": Place(connect_server),
}


def run(lake: Path, place: Place, epochs: int | None = None) -> TrainedRun:
    """Ingest a lake in a new process.

    Args:
        lake: The folder with the lake.
        place: Where the network is trained.
        epochs: Number of epochs; None for the usual number.
    """
    hidden = {} if place.sees_gpu else {"CUDA_VISIBLE_DEVICES": ""}
    with place.start() as session:
        task = {
            "folder": str(lake),
            "training": {} if epochs is None else {"epochs": epochs},
            "spark": {"master": session.master, "settings": dict(session.settings)},
        }
        command = [sys.executable, "-m", "benchmarks.bench_gpu_cluster", "--ingest"]
        done = subprocess.run(
            [*command, json.dumps(task)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **hidden},
        )
    return TrainedRun(**json.loads(done.stdout.splitlines()[-1]))


def _ingest(task: dict[str, object]) -> TrainedRun:
    """Ingest a lake in this process."""
    with tempfile.TemporaryDirectory() as folder:
        joins = Path(folder, "joins.json")
        source = {
            "catalog": {"folder": task["folder"]},
            "model": {"ranking": {"scoring": "blend"}, "training": task["training"]},
            "spark": task["spark"],
        }
        pipeline = Pipeline.create(
            {
                "source": {"type": "hyperjoin", "config": source},
                "sink": {"type": "file", "config": {"filename": str(joins)}},
            }
        )
        started = perf_counter()
        pipeline.run()
        seconds = perf_counter() - started
        pipeline.raise_from_status()
        report = pipeline.source.get_report()
        assert isinstance(report, HyperJoinReport)
        return TrainedRun(
            training=_seconds(report),
            whole=seconds,
            columns=report.columns_profiled,
            trained=report.models_trained,
            warnings=[warning.title or "" for warning in report.warnings],
            joins=sorted(map(_state, written_relationships(joins))),
        )


def _seconds(report: HyperJoinReport) -> float:
    durations = report.ingestion_stage_durations.items()
    [seconds] = (each for stage, each in durations if f", {_STAGE} at " in stage)
    return seconds


def _state(relationship: Mapping[str, object]) -> str:
    kept = ("source", "destination", "relationshipFieldMappings", "cardinality")
    return json.dumps([relationship[name] for name in kept])


def agreement(one: TrainedRun, other: TrainedRun) -> float:
    """Return the share of the joins of either run that the other has, too (Jaccard index)."""
    return len({*one.joins} & {*other.joins}) / len({*one.joins} | {*other.joins})


def _rows(runs: Mapping[str, TrainedRun]) -> Iterator[list[str]]:
    for place, each in runs.items():
        yield [
            place,
            f"{each.columns:,}",
            f"{each.training:.1f}",
            f"{each.whole:.1f}",
            f"{len(each.joins):,}",
            f"{agreement(each, runs['own GPU']):.1%}" if "own GPU" in runs else "",
            str(each.trained),
            ", ".join(each.warnings),
        ]


HEADERS = ["network trained on", "columns", "training, s", "run, s", "joins", "the same", "models"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, and print a table for each lake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--places", nargs="+", choices=PLACES, default=[*PLACES])
    parser.add_argument("--ingest", type=json.loads, help="only perform this task")
    options = parser.parse_args(arguments)
    if options.ingest:
        print(json.dumps(asdict(_ingest(options.ingest))))
        return
    for tables in options.tables:
        runs: dict[str, TrainedRun] = {}
        with tempfile.TemporaryDirectory() as lake:
            write_areas(Path(lake), tables)
            for place in options.places:
                runs[place] = run(Path(lake), PLACES[place])
                print(f"{tables} tables, {place}: {runs[place].training:.1f} s", file=sys.stderr)
        print(tabulate(_rows(runs), [*HEADERS, "warnings"], disable_numparse=True), flush=True)


if __name__ == "__main__":
    main()
