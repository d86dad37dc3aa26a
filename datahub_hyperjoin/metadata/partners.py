"""The join partners that a column lists in its structured properties, also as texts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.joins import NOT_VERIFIED, Role
from datahub_hyperjoin.metadata.urns import (
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    column_id,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.visible import visible

RELATIONS = {
    Role.REFERENCE: ("many to one", "one to many"),
    Role.ONE_TO_ONE: ("one to one", "one to one"),
    Role.SIBLING: ("same key", "same key"),
    Role.SAME_DOMAIN: ("shared values", "shared values"),  # domains are something else in DataHub
}
"""For each role, the relation of the referring column to its partner, and the reverse relation."""

_KINDS = "|".join(sorted({kind for kinds in RELATIONS.values() for kind in kinds}))
_NOTES = re.compile(
    rf" \((\d\.\d\d)?(?:, )?(?:([<>]?\d+% of (?:values|rows)), )?((?:{_KINDS}|through ).*)?\)$"
)
"""The end of a suggestion's text: the score if it is below 1.00, the share of the column's rows or
values that have a partner, and the relation between both columns."""

_IN_KEY, _THROUGH = "in a key of ", "through "


def in_key(columns: int) -> str:
    """Say that a column joins as a part of a key."""
    return f"{_IN_KEY}{columns} columns"


def name_through(crosswalk: str) -> str:
    """Name the crosswalk of a join in two steps."""
    return visible(f"{_THROUGH}{crosswalk}, in two steps")


@dataclass(frozen=True, slots=True)
class Partner:
    """A column that joins with a given column."""

    column: ColumnId
    score: float
    relation: str = ""
    """How the given column relates to the partner, as in `many to one`; empty if unknown."""

    share: str = ""
    """How many of the given column's rows or values have a partner, as in `96% of rows`."""

    @property
    def is_verified(self) -> bool:
        """Whether the join was verified on the data."""
        return not self.relation.endswith(NOT_VERIFIED)

    @property
    def kind(self) -> str:
        """The first words of `relation`, such as `many to one`."""
        return self.relation.partition(", ")[0]

    @property
    def is_direct(self) -> bool:
        """Whether the two columns alone are joined, rather than two keys or through a crosswalk."""
        return not (_IN_KEY in self.relation or self.kind.startswith(_THROUGH))

    @property
    def notes(self) -> str:
        """Score (unless it is 1.00), `share` and `relation` as text, separated by commas."""
        return ", ".join(filter(None, [score_in_words(self.score), self.share, self.relation]))


def read_partners(values: Mapping[str, Sequence[object]], namespace: str) -> list[Partner]:
    """Read the join partners that `emit_column` wrote for a column."""
    urns, texts = (
        values.get(property_urn(namespace, name), []) for name in (JOINABLE_WITH, JOIN_SUGGESTIONS)
    )
    # The last text may count the tables that the list leaves out.
    notes = [found for text in texts if (found := _NOTES.search(str(text)))]
    # The two lists belong together by position. If a person edited one, neither can be trusted.
    if len(urns) != len(notes):
        return []
    return [
        Partner(column_id(str(urn)), float(found[1] or 1), found[3] or "", found[2] or "")
        for urn, found in zip(urns, notes, strict=True)
    ]


def score_in_words(score: float) -> str:
    """Write a joinability with two decimals; empty if it is 1.00."""
    text = f"{score:.2f}"
    return "" if text == "1.00" else text
