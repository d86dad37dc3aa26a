r"""Rank columns with DeepJoin: the sentence encoder, fine-tuned on pairs of similar columns.

DeepJoin (Dong et al., VLDB 2023) needs no labels: two columns of different tables are a positive
pair if one contains at least 70 % of the other's values, and all other columns of the batch are
negatives. With a and b the unit vectors of n pairs' texts, the loss is that of multiple negatives,

$$-\frac{1}{n} \sum_i \log \frac{e^{20\,a_i b_i}}{\sum_j e^{20\,a_i b_j}}.$$

The authors' program is not public. The threshold, the number of pairs and the encoder are those of
FREYJA's experiments; batch size and learning rate are usual ones. Half of the anchors have their
cells shuffled, so that the encoder depends less on their order. Columns with fewer than five values
are not used as anchors, since other columns contain them by chance; this rule is ours. Like the
original encoder, it is trained on 128 tokens; afterwards it reads 256, as without fine-tuning.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from benchmarks.errors import NoPairsError
from benchmarks.rivals.cells import Cells
from benchmarks.rivals.encoder import describe, encode_texts, load_encoder
from benchmarks.rivals.overlap import incidence
from benchmarks.rivals.rival import ColumnScores, Queries

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pairs = Int[np.ndarray, "pair side"]
"""Positions of an anchor and of a column that contains most of its values."""

_CONTAINMENT, _MOST_PAIRS, _FEWEST_VALUES = 0.7, 5_000, 5
_BATCH, _RATE, _WARM_UP, _SCALE = 32, 2e-5, 0.1, 20.0
_TOKENS = 128
_SHUFFLED = 0.5
_AT_ONCE = 1024


def fine_tuned_texts(lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> ColumnScores:
    """Fine-tune the encoder on pairs, then compare columns by the embeddings of their texts.

    Args:
        lake: All columns, which are also the training data.
        queries: Positions of the query columns.
        seed: Seed of the choice of pairs, their order, and dropout.

    Returns:
        Cosines, in [-1, 1].

    Raises:
        NoPairsError: No column contains enough values of another table's column.
    """
    random = np.random.default_rng(seed)
    pairs = random.permutation(positive_pairs(lake))[:_MOST_PAIRS]
    if not len(pairs):
        raise NoPairsError.sharing_less_than(_CONTAINMENT, _FEWEST_VALUES)
    model = load_encoder()
    # Dropout draws from the global generator of torch.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        _fit(model, [*_batches(lake, pairs, random)])
    vectors = encode_texts(model, [*map(describe, lake)])
    return vectors[queries] @ vectors.T


def positive_pairs(lake: Sequence[Cells]) -> Pairs:
    """Pair each column (the anchor) with columns that contain most of its values.

    Anchors have at least five distinct values.

    Returns:
        All pairs, in the order of the lake.
    """
    _, holds = incidence([cells.counts.keys() for cells in lake])
    sizes = np.array([len(cells.counts) for cells in lake])
    least = np.where(sizes < _FEWEST_VALUES, np.inf, _CONTAINMENT * sizes)
    tables = np.unique([cells.name.table for cells in lake], return_inverse=True)[1]
    pairs = []
    for start in range(0, len(lake), _AT_ONCE):
        shared = (holds[start : start + _AT_ONCE] @ holds.T).tocoo()
        anchors, others = shared.row + start, shared.col
        kept = (shared.data >= least[anchors]) & (tables[anchors] != tables[others])
        pairs.append(np.stack([anchors[kept], others[kept]], axis=1))
    return np.unique(np.concatenate(pairs).astype(np.int64), axis=0)


def _batches(
    lake: Sequence[Cells], pairs: Pairs, random: np.random.Generator
) -> Iterator[tuple[list[str], list[str]]]:
    for start in range(0, len(pairs), _BATCH):
        anchors, others = pairs[start : start + _BATCH].T
        shuffled = random.random(len(anchors)) < _SHUFFLED
        first = [
            _shuffle(lake[place], random) if shuffle else lake[place]
            for place, shuffle in zip(anchors, shuffled, strict=True)
        ]
        yield [*map(describe, first)], [describe(lake[place]) for place in others]


def _shuffle(cells: Cells, random: np.random.Generator) -> Cells:
    """Shuffle the distinct values, and set their frequencies to 1.

    Otherwise the frequencies would decide the order in the text.
    """
    values = [*cells.counts]
    return Cells(cells.name, {values[place]: 1 for place in random.permutation(len(values))})


def _fit(model: "SentenceTransformer", batches: Sequence[tuple[list[str], list[str]]]) -> None:
    full_length, model.max_seq_length = model.max_seq_length, _TOKENS
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE)
    warming = max(1, round(_WARM_UP * len(batches)))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / warming, total_iters=warming)
    model.train()
    for anchors, others in batches:
        optimizer.zero_grad()
        pair_loss(_embed(model, anchors), _embed(model, others)).backward()
        optimizer.step()
        schedule.step()
    model.eval()
    model.max_seq_length = full_length


def _embed(model: "SentenceTransformer", texts: list[str]) -> Float[Tensor, "text width"]:
    from sentence_transformers.util import batch_to_device  # noqa: PLC0415 (an optional requirement)

    features = batch_to_device(model.preprocess(texts), model.device)
    return model(features)["sentence_embedding"]


def pair_loss(
    anchors: Float[Tensor, "pair width"], others: Float[Tensor, "pair width"]
) -> Float[Tensor, ""]:
    """Compute the multiple-negatives ranking loss.

    Args:
        anchors: The anchor's vector of each pair.
        others: The other column's vector of each pair.

    Returns:
        The mean over anchors; 0 for a single pair.
    """
    scores = _SCALE * normalize(anchors, dim=1) @ normalize(others, dim=1).T
    return cross_entropy(scores, torch.arange(len(scores), device=scores.device))
