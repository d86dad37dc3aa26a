"""Facts about a join, stored as text with the DataHub tag for the join's role.

GraphQL shows neither the custom properties nor the structured properties of a relationship, but it
shows the text that is stored with a tag. Paths of joins need these facts, so that text holds them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from typing_extensions import Self

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.relationship_aspect import oriented

_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleContext:
    """Facts about a join that are stored with the DataHub tag for its role."""

    source_fan_out: float
    """Mean rows of the join for each row of the source that has a value."""

    destination_fan_out: float
    """Mean rows of the join for each row of the destination that has a value."""

    source_containment: float
    """Share of the source's distinct values that the destination holds, in [0, 1]."""

    destination_containment: float
    """Share of the destination's distinct values that the source holds, in [0, 1]."""

    declared: bool = False
    """Whether a foreign key or a relationship of someone else declares the join."""

    @classmethod
    def of(cls, join: Join) -> Self:
        """Collect the facts about a join from its evidence.

        Args:
            join: The join.
        """
        _, evidence = oriented(join)
        return cls(
            source_fan_out=round(evidence.left_fan_out, _DIGITS),
            destination_fan_out=round(evidence.right_fan_out, _DIGITS),
            source_containment=round(evidence.left_containment, _DIGITS),
            destination_containment=round(evidence.right_containment, _DIGITS),
            declared=bool(join.catalog.declared or join.catalog.related),
        )

    @property
    def text(self) -> str:
        """The facts as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the facts from the text that is stored with a tag.

        Args:
            text: The text.

        Returns:
            None for a tag that a person or another version of this package set.
        """
        try:
            facts: Any = json.loads(text)
            return cls._from(facts) if isinstance(facts, dict) else None
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def _from(cls, facts: Mapping[str, Any]) -> Self:
        return cls(
            source_fan_out=float(facts["source_fan_out"]),
            destination_fan_out=float(facts["destination_fan_out"]),
            source_containment=float(facts["source_containment"]),
            destination_containment=float(facts["destination_containment"]),
            declared=facts.get("declared") is True,
        )
