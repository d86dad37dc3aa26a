"""Numbers of the few pairs of columns that have one."""

import numpy as np
from jaxtyping import Float, Int


def look_up(
    listed: Int[np.ndarray, " pair"],
    values: Float[np.ndarray, " pair"],
    asked: Int[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Values by number, without a table of every number.

    Args:
        listed: Numbers that have a value, ascending.
        values: One for each.
        asked: Numbers to look for.

    Returns:
        One value for each number asked for; 0 for one that is not listed.

    >>> look_up(np.array([2, 5]), np.array([0.5, 0.25]), np.array([5, 4, 2])).tolist()
    [0.25, 0.0, 0.5]
    """
    if not len(listed):
        return np.zeros(asked.shape)
    place = np.minimum(np.searchsorted(listed, asked), len(listed) - 1)
    return np.where(listed[place] == asked, values[place], 0.0)
