"""HIN, the hypergraph network of the HyperJoin paper (section 4.2)."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import TypeVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.utils.checkpoint import checkpoint

from datahub_hyperjoin.model.config import ModelConfig, Positions, Precision
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.layers import MixerLayer, NodeLayer, to_column, to_hyperedge

# The input is the table name, the column name and the content of the column.


class NameEncoder(nn.Module):
    r"""A module that computes one vector for each name.

    The result is the mean of learned token embeddings plus a projected word vector.

    The word vector distinguishes tokens outside the vocabulary, which share one embedding.
    """

    def __init__(self, *, vocabulary: int, dimension: int, width: int, name_vectors: bool) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary + 1, width, mode="mean", padding_idx=0)
        self.subwords = nn.Linear(dimension, width)
        self.name_vectors = name_vectors

    def forward(self, names: Names) -> Float[Tensor, "column width"]:
        """Compute one vector for each name."""
        tokens = self.embedding(names.tokens, names.starts)
        return tokens + self.subwords(names.vectors) if self.name_vectors else tokens


class ColumnEncoder(nn.Module):
    r"""A module that computes one vector for each column.

    The vector is a weighted sum of table name, column name and content.

    The weights are learned.

    $$x_v = W_0 \sum_{s} \mathrm{softmax}(w)_s\, h^s_v,\quad s \in
    \{\text{table}, \text{column}, \text{content}\}$$

    Args:
        name_vectors: Whether names are read as word vectors too.

    Shapes:
    """

    def __init__(
        self, *, vocabulary: int, dimension: int, content: int, width: int, name_vectors: bool
    ) -> None:
        super().__init__()
        self.table, self.name = (
            NameEncoder(
                vocabulary=vocabulary,
                dimension=dimension,
                width=width,
                name_vectors=name_vectors,
            )
            for _ in range(2)
        )
        self.content = nn.Sequential(
            nn.LayerNorm(content), nn.Linear(content, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.fusion = nn.Parameter(torch.zeros(3))
        self.output = nn.Linear(width, width)

    def forward(self, features: Features) -> Float[Tensor, "column width"]:
        """Compute one vector for each column, without regard to other columns."""
        table, name, content = torch.softmax(self.fusion, dim=0)
        fused = (
            table * self.table(features.tables)
            + name * self.name(features.names)
            + content * self.content(features.content)
        )
        return self.output(fused)


T = TypeVar("T")

_LARGE = 131_072
"""A batch with more columns than this recomputes its activations in the backward pass, which saves
about 80 kB per column (Chen et al., 2016)."""

UNSEEN = 0
"""The table number of a table without a vector of its own: training has not seen it."""


@dataclass(frozen=True)
class Batch:
    """The input of a forward pass: columns and their hypergraph."""

    features: Features
    """The name, table name and content of each column."""

    graph: Hypergraph
    """The hypergraph of the batch's columns."""

    tables: Int[Tensor, " column"]
    """The number of each column's table, from 1; `UNSEEN` for a table without a vector."""

    positions: Float[Tensor, "column step"]
    """The positional encoding of each column."""


@dataclass(frozen=True)
class NetworkSizes:
    """Input sizes of the network, such as the length of a word vector.

    Most of the sizes depend on the lake.
    """

    vocabulary: int
    """Number of name tokens with an embedding."""

    dimension: int
    """Length of a word vector."""

    content: int
    """Length of the pooled content."""

    tables: int
    """Number of tables with a vector of their own."""

    steps: int
    """Length of the positional encoding."""


def to_device(value: T, device: torch.device) -> T:
    """Return a copy of a dataclass with all its tensors on the given device.

    Returns:
        A copy on the device; values that are no tensors are shared.
    """
    if isinstance(value, torch.Tensor):
        return cast("T", value.to(device))
    if is_dataclass(value) and not isinstance(value, type):
        moved = {
            field.name: to_device(getattr(value, field.name), device) for field in fields(value)
        }
        return replace(value, **moved)
    return value


