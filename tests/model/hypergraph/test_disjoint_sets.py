from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import DisjointSet

from datahub_hyperjoin.model.hypergraph.disjoint_sets import DisjointSets

COUNT = 12
COLUMNS = st.integers(0, COUNT - 1)


@given(st.lists(st.tuples(COLUMNS, COLUMNS), max_size=40), st.integers(1, COUNT))
def test_components_and_roots_are_those_of_scipy(edges: list[tuple[int, int]], size: int) -> None:
    sets, expected = DisjointSets(COUNT), DisjointSet(range(COUNT))
    for left, right in edges:
        kept = expected.connected(left, right)
        if not kept and expected.subset_size(left) + expected.subset_size(right) <= size:
            kept = expected.merge(left, right)
        assert sets.connect(left, right, size) is kept
    roots = [sets.root(column) for column in range(COUNT)]
    assert roots == [expected[column] for column in range(COUNT)]
