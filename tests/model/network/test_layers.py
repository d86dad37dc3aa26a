from dataclasses import replace

import numpy as np
import torch

from datahub_hyperjoin.model.config import OURS
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.layers import MixerLayer, NodeLayer, to_column, to_hyperedge

GRAPH = Hypergraph.from_groups(
    4, within=[np.array([0, 1]), np.array([2])], across=[np.array([1, 2])]
)


def test_a_hyperedge_is_the_mean_of_its_columns() -> None:
    columns = torch.tensor([[0.0, 2.0], [4.0, 2.0], [8.0, 0.0], [99.0, 99.0]])
    expected = torch.tensor([[2.0, 2.0], [8.0, 0.0], [6.0, 1.0]])
    torch.testing.assert_close(to_hyperedge(columns, GRAPH), expected)


def test_a_column_is_the_mean_of_its_hyperedges() -> None:
    hyperedges = torch.tensor([[2.0], [8.0], [6.0]])
    expected = torch.tensor([[2.0], [4.0], [7.0], [0.0]])
    torch.testing.assert_close(to_column(hyperedges, GRAPH), expected)


def test_the_mixer_lets_every_hyperedge_reach_every_other() -> None:
    torch.manual_seed(0)
    mixer = MixerLayer(16, replace(OURS, heads=4, dropout=0.0)).eval()
    hyperedges = torch.randn(3, 16, requires_grad=True)
    mixer(hyperedges, GRAPH.adjacency)[0].sum().backward()
    assert hyperedges.grad is not None
    assert (hyperedges.grad.abs().sum(dim=1) > 0).all()


def test_a_node_layer_keeps_columns_apart() -> None:
    torch.manual_seed(0)
    layer = NodeLayer(width=16, dropout=0.0).eval()
    columns = torch.randn(3, 16)
    torch.testing.assert_close(layer(columns)[1:2], layer(columns[1:2]))
