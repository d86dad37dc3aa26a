import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import DisjointSet

from datahub_hyperjoin.model.hypergraph.join_graph import DisjointSets

COUNT = 12
COLUMNS = st.integers(0, COUNT - 1)
EDGES = st.lists(st.tuples(COLUMNS, COLUMNS), max_size=40)


@given(EDGES, st.integers(1, COUNT))
def test_components_and_roots_are_those_of_scipy(edges: list[tuple[int, int]], size: int) -> None:
    sets, expected = DisjointSets(COUNT), DisjointSet(range(COUNT))
    for left, right in edges:
        kept = expected.connected(left, right)
        if not kept and expected.subset_size(left) + expected.subset_size(right) <= size:
            kept = expected.merge(left, right)
        assert sets.connect(left, right, size) is kept
    roots = [sets.root(column) for column in range(COUNT)]
    assert roots == [expected[column] for column in range(COUNT)]


@given(EDGES, EDGES, st.integers(1, COUNT))
def test_what_is_foreseen_comes_true(
    before: list[tuple[int, int]], after: list[tuple[int, int]], size: int
) -> None:
    sets = DisjointSets(COUNT)
    for edge in before:
        sets.connect(*edge, size)
    ends = np.array(after, dtype=np.int64).reshape(-1, 2)
    is_one, refused = sets.foresee(ends[:, 0], ends[:, 1], size)
    assert not (is_one & refused).any()
    kept = np.array([sets.connect(*edge, size) for edge in after], dtype=bool)
    assert kept[is_one].all()
    assert not kept[refused].any()


def test_pairs_that_depend_on_others_are_not_foreseen() -> None:
    sets = DisjointSets(4)
    sets.connect(0, 1, max_size=3)
    left, right = np.array([0, 1, 0]), np.array([1, 2, 3])
    is_one, refused = sets.foresee(left, right, max_size=3)
    assert is_one.tolist() == [True, False, False]
    assert refused.tolist() == [False, False, False]
    sets.connect(1, 2, max_size=3)
    is_one, refused = sets.foresee(left, right, max_size=3)
    assert is_one.tolist() == [True, True, False]
    assert refused.tolist() == [False, False, True]
