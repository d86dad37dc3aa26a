"""Compute inner products of rows of sparse matrices."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

_CHUNK = 1 << 20
"""Approximate number of non-zeros to multiply at once, which bounds memory."""
_ROWS, _LEAST = 64, 4
"""Number of left rows in a block, and with how many of them a right row must be paired to be
multiplied with all of them."""


def row_products(
    left: sparse.csr_array,
    right: sparse.csr_array,
    left_rows: Int[np.ndarray, " pair"],
    right_rows: Int[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    """For each pair, compute the inner product of a row of `left` and a row of `right`."""
    products = np.zeros(len(left_rows))
    in_row = max(left.nnz // max(left.shape[0], 1), right.nnz // max(right.shape[0], 1), 1)
    step = max(_CHUNK // in_row, 1)
    for start in range(0, len(left_rows), step):
        part = slice(start, start + step)
        common: Float[np.ndarray, " pair"] = (
            left[left_rows[part]].multiply(right[right_rows[part]]).sum(axis=1)
        )
        products[part] = np.asarray(common).ravel()
    return products


def multiply_with_transpose(rows: sparse.csr_array, halvings: int = 3) -> sparse.csr_array:
    """Multiply a matrix with its transpose, in little more than half the time of `rows @ rows.T`.

    The product is symmetric, so that of the first and the second half of the rows is computed in
    one order only. The products of each half with itself are computed likewise.

    Args:
        halvings: How often to halve the rows; each halving saves less than the one before.
    """
    middle = rows.shape[0] // 2
    if not (halvings and middle):
        return rows @ rows.T
    first, second = rows[:middle], rows[middle:]
    across = first @ second.T
    return sparse.block_array(
        [
            [multiply_with_transpose(first, halvings - 1), across],
            [across.T, multiply_with_transpose(second, halvings - 1)],
        ],
        format="csr",
    )


def products_of_pairs(
    rows: sparse.csr_array, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> Int[np.ndarray, " pair"]:
    """For each pair of rows of a matrix of integers, compute the inner product.

    A block of left rows is multiplied with all right rows that are paired with several of them,
    which takes time only for the non-zeros that two rows have in common. The other pairs are
    multiplied one by one.
    """
    products = np.empty(len(left), dtype=np.int64)
    starts = np.searchsorted(left, np.unique(left)[::_ROWS])
    for start, stop in pairwise([*starts.tolist(), len(left)]):
        block, found = slice(start, stop), products[start:stop]
        in_block, row = np.unique(left[block], return_inverse=True)
        partners, partner, times = np.unique(right[block], return_inverse=True, return_counts=True)
        is_often = times >= min(_LEAST, len(in_block))
        together = (rows[in_block] @ rows[partners[is_often]].T).toarray()
        at = is_often[partner]
        found[at] = together[row[at], (np.cumsum(is_often) - 1)[partner[at]]]
        found[~at] = row_products(rows, rows, left[block][~at], right[block][~at])
    return products
