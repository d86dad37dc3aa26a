"""Convert the names and values of columns to tensors (paper, section 4.1, step 1)."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fasttext
import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.errors import VectorFileError, VectorTrainingError
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import tokens
from datahub_hyperjoin.model.signals.pairs import ColumnInts
from datahub_hyperjoin.storage import temporary_folder

_NO_WORD = re.compile(r"[\W_]+")


def words(text: str) -> str:
    """Convert a text to lower-case words for fastText, separated by single spaces.

    >>> words(" Newark-Liberty  (EWR)")
    'newark liberty ewr'
    """
    return _NO_WORD.sub(" ", text.lower()).strip()


def _sentences(lake: Lake, config: FeatureConfig, random: np.random.Generator) -> Iterable[str]:
    """Yield the text from which fastText learns: two lines for each column."""
    for table, profile in zip(lake.table_of, lake.profiles, strict=True):
        names = [*tokens(lake.titles[table]), *tokens(profile.id.path)]
        names = names if config.names else []
        values = [words(value) for value in profile.sample] if config.values else []
        for _ in range(2):
            yield " ".join([*names, *random.permutation(values)])


class WordVectors:
    """Word vectors of a fastText model."""

    # Subwords give every word a vector, even a word that the model was not trained on.

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._model = fasttext.load_model(str(path))
        except ValueError as error:
            raise VectorFileError.from_path(str(path), reason=str(error)) from error
        self.dimension: int = self._model.get_dimension()

    def of(self, texts: Sequence[str]) -> Float32[np.ndarray, "text dimension"]:
        """Compute one vector for each text: the mean of its words' unit vectors."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._model.get_sentence_vector(words(text))
        return vectors


def _skipgram(corpus: Path, path: Path, dimension: int) -> None:
    """Train fastText on the file `corpus` in a separate process, and save the model at `path`."""
    # With one thread, fastText 0.9.3 fills only the first tenth of its matrix and expects the rest
    # to be zero. That is true for fresh memory from the kernel, which glibc returns if the
    # threshold below is small. It is not true for memory that this process has used before:
    # training would differ from run to run, or end in NaN.
    command = [sys.executable, "-m", "datahub_hyperjoin.model.network.skipgram"]
    done = subprocess.run(  # noqa: S603 - our own module, by our own interpreter
        [*command, str(corpus), str(path), str(dimension)],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise VectorTrainingError.from_output(done.stderr)


def train_vectors(lake: Lake, config: ModelConfig, *, path: Path) -> WordVectors:
    """Train fastText (skip-gram) on names and sampled values, and save the model."""
    with temporary_folder() as folder:
        corpus = folder / "corpus.txt"
        lines = _sentences(lake, config.features, np.random.default_rng(config.seed))
        corpus.write_text("\n".join(lines), encoding="utf-8")
        _skipgram(corpus, path, config.setting.dimension)
    return WordVectors(path)


_SHAPE = 4  # number of features that describe how a cell is written, beside its word vector


@dataclass(frozen=True)
class Names:
    """The names of tables or columns, as tensors of tokens and word vectors."""

    # Vocabulary indices from 1, name after name; 0 for a token outside the vocabulary.
    tokens: Int[Tensor, " token"]
    starts: Int[Tensor, " column"]  # start of each name in `tokens`
    vectors: Float[Tensor, "column dimension"]


@dataclass(frozen=True)
class Features:
    """The input of the encoders, with one row for each column."""

    tables: Names
    names: Names
    # Mean, standard deviation, maximum and minimum of the vectors of each column's cells.
    content: Float[Tensor, "column content"]


def build_vocabulary(lake: Lake, size: int) -> tuple[str, ...]:
    """Return the most frequent tokens in the names of tables and columns."""
    names = [*lake.titles, *lake.paths]
    counts = Counter(token for name in names for token in tokens(name))
    return tuple(sorted(counts, key=lambda token: (-counts[token], token))[:size])


def _shape(text: str) -> tuple[float, ...]:
    length = max(len(text), 1)
    digits = sum(letter.isdigit() for letter in text) / length
    upper = sum(letter.isupper() for letter in text) / length
    other = sum(not letter.isalnum() for letter in text) / length
    # Up to about 50 characters, the length stays in [0, 1] like the other features.
    return float(np.log1p(length)) / 4, digits, upper, other


class Featurizer:
    """A converter from names and cells to the network's input."""

    def __init__(self, vectors: WordVectors, vocabulary: Sequence[str]) -> None:
        self._vectors = vectors
        self._numbers = {token: number for number, token in enumerate(vocabulary, start=1)}
        self.cell_width = vectors.dimension + _SHAPE

    def names(self, texts: Sequence[str]) -> Names:
        """Convert names to tokens and word vectors."""
        # A name without tokens counts as one unknown token, because a mean needs one.
        split = [tokens(text) or ("",) for text in texts]
        numbers = [self._numbers.get(token, 0) for parts in split for token in parts]
        starts = np.cumsum([0, *(len(parts) for parts in split)])[:-1]
        return Names(
            tokens=torch.tensor(numbers, dtype=torch.int64),
            starts=torch.from_numpy(starts.astype(np.int64)),
            vectors=torch.from_numpy(self._vectors.of([" ".join(parts) for parts in split])),
        )

    def cells(self, values: Sequence[str]) -> Float32[np.ndarray, "cell feature"]:
        """Convert cells to features: word vector, length and kinds of characters."""
        shapes = np.array([_shape(value) for value in values], dtype=np.float32)
        return np.hstack([self._vectors.of(values), shapes.reshape(len(values), _SHAPE)])


def pool(
    cells: Float32[np.ndarray, "cell feature"], starts: ColumnInts
) -> Float[Tensor, "column content"]:
    """Summarise each column's cells by mean, standard deviation, maximum and minimum."""
    sizes = np.diff([*starts, len(cells)])[:, None].astype(np.float32)
    mean = np.add.reduceat(cells, starts) / sizes
    square = np.add.reduceat(cells * cells, starts) / sizes
    # Rounding may make the difference negative.
    deviation = np.sqrt(np.maximum(square - mean * mean, 0))
    highest, lowest = np.maximum.reduceat(cells, starts), np.minimum.reduceat(cells, starts)
    return torch.from_numpy(np.hstack([mean, deviation, highest, lowest]))
