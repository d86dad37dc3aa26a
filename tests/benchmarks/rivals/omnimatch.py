r"""Rank columns with OmniMatch, a graph network over similar columns.

OmniMatch (Koutras et al.: OmniMatch: Joinability Discovery in Data Products, VLDB 2025; earlier
OmniMatch: Effective Self-Supervised Any-Join Discovery in Tabular Data Repositories, arXiv
2403.07653) connects columns by edges of six kinds (`benchmarks.rivals.similarity`), describes each
by its characters (`benchmarks.rivals.characters`), and encodes this graph with two layers of a
relational graph convolution (Schlichtkrull et al.: Modeling Relational Data with Graph
Convolutional Networks, ESWC 2018, equation 2),

$$h_i' = W_0 h_i + \sum_r \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r h_j,$$

with a ReLU between them, and scales the result to unit length. It learns without labels from split
tables of the lake (`benchmarks.rivals.split_tables`): in the graph of the halves, a column must be
nearer to the same column of the other half than to any other column there, by 0.5. Then it encodes
the graph of the lake itself, and ranks columns by distance.

Width, learning rate, epochs and margin are those of the authors' program, and so is the loss, one
of the two that it offers. Each table is split once, while the authors split 20 drawn tables. Their
program adds the neighbours of a kind; Schlichtkrull's mean equals the sum up to a factor for
columns with all three neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize, relu, triplet_margin_loss

from benchmarks.errors import NoPairsError
from benchmarks.rivals.cells import Cells
from benchmarks.rivals.characters import FEATURES, describe_characters
from benchmarks.rivals.rival import ColumnScores, Queries
from benchmarks.rivals.similarity import MEASURES, neighbours
from benchmarks.rivals.split_tables import split_tables

_WIDTH, _EPOCHS, _RATE, _MARGIN = 256, 30, 1e-3, 0.5


def linked_columns(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> ColumnScores:
    """Compare columns by the embeddings of a graph network.

    Args:
        lake: All columns, table by table, which are also the training data.
        queries: Positions of the query columns.
        seed: Seed of the splits and of the network's initial weights.

    Returns:
        1 minus the distance of unit vectors, in [-1, 1].

    Raises:
        NoPairsError: No table has two columns.
    """
    split = split_tables(lake, np.random.default_rng(seed))
    if not len(split.triplets):
        raise NoPairsError.of_narrow_tables()
    # Layers draw their weights from the global generator of torch.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = Network()
    fit_network(network, draw_graph(split.lake), torch.from_numpy(split.triplets))
    with torch.no_grad():
        vectors = network(draw_graph(lake)).numpy()
    cosines = vectors[queries] @ vectors.T
    return 1 - np.sqrt(np.maximum(2 - 2 * cosines, 0))


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph of columns, with the features and neighbours of each."""

    features: Float[Tensor, "column feature"]
    """The features of each column."""

    neighbours: tuple[Tensor, ...]
    """One sparse matrix per measure; row `i` contains the weights of column `i`'s neighbours."""


def draw_graph(lake: Sequence[Cells]) -> Graph:
    """Build the graph of all columns of a lake."""
    matrices = [matrix.tocoo() for matrix in neighbours(lake)]
    return Graph(
        torch.from_numpy(describe_characters(lake)),
        tuple(
            torch.sparse_coo_tensor(
                torch.from_numpy(np.stack(matrix.coords)),
                torch.from_numpy(matrix.data.astype(np.float32)),
                matrix.shape,
                check_invariants=True,
            )
            for matrix in matrices
        ),
    )


class Layer(torch.nn.Module):
    """One layer of relational graph convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = torch.nn.Linear(width, _WIDTH)
        self.others = torch.nn.Linear(MEASURES * width, _WIDTH, bias=False)

    def forward(
        self, states: Float[Tensor, "column before"], graph: Graph
    ) -> Float[Tensor, "column width"]:
        """Combine the state of each column with those of its neighbours."""
        messages = [torch.sparse.mm(weights, states) for weights in graph.neighbours]
        return self.own(states) + self.others(torch.cat(messages, dim=1))


class Network(torch.nn.Module):
    """A network of two graph convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Layer(FEATURES)
        self.second = Layer(_WIDTH)

    def forward(self, graph: Graph) -> Float[Tensor, "column width"]:
        """Encode the columns of a graph as unit vectors."""
        return normalize(self.second(relu(self.first(graph.features, graph)), graph), dim=1)


def fit_network(network: Network, graph: Graph, triplets: Int[Tensor, "triplet 3"]) -> None:
    """Train a network on triplets.

    Args:
        network: The network, changed in place.
        graph: The columns of the split tables.
        triplets: Positions of a column, of one that joins with it, and of one that does not.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=_RATE)
    for _ in range(_EPOCHS):
        optimizer.zero_grad()
        triplet_loss(network(graph), triplets).backward()
        optimizer.step()


def triplet_loss(
    vectors: Float[Tensor, "column width"], triplets: Int[Tensor, "triplet 3"]
) -> Float[Tensor, ""]:
    """Compute the triplet margin loss.

    Args:
        vectors: The embeddings of all columns.
        triplets: Positions of a column, of one that joins with it, and of one that does not.
    """
    anchors, positives, negatives = triplets.T
    return triplet_margin_loss(
        vectors[anchors], vectors[positives], vectors[negatives], margin=_MARGIN
    )
