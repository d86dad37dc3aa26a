"""Test which sessions have GPUs, and run functions on clusters that pretend to have them."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark import session as sessions
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import ExecutorTaskError, MissingJavaError
from datahub_hyperjoin.spark.gpu_executors import _attempt, gives_gpus, has_gpu_executors
from datahub_hyperjoin.spark.session import LazySession, lazy_session
from services import clusters, gpu_tasks

EXECUTOR, TASK = "spark.executor.resource.gpu.amount", "spark.task.resource.gpu.amount"
BOTH = {EXECUTOR: "1", TASK: "0.25"}


@pytest.mark.parametrize(
    ("master", "settings", "gives"),
    [
        ("spark://host:7077", BOTH, True),
        ("yarn", BOTH, True),
        ("k8s://https://host:6443", BOTH, True),
        ("sc://host:15002", BOTH, True),
        ("local-cluster[1,2,1024]", BOTH, True),
        ("local", BOTH, False),
        ("local[*]", BOTH, False),
        ("yarn", {}, False),
        ("yarn", {EXECUTOR: "1"}, False),
        ("yarn", {TASK: "1"}, False),
        ("yarn", {**BOTH, EXECUTOR: "0"}, False),
        ("yarn", {**BOTH, TASK: "0"}, False),
        ("yarn", {**BOTH, TASK: "one"}, False),
    ],
)
def test_gpus_are_those_of_executors_and_their_tasks(
    master: str, settings: Mapping[str, str], *, gives: bool
) -> None:
    assert gives_gpus(master, settings) is gives


def never() -> SparkSession:
    message = "Spark is started"
    raise AssertionError(message)


@pytest.mark.parametrize(
    ("settings", "has"),
    [(BOTH, True), ({}, False), ({**BOTH, "spark.master": "local[1]"}, True)],
)
def test_a_session_that_was_not_started_has_the_gpus_of_the_recipe(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, has: bool
) -> None:
    monkeypatch.setattr(sessions, "active_session", lambda: None)
    session = LazySession(SessionConfig(master="yarn", settings=settings), never)
    assert has_gpu_executors(session) is has


def test_an_active_session_has_gpus_whatever_the_recipe_says(spark: SparkSession) -> None:
    with lazy_session(SessionConfig(master="yarn", settings=BOTH)) as session:
        assert session() is spark
        assert not has_gpu_executors(session)


def test_a_run_without_spark_has_no_gpus() -> None:
    assert not has_gpu_executors(lambda: None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gpu_tasks.Run]:
    folder = tmp_path_factory.mktemp("gpus") / "cluster"
    with gpu_tasks.running(clusters.standalone_with_gpus, folder) as run:
        yield run


@pytest.mark.spark
@pytest.mark.slow
def test_a_function_sees_the_gpu_of_its_task(run: gpu_tasks.Run) -> None:
    assert run(gpu_tasks.list_gpus) == ("3", "0.5")


@pytest.mark.spark
@pytest.mark.skipif(
    os.environ.get("HYPERJOIN_SPARK") != "connect", reason="`make test-connect` runs it"
)
def test_a_function_sees_the_gpu_of_its_task_behind_a_connect_server(tmp_path: Path) -> None:
    with gpu_tasks.running(clusters.connect_with_gpus, tmp_path / "cluster") as run:
        assert run(gpu_tasks.list_gpus) == ("3", "0.5")


def test_the_error_of_a_function_is_its_result() -> None:
    wrong = _attempt(int, "x")
    reason = "ValueError: invalid literal for int() with base 10: 'x'"
    assert str(wrong) == str(ExecutorTaskError.because(reason))
    ours = MissingJavaError.nowhere()

    def work(_: None) -> None:
        raise ours

    assert _attempt(work, None) is ours


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (
            partial(gpu_tasks.fail, os._exit, 9),
            "RuntimeError: TorchDistributor failed during training.",
        ),
        (gpu_tasks.fail_to_send, "cannot pickle '_thread.lock' object"),
    ],
)
def test_a_task_that_fails_is_reported_and_the_session_goes_on(
    run: gpu_tasks.Run, work: Callable[[LazySession], str], reason: str
) -> None:
    message = run(work)
    assert message.startswith("the task on an executor failed: ")
    assert reason in message
    assert message.endswith(". See what it printed, in the log of this run")


@pytest.mark.spark
@pytest.mark.slow
def test_an_executor_trains_the_network_that_the_driver_would_train(run: gpu_tasks.Run) -> None:
    found = run(gpu_tasks.train)
    np.testing.assert_array_equal(found.on_executor, found.here)
    np.testing.assert_array_equal(found.on_missing_gpu, found.here)
    [warning] = found.warnings
    assert "Network not trained on the cluster" in warning
    assert "no CUDA device on the executor. Check that `spark.executor.resource" in warning
