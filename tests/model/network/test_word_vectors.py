from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import unwrap
from pathlib import Path

import numpy as np
import pytest

from datahub_hyperjoin.model.config import OURS, ModelConfig
from datahub_hyperjoin.model.errors import VectorFileError, VectorTrainingError
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network import word_vectors
from datahub_hyperjoin.model.network.word_vectors import WordVectors, train_vectors

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
CONFIG = ModelConfig(setting=replace(OURS, dimension=16))


@pytest.fixture(autouse=True)
def _train_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_skipgram", unwrap(word_vectors._skipgram))  # noqa: SLF001


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
