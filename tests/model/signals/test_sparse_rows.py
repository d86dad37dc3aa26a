import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from datahub_hyperjoin.model.signals.cells import scale_rows


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_rows_are_those_of_scikit_learn(precision: type[np.floating]) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((50, 400)) * (random.random((50, 400)) < 0.2)
    matrix = sparse.csr_array(rows.astype(precision))
    matrix.data[:40] = 0
    found = scale_rows(matrix)
    assert found.dtype == precision
    assert np.array_equal(found.toarray(), normalize(matrix.tocsr()).toarray())


def test_empty_rows_stay_empty() -> None:
    matrix = sparse.csr_array(np.array([[0.0, 0.0], [0.0, -2.0]]))
    assert scale_rows(matrix).toarray().tolist() == [[0, 0], [0, -1]]
