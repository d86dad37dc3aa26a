import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency

INCIDENCE = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), unique=True, max_size=30)


def adjacency_of(pairs: list[tuple[int, int]]) -> Adjacency:
    incidence = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    return Adjacency.from_incidence(10, 6, incidence)


@given(INCIDENCE)
def test_it_is_the_row_normalised_count_of_shared_columns(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    incidence = np.zeros((10, 6))
    incidence[tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)] = 1
    shared = incidence.T @ incidence
    np.fill_diagonal(shared, 0)
    dense = np.zeros((6, 6))
    dense[found.row, found.lists.members] = found.share
    np.testing.assert_allclose(dense, shared / np.maximum(shared.sum(1, keepdims=True), 1))


@given(INCIDENCE)
def test_the_mirror_of_an_entry_is_the_other_way_round(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    assert torch.equal(found.row[found.mirror], found.lists.members)
    assert torch.equal(found.lists.members[found.mirror], found.row)


@given(INCIDENCE)
def test_entries_are_numbered_row_by_row(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    assert found.entries.members.tolist() == list(range(len(found.row)))
    assert torch.equal(torch.repeat_interleave(torch.arange(6), found.entries.sizes), found.row)
