import math

import pytest
import torch

from benchmarks.bench_hin import alone, measure_attention
from datahub_hyperjoin.model.hypergraph.hyperedges import Adjacency
from datahub_hyperjoin.model.network.hin import StructureAwareAttention, biased_attention


def share_columns(count: int, *, apart: int = 0) -> Adjacency:
    """Put each column into two random hyperedges.

    The last `apart` hyperedges share no column with others.
    """
    random = torch.Generator().manual_seed(0)
    edges = torch.randint(max(count - apart, 1), (3 * count, 2), generator=random)
    columns = torch.arange(3 * count)
    pairs = torch.cat([torch.stack([columns, edge]) for edge in edges.T], dim=1)
    return Adjacency.from_incidence(3 * count, count, pairs.unique(dim=1))


def dense(adjacency: Adjacency, count: int) -> torch.Tensor:
    shares = torch.zeros(count, count, dtype=torch.float64)
    shares[adjacency.row, adjacency.lists.members] = adjacency.share.double()
    return shares


def dense_formula(
    projected: torch.Tensor, structure: torch.Tensor, shares: torch.Tensor
) -> torch.Tensor:
    query, key, value = projected.permute(1, 2, 0, 3)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[2])
    return (torch.softmax(scores + structure * shares, dim=2) @ value).transpose(0, 1)


def example(count: int, weight: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    projected = torch.randn(count, 3, 2, 4, dtype=torch.float64, requires_grad=True)
    return projected, torch.tensor(weight, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("count", [1, 2, 37])
@pytest.mark.parametrize("weight", [-3.0, 0.0, 0.5, 20.0])
def test_output_and_gradients_equal_the_dense_formula(count: int, weight: float) -> None:
    adjacency = share_columns(count, apart=count // 3)
    inputs, expected_inputs = example(count, weight), example(count, weight)
    found = biased_attention(*inputs, adjacency)
    expected = dense_formula(*expected_inputs, dense(adjacency, count))
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=1e-10)
    for output in (found, expected):
        (output * torch.arange(8.0).reshape(2, 4)).square().sum().backward()
    for one, other in zip(inputs, expected_inputs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-10, rtol=1e-10)


def test_the_output_is_within_rounding_of_the_dense_formula() -> None:
    adjacency = share_columns(50)
    projected, structure = example(50)
    found = biased_attention(projected, structure, adjacency)
    exact = dense_formula(projected, structure, dense(adjacency, 50))
    assert (found - exact).abs().max() < 1e-14


def test_gradients_equal_finite_differences() -> None:
    adjacency = share_columns(6)
    assert torch.autograd.gradcheck(
        lambda projected, structure: biased_attention(projected, structure, adjacency), example(6)
    )


def test_pairs_beyond_one_block_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = share_columns(11)
    inputs = example(11)
    expected = biased_attention(*inputs, adjacency)
    monkeypatch.setattr("datahub_hyperjoin.model.network.hin._PAIRS_AT_ONCE", 4)
    assert len(adjacency.row) > 4
    torch.testing.assert_close(biased_attention(*inputs, adjacency), expected, rtol=0, atol=0)


def test_half_precision_is_as_near_as_half_precision_can_be() -> None:
    adjacency = share_columns(40)
    projected, structure = example(40)
    exact = dense_formula(projected, structure, dense(adjacency, 40))
    halved = projected.detach().bfloat16().requires_grad_()
    found = biased_attention(halved, structure.float(), adjacency)
    assert found.dtype is torch.bfloat16
    assert (found - exact).abs().max() < 0.03
    found.sum().backward()
    exact.sum().backward()
    assert halved.grad is not None
    assert projected.grad is not None
    assert (halved.grad - projected.grad).abs().max() < 0.05


def test_memory_grows_with_hyperedges_not_with_their_square() -> None:
    half, whole = (alone(measure_attention, columns, width=16) for columns in (20_000, 40_000))
    hyperedges = 40_000 * 12 // 70
    # A third of one head's scores: a GPU pads the two numbers of a head to eight.
    assert whole < 4 * hyperedges**2 / 3
    assert whole < 3 * half


def test_the_layer_projects_attends_and_projects_again() -> None:
    torch.manual_seed(0)
    layer = StructureAwareAttention(width=8, heads=2, structure_weight=2.0).double()
    hyperedges, adjacency = torch.randn(9, 8, dtype=torch.float64), share_columns(9)
    projected = layer.project(hyperedges).view(9, 3, 2, 4)
    heads = dense_formula(projected, layer.structure, dense(adjacency, 9))
    torch.testing.assert_close(layer(hyperedges, adjacency), layer.output(heads.reshape(9, 8)))


def test_structure_moves_attention_and_is_learnt() -> None:
    layer = StructureAwareAttention(width=8, heads=2, structure_weight=2.0)
    hyperedges = torch.randn(6, 8)
    mixed = layer(hyperedges, share_columns(6))
    assert not torch.allclose(mixed, layer(hyperedges, share_columns(6, apart=6)))
    mixed.square().sum().backward()
    assert layer.structure.grad is not None
    assert layer.structure.grad.abs() > 0


def test_no_hyperedge_reads_nothing() -> None:
    layer = StructureAwareAttention(width=8, heads=2, structure_weight=2.0)
    assert layer(torch.zeros(0, 8), share_columns(0)).shape == (0, 8)


def test_a_width_that_heads_cannot_share_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`model.network.width` is 10; it must be a multiple of 4"
    ):
        StructureAwareAttention(width=10, heads=4, structure_weight=0.5)
