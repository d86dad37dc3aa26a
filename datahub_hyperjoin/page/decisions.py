"""Prepare people's decisions for the HTML page.

The page adds decisions, and downloads the file with all of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.decision_file import FiledDecision
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import TableId

_Row = tuple[str, tuple[str, ...], str, tuple[str, ...], str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDecisions:
    """People's decisions, which the page shows and offers for download."""

    file: str
    """Name of the file that the page downloads, which ends in `.csv` or `.json`."""

    rows: tuple[_Row, ...]
    """One row for each decision: first the fields as written in the file (left table and columns,
    right table and columns, decision, author, reason), then the names of both tables on the page.
    """

    urns: dict[int, str]
    """URN of each table whose name is not unique on the page, by the table's index."""

    damaged: tuple[str, ...] = ()
    """The lines of the file that hold no decision, as they are written."""


def list_decisions(
    filed: Sequence[FiledDecision],
    tables: Sequence[TableId],
    file: str,
    damaged: Sequence[str] = (),
) -> PageDecisions:
    """Convert the decisions from a file into rows of the page.

    Args:
        filed: All decisions, also those about tables that the page does not show.
        tables: The tables of the page, in its order.
    """
    counts = Counter(table.name for table in tables)
    urns = {number: dataset_urn(t) for number, t in enumerate(tables) if counts[t.name] > 1}
    names: dict[TableId | None, str] = {
        table: urns.get(number, table.name) for number, table in enumerate(tables)
    }
    rows = tuple(_row(each, names) for each in filed)
    return PageDecisions(file=file, rows=rows, urns=urns, damaged=tuple(damaged))


def _row(filed: FiledDecision, names: Mapping[TableId | None, str]) -> _Row:
    written = filed.written
    return (
        written.left_table,
        written.left_columns,
        written.right_table,
        written.right_columns,
        written.verdict.value,
        written.by,
        written.reason,
        # A table that the page does not show keeps the name that the file gives it.
        names.get(filed.left, written.left_table),
        names.get(filed.right, written.right_table),
    )
