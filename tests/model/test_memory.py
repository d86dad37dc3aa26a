"""Test that a training step needs no more memory in a larger lake."""

import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import OURS, ModelConfig, NetworkConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.hypergraph.positions import return_probabilities
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer, build_vocabulary, train_vectors
from datahub_hyperjoin.model.network.hin import (
    HIN,
    NetworkSizes,
    build_optimizers,
    set_rate,
    take_step,
)
from datahub_hyperjoin.model.training.augmented_views import PairBatch, ViewSource, sample_pairs
from datahub_hyperjoin.model.training.train import measure_cosines, measure_loss

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
MakeData = Callable[[int], ViewSource]
KEYS, BATCHES, TABLES, DIMENSION, STEPS = 16, 10, 32, 8, 4
CONFIG = ModelConfig(
    setting=replace(OURS, dimension=DIMENSION, heads=4), network=NetworkConfig(width=32)
)


def table(number: int) -> Mapping[str, Sequence[str]]:
    rows = range(20)
    return {
        "code": [f"{number}-{row}" for row in rows],
        "amount": [f"{row}.5" for row in rows],
        "flag": ["yes", "no"] * 10,
    }


@pytest.fixture
def make_data(make_lake: MakeLake, tmp_path: Path) -> MakeData:
    one = make_lake({"t0": table(0)})
    vectors = train_vectors(one, CONFIG, path=tmp_path / "v")

    def make(tables: int) -> ViewSource:
        lake = make_lake({f"t{number}": table(number) for number in range(tables)})
        index = build_lake_index(lake, ModelConfig(), CatalogFacts())
        featurizer = Featurizer(vectors, build_vocabulary(lake, 50))
        return ViewSource(
            index=index,
            featurizer=featurizer,
            positions=return_probabilities(index.joins, STEPS),
            cells=tuple(featurizer.cells(profile.sample) for profile in lake.profiles),
        )

    return make


def draw(data: ViewSource) -> Iterator[PairBatch]:
    random = np.random.default_rng(0)
    for _ in range(BATCHES):
        yield sample_pairs(data, random.choice(data.index.keys, KEYS, False), random)  # noqa: FBT003 - numpy's signature


def tensor_bytes(value: object) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if is_dataclass(value):
        return sum(tensor_bytes(getattr(value, field.name)) for field in fields(value))
    return 0


def step_peak(pairs: PairBatch, tables: int) -> int:
    """Return the peak memory, in bytes, during a training step.

    Weights and optimizer moments do not count.
    """
    sizes = NetworkSizes(
        vocabulary=50,
        dimension=DIMENSION,
        content=4 * (DIMENSION + 4),
        tables=tables,
        steps=STEPS,
    )
    torch.manual_seed(0)
    network = HIN(CONFIG, sizes)
    optimizers = build_optimizers(network)
    set_rate(optimizers, 1e-3)

    def step() -> None:
        cosines = measure_cosines(network, pairs)
        loss = measure_loss(cosines, pairs.positive, pairs.negative, OURS)
        take_step(network, optimizers, loss, 1.0)
        for optimizer in optimizers:
            optimizer.zero_grad()

    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        step()
    assert watched.profiler
    assert watched.profiler.kineto_results
    events = watched.profiler.kineto_results.events()
    return int(np.cumsum([of.nbytes() for of in events if of.name() == "[memory]"]).max())


def test_the_views_of_a_step_are_as_large_in_a_larger_lake(make_data: MakeData) -> None:
    small, large = (make_data(tables) for tables in (TABLES, 8 * TABLES))
    assert len(large.lake) == 8 * len(small.lake)
    bytes_of = [np.mean([*map(tensor_bytes, draw(data))]) for data in (small, large)]
    assert bytes_of[1] <= 1.1 * bytes_of[0]


def drawing_peak(data: ViewSource) -> float:
    """Return the peak memory, in bytes, while a batch is drawn.

    It is the median of several batches, since a peak also counts what other threads allocate.
    """
    list(draw(data))  # fills the caches
    batches = draw(data)
    peaks = []
    for _ in range(BATCHES):
        tracemalloc.start()
        next(batches)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return float(np.median(peaks))


def test_drawing_views_needs_as_much_memory_in_a_larger_lake(make_data: MakeData) -> None:
    small, large = (drawing_peak(make_data(tables)) for tables in (TABLES, 8 * TABLES))
    assert large <= 1.25 * small


def test_a_step_needs_as_much_memory_however_many_tables_have_a_vector(
    make_data: MakeData,
) -> None:
    pairs = next(draw(make_data(TABLES)))
    few, many = (step_peak(pairs, tables) for tables in (TABLES, 2000 * TABLES))
    assert few > 10**5
    assert many == few


def test_a_step_needs_as_much_memory_in_a_larger_lake(make_data: MakeData) -> None:
    peaks = []
    for tables in (TABLES, 8 * TABLES):
        batches = sorted(draw(make_data(tables)), key=tensor_bytes)
        peaks.append(step_peak(batches[-1], tables))
    assert peaks[1] <= 1.25 * peaks[0]
