"""Give less weight to shared values that may match by chance."""

import numpy as np
from jaxtyping import Float, Real

_SHARED_SCALE = 3.0
"""Number of shared values at which the weight reaches about two thirds. The weight approaches 1 as
the number grows."""
_MIN_NAME_SIMILARITY = 0.1
"""Similarity assumed for names that have nothing in common."""
_SPARSE_POWER, _DENSE_POWER = 0.5, 2.0
"""Powers to which name similarity is raised, for sparse and for gapless numbers."""


def weigh_shared(shared: Real[np.ndarray, "*pair"]) -> Float[np.ndarray, "*pair"]:
    """Return a weight below 1 that grows with the number of shared values."""
    return 1 - np.exp(-shared / _SHARED_SCALE)


def trust_in_numbers(
    names: Float[np.ndarray, "*pair"], density: Float[np.ndarray, "*pair"]
) -> Float[np.ndarray, "*pair"]:
    """Return a weight for shared numbers: low if the names differ and the numbers are dense.

    The weight is in (0, 1]. It is 1 if the names agree, and lower the less they agree, the more so
    the denser the numbers are.

    Numbers in common are weak evidence, since consecutive numbers share values with every other
    such column.

    Args:
        density: Share of their range that the numbers fill, in [0, 1].
    """
    similarity = (names + _MIN_NAME_SIMILARITY) / (1 + _MIN_NAME_SIMILARITY)
    return similarity ** (_SPARSE_POWER + (_DENSE_POWER - _SPARSE_POWER) * density)
