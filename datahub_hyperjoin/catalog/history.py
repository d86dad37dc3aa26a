"""The metadata that earlier runs of a pipeline wrote or hid (soft-deleted)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datahub_hyperjoin.tables import Pair, TableId


@dataclass(frozen=True, kw_only=True)
class History:
    """The metadata that earlier runs of a pipeline wrote or hid (soft-deleted)."""

    written: Mapping[str, Pair] = field(default_factory=dict)
    """Relationships that the last run wrote, by URN."""

    rejected: Mapping[str, Pair] = field(default_factory=dict)
    """Relationships of any earlier run that people deleted, hid or rejected, by URN."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """URNs of relationships and queries that runs hid, with the ID of the run."""

    columns: Sequence[str] = ()
    """URNs of some columns whose properties the last run wrote."""

    unseen: frozenset[str] = frozenset()
    """URNs of written relationships and queries that no run has read back."""

    tables: frozenset[TableId] = frozenset()
    """The tables about which the last run wrote anything."""

    lost: bool = False
    """Whether the catalog lacks the checkpoint that earlier runs should have left."""

    others: "tuple[History, ...]" = ()
    """The histories of the other pipelines."""

    @property
    def all(self) -> "tuple[History, ...]":
        """The histories of this pipeline and of all other pipelines."""
        return (self, *self.others)

    @property
    def hiders(self) -> frozenset[str]:
        """The IDs of the runs that hid metadata.

        The runs of all pipelines count.
        """
        return frozenset(run for one in self.all for run in one.hidden.values())
