"""Scale the rows of a sparse matrix to unit length."""

import numpy as np
from scipy import sparse


def scale_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Scale each row of a matrix to length 1; empty rows stay empty.

    Args:
        matrix: The rows; the result has the same precision.

    Examples:
        >>> scale_rows(sparse.csr_array([[3.0, 4.0], [0.0, 0.0]])).toarray().tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    rows = len(matrix.indptr) - 1
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    lengths = np.sqrt(np.bincount(row, matrix.data * matrix.data, minlength=rows))
    scaled = matrix.data / np.where(lengths > 0, lengths, 1)[row]
    parts = (scaled.astype(matrix.dtype), matrix.indices, matrix.indptr)
    return sparse.csr_array(parts, shape=matrix.shape)
