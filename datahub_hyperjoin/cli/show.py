"""Output of joins and paths, as text or JSON."""

import json
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.paths import Path, strength
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.urns import dataset_urn

_HEADERS = ("joinability", "join", "cardinality", "decision")


def as_table(joins: Sequence[CatalogJoin]) -> str:
    """Format joins as a table, with conditions that `hyperjoin accept` and `reject` understand."""
    rows = [
        (_score(join), join.condition, join.cardinality.words, _decision(join)) for join in joins
    ]
    return tabulate(rows, headers=_HEADERS, disable_numparse=True)


def _score(join: CatalogJoin) -> str:
    return "" if join.joinability is None else f"{join.joinability:.2f}"


def _decision(join: CatalogJoin) -> str:
    words = [join.verdict.value] if join.verdict else []
    if join.joinability is None and not join.band:
        words.append("created by a user")
    if join.removed:
        words.append("hidden")
    return ", ".join(words)


def as_json(joins: Sequence[CatalogJoin]) -> str:
    """Format joins as JSON. Scripts rely on the keys, so they never change."""
    return _dump([_record(join) for join in joins])


def _record(join: CatalogJoin) -> dict[str, Any]:
    return {
        "urn": join.urn,
        "name": join.name,
        "columns": [{"left": _column(left), "right": _column(right)} for left, right in join.pairs],
        "cardinality": join.cardinality.value,
        "joinability": join.joinability,
        "band": join.band or None,
        "decision": join.verdict.value if join.verdict else None,
        "hidden": join.removed,
        "description": join.description or None,
        "owners": list(join.owners),
    }


def _column(column: ColumnId) -> dict[str, str]:
    return {"dataset": dataset_urn(column.table), "column": column.path}


def _dump(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def path_as_table(path: Path) -> str:
    """Format a path of joins: its tables in one line, then its joins as a table."""
    tables = [path[0].left.table, *(join.right.table for join in path)]
    chain = " → ".join(table.name for table in tables)
    joins = "1 join" if len(path) == 1 else f"{len(path)} joins"
    total = f"{joins} with a combined joinability of {strength(path):.2f}"
    return f"{chain}\n{total}\n\n{as_table(path)}"


def path_as_json(path: Path) -> str:
    """Format a path of joins as JSON."""
    tables = [path[0].left.table, *(join.right.table for join in path)]
    return _dump(
        {
            "tables": [dataset_urn(table) for table in tables],
            "joinability": strength(path),
            "joins": [_record(join) for join in path],
        }
    )