def is_half(precision: Precision, device: torch.device) -> bool:
    """Return whether matrix products use half precision."""
    automatic = precision is Precision.AUTO and device.type == "cuda"
    return automatic or precision is Precision.BFLOAT16


def _call(layer: nn.Module, *inputs: object) -> Tensor:
    return cast("Tensor", layer(*inputs))


def _runner(columns: int) -> Callable[..., Tensor]:
    """Return a function that calls a layer and, for large batches, uses gradient checkpointing.

    Gradient checkpointing saves memory.
    """
    if columns > _LARGE and torch.is_grad_enabled():
        return partial(checkpoint, use_reentrant=False)
    return _call


class HIN(nn.Module):
    r"""A network that embeds columns in the context of their tables and value domains.

    It is the paper's hierarchical interaction network (HIN).

    $$h_v = x_v + \alpha E[t(v)] + \beta\,\mathrm{MLP}(p_v),\quad
    h_v^{final} = \mathrm{L2}(\mathrm{LayerNorm}(h_v + \mathrm{mean}_{e \ni v} W_{h2c} z_e))$$

    where $z_e$ is the mean of the hyperedge's columns after the mixer layers.

    Args:
        batch of (column); returns (column, width), rows of length 1.
    """

    def __init__(self, config: ModelConfig, sizes: NetworkSizes) -> None:
        super().__init__()
        width, method = config.network.width, config.setting
        self.precision = config.network.precision
        self.encoder = ColumnEncoder(
            vocabulary=sizes.vocabulary,
            dimension=sizes.dimension,
            content=sizes.content,
            width=width,
            name_vectors=method.name_vectors,
        )
        self.placed = method.positions is not Positions.NONE
        # The vector of `UNSEEN` stays zero. Gradients are sparse: a batch has few of all tables.
        self.table_position = nn.Embedding(sizes.tables + 1, width, padding_idx=UNSEEN, sparse=True)
        self.table_weight = nn.Parameter(torch.tensor(method.position_weight))
        self.walk_position = nn.Sequential(
            nn.Linear(sizes.steps, width // 2, bias=False),
            nn.ReLU(),
            nn.Linear(width // 2, width, bias=False),
        )
        self.walk_weight = nn.Parameter(torch.tensor(method.position_weight))
        self.node_layers = nn.Sequential(
            *(NodeLayer(width=width, dropout=method.dropout) for _ in range(method.node_layers))
        )
        self.within = nn.Linear(width, width, bias=False)
        self.across = nn.Linear(width, width, bias=False)
        self.mixers = nn.ModuleList(MixerLayer(width, method) for _ in range(method.mixer_layers))
        self.back = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, batch: Batch) -> Float[Tensor, "column width"]:
        """Compute the embeddings of a batch of columns."""
        device = batch.tables.device
        half = is_half(self.precision, device)
        run = _runner(batch.graph.columns)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            columns = run(self.encoder, batch.features)
            if self.placed:
                columns = columns + self.table_weight * self.table_position(batch.tables)
                columns = columns + self.walk_weight * self.walk_position(batch.positions)
            context = to_column(self.back(self._mix(columns, batch.graph, run)), batch.graph)
        return normalize(self.norm(columns + context), dim=-1)

    def _mix(
        self, columns: Float[Tensor, "column width"], graph: Hypergraph, run: Callable[..., Tensor]
    ) -> Float[Tensor, "hyperedge width"]:
        for layer in self.node_layers:
            columns = run(layer, columns)
        hyperedges = to_hyperedge(columns, graph)
        across = graph.across[:, None]
        hyperedges = torch.where(across, self.across(hyperedges), self.within(hyperedges))
        for mixer in self.mixers:
            hyperedges = run(mixer, hyperedges, graph.adjacency)
        return hyperedges
