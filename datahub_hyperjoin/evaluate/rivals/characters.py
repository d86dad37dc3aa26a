"""What a column's values look like, in numbers: what OmniMatch starts from.

OmniMatch takes the profile of a column from Sherlock (Hulsebos et al.: Sherlock: A Deep Learning
Approach to Semantic Data Type Detection, KDD 2019): of each character, how many a value has; of
letters, digits, other characters, words and the length the same; entropy, and the share of
different values. Of the ten aggregates of a count, three are taken here: the share of values that
have any, the mean and the deviation. Numbers are scaled to mean 0 and deviation 1 over the columns,
instead of to length 1.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.overlap import occurrences

_CHARACTERS = range(32, 127)
"""All that can be typed."""

NUMBERS = 3 * (len(_CHARACTERS) + 5) + 3
"""How many a column has."""


def describe_characters(lake: Sequence[Cells]) -> Float32[np.ndarray, "column number"]:
    """Describes columns by the characters of their values, and by how they repeat.

    Args:
        lake: The columns.

    Returns:
        One row a column.
    """
    values, rows = occurrences([cells.counts for cells in lake])
    sizes = rows.sum(axis=1)
    shares = sparse.diags_array(1 / sizes) @ rows
    counts = _count(values)
    means = shares @ counts
    deviations = np.sqrt(np.maximum(shares @ counts**2 - means**2, 0))
    entropy = -np.add.reduceat(shares.data * np.log2(shares.data), shares.indptr[:-1])
    distinct = np.diff(shares.indptr)
    described = np.column_stack(
        [shares @ (counts > 0), means, deviations, entropy, distinct / sizes, sizes]
    )
    spread = described.std(axis=0)
    scaled = (described - described.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled.astype(np.float32)


def _count(values: Sequence[str]) -> Float32[np.ndarray, "value kind"]:
    """How often each value has each character, and characters of some kinds."""
    codes = np.frombuffer("".join(values).encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    lengths = [len(value) for value in values]
    places = codes - _CHARACTERS.start
    typed = (places >= 0) & (places < len(_CHARACTERS))
    cells = np.repeat(np.arange(len(values)), lengths)[typed] * len(_CHARACTERS) + places[typed]
    found = np.bincount(cells, minlength=len(values) * len(_CHARACTERS))
    each = found.reshape(len(values), len(_CHARACTERS))
    kinds = [
        [sum(map(str.isalpha, value)), sum(map(str.isdigit, value)), value.count(" ") + 1]
        for value in values
    ]
    letters, digits, _ = np.transpose(kinds)
    others = np.subtract(lengths, letters + digits)
    return np.column_stack([each, kinds, others, lengths]).astype(np.float32)
