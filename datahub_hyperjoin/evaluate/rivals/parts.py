"""Parts of a column that join with one another, the more the higher their rank.

Snoopy (Guo et al., TKDE 2025) learns without labels from columns that it makes itself. Of a
column's cells, shuffled, an anchor has 60 to 100 %. Each of three others has the first of the
anchor's cells, seven times of ten between 70 and 100 % and else between 40 and 70 % of them, and 80
to 100 % of the cells that the anchor leaves. The more of the anchor one holds, the higher it ranks.
"""

import numpy as np
from jaxtyping import Float32

FEWEST = 5
"""Cells that a column must have, for every part to have one."""

_OTHERS = 3
_USUALLY = 0.7
_HIGH, _LOW = (0.7, 1.0), (0.4, 0.7)
_ANCHOR, _LEFT = (0.6, 1.0), (0.8, 1.0)


def ranked_parts(cells: int, random: np.random.Generator) -> Float32[np.ndarray, "part cell"]:
    """Draws an anchor and what joins with it.

    Args:
        cells: How many there are, at least `FEWEST`.
        random: Decides the parts.

    Returns:
        1 where a part has a cell: the anchor first, then the others, best first.

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
