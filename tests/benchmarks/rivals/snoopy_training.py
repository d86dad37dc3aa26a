r"""Rank columns with Snoopy, whose proxy cells are trained on overlapping parts of columns.

Snoopy (Guo et al., TKDE 2025) draws an anchor and k columns that join with it from the cells of
each column (`benchmarks.rivals.parts`). With a the anchor's vector, $p_1 \dots p_k$ the vectors of
the joining columns, best first, and N the vectors of other columns, the loss is

$$-\frac{1}{k} \sum_i \log \frac{e^{a p_i / \tau_i}}
{e^{a p_i / \tau_i} + \sum_{n \in N} e^{a n / \tau_i} + \sum_{j > i} e^{a p_j / \tau_i}},$$

so that each joining column is nearer than other columns, and than those that rank below it. The
lower the rank, the higher is $\tau_i$, from 0.08 to 0.1. All vectors but the anchor's come from
proxies that follow the trained ones as a moving average.

All numbers are those of the authors' program, unless they would take days on a processor: 100
epochs are limited to 300 batches; the moving average has 0.99 instead of 0.9999, since there are
fewer steps to follow; a batch has at most 64 cells of a column; and negatives keep the encoding of
their own batch, as in MoCo (He et al., CVPR 2020), instead of being encoded again in each step.
Parts are drawn anew for each batch, and no column is its own negative. The last proxies are kept,
while the authors keep those that score best on the test's ground truth. Cells are those of
`benchmarks.rivals.snoopy`, with the same differences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from scipy import sparse
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from benchmarks.errors import NoPairsError
from benchmarks.rivals.cells import Cells
from benchmarks.rivals.overlap import incidence
from benchmarks.rivals.parts import FEWEST, ranked_parts
from benchmarks.rivals.rival import ColumnScores, Queries
from benchmarks.rivals.snoopy import Proxies, compare, draw_proxies, nearness
from datahub_hyperjoin.model.signals.names import NameSimilarity

_BATCHES, _EPOCHS, _BATCH, _RATE = 300, 100, 64, 0.01
_QUEUE = 32 * _BATCH
_MOMENTUM = 0.99
_COLDEST, _WARMEST = 0.08, 0.1
_MOST_CELLS = 64


def trained_proxies(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> ColumnScores:
    """Compare columns by the proximity of their cells to proxy cells trained on the lake.

    Args:
        lake: All columns, which are also the training data.
        queries: Positions of the query columns.
        seed: Seed of the initial proxies, the batches and the parts.

    Returns:
        Cosines, in [-1, 1].

    Raises:
        NoPairsError: No column is long enough to be split.
    """
    random = np.random.default_rng(seed)
    values, holds = incidence([cells.counts.keys() for cells in lake])
    cells = NameSimilarity(values).vectors()
    long = np.flatnonzero(np.diff(holds.indptr) >= FEWEST)
    if not len(long):
        raise NoPairsError.of_short_columns(FEWEST)
    drawn = draw_proxies(cells.shape[1], random)
    batches = (_draw(columns, cells, holds, random) for columns in _order(long, random))
    return compare(holds, nearness(cells, _fit(drawn, batches)), queries)


@dataclass(frozen=True, slots=True)
class _Batch:
    columns: Int[Tensor, " anchor"]
    cells: Float[Tensor, "cell width"]
    parts: Float[Tensor, "part anchor cell"]


def _order(
    columns: Int[np.ndarray, " column"], random: np.random.Generator
) -> Int[np.ndarray, "batch anchor"]:
    """Divide columns into batches.

    No column repeats before all have been used.
    """
    size = min(_BATCH, len(columns))
    batches = min(_BATCHES, _EPOCHS * len(columns) // size)
    epochs = -(-batches * size // len(columns))
    orders = [random.permutation(columns) for _ in range(epochs)]
    return np.concatenate(orders)[: batches * size].reshape(batches, size)


def _draw(
    columns: Int[np.ndarray, " anchor"],
    cells: Float32[np.ndarray, "cell width"],
    holds: sparse.csr_array,
    random: np.random.Generator,
) -> _Batch:
    held = [holds.indices[holds.indptr[place] : holds.indptr[place + 1]] for place in columns]
    held = [random.permutation(places)[:_MOST_CELLS] for places in held]
    parts = [torch.from_numpy(ranked_parts(len(places), random)) for places in held]
    return _Batch(
        torch.from_numpy(columns),
        torch.from_numpy(cells[np.concatenate(held)]),
        torch.stack([torch.block_diag(*rank) for rank in zip(*parts, strict=True)]),
    )


def _fit(drawn: Proxies, batches: Iterable[_Batch]) -> Proxies:
    proxies, following = torch.tensor(drawn, requires_grad=True), torch.tensor(drawn)
    optimizer = torch.optim.Adam([proxies], lr=_RATE)
    # The queue of negatives, and the column that each was drawn from.
    keys, owners = torch.empty(0, len(drawn)), torch.empty(0, dtype=torch.int64)
    for batch in batches:
        anchors = _encode(batch.cells, batch.parts[0], proxies)
        with torch.no_grad():
            same, *others = _encode(batch.cells, batch.parts, following)
        keys = torch.cat([same, keys])[:_QUEUE]
        owners = torch.cat([batch.columns, owners])[:_QUEUE]
        different = owners != batch.columns[:, None]
        optimizer.zero_grad()
        ranking_loss(anchors, torch.stack(others, dim=1), keys, different).backward()
        optimizer.step()
        following.lerp_(proxies.detach(), 1 - _MOMENTUM)
    return proxies.detach().numpy()


def _encode(
    cells: Float[Tensor, "cell width"],
    parts: Float[Tensor, "*part cell"],
    proxies: Float[Tensor, "set proxy width"],
) -> Float[Tensor, "*part set"]:
    sets, each, _ = proxies.shape
    near = (cells @ proxies.flatten(end_dim=1).T).view(-1, sets, each).max(dim=2).values
    return normalize(parts @ near, dim=-1)


def ranking_loss(
    anchors: Float[Tensor, "anchor set"],
    others: Float[Tensor, "anchor rank set"],
    negatives: Float[Tensor, "negative set"],
    allowed: Bool[Tensor, "anchor negative"],
) -> Float[Tensor, ""]:
    """Compute the loss of ranking the columns that join with each anchor.

    Args:
        anchors: The vectors of the anchors.
        others: The vectors of the columns that join with each anchor, best first.
        negatives: The vectors of all columns in the queue.
        allowed: Whether a negative comes from another column than the anchor.

    Returns:
        The mean over anchors and ranks.
    """
    near = torch.einsum("as,ars->ar", anchors, others)
    far = (anchors @ negatives.T).masked_fill(~allowed, -torch.inf)
    ranks, tau, losses = near.shape[1], _COLDEST, []
    for rank in range(ranks):
        tau += rank / ranks * (_WARMEST - _COLDEST)
        logits = torch.cat([near[:, rank:], far], dim=1) / tau
        losses.append(cross_entropy(logits, torch.zeros(len(anchors), dtype=torch.int64)))
    return torch.stack(losses).mean()
