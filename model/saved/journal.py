"""Save the progress of training, so that an interrupted run can resume.

The journal is replaced as a whole at the end of an epoch. Whenever the run is killed, there is an
old journal, a new one or none, and resuming from any of them ends with the same model, byte for
byte.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from datahub_hyperjoin.model.saved.files import JOURNAL
from datahub_hyperjoin.model.saved.training_state import TrainingState
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_SHARE = 0.1
"""Maximum share of the time that may be spent on writing."""


class Journal:
    """A file with the progress of a training run.

    Args:
        folder: The folder of the model; without it nothing is saved.
    """

    def __init__(self, folder: Path | None = None, fingerprint: str = "") -> None:
        self._file = folder / JOURNAL if folder else None
        self._fingerprint = fingerprint
        self._cost = 0.0
        self._since = perf_counter()

    def resume(self, state: TrainingState) -> bool:
        """Load the progress of an interrupted run into `state`; return False if none was loaded.

        A state with another fingerprint is ignored.
        """
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
        """Save the training state, unless saving would take too much of the training time.

        At most about a tenth of the time is spent on saving. If it fails, training goes on.
        """
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
