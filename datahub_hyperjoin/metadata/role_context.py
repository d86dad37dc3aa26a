"""Facts about a join, stored as text in the `context` of its role tag.

GraphQL shows neither the custom properties nor the structured properties of a relationship, but it
shows the text that is stored with a tag. Paths of joins need these facts, so that text holds them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import Self

from datahub_hyperjoin.joins import Join, RowCounts, is_in_two_steps
from datahub_hyperjoin.metadata.relationship_aspect import oriented
from datahub_hyperjoin.metadata.urns import column_id, column_urn
from datahub_hyperjoin.tables import ColumnId

_DIGITS = 4
_MEASURES = (
    "source_fan_out",
    "destination_fan_out",
    "source_containment",
    "destination_containment",
)
"""Names of the facts that are measured on the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleContext:
    """Facts about a join, stored as text in the `context` of its role tag."""

    source_fan_out: float | None = None
    """Mean number of joined rows for each source row that has a value; None if not measured."""

    destination_fan_out: float | None = None
    """Mean number of joined rows for each destination row that has a value."""

    source_containment: float | None = None
    """Share of the source's distinct values that the destination holds, in [0, 1]."""

    destination_containment: float | None = None
    """Share of the destination's distinct values that the source holds, in [0, 1]."""

    source_counts: RowCounts | None = None
    """The rows of the source table; None if unknown."""

    destination_counts: RowCounts | None = None
    """The rows of the destination table; None if unknown."""

    declared: bool = False
    """Whether a foreign key, or a relationship that someone else wrote, declares the join."""

    compared_as: str = ""
    """Name of the form in which values were compared, such as `countries`; empty if values were not
    converted."""

    via: tuple[str, str] | None = None
    """URNs of the two crosswalk columns; the column that joins the source is first. None without a
    crosswalk."""

    @classmethod
    def of(cls, join: Join) -> Self:
        """Collect the facts about a join."""
        _, evidence = oriented(join)
        declared = bool(join.catalog.declared or join.catalog.related)
        if evidence is None:
            return cls(declared=declared)
        return cls(
            source_fan_out=round(evidence.left_fan_out, _DIGITS),
            destination_fan_out=round(evidence.right_fan_out, _DIGITS),
            source_containment=_share(evidence.left_containment),
            destination_containment=_share(evidence.right_containment),
            source_counts=evidence.left_counts,
            destination_counts=evidence.right_counts,
            compared_as="" if is_in_two_steps(evidence) else evidence.compared_as,
            via=_crosswalk(join),
            declared=declared,
        )

    @property
    def text(self) -> str:
        """The facts about the join, as compact JSON."""
        facts = asdict(self)
        # Unknown fan-outs and containments are told as such.
        rare = ("compared_as", "via", "source_counts", "destination_counts")
        kept = {name: fact for name, fact in facts.items() if fact or name not in rare}
        return json.dumps(kept, separators=(",", ":"))

    @property
    def crosswalk(self) -> tuple[ColumnId, ColumnId] | None:
        """The two columns of the join's crosswalk; None without a crosswalk.

        The column that joins the source is first.
        """
        return (column_id(self.via[0]), column_id(self.via[1])) if self.via else None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the facts about a join from the text stored with its role tag.

        Returns:
            None for a tag that a person or another version of this package set.
        """
        try:
            facts: Any = json.loads(text)
            return cls._from(facts) if isinstance(facts, dict) else None
        except (InvalidUrnError, KeyError, TypeError, ValueError):
            return None

    @classmethod
    def _from(cls, facts: Mapping[str, Any]) -> Self:
        measures = {name: facts[name] for name in _MEASURES}
        unknown = all(measure is None for measure in measures.values())
        return cls(
            **({} if unknown else {name: float(value) for name, value in measures.items()}),
            source_counts=_read_counts(facts.get("source_counts")),
            destination_counts=_read_counts(facts.get("destination_counts")),
            declared=facts.get("declared") is True,
            compared_as=str(facts.get("compared_as", "")),
            via=_read_crosswalk(facts.get("via")),
        )


def _read_counts(counts: Any) -> RowCounts | None:  # noqa: ANN401 (parsed JSON)
    if counts is None:
        return None
    total, filled, matched = (counts[name] for name in ("total", "filled", "matched"))
    known = None if matched is None else int(matched)
    return RowCounts(total=int(total), filled=int(filled), matched=known)


def _share(containment: float) -> float:
    """Round a containment; the result is 1 only if all values match."""
    return 1.0 if containment == 1.0 else min(round(containment, _DIGITS), 1 - 10**-_DIGITS)


def _crosswalk(join: Join) -> tuple[str, str] | None:
    """Return the URNs of a join's crosswalk columns.

    The column that joins the source is first.
    """
    if join.via is None:
        return None
    source = oriented(join)[0][0][0]
    first, second = join.via if source == join.left else join.via[::-1]
    return column_urn(first), column_urn(second)


def _read_crosswalk(urns: Any) -> tuple[str, str] | None:  # noqa: ANN401 (parsed JSON)
    """Check and return the URNs of two crosswalk columns.

    Return None if there are none.
    """
    if urns is None:
        return None
    first, second = (column_urn(column_id(str(urn))) for urn in urns)
    return first, second
