"""How far training has come: all that the next epoch depends on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from datahub_hyperjoin.model.network.hin import HIN
from datahub_hyperjoin.model.network.optimizers import Optimizers


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

    resumed: bool = False
    """Whether a run that was killed had made the epochs before it."""


def _copy(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in tensors.items()}


@dataclass
class TrainingState:
    """A network on its way, with everything that moves it; changes with every epoch."""

    network: HIN
    optimizers: Optimizers

    random: np.random.Generator
    """Where views come from; torch's own generators count too."""

    history: list[Epoch] = field(default_factory=list)
    """All epochs so far."""

    best: dict[str, Tensor] = field(default_factory=dict)
    """The weights of the best epoch."""

    best_score: float = -np.inf
    """What it was chosen by."""

    best_epoch: int = 0
    """Its number."""

    def note(self, epoch: Epoch, score: float) -> None:
        """Ends an epoch.

        Args:
            epoch: What it achieved.
            score: What epochs are chosen by; the first of the greatest is best.
        """
        self.history.append(epoch)
        if score > self.best_score:
            self.best = _copy(self.network.state_dict())
            self.best_score, self.best_epoch = score, epoch.number

    def finished(self, *, epochs: int, patience: int) -> bool:
        """Whether there is nothing more to do.

        Args:
            epochs: Most epochs.
            patience: Epochs without a better one before training stops.

        Returns:
            True after the last epoch.
        """
        done = len(self.history)
        return done >= epochs or (done > 0 and done - self.best_epoch >= patience)

    def tensors(self) -> dict[str, Tensor]:
        """Everything about it that is a tensor.

        Returns:
            Weights, the best weights, the optimizers' moments and torch's generators by name.
        """
        found = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        found |= {f"best.{name}": value for name, value in self.best.items()}
        for at, optimizer in enumerate(self.optimizers):
            for parameter, moments in optimizer.state_dict()["state"].items():
                for name, value in moments.items():
                    found[f"optimizer.{at}.{parameter}.{name}"] = torch.as_tensor(value)
        found["random.cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            found["random.cuda"] = torch.cuda.get_rng_state()
        return found

    def facts(self) -> str:
        """Everything else about it.

        Returns:
            JSON.
        """
        return json.dumps(
            {
                "random": self.random.bit_generator.state,
                "history": [asdict(epoch) for epoch in self.history],
                "best_score": self.best_score,
                "best_epoch": self.best_epoch,
            }
        )

    def restore(self, tensors: Mapping[str, Tensor], facts: str) -> None:
        """Becomes the state that was written down.

        Args:
            tensors: What `tensors` gave.
            facts: What `facts` gave.
        """
        said = json.loads(facts)
        self.network.load_state_dict(_below("network.", tensors))
        self.best = _copy(_below("best.", tensors))
        for at, optimizer in enumerate(self.optimizers):
            moments: dict[int, dict[str, Any]] = {}
            for name, value in _below(f"optimizer.{at}.", tensors).items():
                parameter, _, kind = name.partition(".")
                whole = not value.is_floating_point()  # SparseAdam counts steps as a number
                moments.setdefault(int(parameter), {})[kind] = value.item() if whole else value
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": moments, "param_groups": groups})
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
        self.random.bit_generator.state = said["random"]
        self.history = [Epoch(**epoch) for epoch in said["history"]]
        self.best_score, self.best_epoch = said["best_score"], said["best_epoch"]


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
