"""Names and values as tensors: what the network's encoders read (paper, section 4.1, step 1)."""

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
"""Numbers that describe how a cell is written, beside its word vector."""


@dataclass(frozen=True)
class Names:
    """Names as bags of vocabulary tokens, and as word vectors for what the vocabulary lacks."""

    tokens: Int[Tensor, " token"]
    """Vocabulary places, name after name; 0 stands for any token outside the vocabulary."""

    starts: Int[Tensor, " column"]
    """Where each name begins in `tokens`."""

    vectors: Float[Tensor, "column dimension"]
    """Each name's word vector."""


@dataclass(frozen=True)
class Features:
    """The three encodings' input, one row a column."""

    tables: Names
    """The name of each column's table."""

    names: Names
    """The name of each column."""

    content: Float[Tensor, "column content"]
    """Pooled cells: mean, standard deviation, greatest and least."""


def build_vocabulary(lake: Lake, size: int) -> tuple[str, ...]:
    """The most frequent tokens of the names of a lake.

    Args:
        lake: Whose tables and columns are read.
        size: Most tokens to keep.

    Returns:
        Tokens, most frequent first; those as frequent are in alphabetical order.
    """
    names = chain(lake.titles, (profile.id.path for profile in lake.profiles))
    counts = Counter(token for name in names for token in tokens(name))
    return tuple(sorted(counts, key=lambda token: (-counts[token], token))[:size])


def _shape(text: str) -> tuple[float, ...]:
    length = max(len(text), 1)
    digits = sum(letter.isdigit() for letter in text) / length
    upper = sum(letter.isupper() for letter in text) / length
    other = sum(not letter.isalnum() for letter in text) / length
    return float(np.log1p(length)) / 4, digits, upper, other


class Featurizer:
    """Turns names and cells into the tensors that one vocabulary and one fastText model define.

    Args:
        vectors: Word vectors.
        vocabulary: Tokens that have an embedding of their own.
    """

    def __init__(self, vectors: WordVectors, vocabulary: Sequence[str]) -> None:
        self._vectors = vectors
        self._places = {token: place for place, token in enumerate(vocabulary, start=1)}
        self.cell_width = vectors.dimension + _SHAPE

    def names(self, texts: Sequence[str]) -> Names:
        """Names as the text encoders read them.

        Args:
            texts: Table or column names, as written.

        Returns:
            One bag and one vector a name; a name without tokens has the unknown token.
        """
        split = [tokens(text) or ("",) for text in texts]
        places = [self._places.get(token, 0) for parts in split for token in parts]
        starts = np.cumsum([0, *(len(parts) for parts in split)])[:-1]
        return Names(
            tokens=torch.tensor(places, dtype=torch.int64),
            starts=torch.from_numpy(starts.astype(np.int64)),
            vectors=torch.from_numpy(self._vectors.of([" ".join(parts) for parts in split])),
        )

    def cells(self, values: Sequence[str]) -> Float32[np.ndarray, "cell feature"]:
        """Cells as vectors: their words, and how they are written.

        Args:
            values: Cells, as written.

        Returns:
            One row a cell.
        """
        shapes = np.array([_shape(value) for value in values], dtype=np.float32)
        return np.hstack([self._vectors.of(values), shapes.reshape(len(values), _SHAPE)])


def pool(
    cells: Float32[np.ndarray, "cell feature"], starts: Int[np.ndarray, " column"]
) -> Float[Tensor, "column content"]:
    """Cells pooled column by column to mean | std | max | min.

    Args:
        cells: Cells of all columns, column after column.
        starts: Where each column begins; every column has at least one cell.

    Returns:
        Four times as many features as a cell has.
    """
    sizes = np.diff([*starts, len(cells)])[:, None].astype(np.float32)
    mean = np.add.reduceat(cells, starts) / sizes
    square = np.add.reduceat(cells * cells, starts) / sizes
    deviation = np.sqrt(np.maximum(square - mean * mean, 0))
    greatest, least = np.maximum.reduceat(cells, starts), np.minimum.reduceat(cells, starts)
    return torch.from_numpy(np.hstack([mean, deviation, greatest, least]))
