"""Train the network without labels, and keep the weights of the best epoch."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Int

from datahub_hyperjoin.model.config import EpochSelection, Method
from datahub_hyperjoin.model.errors import NonFiniteLossError
from datahub_hyperjoin.model.network.hin import HIN, to_device
from datahub_hyperjoin.model.network.optimizers import build_optimizers, set_rate, take_step
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.saved.training_state import TrainingState
from datahub_hyperjoin.model.training.augmented_views import PairBatch, ViewSource, sample_pairs
from datahub_hyperjoin.model.training.losses import measure_loss
from datahub_hyperjoin.model.training.validation import (
    check_spread,
    hold_out,
    measure_cosines,
    measure_recall,
)

_NO_JOURNAL = Journal()


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Make torch deterministic within a `with` block.

    Its settings are restored at the end.
    """
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
    keys: Int[np.ndarray, " key"],
    random: np.random.Generator,
    journal: Journal = _NO_JOURNAL,
) -> Iterator[Epoch]:
    """Train a network in place, and keep the weights of the best epoch.

    Iterate inside `repeatable`, from the first epoch to the last.

    Yields:
        One epoch at a time, so that the caller can report progress or stop. Epochs of an
        interrupted run are not repeated.
    """
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
