r"""Rank columns by Snoopy's method with random proxies, without training.

Snoopy (Guo et al.: Snoopy: Effective and Efficient Semantic Join Discovery via Proxy Columns, TKDE
2025) has l sets of m proxy cells, $P_1 \dots P_l$. A column with cells X becomes the l numbers

$$c_i = \sum_{x \in X} \max_{p \in P_i} \langle x, p \rangle,$$

scaled to unit length, and columns are compared by their cosine. Here proxies keep their initial
values from U(-1, 1): the baseline that training must exceed.

Two details differ. Snoopy's cells are vectors of a fastText model of 7 GB; here they are vectors of
the cells' trigrams, which need no download. And a value counts once, however often it repeats.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.overlap import incidence
from benchmarks.rivals.rival import ColumnScores, Queries
from datahub_hyperjoin.model.signals.names import NameSimilarity

Proxies = Float32[np.ndarray, "set proxy width"]
"""Sets of vectors with which cells are compared."""

_SETS, _PROXIES = 90, 50
_AT_ONCE = 4096


def untrained_proxies(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> ColumnScores:
    """Compare columns by the proximity of their cells to random proxy cells.

    Args:
        lake: All columns.
        queries: Positions of the query columns.
        seed: Seed of the proxies.

    Returns:
        Cosines, in [-1, 1].
    """
    values, holds = incidence([cells.counts.keys() for cells in lake])
    cells = NameSimilarity(values).vectors()
    proxies = draw_proxies(cells.shape[1], np.random.default_rng(seed))
    return compare(holds, nearness(cells, proxies), queries)


def draw_proxies(width: int, random: np.random.Generator) -> Proxies:
    """Draw untrained proxy cells from U(-1, 1).

    Args:
        width: Length of a cell's vector.
        random: The random generator.
    """
    return random.uniform(-1, 1, (_SETS, _PROXIES, width)).astype(np.float32)


def compare(
    holds: sparse.csr_array, near: Float32[np.ndarray, "cell set"], queries: Queries
) -> ColumnScores:
    """Compare columns by the summed proximities of their cells to each set of proxies.

    Args:
        holds: Incidence matrix of columns and cells.
        near: Proximity of each cell to each set of proxies.
        queries: Positions of the query columns.

    Returns:
        Cosines, in [-1, 1].
    """
    sums = holds @ near
    # Cells without letters and digits have zero vectors; the sum of such a column is zero, too.
    units = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return units[queries] @ units.T


def nearness(
    cells: Float32[np.ndarray, "cell width"], proxies: Proxies
) -> Float32[np.ndarray, "cell set"]:
    """Compute the inner product of each cell with the nearest proxy of each set."""
    sets, each, width = proxies.shape
    flat = proxies.reshape(sets * each, width).T
    nearest = np.empty((len(cells), sets), dtype=np.float32)
    for start in range(0, len(cells), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        nearest[part] = (cells[part] @ flat).reshape(-1, sets, each).max(axis=2)
    return nearest
