"""HIN, the hypergraph network of the HyperJoin paper (section 4.2), its layers and its optimizers.

Equation numbers are the paper's.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize, pad
from torch.optim import Adam, Optimizer, SparseAdam
from torch.utils.checkpoint import checkpoint

from datahub_hyperjoin.model.config import Method, ModelConfig, Positions, Precision
from datahub_hyperjoin.model.hypergraph.hyperedges import Adjacency, Hypergraph, mean_of_members
from datahub_hyperjoin.model.network.features import Features, Names

# ruff: noqa: FBT003, SLF001 - the kernels are private, and their schemas are positional


# Memory grows with the number of rows and of non-zero biases, never with the square of the rows.
#
# Let $O$ and $L$ be the output and log-sum-exp of plain attention, and let $b_{ij} = \lambda
# A_{ij}$ be the bias, which is 0 almost everywhere. Then
#
# $$p_{ij} = e^{s_{ij} - L_i} (e^{b_{ij}} - 1),\quad
# O'_i = \frac{O_i + \sum_j p_{ij} v_j}{1 + \sum_j p_{ij}},\quad
# L'_i = L_i + \ln\Big(1 + \sum_j p_{ij}\Big)$$
#
# are those of biased attention, and the sums are over the non-zeros of A alone. Given $O'$ and
# $L'$, the backward kernel weights each pair by $e^{s_{ij} - L'_i}$. That is correct wherever the
# bias is 0, and is corrected by the same factor where it is not.

# Torch's public `scaled_dot_product_attention` does not return the log-sum-exp, and an additive
# bias makes it compute dense scores. The kernels that it calls do both in memory linear in the
# rows.

_KERNELS = torch.ops.aten

_ALIGNMENT = 8  # the kernels for GPUs need vectors whose length is a multiple of this number


Rows = Float[Tensor, "row head size"]
Heads = Float[Tensor, "1 head row size"]
ColumnVectors = Float[Tensor, "column width"]
EdgeVectors = Float[Tensor, "hyperedge width"]


@dataclass(frozen=True)
class Attended:
    """The output of attention, and the values that the backward pass needs."""

    output: Heads
    normalizer: Float[Tensor, "1 head row"]
    # Further values that this device's kernel passes to its backward pass.
    rest: tuple[Tensor | int, ...]


def _align(rows: Heads) -> Float[Tensor, "1 head row length"]:
    """Pad vectors with zeros to a length that GPU kernels accept; inner products stay the same."""
    return pad(rows, (0, -rows.shape[3] % _ALIGNMENT))


def _is_half(tensor: Tensor) -> bool:
    return tensor.dtype in (torch.bfloat16, torch.float16)


def attend(query: Heads, key: Heads, value: Heads) -> Attended:
    r"""Compute attention, $\mathrm{softmax}(QK^\top/\sqrt{d_k}) V$ (Dao et al., 2022)."""
    if not query.is_cuda:
        output, normalizer = _KERNELS._scaled_dot_product_flash_attention_for_cpu(query, key, value)
        return Attended(output, normalizer, ())
    rows, size = query.shape[2:]
    inputs, scale = [_align(part) for part in (query, key, value)], size**-0.5
    if _is_half(query):
        output, normalizer, *rest = _KERNELS._scaled_dot_product_flash_attention(
            *inputs, scale=scale
        )
        return Attended(output[..., :size], normalizer, tuple(rest[:6]))
    output, normalizer, *rest = _KERNELS._scaled_dot_product_efficient_attention(
        *inputs, None, compute_log_sumexp=True, scale=scale
    )
    # The kernel pads its log-sum-exp.
    return Attended(output[..., :size], normalizer[:, :, :rows], tuple(rest))


def attend_backward(
    gradient: Heads, inputs: Sequence[Heads], attended: Attended
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of queries, keys and values."""
    # The kernel recomputes each weight from its score and the log-sum-exp, and needs the output
    # only for the inner product with its gradient. With another output and log-sum-exp, it is
    # therefore exact for every score that these were computed from.
    output, normalizer = attended.output, attended.normalizer
    if not gradient.is_cuda:
        return _KERNELS._scaled_dot_product_flash_attention_for_cpu_backward(
            gradient, *inputs, output, normalizer, 0.0, False
        )
    size = gradient.shape[3]
    slope, *parts, whole = (_align(part) for part in (gradient, *inputs, output))
    if _is_half(gradient):
        *lengths, seed, offset = attended.rest
        found = _KERNELS._scaled_dot_product_flash_attention_backward(
            slope, *parts, whole, normalizer, *lengths, 0.0, False, seed, offset, scale=size**-0.5
        )
    else:
        # This kernel expects the log-sum-exp padded to a multiple of 32 rows.
        padded = pad(normalizer, (0, -normalizer.shape[2] % 32))
        *found, _ = _KERNELS._scaled_dot_product_efficient_attention_backward(
            slope,
            *parts,
            None,
            whole,
            padded,
            *attended.rest,
            0.0,
            [True, True, True, False],
            scale=size**-0.5,
        )
    query, key, value = (part[..., :size] for part in found)
    return query, key, value


