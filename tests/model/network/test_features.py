"""Test the conversion of names and values to tensors, and word vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import unwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from datahub_hyperjoin.model.config import OURS, ModelConfig
from datahub_hyperjoin.model.errors import VectorFileError, VectorTrainingError
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network import features
from datahub_hyperjoin.model.network.features import (
    Featurizer,
    WordVectors,
    build_vocabulary,
    pool,
    train_vectors,
)

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


CONFIG = ModelConfig(setting=replace(OURS, dimension=16))


@pytest.fixture(autouse=True)
def _train_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_skipgram", unwrap(features._skipgram))  # noqa: SLF001


@pytest.fixture
def vectors(make_lake: MakeLake, airline_tables: Tables, tmp_path: Path) -> WordVectors:
    return train_vectors(make_lake(airline_tables), CONFIG, path=tmp_path / "v.bin")


def cosine(vectors: WordVectors, one: str, other: str) -> float:
    left, right = vectors.of([one, other])
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))


def test_values_of_one_domain_are_closer_than_those_of_two(vectors: WordVectors) -> None:
    assert cosine(vectors, "rosaus", "querbus") > cosine(vectors, "rosaus", "N104")


def test_a_word_never_seen_has_a_vector_of_its_subwords(vectors: WordVectors) -> None:
    assert vectors.dimension == 16
    assert np.abs(vectors.of(["N199999"])).sum() > 0
    assert np.abs(vectors.of(["--"])).sum() == 0


def test_the_same_lake_gives_the_same_file(
    vectors: WordVectors, make_lake: MakeLake, airline_tables: Tables, tmp_path: Path
) -> None:
    again = tmp_path / "again.bin"
    train_vectors(make_lake(airline_tables), CONFIG, path=again)
    assert again.read_bytes() == vectors.path.read_bytes()


def test_a_pretrained_model_is_read(vectors: WordVectors) -> None:
    np.testing.assert_array_equal(WordVectors(vectors.path).of(["AJ"]), vectors.of(["AJ"]))


def test_what_fasttext_says_is_passed_on(tmp_path: Path) -> None:
    lake = Lake(profiles=(), titles=(), table_of=np.zeros(0, dtype=np.int64))
    with pytest.raises(
        VectorTrainingError, match=r"from this lake: .*Empty vocabulary.*pretrained"
    ):
        train_vectors(lake, CONFIG, path=tmp_path / "v.bin")


@pytest.mark.parametrize("content", [None, b"no model"], ids=["missing", "other"])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "wiki.bin"
    if content:
        path.write_bytes(content)
    with pytest.raises(
        VectorFileError, match=r"wiki.bin' is not a fastText model: .* Set it to a .bin"
    ):
        WordVectors(path)
