"""Compute character statistics of columns, the input features of OmniMatch.

OmniMatch describes a column as Sherlock does (Hulsebos et al.: Sherlock: A Deep Learning Approach
to Semantic Data Type Detection, KDD 2019): by counts per value of each character, of letters,
digits, other characters, words, and by length; by entropy, and by the share of distinct values. Of
Sherlock's ten aggregates of a count, three are computed here: the share of values with a count
above 0, the mean, and the standard deviation. Features are scaled to mean 0 and deviation 1 over
the columns, instead of to length 1.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.overlap import occurrences

_CHARACTERS = range(32, 127)
"""Printable ASCII characters."""

FEATURES = 3 * (len(_CHARACTERS) + 5) + 3
"""Number of features of a column."""


def describe_characters(lake: Sequence[Cells]) -> Float32[np.ndarray, "column feature"]:
    """Compute the features of all columns of a lake.

    Each value counts as often as it occurs.
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
    """Count each character in each value, and the letters, digits and words.

    All values are joined into one array of code points, which one histogram counts: character c of
    value v falls into cell v * characters + c. A loop over values would take minutes.
    """
    codes = np.frombuffer("".join(values).encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    lengths = [len(value) for value in values]
    offsets = codes - _CHARACTERS.start
    printable = (offsets >= 0) & (offsets < len(_CHARACTERS))
    rows = np.repeat(np.arange(len(values)), lengths)
    cells = rows[printable] * len(_CHARACTERS) + offsets[printable]
    histogram = np.bincount(cells, minlength=len(values) * len(_CHARACTERS))
    each = histogram.reshape(len(values), len(_CHARACTERS))
    kinds = [
        [sum(map(str.isalpha, value)), sum(map(str.isdigit, value)), value.count(" ") + 1]
        for value in values
    ]
    letters, digits, _ = np.transpose(kinds)
    others = np.subtract(lengths, letters + digits)
    return np.column_stack([each, kinds, others, lengths]).astype(np.float32)