_PAIRS_AT_ONCE = 16384  # number of pairs whose vectors are in memory at once


def _by_head(rows: Rows) -> Heads:
    return rows.transpose(0, 1)[None]


def _by_row(heads: Heads) -> Rows:
    return heads[0].transpose(0, 1)


def _exact(rows: Rows) -> Rows:
    """Convert rows to at least single precision."""
    return rows.to(torch.promote_types(rows.dtype, torch.float32))


def _products(adjacency: Adjacency, left: Rows, right: Rows) -> Float[Tensor, "entry head"]:
    """For each adjacency entry (i, j), compute the inner product of left row i and right row j."""
    entries = zip(
        adjacency.row.split(_PAIRS_AT_ONCE),
        adjacency.lists.members.split(_PAIRS_AT_ONCE),
        strict=True,
    )
    products = [
        (left.index_select(0, row) * right.index_select(0, neighbour)).sum(dim=2)
        for row, neighbour in entries
    ]
    return torch.cat(products)


def _sums(adjacency: Adjacency, weights: Float[Tensor, "entry head"], values: Rows) -> Rows:
    """For each row, compute the weighted sum of its neighbours' values."""
    heads = zip(weights.T.contiguous(), values.unbind(1), strict=True)
    return torch.stack([adjacency.lists.sum(value, weight) for weight, value in heads], dim=1)


class _BiasedAttention(torch.autograd.Function):
    """Attention with a sparse bias, computed by correcting the result of plain attention."""

    # Both passes call the kernel of plain attention once, on all pairs, and then visit only the
    # biased pairs: `added` is p of the formula above, and `beyond` is what a pair's weight has in
    # excess of the kernel's.

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context has no public type
        projected: Tensor,
        structure: Tensor,
        adjacency: Adjacency,
    ) -> Tensor:
        parts = projected.unbind(1)
        plain = attend(*map(_by_head, parts))
        query, key, value = map(_exact, parts)
        scores = _products(adjacency, query, key) / query.shape[2] ** 0.5
        normalizer = plain.normalizer[0].T
        bias = (structure * adjacency.share.to(scores))[:, None]
        # expm1 keeps the digits of a small bias, whose exponential is close to 1.
        added = torch.exp(scores - normalizer[adjacency.row]) * torch.expm1(bias)
        total = 1 + adjacency.entries.sum(added)
        read = _by_row(plain.output) + _sums(adjacency, added, value)
        output = (read / total[:, :, None]).to(projected)
        ctx.save_for_backward(projected, bias, output, normalizer + total.log(), scores)
        ctx.adjacency, ctx.rest = adjacency, plain.rest
        return output

    @staticmethod
    def backward(
        ctx: Any,  # noqa: ANN401 - as above
        *gradients: Tensor,
    ) -> tuple[Tensor, Tensor, None]:
        projected, bias, output, normalizer, scores = ctx.saved_tensors
        adjacency, parts = ctx.adjacency, projected.unbind(1)
        # With the corrected output and log-sum-exp, the kernel is exact except on biased pairs.
        corrected = Attended(_by_head(output), normalizer.T[None].contiguous(), ctx.rest)
        plain = attend_backward(_by_head(gradients[0]), [*map(_by_head, parts)], corrected)
        (query, key, value), gradient = map(_exact, parts), _exact(gradients[0])
        weight = torch.exp(scores - normalizer[adjacency.row])
        beyond = weight * torch.expm1(bias)
        own = (gradient * _exact(output)).sum(dim=2)
        toward = _products(adjacency, gradient, value) - own[adjacency.row]
        slope = beyond * toward / query.shape[2] ** 0.5
        # A is symmetric in its non-zeros: `mirror` turns sums over queries into sums over keys.
        corrections = (
            _sums(adjacency, slope, key),
            _sums(adjacency, slope[adjacency.mirror], query),
            _sums(adjacency, beyond[adjacency.mirror], gradient),
        )
        exact = [_by_row(part) + more for part, more in zip(plain, corrections, strict=True)]
        structure = ((weight + beyond) * toward).sum(dim=1) @ adjacency.share.to(scores)
        return torch.stack(exact, dim=1).to(projected), structure, None


