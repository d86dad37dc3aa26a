"""Draw overlapping parts of one column, ranked by their overlap: the training data of Snoopy.

Snoopy (Guo et al., TKDE 2025) needs no labels, since it makes its own columns. An anchor gets 60 to
100 % of a column's shuffled cells. Each of three other parts gets the first of the anchor's cells,
70 to 100 % of them with probability 0.7 and 40 to 70 % otherwise, and 80 to 100 % of the cells that
the anchor lacks. The more of the anchor's cells a part has, the higher it ranks.
"""

import numpy as np
from jaxtyping import Float32

FEWEST = 5
"""Minimum number of cells of a column, so that no part is empty."""

_OTHERS = 3
_USUALLY = 0.7
_HIGH, _LOW = (0.7, 1.0), (0.4, 0.7)
_ANCHOR, _LEFT = (0.6, 1.0), (0.8, 1.0)


def ranked_parts(cells: int, random: np.random.Generator) -> Float32[np.ndarray, "part cell"]:
    """Draw masks of a column's cells: an anchor, and parts that overlap with the anchor.

    Args:
        cells: Number of cells, at least `FEWEST`.
        random: The random generator.

    Returns:
        1 for each cell of a part: the anchor first, then the other parts, best first.

    >>> ranked_parts(100, np.random.default_rng(0)).sum(axis=1).tolist()
    [64.0, 95.0, 93.0, 86.0]
    """
    anchor, left = np.split(random.permutation(cells), [int(cells * random.uniform(*_ANCHOR))])
    between = _HIGH if random.random() < _USUALLY else _LOW
    rates = np.sort(random.uniform(*between, _OTHERS))[::-1]
    held = np.zeros((1 + _OTHERS, cells), dtype=np.float32)
    held[0, anchor] = 1
    for row, rate in zip(held[1:], rates, strict=True):
        row[anchor[: int(len(anchor) * rate)]] = 1
        row[left[: int(len(left) * random.uniform(*_LEFT))]] = 1
    return held
