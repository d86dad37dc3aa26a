import torch
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.hypergraph.ragged import Lists, mean_of_members

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), unique=True, max_size=20)


def both_ways(pairs: list[tuple[int, int]]) -> tuple[Lists, Lists, torch.Tensor]:
    """Convert pairs of an owner and a member to lists, inverse lists and a dense matrix."""
    owner, member = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    dense = torch.zeros(5, 7, dtype=torch.float64)
    dense[owner, member] = 1
    return Lists.from_pairs(owner, member, 5), Lists.from_pairs(member, owner, 7), dense


@given(PAIRS)
def test_a_sum_is_the_product_with_the_dense_matrix(pairs: list[tuple[int, int]]) -> None:
    lists, _, dense = both_ways(pairs)
    values = torch.arange(21, dtype=torch.float64).reshape(7, 3)
    weights = torch.arange(1, len(pairs) + 1, dtype=torch.float64)
    torch.testing.assert_close(lists.sum(values), dense @ values)
    weighed = dense.clone()
    weighed[dense > 0] = weights  # both go list by list, members in order
    torch.testing.assert_close(lists.sum(values, weights), weighed @ values)


@given(PAIRS)
def test_a_mean_is_that_of_the_dense_matrix(pairs: list[tuple[int, int]]) -> None:
    lists, inverse, dense = both_ways(pairs)
    values = torch.arange(21, dtype=torch.float64).reshape(7, 3)
    expected = dense @ values / dense.sum(dim=1).clamp(min=1)[:, None]
    torch.testing.assert_close(mean_of_members(values, lists, inverse), expected)


def test_the_gradient_of_a_mean_is_exact() -> None:
    lists, inverse, _ = both_ways([(0, 0), (0, 3), (1, 3), (3, 2), (3, 3), (3, 6)])
    values = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda rows: mean_of_members(rows, lists, inverse), (values,))


def test_lists_tell_their_lengths() -> None:
    lists, _, _ = both_ways([(3, 1), (0, 2), (3, 0)])
    assert lists.sizes.tolist() == [1, 0, 0, 2, 0]
    assert lists.members.tolist() == [2, 0, 1]