def biased_attention(
    projected: Float[Tensor, "row 3 head size"], structure: Float[Tensor, ""], adjacency: Adjacency
) -> Rows:
    """Compute attention with a sparse additive bias (paper, equation 10)."""
    # softmax(Q K^T / sqrt(d) + lambda A) V, in the time of plain attention. Memory grows with the
    # rows and the non-zeros of A. The correction is in single precision at least.
    attended = _BiasedAttention.apply(projected, structure, adjacency)  # type: ignore[no-untyped-call]
    return cast("Tensor", attended)


class StructureAwareAttention(nn.Module):
    """Multi-head self-attention between hyperedges."""

    def __init__(self, *, width: int, heads: int, structure_weight: float) -> None:
        super().__init__()
        if width % heads:
            message = f"`model.network.width` is {width}; it must be a multiple of {heads}"
            raise ValueError(message)
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.structure = nn.Parameter(torch.tensor(structure_weight))

    def forward(self, hyperedges: EdgeVectors, adjacency: Adjacency) -> EdgeVectors:
        """Compute attention between all hyperedges."""
        count, width = hyperedges.shape
        if not count:
            return hyperedges
        projected = self.project(hyperedges).view(count, 3, self.heads, width // self.heads)
        heads = biased_attention(projected, self.structure, adjacency)
        return self.output(heads.reshape(count, width))


def to_hyperedge(columns: ColumnVectors, graph: Hypergraph) -> EdgeVectors:
    """For each hyperedge, compute the mean vector of its columns (paper, equation 6)."""
    return mean_of_members(columns, graph.by_hyperedge, graph.by_column)


def to_column(hyperedges: EdgeVectors, graph: Hypergraph) -> ColumnVectors:
    """For each column, compute the mean vector of its hyperedges (paper, equation 12)."""
    return mean_of_members(hyperedges, graph.by_column, graph.by_hyperedge)


class NodeLayer(nn.Module):
    """A transformation of column vectors (paper, equation 5)."""

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, columns: ColumnVectors) -> ColumnVectors:
        """Transform the vector of each column independently of other columns."""
        return self.dropout(self.norm(torch.relu(self.linear(columns))))


class MixerLayer(nn.Module):
    """Attention between hyperedges, then a feed-forward network (paper, equations 9 to 11)."""

    # The input of attention is normalised, as in the algorithm of the paper's appendix; the
    # equations do not show that norm.

    def __init__(self, width: int, method: Method) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = StructureAwareAttention(
            width=width, heads=method.heads, structure_weight=method.structure_weight
        )
        self.channels = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Dropout(method.dropout),
            nn.Linear(4 * width, width),
        )

    def forward(self, hyperedges: EdgeVectors, adjacency: Adjacency) -> EdgeVectors:
        """Apply attention and the feed-forward network, each with a residual connection."""
        mixed = hyperedges + self.attention(self.attention_norm(hyperedges), adjacency)
        return mixed + self.channels(mixed)


T = TypeVar("T")

_LARGE = 131_072
"""A batch with more columns than this recomputes its activations in the backward pass, which saves
about 80 kB per column (Chen et al., 2016)."""

UNSEEN = 0  # the table number of a table without a vector of its own: training has not seen it


@dataclass(frozen=True)
class NetworkSizes:
    """Input sizes of the network, such as the length of a word vector."""

    vocabulary: int
    dimension: int  # length of a word vector
    content: int
    tables: int
    steps: int  # length of the positional encoding


class NameEncoder(nn.Module):
    """A module that computes one vector for each name."""

    # The word vector distinguishes tokens outside the vocabulary, which share one embedding.

    def __init__(self, sizes: NetworkSizes, width: int, *, name_vectors: bool) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(sizes.vocabulary + 1, width, mode="mean", padding_idx=0)
        self.subwords = nn.Linear(sizes.dimension, width)
        self.name_vectors = name_vectors

    def forward(self, names: Names) -> ColumnVectors:
        """Compute one vector for each name."""
        tokens = self.embedding(names.tokens, names.starts)
        return tokens + self.subwords(names.vectors) if self.name_vectors else tokens


