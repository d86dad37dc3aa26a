"""Train the network without labels, and keep the weights of the best epoch."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, relu
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import EpochSelection, Loss, Method
from datahub_hyperjoin.model.encode import Epoch
from datahub_hyperjoin.model.errors import CollapsedError, NonFiniteLossError
from datahub_hyperjoin.model.network.hin import (
    HIN,
    build_optimizers,
    set_rate,
    take_step,
    to_device,
)
from datahub_hyperjoin.model.saved.journal import Journal, TrainingState
from datahub_hyperjoin.model.signals.pairs import KeyInts, SomeInts
from datahub_hyperjoin.model.training.augmented_views import PairBatch, ViewSource, sample_pairs

_Cosines = Float[Tensor, "pair candidate"]
_Positives = Int[Tensor, " pair"]
_Negatives = Bool[Tensor, "pair candidate"]
_Loss = Float[Tensor, ""]


def triplet_loss(
    cosines: _Cosines, positive: _Positives, negative: _Negatives, margin: float
) -> _Loss:
    """Compute the margin ranking loss with the hardest negative (paper, equation 15)."""
    # mean of [margin + max over negatives of s(C, C-) - s(C, C+)]+
    near = cosines.gather(1, positive[:, None]).squeeze(1)
    hardest = cosines.masked_fill(~negative, -1.0).amax(dim=1)
    return relu(margin + hardest - near).mean()


def infonce_loss(
    cosines: _Cosines, positive: _Positives, negative: _Negatives, temperature: float
) -> _Loss:
    """Compute the InfoNCE loss (van den Oord et al., 2018)."""
    counted = negative.scatter(1, positive[:, None], value=True)
    return cross_entropy(cosines.masked_fill(~counted, -torch.inf) / temperature, positive)


def measure_loss(
    cosines: _Cosines, positive: _Positives, negative: _Negatives, method: Method
) -> _Loss:
    """Compute the configured loss: triplet or InfoNCE."""
    match method.loss:
        case Loss.TRIPLET:
            return triplet_loss(cosines, positive, negative, method.margin)
        case Loss.INFONCE:
            return infonce_loss(cosines, positive, negative, method.temperature)
    assert_never(method.loss)


_COLLAPSED = 0.98  # mean cosine of random columns above which embeddings carry no information
_FEWEST = 10
"""Minimum number of held-out keys. With fewer, recall compares epochs no better than chance."""
_MOST = 512
"""Maximum number of held-out keys. With so many, recall has a standard error of at most 2 points.
More keys would enlarge the validation batch, and training would lack them."""


def measure_cosines(network: HIN, pairs: PairBatch) -> _Cosines:
    """Compute the cosine similarity of every query to every candidate."""
    embeddings = network(pairs.batch)
    queries = embeddings.index_select(0, pairs.queries)
    return queries @ embeddings.index_select(0, pairs.candidates).T


def hold_out(keys: KeyInts, share: float, random: np.random.Generator) -> tuple[SomeInts, SomeInts]:
    """Split the key columns into keys for training and keys for validation."""
    # If there are too few to hold any out, all keys are in both parts.
    count = min(int(len(keys) * share), _MOST)
    if count < _FEWEST:
        return keys, keys[:_MOST]
    order = random.permutation(keys)
    return order[count:], order[:count]


@torch.inference_mode()
def measure_recall(network: HIN, pairs: PairBatch) -> float:
    """Compute the share of queries that are nearer to their positive than to any negative."""
    cosines = measure_cosines(network.eval(), pairs)
    own = cosines.gather(1, pairs.positive[:, None])
    nearer = ((cosines > own) & pairs.negative).any(dim=1)
    return float((~nearer).float().mean())


@torch.inference_mode()
def check_spread(network: HIN, pairs: PairBatch) -> None:
    """Raise an error if all embeddings are similar."""
    mean = float(measure_cosines(network.eval(), pairs)[pairs.negative].mean())
    if mean > _COLLAPSED:
        raise CollapsedError.from_cosine(mean)


_NO_JOURNAL = Journal()


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Make torch deterministic within a `with` block."""
    # `use_deterministic_algorithms` does the same, but first imports torch's compiler: 3 seconds.
    before = torch.get_deterministic_debug_mode()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_deterministic_debug_mode("error")
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(before)


def _run_epoch(state: TrainingState, batches: Iterator[PairBatch], method: Method) -> float:
    network = state.network.train()
    losses = []
    for pairs in batches:
        cosines = measure_cosines(network, pairs)
        loss = measure_loss(cosines, pairs.positive, pairs.negative, method)
        take_step(network, state.optimizers, loss, method.gradient_clip)
        losses.append(loss.item())
    return float(np.mean(losses))


def fit(
    network: HIN,
    data: ViewSource,
    keys: KeyInts,
    random: np.random.Generator,
    journal: Journal = _NO_JOURNAL,
) -> Iterator[Epoch]:
    """Train a network in place, and keep the weights of the best epoch."""
    # Iterate inside `repeatable`, from the first epoch to the last. Epochs of an interrupted run
    # are not repeated.
    config, method = data.config.training, data.config.setting
    device = next(network.parameters()).device

    def draw(chosen: Int[np.ndarray, " chosen"]) -> PairBatch:
        return to_device(sample_pairs(data, chosen, random), device)

    trained, held_out = hold_out(keys, method.held_out, random)
    validation = draw(held_out)
    optimizers = build_optimizers(network)
    state = TrainingState(network=network, optimizers=optimizers, random=random)
    resumed = journal.resume(state)
    while not state.finished(epochs=config.epochs, patience=method.patience):
        started, number = perf_counter(), len(state.history) + 1
        warm = min(number / (method.warmup_epochs + 1), 1.0)
        set_rate(optimizers, config.learning_rate * warm)
        order = random.permutation(trained)
        chunks = np.array_split(order, max(round(len(order) / config.batch_size), 1))
        loss = _run_epoch(state, map(draw, chunks), method)
        if not np.isfinite(loss):
            raise NonFiniteLossError.at_epoch(number, loss)
        recall = measure_recall(network, validation)
        epoch = Epoch(number, loss, recall, perf_counter() - started, resumed)
        state.note(epoch, recall if method.selection is EpochSelection.RECALL else -loss)
        journal.note(state)
        resumed = False
        yield epoch
    network.load_state_dict(state.best)
    check_spread(network, validation)
