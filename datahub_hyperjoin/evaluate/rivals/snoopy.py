r"""Columns by how near their cells come to proxy cells: Snoopy, before it is trained.

Snoopy (Guo et al.: Snoopy: Effective and Efficient Semantic Join Discovery via Proxy Columns, TKDE
2025) has l sets of m proxy cells, $P_1 \dots P_l$. A column with cells X becomes the l numbers

$$c_i = \sum_{x \in X} \max_{p \in P_i} \langle x, p \rangle,$$

scaled to unit length, and columns are compared by their cosine. Here proxies stay as they are drawn
at first, from U(-1, 1): the least that training has to beat.

Two things differ. Its cells are vectors of a fastText model of 7 GB; ours are those of the cells'
trigrams, which need no file. And a value counts once, however often a column repeats it.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.overlap import incidence
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores
from datahub_hyperjoin.model.signals.names import NameSimilarity

Proxies = Float32[np.ndarray, "set proxy width"]
"""Sets of vectors that cells are compared with."""

_SETS, _PROXIES = 90, 50
_AT_ONCE = 4096


def untrained_proxies(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> Scores:
    """Compares columns by their cells' nearness to random proxies.

    Args:
        lake: All columns.
        queries: Which of them are asked about.
        seed: Decides the proxies.

    Returns:
        Cosines, in [-1, 1].
    """
    values, holds = incidence([cells.counts.keys() for cells in lake])
    cells = NameSimilarity(values).vectors()
    proxies = draw_proxies(cells.shape[1], np.random.default_rng(seed))
    return compare(holds, nearness(cells, proxies), queries)


def draw_proxies(width: int, random: np.random.Generator) -> Proxies:
    """Proxies as they are before training, from U(-1, 1).

    Args:
        width: Length of a cell's vector.
        random: Where they come from.

    Returns:
        Sets of vectors.
    """
    return random.uniform(-1, 1, (_SETS, _PROXIES, width)).astype(np.float32)


def compare(
    holds: sparse.csr_array, near: Float32[np.ndarray, "cell set"], queries: Queries
) -> Scores:
    """Compares columns by the sums over their cells.

    Args:
        holds: Which column holds which cell.
        near: How near each cell comes to each set.
        queries: Which columns are asked about.

    Returns:
        Cosines, in [-1, 1].
    """
    sums = holds @ near
    # A column whose cells have no letter and no digit is near nothing.
    units = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return units[queries] @ units.T


def nearness(
    cells: Float32[np.ndarray, "cell width"], proxies: Proxies
) -> Float32[np.ndarray, "cell set"]:
    """How near each cell comes to the nearest proxy of each set, by inner products.

    Args:
        cells: One vector a cell.
        proxies: Sets of vectors.

    Returns:
        One number a cell and set.
    """
    sets, each, width = proxies.shape
    flat = proxies.reshape(sets * each, width).T
    nearest = np.empty((len(cells), sets), dtype=np.float32)
    for start in range(0, len(cells), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        nearest[part] = (cells[part] @ flat).reshape(-1, sets, each).max(axis=2)
    return nearest
