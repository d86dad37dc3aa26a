from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import (
    OURS,
    Loss,
    ModelConfig,
    NetworkConfig,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Epoch, encode
from datahub_hyperjoin.model.errors import CollapsedError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.saved.files import DESCRIPTION, describe_model, write_description
from datahub_hyperjoin.model.training.train import hold_out
from lakes.switching import BLEND

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
CONFIG = ModelConfig(
    setting=replace(OURS, dimension=16, heads=4, loss=Loss.TRIPLET),
    network=NetworkConfig(width=32),
    training=TrainingConfig(epochs=12, learning_rate=2e-3),
    ranking=BLEND,
)


@pytest.fixture
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return build_lake_index(make_lake(airline_tables), ModelConfig(), CatalogFacts())


@pytest.mark.parametrize(
    ("keys", "learnt", "held_out"),
    [(50, 50, 50), (99, 99, 99), (100, 90, 10), (5000, 4500, 500), (100_000, 99_488, 512)],
)
def test_so_many_keys_are_held_out(keys: int, learnt: int, held_out: int) -> None:
    places = np.arange(keys)
    parts = hold_out(places, 0.1, np.random.default_rng(0))
    assert tuple(map(len, parts)) == (learnt, held_out)
    assert set(parts[0]) | set(parts[1]) == set(places)
    assert learnt == held_out or set(parts[0]).isdisjoint(parts[1])


def test_without_a_share_held_out_there_is_still_a_limit() -> None:
    learnt, held_out = hold_out(np.arange(2000), 0.0, np.random.default_rng(0))
    assert (len(learnt), len(held_out)) == (2000, 512)


@pytest.mark.parametrize("margin", [0.3, 0.5, 0.7, 1.0, 1.3, 1.7])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_margins_of_the_paper_do_not_collapse(
    index: LakeIndex, margin: float, seed: int
) -> None:
    epochs: list[Epoch] = []
    method = replace(CONFIG.setting, loss=Loss.TRIPLET, margin=margin)
    settings = replace(CONFIG, seed=seed, setting=method)
    embeddings = encode(index, settings, epochs.append).embeddings
    apart = ~np.eye(len(embeddings), dtype=bool)
    assert (embeddings @ embeddings.T)[apart].mean() < 0.9
    losses = [epoch.loss for epoch in epochs]
    assert np.mean(losses[-4:]) < np.mean(losses[:2])
    assert max(epoch.recall for epoch in epochs) >= 0.6


def flatten(folder: Path) -> None:
    """Change a saved network so that all columns get the same embedding."""
    weights = load_file(folder / "weights.safetensors")
    weights["norm.weight"].zero_()
    weights["norm.bias"].fill_(1.0)
    save_file(weights, folder / "weights.safetensors")
    description = describe_model(folder)
    files = {name: folder / name for name in description["files"]}
    write_description(folder / DESCRIPTION, description, files)


def test_a_network_that_collapsed_is_refused(index: LakeIndex, tmp_path: Path) -> None:
    settings = replace(CONFIG, training=replace(CONFIG.training, epochs=1, learning_rate=1e-9))
    encode(index, replace(settings, path=tmp_path / "flat"), lambda _: None)
    flatten(tmp_path / "flat")
    again = replace(settings, start=tmp_path / "flat", path=tmp_path / "model")
    with pytest.raises(CollapsedError, match=r"mean cosine of random pairs 1\.000\). Use"):
        encode(index, again, lambda _: None)
    assert not (tmp_path / "model" / "model.json").exists()
    assert not torch.are_deterministic_algorithms_enabled()
