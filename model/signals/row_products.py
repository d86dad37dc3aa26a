"""Compute inner products of rows of sparse matrices."""

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

_CHUNK = 1 << 20
"""Approximate number of non-zeros to multiply at once, which bounds memory."""


def row_products(
    left: sparse.csr_array,
    right: sparse.csr_array,
    left_rows: Int[np.ndarray, " pair"],
    right_rows: Int[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    """For each pair, compute the inner product of a row of `left` and a row of `right`.

    Args:
        left: A matrix.
        right: A matrix with as many columns.
        left_rows: Rows of the first matrix.
        right_rows: Rows of the second matrix, as many.
    """
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
