"""The error for a run that needs too much memory.

HyperJoinError
└─ NotEnoughMemoryError
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.budget.counts import LakeCounts
from datahub_hyperjoin.errors import HyperJoinError


class NotEnoughMemoryError(HyperJoinError, MemoryError):
    """A run needs more memory than it may use, so it stops before it compares values."""

    def __init__(self, message: str, *, needed: int = 0, allowed: int = 0) -> None:
        """Store the message, and the needed and the allowed memory in MiB."""
        super().__init__(message)
        self.needed = needed
        self.allowed = allowed

    @classmethod
    def from_estimate(
        cls, counts: LakeCounts, *, needed: int, allowed: int, limit: str, remedies: Sequence[str]
    ) -> Self:
        """Report the estimate and the limit, and how to lower the estimate or raise the limit.

        Args:
            remedies: What lowers the memory, the best first, and the way to go on anyway.
        """
        return cls(
            f"this run needs an estimated {needed:,} MiB of memory, and {limit} {allowed:,} MiB: "
            f"it compares {counts.columns:,} columns, {counts.keys:,} of them key columns, and "
            f"expects {counts.kept:,} pairs that share values. {'; or '.join(remedies)}",
            needed=needed,
            allowed=allowed,
        )
