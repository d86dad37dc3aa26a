"""Fits the network without labels and keeps its best epoch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from datahub_hyperjoin.errors import CollapsedError, NonFiniteLossError
from datahub_hyperjoin.model.config import TrainingConfig
from datahub_hyperjoin.model.hin import HIN, to_device
from datahub_hyperjoin.model.losses import measure_loss
from datahub_hyperjoin.model.views import Material, Pairs, draw_pairs

_COLLAPSED = 0.98
"""Mean cosine of random columns from which an embedding says nothing."""


@dataclass(frozen=True)
class Epoch:
    """What one pass over the key columns achieved."""

    number: int
    """From 1."""

    loss: float
    """Mean over its steps."""

    recall: float
    """Share of held-out keys whose positive is nearest among all candidates, in [0, 1]."""

    seconds: float
    """How long it took."""


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Makes torch give the same numbers every time, and leaves its settings as they were.

    Args:
        seed: Where torch's own generator starts.
    """
    before = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(mode=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(mode=before)


def _cosines(network: HIN, pairs: Pairs) -> Float[Tensor, "pair candidate"]:
    embeddings = network(pairs.batch)
    queries = embeddings.index_select(0, pairs.queries)
    return queries @ embeddings.index_select(0, pairs.candidates).T


def _hold_out(
    keys: Int[np.ndarray, " key"], share: float, random: np.random.Generator
) -> tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]:
    """Keys to learn from and keys to choose the epoch by; of few keys, all serve as both."""
    count = int(len(keys) * share)
    if count < 10:  # noqa: PLR2004 - fewer tell epochs apart no better than chance
        return keys, keys
    order = random.permutation(keys)
    return order[count:], order[:count]


@torch.inference_mode()
def _recall(network: HIN, pairs: Pairs) -> float:
    network.eval()
    cosines = _cosines(network, pairs)
    own = cosines.gather(1, pairs.positive[:, None])
    nearer = ((cosines > own) & pairs.negative).any(dim=1)
    return float((~nearer).float().mean())


def _check_spread(cosines: Float[Tensor, "pair candidate"], pairs: Pairs) -> None:
    """Refuses a network for which joinable and other columns are alike."""
    mean = float(cosines[pairs.negative].mean())
    if mean > _COLLAPSED:
        raise CollapsedError.from_cosine(mean)


def _run_epoch(
    network: HIN,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Pairs],
    config: TrainingConfig,
) -> float:
    network.train()
    losses = []
    for pairs in batches:
        loss = measure_loss(_cosines(network, pairs), pairs.positive, pairs.negative, config)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(network.parameters(), config.gradient_clip)
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def fit(
    network: HIN,
    material: Material,
    keys: Int[np.ndarray, " key"],
    config: TrainingConfig,
    random: np.random.Generator,
) -> Iterator[Epoch]:
    """Trains a network in place; when the last epoch is drawn, it has the best epoch's weights.

    Run it inside `repeatable`, from its first epoch to its last.

    Args:
        network: What is fitted.
        material: The lake that views are cut from.
        keys: Its key columns.
        config: How long and how.
        random: Where views come from.

    Yields:
        One epoch at a time, so that the caller can show progress or stop.

    Raises:
        NonFiniteLossError: The loss is no number any more.
        CollapsedError: All embeddings are alike.
    """
    learnt, held_out = _hold_out(keys, config.held_out, random)
    device = next(network.parameters()).device
    validation = to_device(draw_pairs(material, held_out, random), device)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, fused=True)
    best, best_recall, best_epoch = network.state_dict(), -1.0, 0
    for number in range(1, config.epochs + 1):
        started = perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(number / (config.warmup_epochs + 1), 1.0)
        order = random.permutation(learnt)
        chunks = np.array_split(order, max(round(len(order) / config.batch_size), 1))
        batches = (to_device(draw_pairs(material, chunk, random), device) for chunk in chunks)
        loss = _run_epoch(network, optimizer, batches, config)
        if not np.isfinite(loss):
            raise NonFiniteLossError.at_epoch(number, loss)
        recall = _recall(network, validation)
        if recall > best_recall:
            best = {name: value.clone() for name, value in network.state_dict().items()}
            best_recall, best_epoch = recall, number
        yield Epoch(number=number, loss=loss, recall=recall, seconds=perf_counter() - started)
        if number - best_epoch >= config.patience:
            break
    network.load_state_dict(best)
    with torch.inference_mode():
        _check_spread(_cosines(network.eval(), validation), validation)
