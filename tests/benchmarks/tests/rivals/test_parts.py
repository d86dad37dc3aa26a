"""Test that parts of a column are ranked by the cells that they share with its first part."""

import numpy as np
import pytest

from benchmarks.rivals.parts import FEWEST, ranked_parts


@pytest.mark.parametrize("cells", [FEWEST, FEWEST + 1, 7, 40])
def test_every_part_has_a_cell_and_ranks_by_how_much_of_the_anchor_it_has(cells: int) -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        anchor, *others = ranked_parts(cells, random)
        assert int(0.6 * cells) <= anchor.sum() <= cells
        shared = [float(anchor @ other) for other in others]
        assert shared == sorted(shared, reverse=True)
        assert min(shared) >= max(1, int(0.4 * anchor.sum()))
        left = cells - anchor.sum()
        for other, of_anchor in zip(others, shared, strict=True):
            assert int(0.8 * left) <= other.sum() - of_anchor <= left


def test_most_parts_have_most_of_the_anchor() -> None:
    random = np.random.default_rng(0)
    drawn = [ranked_parts(1000, random) for _ in range(1000)]
    least = [float(held[0] @ held[-1] / held[0].sum()) for held in drawn]
    # 0.7 of them, give or take four standard errors of 0.0145.
    assert np.mean(np.array(least) > 0.699) == pytest.approx(0.7, abs=0.06)
    assert len({tuple(np.flatnonzero(held[0])) for held in drawn}) == len(drawn)
