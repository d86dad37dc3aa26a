"""Compare what a database computes for known values with what this package computes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm

_REWRITTEN = ("12.00", "-0", "12.01", "2024-01-31T09:30Z", "2024-01-31 09:30:01.2500+00:00", "1e3")
_TEXTS = (*_REWRITTEN, " Oslo\t \x1cx ")
"""Texts whose normal forms need each of the rewrites, or other spaces and letters."""


class Probe(NamedTuple):
    """A known value, whose normal form a database is asked for."""

    type: TypeEngine[Any]
    """The type of a column with this value, as SQLAlchemy reflects it."""

    value: str
    """Expression of the value in the SQL of the database."""

    normal: str
    """The normal form, as this package computes it."""


def probes_of_texts(type_: TypeEngine[Any], quote_text: Callable[[str], str]) -> list[Probe]:
    """List texts whose normal forms are difficult."""
    return [Probe(type_, quote_text(text), normal_form(text)) for text in _TEXTS]


def computes_probes(
    connection: Connection,
    form_of: Callable[[TypeEngine[object]], SqlForm | None],
    probes: Sequence[Probe],
    row: str = "",
) -> bool:
    """Return whether a database computes the normal forms of known values as this package does.

    Args:
        row: The clause `FROM` of one row on which the values depend, if they do.

    Returns:
        True if all normal forms are equal, and the database takes all of them for exact.
    """
    forms = [form_of(each.type) for each in probes]
    queries = [
        _query(place, form, each.value, row)
        for place, (each, form) in enumerate(zip(probes, forms, strict=True))
        if form
    ]
    computed = connection.exec_driver_sql(" UNION ALL ".join(queries)).all()
    return {*map(tuple, computed)} == {(at, each.normal) for at, each in enumerate(probes)}


def _query(place: int, form: SqlForm, value: str, row: str) -> str:
    """Write the query for the normal form of one value, without a row if it may be wrong."""
    return (
        f"SELECT {place} AS place, {form.normal} AS f FROM (SELECT {form.folded} AS f FROM "  # noqa: S608
        f"(SELECT {form.value.format(value)} AS v{row}) AS d WHERE NOT ({form.inexact})) AS e"
    )
