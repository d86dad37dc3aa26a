"""Convert the names and values of columns to tensors (paper, section 4.1, step 1)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.word_vectors import WordVectors
from datahub_hyperjoin.model.signals.names import tokens

_SHAPE = 4
"""Number of features that describe how a cell is written, beside its word vector."""


@dataclass(frozen=True)
class Names:
    """The names of tables or columns, as tensors of tokens and word vectors."""

    tokens: Int[Tensor, " token"]
    """Vocabulary indices from 1, name after name; 0 for a token outside the vocabulary."""

    starts: Int[Tensor, " column"]
    """Start of each name in `tokens`."""

    vectors: Float[Tensor, "column dimension"]
    """Each name's word vector."""


@dataclass(frozen=True)
class Features:
    """The input of the encoders, with one row for each column."""

    tables: Names
    """The name of each column's table."""

    names: Names
    """The name of each column."""

    content: Float[Tensor, "column content"]
    """Mean, standard deviation, maximum and minimum of the vectors of each column's cells."""


def build_vocabulary(lake: Lake, size: int) -> tuple[str, ...]:
    """Return the most frequent tokens in the names of tables and columns.

    Returns:
        Tokens, most frequent first; equally frequent ones in alphabetical order.
    """
    names = chain(lake.titles, (profile.id.path for profile in lake.profiles))
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
    """A converter from names and cells to the network's input.

    It uses a vocabulary and fastText word vectors.
    """

    def __init__(self, vectors: WordVectors, vocabulary: Sequence[str]) -> None:
        self._vectors = vectors
        self._numbers = {token: number for number, token in enumerate(vocabulary, start=1)}
        self.cell_width = vectors.dimension + _SHAPE

    def names(self, texts: Sequence[str]) -> Names:
        """Convert names to tokens and word vectors.

        Returns:
            One bag and one vector per name; a name without tokens has the unknown token.
        """
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
    cells: Float32[np.ndarray, "cell feature"], starts: Int[np.ndarray, " column"]
) -> Float[Tensor, "column content"]:
    """Summarise each column's cells by mean, standard deviation, maximum and minimum.

    Args:
        starts: Start of each column in `cells`; every column has at least one cell.

    Returns:
        One row per column, four times as wide as a cell.
    """
    sizes = np.diff([*starts, len(cells)])[:, None].astype(np.float32)
    mean = np.add.reduceat(cells, starts) / sizes
    square = np.add.reduceat(cells * cells, starts) / sizes
    # Rounding may make the difference negative.
    deviation = np.sqrt(np.maximum(square - mean * mean, 0))
    highest, lowest = np.maximum.reduceat(cells, starts), np.minimum.reduceat(cells, starts)
    return torch.from_numpy(np.hstack([mean, deviation, highest, lowest]))
