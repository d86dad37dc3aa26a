import math

import numpy as np
import pytest
import torch
from scipy import sparse

from datahub_hyperjoin.model.attention import StructureAwareAttention


def dense_formula(
    attention: StructureAwareAttention, hyperedges: torch.Tensor, adjacency: torch.Tensor
) -> torch.Tensor:
    count, width = hyperedges.shape
    query, key, value = attention.project(hyperedges).chunk(3, dim=1)
    heads = []
    for part in range(attention.heads):
        own = slice(part * width // attention.heads, (part + 1) * width // attention.heads)
        scores = query[:, own] @ key[:, own].T / math.sqrt(width // attention.heads)
        scores = scores + attention.structure * adjacency
        heads.append(torch.softmax(scores, dim=1) @ value[:, own])
    return attention.output(torch.cat(heads, dim=1)).reshape(count, width)


def example(count: int) -> tuple[StructureAwareAttention, torch.Tensor, sparse.csr_array]:
    torch.manual_seed(0)
    attention = StructureAwareAttention(width=8, heads=2, structure_weight=2.0).double()
    random = np.random.default_rng(0)
    adjacency = random.random((count, count)) * (random.random((count, count)) < 0.3)
    hyperedges = torch.randn(count, 8, dtype=torch.float64)
    return attention, hyperedges, sparse.csr_array(adjacency)


def test_blocks_equal_the_dense_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.attention._BLOCK", 4)
    attention, hyperedges, adjacency = example(11)
    expected = dense_formula(attention, hyperedges, torch.from_numpy(adjacency.toarray()))
    torch.testing.assert_close(attention(hyperedges, adjacency), expected)


def test_gradients_equal_those_of_the_dense_formula() -> None:
    attention, hyperedges, adjacency = example(6)
    attention(hyperedges, adjacency).square().sum().backward()
    found = {name: p.grad.clone() for name, p in attention.named_parameters() if p.grad is not None}
    attention.zero_grad()
    dense_formula(
        attention, hyperedges, torch.from_numpy(adjacency.toarray())
    ).square().sum().backward()
    assert set(found) == {name for name, _ in attention.named_parameters()}
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(found[name], parameter.grad)


def test_structure_moves_attention() -> None:
    attention, hyperedges, adjacency = example(6)
    without = attention(hyperedges, sparse.csr_array(adjacency.shape))
    assert not torch.allclose(attention(hyperedges, adjacency), without)


def test_a_width_that_heads_cannot_share_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`model.network.width` 10 is no multiple of `model.network.heads` 4"
    ):
        StructureAwareAttention(width=10, heads=4, structure_weight=0.5)
