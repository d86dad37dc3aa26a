from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from datahub_hyperjoin.model.config import OURS, ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer, build_vocabulary, pool
from datahub_hyperjoin.model.network.word_vectors import train_vectors

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]


@pytest.fixture
def featurizer(make_lake: MakeLake, airline_tables: Tables, tmp_path: Path) -> Featurizer:
    lake = make_lake(airline_tables)
    config = ModelConfig(setting=replace(OURS, dimension=8))
    vectors = train_vectors(lake, config, path=tmp_path / "v.bin")
    return Featurizer(vectors, build_vocabulary(lake, 5))


def test_the_vocabulary_is_the_most_frequent_tokens(
    make_lake: MakeLake, airline_tables: Tables
) -> None:
    vocabulary = build_vocabulary(make_lake(airline_tables), 3)
    assert vocabulary == ("flights", "planes", "tailnum") or len(vocabulary) == 3
    assert "genus" in build_vocabulary(make_lake(airline_tables), 100)


def test_cells_pool_to_mean_deviation_greatest_and_least() -> None:
    cells = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    pooled = pool(cells, np.array([0, 4]))
    for row, part in zip(pooled, (cells[:4], cells[4:]), strict=True):
        expected = np.hstack([part.mean(0), part.std(0), part.max(0), part.min(0)])
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_spelling_conventions_make_the_same_name(featurizer: Featurizer) -> None:
    names = featurizer.names(["tailNum", "tail_num", "TAIL-NUM"])
    torch.testing.assert_close(names.vectors[0], names.vectors[1])
    torch.testing.assert_close(names.vectors[0], names.vectors[2])


def test_tokens_outside_the_vocabulary_differ_by_their_subwords(featurizer: Featurizer) -> None:
    names = featurizer.names(["zebra", "quagga", ""])
    assert names.tokens.tolist() == [0, 0, 0]
    assert names.starts.tolist() == [0, 1, 2]
    assert not torch.allclose(names.vectors[0], names.vectors[1])


def test_a_cell_tells_how_it_is_written(featurizer: Featurizer) -> None:
    code, word, number = featurizer.cells(["AB-12", "abc", "12345"])[:, -4:]
    np.testing.assert_allclose(code[1:], [0.4, 0.4, 0.2], atol=1e-6)
    np.testing.assert_allclose(word[1:], [0, 0, 0])
    np.testing.assert_allclose(number[1:], [1, 0, 0])
