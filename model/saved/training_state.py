"""The state of a training run, which is saved so that training can resume."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from datahub_hyperjoin.model.network.hin import HIN
from datahub_hyperjoin.model.network.optimizers import Optimizers
from datahub_hyperjoin.model.saved.epoch import Epoch


def _copy(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in tensors.items()}


@dataclass
class TrainingState:
    """The state of a training run: network, optimizers, random generator and history."""

    network: HIN
    optimizers: Optimizers

    random: np.random.Generator
    """The random generator that draws the augmented views; the state also includes torch's
    generators."""

    history: list[Epoch] = field(default_factory=list)
    """The epochs so far."""

    best: dict[str, Tensor] = field(default_factory=dict)
    """The weights of the best epoch."""

    best_score: float = -np.inf
    """The score of the best epoch."""

    best_epoch: int = 0
    """The number of the best epoch."""

    def note(self, epoch: Epoch, score: float) -> None:
        """Record the result of an epoch.

        If it is the best so far, keep its weights.

        Args:
            score: Its score. Of several epochs with the greatest score, the first is best.
        """
        self.history.append(epoch)
        if score > self.best_score:
            # Copied, because training changes the network's tensors in place.
            self.best = _copy(self.network.state_dict())
            self.best_score, self.best_epoch = score, epoch.number

    def finished(self, *, epochs: int, patience: int) -> bool:
        """Return whether training is finished.

        Args:
            patience: Number of epochs without improvement after which training stops.
        """
        done = len(self.history)
        return done >= epochs or (done > 0 and done - self.best_epoch >= patience)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of the state by name.

        Returns:
            Weights, the best weights, the optimizers' moments and torch's generators by name.
        """
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for number, optimizer in enumerate(self.optimizers):
            for parameter, moments in optimizer.state_dict()["state"].items():
                for name, value in moments.items():
                    tensors[f"optimizer.{number}.{parameter}.{name}"] = torch.as_tensor(value)
        # Dropout draws from torch's generators.
        tensors["random.cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        return tensors

    def facts(self) -> str:
        """Return the state without its tensors, as JSON."""
        return json.dumps(
            {
                "random": self.random.bit_generator.state,
                "history": [asdict(epoch) for epoch in self.history],
                "best_score": self.best_score,
                "best_epoch": self.best_epoch,
            }
        )

    def restore(self, tensors: Mapping[str, Tensor], facts: str) -> None:
        """Restore this state from earlier results of the methods `tensors` and `facts`."""
        saved = json.loads(facts)
        self.network.load_state_dict(_below("network.", tensors))
        self.best = _copy(_below("best.", tensors))
        for number, optimizer in enumerate(self.optimizers):
            moments: dict[int, dict[str, Any]] = {}
            for name, value in _below(f"optimizer.{number}.", tensors).items():
                parameter, _, kind = name.partition(".")
                is_step = not value.is_floating_point()  # SparseAdam counts steps as an int
                moments.setdefault(int(parameter), {})[kind] = value.item() if is_step else value
            # Groups hold settings only, which the new optimizer already has.
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": moments, "param_groups": groups})
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
        self.random.bit_generator.state = saved["random"]
        self.history = [Epoch(**epoch) for epoch in saved["history"]]
        self.best_score, self.best_epoch = saved["best_score"], saved["best_epoch"]


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
