import numpy as np
import pytest
from scipy import sparse

from datahub_hyperjoin.model.signals.sketches import multiply_with_transpose


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("halvings", [0, 1, 3, 9])
def test_a_product_of_halves_is_that_of_the_whole(rows: int, halvings: int) -> None:
    draw = np.random.default_rng(rows)
    dense = draw.integers(3, size=(rows, 11)) * draw.integers(2, size=(rows, 11))
    product = multiply_with_transpose(sparse.csr_array(dense), halvings)
    assert product.format == "csr"
    assert product.toarray().tolist() == (dense @ dense.T).tolist()
