"""Find the joins that an answer of DataHub's MCP server names."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import sqlglot
from sqlglot import exp

from datahub_hyperjoin.metadata.urns import plain_path, table_id
from datahub_hyperjoin.tables import ColumnId, TableId

Named = set[frozenset[ColumnId]]
"""Pairs of columns that an answer names as joins, in no order."""

_LINE = re.compile(r"(\S.*?) [→←=] (.+)")
_PROPERTY = re.compile(
    r"(?P<own>.+?) (?:refers to|is referenced by|is one to one with|has the same) .*?"
    r"\(/dataset/(?P<urn>[^/]+)/Columns\?schemaFilter=(?P<column>[^)]+)\)"
)


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield all texts of an answer.

    Args:
        value: The answer, which was JSON.
    """
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts(inner)
        case list():
            for inner in value:
                yield from texts(inner)
        case _:
            return  # numbers and truth values name nothing


def named_in_guide(text: str, table: TableId) -> Named:
    """Return the pairs of columns that a table's document, or an excerpt of it, lists as joins.

    Args:
        text: The text; a line that an excerpt cuts off before the columns end does not count.
        table: The table of the document.
    """
    conditions = (
        part
        for line in re.findall(r"^- `([^`\n]+)`", text, re.MULTILINE)
        for part in line.split(" and ")
    )
    return {
        frozenset({ColumnId(table, own), _column(other)})
        for condition in conditions
        for own, other in _LINE.findall(condition)
    }


def named_in_property(text: str, table: TableId) -> Named:
    """Return the join that an entry of the property *Suggested joins* names.

    Args:
        text: The entry.
        table: The table that has the property.
    """
    return {
        frozenset(
            {
                ColumnId(table, re.sub(r"\\(.)", r"\1", found["own"])),
                ColumnId(table_id(unquote(found["urn"])), unquote(found["column"])),
            }
        )
        for found in _PROPERTY.finditer(text)
    }


def named_in_sql(text: str) -> Named:
    """Return the columns that a statement compares.

    Args:
        text: A statement of DuckDB, or any other text.
    """
    if not text.startswith("SELECT"):
        return set()
    statement = sqlglot.parse_one(text, dialect="duckdb")
    names = {table.alias: TableId("file", table.name) for table in statement.find_all(exp.Table)}
    return {
        frozenset(
            ColumnId(names[column.table], plain_path(column.name))
            for side in (equal.left, equal.right)
            for column in side.find_all(exp.Column)
        )
        for equal in statement.find_all(exp.EQ)
    }


def _column(name: str) -> ColumnId:
    """Split a full name, such as `shop/orders.csv.id`, into the table and the column."""
    table, extension, path = re.split(r"(\.(?:csv|parquet|json))\.", name, maxsplit=1)
    return ColumnId(TableId("file", table + extension), path)
