"""Work with a session of a cluster that pretends to have GPUs, in a process of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
import pytest
import torch

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.find import embed
from datahub_hyperjoin.model.config import (
    OURS,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import encode
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.network.encoding import perform_task
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import ExecutorTaskError
from datahub_hyperjoin.spark.gpu_executors import has_gpu_executors, run_on_executor
from datahub_hyperjoin.spark.session import LazySession, lazy_session
from datahub_hyperjoin.stages.executor_training import find_executor
from lakes.handmade import lake_of, things
from services import clusters

T = TypeVar("T")
Kind = Callable[[Path], AbstractContextManager[SessionConfig]]
_STARTED: list[LazySession] = []
_OPEN = ExitStack()


@dataclass(frozen=True)
class Run:
    """Calls functions with the session of a cluster, in the one process that holds the session."""

    pool: ProcessPoolExecutor

    def __call__(self, work: Callable[[LazySession], T]) -> T:
        return self.pool.submit(_work, work).result()


@contextmanager
def running(kind: Kind, folder: Path) -> Iterator[Run]:
    """Start a cluster with GPUs, and a process that holds a session of it."""
    with kind(folder) as config, pytest.MonkeyPatch.context() as patch:
        for name in clusters.LEFT_BY_CONNECT:
            patch.delenv(name, raising=False)
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawn, initializer=_start, initargs=(config,)) as pool:
            yield Run(pool)


def _start(config: SessionConfig) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the driver sees no GPU
    torch.set_num_threads(1)  # as many as an executor's, for equal sums
    session = _OPEN.enter_context(lazy_session(config))
    assert has_gpu_executors(session)
    session()
    assert has_gpu_executors(session)
    _STARTED.append(session)


def _work(work: Callable[[LazySession], T]) -> T:
    [session] = _STARTED
    return work(session)


def list_gpus(session: LazySession) -> tuple[str | None, str | None]:
    """Return the GPUs that a task sees, and the share of them that tasks get afterwards."""
    seen = run_on_executor(session(), os.getenv, "CUDA_VISIBLE_DEVICES")
    return seen, session().conf.get("spark.task.resource.gpu.amount")


def fail(function: Callable[..., object], argument: object, session: LazySession) -> str:
    """Return the message about a task that fails, and check that the session goes on."""
    with pytest.raises(ExecutorTaskError) as caught:
        run_on_executor(session(), function, argument)
    assert session().range(3).count() == 3
    return str(caught.value)


def fail_to_send(session: LazySession) -> str:
    return fail(bool, Lock(), session)


@dataclass(frozen=True)
class Embeddings:
    """The embeddings of one lake after the same training in different places."""

    here: np.ndarray
    on_executor: np.ndarray
    on_missing_gpu: np.ndarray
    warnings: list[str]


def train(session: LazySession) -> Embeddings:
    """Train here, on an executor without a GPU, and as a run that expects a GPU."""
    config = ModelConfig(
        setting=replace(OURS, dimension=16, heads=4),
        network=NetworkConfig(width=32),
        training=TrainingConfig(epochs=2),
        ranking=RankingConfig(scoring=Scoring.BLEND),
    )
    index = build_lake_index(lake_of(things(4)), config, CatalogFacts())
    on_processor = partial(perform_task, on_gpu=False)
    elsewhere = partial(run_on_executor, session(), on_processor, on_gpu=False)
    progress = RunProgress()
    return Embeddings(
        here=encode(index, config, lambda _: None).embeddings,
        on_executor=encode(index, config, lambda _: None, elsewhere).embeddings,
        on_missing_gpu=embed(index, config, progress, find_executor(session, progress)).embeddings,
        warnings=[f"{each.title}: {each.context}" for each in progress.warnings],
    )
