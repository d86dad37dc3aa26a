import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import SecretStr

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import (
    OURS,
    FeatureConfig,
    LanguageModelConfig,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Epoch, NetworkResult, NetworkTask, encode
from datahub_hyperjoin.model.errors import CollapsedError, NoGpuError, NonFiniteLossError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network import encoding
from datahub_hyperjoin.model.network.encoding import perform_task
from datahub_hyperjoin.model.training import train as validation
from datahub_hyperjoin.model.training.augmented_views import find_negatives, select_similar

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
CONFIG = ModelConfig(
    setting=replace(OURS, dimension=16, heads=4),
    network=NetworkConfig(width=32),
    training=TrainingConfig(epochs=3),
    ranking=RankingConfig(scoring=Scoring.BLEND),
)


@pytest.fixture(scope="module")
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return build_lake_index(make_lake(airline_tables), CONFIG, CatalogFacts())


class Elsewhere:
    """Performs tasks as another process would, which has only their bytes."""

    def __init__(self) -> None:
        self.sent = b""

    @property
    def task(self) -> NetworkTask:
        task = pickle.loads(self.sent)  # noqa: S301 - of this test
        assert isinstance(task, NetworkTask)
        return task

    def __call__(self, task: NetworkTask) -> NetworkResult:
        self.sent = pickle.dumps(task)
        torch.rand(3)  # another process has another state
        return perform_task(self.task, on_gpu=False)


def outcome(epochs: Sequence[Epoch]) -> list[tuple[int, float, float]]:
    return [(epoch.number, epoch.loss, epoch.recall) for epoch in epochs]


def test_training_elsewhere_gives_the_same_model_byte_for_byte(
    index: LakeIndex, tmp_path: Path
) -> None:
    epochs: list[Epoch] = []
    here = encode(index, replace(CONFIG, path=tmp_path / "here"), epochs.append)
    received: list[Epoch] = []
    config = replace(CONFIG, path=tmp_path / "there")
    there = encode(index, config, received.append, Elsewhere())
    np.testing.assert_array_equal(there.embeddings, here.embeddings)
    assert (there.fingerprint, there.trained) == (here.fingerprint, True)
    assert outcome(received) == outcome(epochs)
    assert len(epochs) == 3
    files = {file.name: file.read_bytes() for file in (tmp_path / "here").iterdir()}
    assert {file.name: file.read_bytes() for file in (tmp_path / "there").iterdir()} == files
    assert "weights.safetensors" in files


def test_a_saved_model_is_not_sent(index: LakeIndex, tmp_path: Path) -> None:
    config = replace(CONFIG, path=tmp_path)
    first = encode(index, config, lambda _: None)
    elsewhere = Elsewhere()
    again = encode(index, config, lambda _: None, elsewhere)
    assert (again.trained, elsewhere.sent) == (False, b"")
    np.testing.assert_array_equal(again.embeddings, first.embeddings)


def test_training_goes_on_from_a_sent_model(index: LakeIndex, tmp_path: Path) -> None:
    encode(index, replace(CONFIG, path=tmp_path, seed=1), lambda _: None)
    config = replace(CONFIG, start=tmp_path)
    here = encode(index, config, lambda _: None)
    there = encode(index, config, lambda _: None, Elsewhere())
    np.testing.assert_array_equal(there.embeddings, here.embeddings)
    assert not np.array_equal(encode(index, CONFIG, lambda _: None).embeddings, here.embeddings)


def test_pretrained_vectors_are_read_where_the_task_runs(
    index: LakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode(index, replace(CONFIG, path=tmp_path / "model"), lambda _: None)
    (tmp_path / "model" / "vectors.bin").rename(tmp_path / "wiki.bin")
    monkeypatch.chdir(tmp_path)
    config = replace(CONFIG, features=FeatureConfig(vectors=Path("wiki.bin")))
    here = encode(index, config, lambda _: None)
    elsewhere = Elsewhere()
    there = encode(index, config, lambda _: None, elsewhere)
    np.testing.assert_array_equal(there.embeddings, here.embeddings)
    assert "vectors.bin" not in elsewhere.task.model
    assert elsewhere.task.config.features.vectors == tmp_path / "wiki.bin"


def test_too_many_embeddings_are_computed_here(
    index: LakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = encode(index, CONFIG, lambda _: None), Elsewhere()
    size = here.embeddings.nbytes
    monkeypatch.setattr(encoding, "_LARGEST", size)
    encode(index, CONFIG, lambda _: None, elsewhere)
    assert elsewhere.task.encodes
    monkeypatch.setattr(encoding, "_LARGEST", size - 1)
    there = encode(index, CONFIG, lambda _: None, elsewhere)
    assert not elsewhere.task.encodes
    assert perform_task(elsewhere.task, on_gpu=False).embeddings is None
    np.testing.assert_array_equal(there.embeddings, here.embeddings)


def test_what_could_not_be_trained_elsewhere_is_trained_here(index: LakeIndex) -> None:
    here = encode(index, CONFIG, lambda _: None)
    epochs: list[Epoch] = []
    again = encode(index, CONFIG, epochs.append, lambda _: None)
    np.testing.assert_array_equal(again.embeddings, here.embeddings)
    assert (again.trained, len(epochs)) == (True, 3)


def test_errors_of_training_are_raised_where_the_task_runs(
    index: LakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = replace(
        CONFIG,
        setting=replace(CONFIG.setting, gradient_clip=1e30),
        training=TrainingConfig(epochs=3, learning_rate=1e30),
    )
    with pytest.raises(NonFiniteLossError, match=r"the loss became .* in epoch \d+. Lower"):
        encode(index, wild, lambda _: None, Elsewhere())
    monkeypatch.setattr(validation, "_COLLAPSED", -1.0)
    with pytest.raises(CollapsedError, match=r"all embeddings are nearly identical .* Use"):
        encode(index, CONFIG, lambda _: None, Elsewhere())


def test_a_task_waits_for_no_processor(index: LakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    elsewhere = Elsewhere()
    encode(index, CONFIG, lambda _: None, elsewhere)
    with pytest.raises(NoGpuError, match=r"no CUDA device on the executor. Check .*discoveryScr"):
        perform_task(elsewhere.task)


def test_a_task_holds_neither_sketches_nor_keys_of_the_recipe(
    index: LakeIndex, tmp_path: Path
) -> None:
    llm = LanguageModelConfig(model="m", api_key=SecretStr("secret-key"))
    config = replace(CONFIG, path=tmp_path / "kept-here", llm=llm)
    vars(index)["cells"] = index.cells  # computed before
    elsewhere = Elsewhere()
    encode(index, config, lambda _: None, elsewhere)
    assert b"secret-key" not in elsewhere.sent
    assert b"kept-here" not in elsewhere.sent
    assert all(profile.sketch for profile in index.lake.profiles)
    assert not any(profile.sketch for profile in elsewhere.task.index.lake.profiles)
    assert "cells" not in vars(elsewhere.task.index)


def test_the_pairs_that_are_sent_suffice_for_negatives(index: LakeIndex) -> None:
    every = np.arange(len(index.lake))
    find = partial(find_negatives, every, every, exclude_similar=True)
    pared = select_similar(index.overlap)
    np.testing.assert_array_equal(find(replace(index, overlap=pared)), find(index))
    assert 0 < len(pared.left) < len(index.overlap.left)
