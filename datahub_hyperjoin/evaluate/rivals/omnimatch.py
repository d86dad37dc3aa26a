r"""OmniMatch: a graph of columns that are alike by many measures, read by a network.

OmniMatch (Koutras et al.: OmniMatch: Joinability Discovery in Data Products, VLDB 2025; earlier
OmniMatch: Effective Self-Supervised Any-Join Discovery in Tabular Data Repositories, arXiv
2403.07653) joins columns by edges of six kinds (`datahub_hyperjoin.evaluate.rivals.likeness`),
starts from what their characters say (`datahub_hyperjoin.evaluate.rivals.characters`), and reads
both by two layers of a relational graph convolution (Schlichtkrull et al.: Modeling Relational Data
with Graph Convolutional Networks, ESWC 2018, equation 2),

$$h_i' = W_0 h_i + \sum_r \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r h_j,$$

with a ReLU between them, and scales the result to unit length. It learns without labels, from
tables of the lake that are split (`datahub_hyperjoin.evaluate.rivals.halves`): in the graph of the
halves, a column shall be nearer to the same column of the other half than to any other there, by
0.5. Then it reads the graph of the lake itself, and columns join that are near.

Width, rate, epochs and margin are those of the authors' program, and so is the loss, one of the two
that it has. Every table is split, once, where the authors draw 20. Their program adds up the
neighbours of a kind; Schlichtkrull's mean is the same up to a factor where a column has all three.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize, relu, triplet_margin_loss

from datahub_hyperjoin.evaluate.errors import NoPairsError
from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.characters import NUMBERS, describe_characters
from datahub_hyperjoin.evaluate.rivals.halves import split_tables
from datahub_hyperjoin.evaluate.rivals.likeness import MEASURES, neighbours
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores

_WIDTH, _EPOCHS, _RATE, _MARGIN = 256, 30, 1e-3, 0.5


def linked_columns(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> Scores:
    """Compares columns by what a network makes of the graph around them.

    Args:
        lake: All columns, table by table.
        queries: Which of them are asked about; the lake alone is learned from.
        seed: Decides how tables are split, and what the network starts from.

    Returns:
        1 less the distance of unit vectors, in [-1, 1].

    Raises:
        NoPairsError: No table has two columns.
    """
    halves = split_tables(lake, np.random.default_rng(seed))
    if not len(halves.triplets):
        raise NoPairsError.of_narrow_tables()
    # Layers draw from the generator that all of torch shares.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = Network()
    fit(network, draw_graph(halves.lake), torch.from_numpy(halves.triplets))
    with torch.no_grad():
        vectors = network(draw_graph(lake)).numpy()
    cosines = vectors[queries] @ vectors.T
    return 1 - np.sqrt(np.maximum(2 - 2 * cosines, 0))


@dataclass(frozen=True, eq=False)
class Graph:
    """Columns and what they are like."""

    described: Float[Tensor, "column number"]
    """What is known of each."""

    neighbours: tuple[Tensor, ...]
    """One sparse matrix a measure: a row has the weights of a column's neighbours."""


def draw_graph(lake: Sequence[Cells]) -> Graph:
    """Finds out what columns are like.

    Args:
        lake: The columns.

    Returns:
        Their graph.
    """
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
    """A relational graph convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = torch.nn.Linear(width, _WIDTH)
        self.others = torch.nn.Linear(MEASURES * width, _WIDTH, bias=False)

    def forward(
        self, states: Float[Tensor, "column before"], graph: Graph
    ) -> Float[Tensor, "column width"]:
        """What columns are after they have heard of their neighbours."""
        heard = [torch.sparse.mm(weights, states) for weights in graph.neighbours]
        return self.own(states) + self.others(torch.cat(heard, dim=1))


class Network(torch.nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Layer(NUMBERS)
        self.second = Layer(_WIDTH)

    def forward(self, graph: Graph) -> Float[Tensor, "column width"]:
        """Reads a graph.

        Args:
            graph: All columns.

        Returns:
            One unit vector a column.
        """
        return normalize(self.second(relu(self.first(graph.described, graph)), graph), dim=1)


def fit(network: Network, graph: Graph, triplets: Int[Tensor, "triplet 3"]) -> None:
    """Trains a network.

    Args:
        network: What is trained.
        graph: The columns of the halves.
        triplets: Places of a column, of one that it joins with, and of one that it does not.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=_RATE)
    for _ in range(_EPOCHS):
        optimizer.zero_grad()
        triplet_loss(network(graph), triplets).backward()
        optimizer.step()


def triplet_loss(
    vectors: Float[Tensor, "column width"], triplets: Int[Tensor, "triplet 3"]
) -> Float[Tensor, ""]:
    """How much nearer columns should be to those that they join with.

    Args:
        vectors: One a column.
        triplets: Places of a column, of one that it joins with, and of one that it does not.

    Returns:
        The mean over triplets of what lacks to the margin.
    """
    anchors, positives, negatives = triplets.T
    return triplet_margin_loss(
        vectors[anchors], vectors[positives], vectors[negatives], margin=_MARGIN
    )
