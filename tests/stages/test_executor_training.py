from collections.abc import Callable
from typing import NoReturn

import pytest
import torch

from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.errors import CheckpointMismatchError, HyperJoinError
from datahub_hyperjoin.model.encode import NetworkResult, NetworkTask
from datahub_hyperjoin.model.errors import CollapsedError, NoGpuError, NonFiniteLossError
from datahub_hyperjoin.model.network.encoding import perform_task
from datahub_hyperjoin.spark import session as sessions
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import ExecutorTaskError
from datahub_hyperjoin.spark.session import LazySession, OptionalSession
from datahub_hyperjoin.stages import executor_training
from datahub_hyperjoin.stages.executor_training import find_executor

GPUS = {"spark.executor.resource.gpu.amount": "1", "spark.task.resource.gpu.amount": "0.5"}
RESULT = NetworkResult(weights=b"", epochs=(), embeddings=None)
TASK = NetworkTask.__new__(NetworkTask)


def session(**settings: str) -> LazySession:
    return LazySession(SessionConfig(master="yarn", settings=settings), lambda: None)  # type: ignore[arg-type, return-value]


@pytest.fixture(autouse=True)
def _no_active_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "active_session", lambda: None)


@pytest.mark.parametrize(
    ("given", "own_gpu", "trains"),
    [
        (session(**GPUS), False, True),
        (session(**GPUS), True, False),
        (session(), False, False),
        (lambda: None, False, False),
    ],
)
def test_an_executor_trains_if_only_executors_have_gpus(
    given: OptionalSession,
    monkeypatch: pytest.MonkeyPatch,
    *,
    own_gpu: bool,
    trains: bool,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: own_gpu)
    assert (find_executor(given, RunProgress()) is not None) is trains


def perform(
    run: Callable[..., NetworkResult], monkeypatch: pytest.MonkeyPatch
) -> tuple[NetworkResult | None, RunProgress]:
    """Perform a task with `run` in the place of the cluster."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(executor_training, "run_on_executor", run)
    progress = RunProgress()
    train = find_executor(session(**GPUS), progress)
    assert train is not None
    return train(TASK), progress


def test_the_task_is_performed_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object, work: object, task: object) -> NetworkResult:
        assert (work, task) == (perform_task, TASK)
        return RESULT

    result, progress = perform(run, monkeypatch)
    assert result is RESULT
    assert progress.warnings == []


def failing(error: Exception) -> Callable[..., NoReturn]:
    def run(*_: object) -> NoReturn:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "context"),
    [
        (
            ExecutorTaskError.because("ModuleNotFoundError"),
            (
                "the task on an executor failed: ModuleNotFoundError. See what it printed, in the "
                "log of this run"
            ),
        ),
        (
            NoGpuError.on_executor(),
            (
                "PyTorch sees no CUDA device on the executor. Check that "
                "`spark.executor.resource.gpu.discoveryScript` lists the GPUs there"
            ),
        ),
        (CheckpointMismatchError("no such vectors"), "no such vectors"),
    ],
)
def test_a_cluster_that_cannot_train_costs_a_warning(
    error: HyperJoinError, context: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, progress = perform(failing(error), monkeypatch)
    assert result is None
    [warning] = progress.warnings
    assert (warning.title, warning.context) == ("Network not trained on the cluster", context)


@pytest.mark.parametrize(
    "error", [NonFiniteLossError.at_epoch(3, float("inf")), CollapsedError.from_cosine(0.99)]
)
def test_errors_of_training_end_the_run(
    error: HyperJoinError, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(type(error)) as caught:
        perform(failing(error), monkeypatch)
    assert caught.value is error
