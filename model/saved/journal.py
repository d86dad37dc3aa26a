"""Save the progress of training, so that an interrupted run can resume.

The journal is replaced as a whole at the end of an epoch. Whenever the run is killed, there is an
old journal, a new one or none, and resuming from any of them ends with the same model, byte for
byte.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from datahub_hyperjoin.model.encode import Epoch
from datahub_hyperjoin.model.network.hin import HIN, Optimizers
from datahub_hyperjoin.model.saved.files import JOURNAL
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


def _copy(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in tensors.items()}


@dataclass
class TrainingState:
    """The state of a training run: network, optimizers, random generator and history."""

    network: HIN
    optimizers: Optimizers
    random: np.random.Generator
    history: list[Epoch] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float = -np.inf
    best_epoch: int = 0

    def note(self, epoch: Epoch, score: float) -> None:
        """Record the result of an epoch."""
        self.history.append(epoch)
        if score > self.best_score:
            # Copied, because training changes the network's tensors in place.
            self.best = _copy(self.network.state_dict())
            self.best_score, self.best_epoch = score, epoch.number

    def finished(self, *, epochs: int, patience: int) -> bool:
        """Return whether training is finished."""
        done = len(self.history)
        return done >= epochs or (done > 0 and done - self.best_epoch >= patience)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of the state by name."""
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


_SHARE = 0.1  # maximum share of the time that may be spent on writing


class Journal:
    """A file with the progress of a training run."""

    def __init__(self, folder: Path | None = None, fingerprint: str = "") -> None:
        self._file = folder / JOURNAL if folder else None
        self._fingerprint = fingerprint
        self._cost = 0.0
        self._since = perf_counter()

    def resume(self, state: TrainingState) -> bool:
        """Load the progress of an interrupted run into `state`; return False if none was loaded."""
        if not self._file or not self._file.exists():
            return False
        try:
            with safe_open(self._file, framework="pt") as journal:
                metadata = journal.metadata() or {}
                if metadata.get("fingerprint") != self._fingerprint:
                    logger.info("Ignoring the journal %s: it is of another training", self._file)
                    return False
                tensors = {name: journal.get_tensor(name) for name in journal.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            logger.info("Ignoring the journal %s: it cannot be read: %s", self._file, error)
            return False
        facts = metadata.get("facts", "")
        # Safetensors files have no checksum of their own.
        if metadata.get("checksum") != _checksum_of(tensors, facts):
            logger.warning("Ignoring the journal %s: it is damaged", self._file)
            return False
        state.restore(tensors, facts)
        logger.info("Resuming training after epoch %s", len(state.history))
        return True

    def note(self, state: TrainingState) -> None:
        """Save the training state, unless saving would take too much of the training time."""
        # At most about a tenth of the time is spent on saving. If it fails, training goes on.
        started = perf_counter()
        if not self._file or self._cost > _SHARE * (started - self._since):
            return
        tensors, facts = state.tensors(), state.facts()
        metadata = {
            "fingerprint": self._fingerprint,
            "facts": facts,
            "checksum": _checksum_of(tensors, facts),
        }
        try:
            with replacing(self._file) as unfinished:
                save_file(tensors, unfinished, metadata=metadata)
        except (OSError, SafetensorError) as error:
            logger.warning("Cannot store training progress in %s: %s", self._file, error)
            self._cost = float("inf")  # not tried again
            return
        self._since = perf_counter()
        self._cost = self._since - started

    def discard(self) -> None:
        """Delete the journal, which is not needed once the model is saved."""
        if self._file:
            self._file.unlink(missing_ok=True)


def _checksum_of(tensors: Mapping[str, Tensor], facts: str) -> str:
    hashed = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        hashed.update(f"{name} {tensor.dtype} {[*tensor.shape]}".encode())
        hashed.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()
