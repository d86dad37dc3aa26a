"""Format the evidence of a join, for people and for programs."""

from typing import Any

from datahub_hyperjoin.export.safe_joins import SafeJoin
from datahub_hyperjoin.export.schema import NamedJoin
from datahub_hyperjoin.tables import DataType

_LESS_THAN_ALL = 99.9


def describe_evidence(join: SafeJoin) -> str:
    """Describe a join's evidence in one line."""
    words = [
        "one-to-one" if join.is_one_to_one else "many-to-one",
        *([_share(join.containment)] if join.containment is not None else []),
        *([f"joinability {join.joinability:.2f}"] if join.joinability is not None else []),
        *(["confirmed by people or the catalog"] if join.is_confirmed else []),
    ]
    return ", ".join(words)


def _share(containment: float) -> str:
    """Format a containment as a percentage, which is 100 % only if all values match."""
    percent = "100" if containment == 1.0 else f"{min(100 * containment, _LESS_THAN_ALL):.1f}"
    return f"{percent} % of the values match"


def list_evidence(join: SafeJoin) -> dict[str, Any]:
    """Return a join's evidence as a dictionary, for programs."""
    return {
        "relationship": join.urn,
        "role": join.role.value if join.role else None,
        "joinability": join.joinability,
        "containment": join.containment,
        "confirmed": join.is_confirmed,
    }


def is_reliable(named: NamedJoin) -> bool:
    """Return whether a query optimizer may rely on a join.

    It may if every value was found, all rows were compared, and both sides are integers. Texts were
    compared without regard to case and spaces, and times only within some thousand years. Only
    integers are equal in SQL exactly where they were equal then.
    """
    types = [
        *(named.referring.columns[path] for path in named.join.referring_columns),
        *(named.referenced.columns[path] for path in named.join.referenced_columns),
    ]
    return named.join.is_complete and all(kind is DataType.INTEGER for kind in types)