class ColumnEncoder(nn.Module):
    """A module that computes one vector for each column."""

    # x = W softmax(w) · (h_table, h_column, h_content), with learned weights w.

    def __init__(self, sizes: NetworkSizes, width: int, *, name_vectors: bool) -> None:
        super().__init__()
        self.table, self.name = (
            NameEncoder(sizes, width, name_vectors=name_vectors) for _ in range(2)
        )
        first = nn.Linear(sizes.content, width)
        self.content = nn.Sequential(
            nn.LayerNorm(sizes.content), first, nn.ReLU(), nn.Linear(width, width)
        )
        self.fusion = nn.Parameter(torch.zeros(3))
        self.output = nn.Linear(width, width)

    def forward(self, features: Features) -> ColumnVectors:
        """Compute one vector for each column, without regard to other columns."""
        table, name, content = torch.softmax(self.fusion, dim=0)
        fused = (
            table * self.table(features.tables)
            + name * self.name(features.names)
            + content * self.content(features.content)
        )
        return self.output(fused)


@dataclass(frozen=True)
class Batch:
    """The input of a forward pass: columns and their hypergraph."""

    features: Features
    graph: Hypergraph
    # The number of each column's table, from 1; `UNSEEN` for a table without a vector.
    tables: Int[Tensor, " column"]
    positions: Float[Tensor, "column step"]


def to_device(value: T, device: torch.device) -> T:
    """Return a copy of a dataclass with all its tensors on the given device."""
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


class HIN(nn.Module):
    """A network that embeds columns in the context of their tables and value domains."""

    # h = x + alpha E[table] + beta MLP(position); the result is L2(LayerNorm(h + mean over its
    # hyperedges e of W z_e)), where z_e is the mean of the columns of e after the mixer layers.

    def __init__(self, config: ModelConfig, sizes: NetworkSizes) -> None:
        super().__init__()
        width, method = config.network.width, config.setting
        self.precision = config.network.precision
        self.encoder = ColumnEncoder(sizes, width, name_vectors=method.name_vectors)
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

    def forward(self, batch: Batch) -> ColumnVectors:
        """Compute the embeddings of a batch of columns."""
        device = batch.tables.device
        half = is_half(self.precision, device)
        recomputes = batch.graph.columns > _LARGE and torch.is_grad_enabled()
        run = partial(checkpoint, use_reentrant=False) if recomputes else _call
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            columns = run(self.encoder, batch.features)
            if self.placed:
                columns = columns + self.table_weight * self.table_position(batch.tables)
                columns = columns + self.walk_weight * self.walk_position(batch.positions)
            context = to_column(self.back(self._mix(columns, batch.graph, run)), batch.graph)
        return normalize(self.norm(columns + context), dim=-1)

    def _mix(
        self, columns: ColumnVectors, graph: Hypergraph, run: Callable[..., Tensor]
    ) -> EdgeVectors:
        for layer in self.node_layers:
            columns = run(layer, columns)
        hyperedges = to_hyperedge(columns, graph)
        across = graph.across[:, None]
        hyperedges = torch.where(across, self.across(hyperedges), self.within(hyperedges))
        for mixer in self.mixers:
            hyperedges = run(mixer, hyperedges, graph.adjacency)
        return hyperedges


Optimizers = tuple[Optimizer, ...]


def build_optimizers(network: nn.Module) -> Optimizers:
    """Build the optimizers for dense and for sparse gradients."""
    # A lake may have a hundred thousand tables, each with a vector. Plain Adam would move all of
    # them in every step; sparse Adam touches only the rows of the batch's tables.
    sparse = [
        part.weight
        for part in network.modules()
        if isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse
    ]
    rows = {id(weight) for weight in sparse}
    dense = [weight for weight in network.parameters() if id(weight) not in rows]
    adam = Adam(dense, fused=True)
    return (adam, SparseAdam(sparse)) if sparse else (adam,)


def set_rate(optimizers: Optimizers, rate: float) -> None:
    """Set the learning rate of all optimizers."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def take_step(network: nn.Module, optimizers: Optimizers, loss: Tensor, clip: float) -> None:
    """Take one gradient step."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    _clip(network.parameters(), clip)
    for optimizer in optimizers:
        optimizer.step()


def _clip(weights: Iterable[nn.Parameter], greatest: float) -> None:
    """Scale all gradients down if their global norm exceeds `greatest`."""
    # Unlike torch's `clip_grad_norm_`, this accepts sparse gradients.
    norms, gradients = [], []
    for weight in weights:
        if weight.grad is not None:
            if weight.grad.is_sparse:
                # A row may occur several times; its parts are added before the norm is taken.
                weight.grad = weight.grad.coalesce()
            values = weight.grad.values() if weight.grad.is_sparse else weight.grad
            norms.append(torch.linalg.vector_norm(values))
            gradients.append(weight.grad)
    # With the same constant as torch's own clipping.
    scale = (greatest / (torch.stack(norms).norm() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale)
