"""Joins for people's eyes, and for programs."""

import json
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.paths import Path, strength
from datahub_hyperjoin.tables import Cardinality, ColumnId
from datahub_hyperjoin.urns import dataset_urn

_CARDINALITIES = {
    Cardinality.ONE_ONE: "one to one",
    Cardinality.ONE_MANY: "one to many",
    Cardinality.MANY_ONE: "many to one",
    Cardinality.MANY_MANY: "many to many",
}
_HEADERS = ("joinability", "join", "cardinality", "decision")


def as_table(joins: Sequence[CatalogJoin]) -> str:
    """Joins as a table; each is listed by what `hyperjoin accept` and `reject` take.

    Args:
        joins: In the order of the rows.
    """
    rows = [
        (_score(join), join.condition, _CARDINALITIES[join.cardinality], _decision(join))
        for join in joins
    ]
    return tabulate(rows, headers=_HEADERS, disable_numparse=True)


def _score(join: CatalogJoin) -> str:
    return "" if join.joinability is None else f"{join.joinability:.2f}"


def _decision(join: CatalogJoin) -> str:
    said = [join.verdict.value] if join.verdict else []
    if join.joinability is None and not join.band:
        said.append("written by people")
    if join.removed:
        said.append("hidden")
    return ", ".join(said)


def as_json(joins: Sequence[CatalogJoin]) -> str:
    """Joins as JSON; the keys stay as they are.

    Args:
        joins: In the order of the array.
    """
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
    """A chain of joins: its tables in a line, and its conditions.

    Args:
        path: The joins in order.
    """
    tables = [path[0].left.table, *(join.right.table for join in path)]
    chain = " → ".join(table.name for table in tables)
    total = f"joinability {strength(path):.2f}, joins {len(path)}"
    return f"{chain}\n{total}\n\n{as_table(path)}"


def path_as_json(path: Path) -> str:
    """A chain of joins as JSON.

    Args:
        path: The joins in order.
    """
    tables = [path[0].left.table, *(join.right.table for join in path)]
    return _dump(
        {
            "tables": [dataset_urn(table) for table in tables],
            "joinability": strength(path),
            "joins": [_record(join) for join in path],
        }
    )
