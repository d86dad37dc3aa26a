"""The result of one epoch of training."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    """The result of one epoch of training."""

    number: int
    """The number of the epoch, from 1."""

    loss: float
    """The mean loss of the epoch's steps."""

    recall: float
    """Share of held-out keys whose positive is nearest among all candidates, in [0, 1]."""

    seconds: float
    """Duration in seconds."""

    resumed: bool = False
    """Whether this epoch is the first one after resuming."""
