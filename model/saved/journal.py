"""What a run writes down while it trains, so that one that was killed is taken up where it was.

The journal is replaced as a whole, at the end of an epoch, so that whenever the run dies there is
an old one, a new one or none. Whoever goes on from any of them ends with the same model, byte for
byte.
"""

import logging
from pathlib import Path
from time import perf_counter

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from datahub_hyperjoin.model.saved.files import JOURNAL, part_of, replacing
from datahub_hyperjoin.model.saved.training_state import TrainingState

logger = logging.getLogger(__name__)

_SHARE = 0.1
"""Most of the time that may go into writing."""


class Journal:
    """Keeps the last state of a training in a folder.

    Args:
        folder: The model's; without one nothing is kept.
        fingerprint: Of all that the training depends on.
    """

    def __init__(self, folder: Path | None = None, fingerprint: str = "") -> None:
        self._file = folder / JOURNAL if folder else None
        self._fingerprint = fingerprint
        self._cost = 0.0
        self._since = perf_counter()

    def resume(self, state: TrainingState) -> bool:
        """Takes up a training where it was interrupted, if it was this one.

        Args:
            state: As training begins; becomes what was written down.

        Returns:
            Whether it did.
        """
        if not self._file or not self._file.exists():
            return False
        try:
            with safe_open(self._file, framework="pt") as journal:
                said = journal.metadata() or {}
                if said.get("fingerprint") != self._fingerprint:
                    logger.info("The journal in %s is of another training: ignored", self._file)
                    return False
                tensors = {name: journal.get_tensor(name) for name in journal.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            logger.info("The journal in %s cannot be read and is ignored: %s", self._file, error)
            return False
        state.restore(tensors, said["facts"])
        logger.info("Training goes on after epoch %s", len(state.history))
        return True

    def note(self, state: TrainingState) -> None:
        """Writes a state down, unless writing would take more than a tenth of the time.

        Args:
            state: At the end of an epoch.
        """
        started = perf_counter()
        if not self._file or self._cost > _SHARE * (started - self._since):
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        said = {"fingerprint": self._fingerprint, "facts": state.facts()}
        with replacing(self._file) as part:
            save_file(state.tensors(), part, metadata=said)
        self._since = perf_counter()
        self._cost = self._since - started

    def discard(self) -> None:
        """Forgets the training: its model is saved."""
        if self._file:
            self._file.unlink(missing_ok=True)
            part_of(self._file).unlink(missing_ok=True)
