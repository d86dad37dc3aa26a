"""Format joins and paths as text or JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tabulate import tabulate

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.steps import JoinPath, Step
from datahub_hyperjoin.graphql.words import join_in_brief
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.visible import visible, visible_json
from datahub_hyperjoin.wording import number_of

_HEADERS = ("joinability", "join", "role", "cardinality", "decision")


def as_table(joins: Sequence[CatalogJoin]) -> str:
    """Format joins as a text table.

    `hyperjoin accept` and `hyperjoin reject` understand the join conditions in the table.
    """
    # Otherwise tabulate would rewrite names that look like numbers.
    return tabulate([*map(_cells, joins)], headers=_HEADERS, disable_numparse=True)


def _cells(join: CatalogJoin) -> tuple[str, ...]:
    role = ", ".join(filter(None, [join.role.value if join.role else "", _way(join)]))
    return _score(join), join.arrows, role, join.cardinality.words, _decision(join)


def _way(join: CatalogJoin) -> str:
    """Describe how values are compared; empty if they are compared as written."""
    return "in two steps" if join.via else join.compared_as and f"as {join.compared_as}"


def _score(join: CatalogJoin) -> str:
    doubt = "" if join.is_verified else ", not verified"
    return "" if join.joinability is None else f"{join.joinability:.2f}{doubt}"


def _decision(join: CatalogJoin) -> str:
    words = [join.verdict.value] if join.verdict else []
    if join.joinability is None and not join.band:
        words.append("created by a user")
    if join.removed:
        words.append("hidden")
    return ", ".join(words)


def as_json(joins: Sequence[CatalogJoin]) -> str:
    """Format joins as JSON.

    The JSON keys never change, because scripts rely on them.
    """
    return _dump([_record(join) for join in joins])


def decisions_as_json(
    joins: Sequence[CatalogJoin],
    verdict: Verdict | None,
    undone: Mapping[str, Sequence[Verdict]] | None = None,
) -> str:
    """Format joins, and the decision that was just made about them, as JSON.

    Without a `verdict`, decisions were `undone`: those of each join, by its URN.
    """
    word = verdict.value if verdict else None
    records = [{"urn": join.urn, "name": join.name, "decision": word} for join in joins]
    if undone is None:
        return _dump(records)
    return _dump([{**each, "undone": undone[str(each["urn"])]} for each in records])


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
        "role": join.role.value if join.role else None,
        "referenced": _column(join.referenced) if join.referenced else None,
        "declared": join.declared,
        "left_fan_out": join.left_fan_out,
        "right_fan_out": join.right_fan_out,
        "left_containment": join.left_containment,
        "right_containment": join.right_containment,
        "left_counts": asdict(join.left_counts) if join.left_counts else None,
        "right_counts": asdict(join.right_counts) if join.right_counts else None,
        "compared_as": join.compared_as or None,
        "crosswalk": _crosswalk(join.via) if join.via else None,
    }


def _crosswalk(via: tuple[ColumnId, ColumnId]) -> dict[str, str]:
    left, right = via
    return {"dataset": dataset_urn(left.table), "left": left.path, "right": right.path}


def _column(column: ColumnId) -> dict[str, str]:
    return {"dataset": dataset_urn(column.table), "column": column.path}


def _dump(value: object) -> str:
    return visible_json(value)


def path_as_table(path: JoinPath) -> str:
    """Format a path of joins as text.

    The text lists the tables, the grain of the result, and the joins with the number of rows that
    each makes of one row.
    """
    lines = [
        _route(path),
        f"{number_of(len(path.steps), 'join')} with a combined joinability of {path.strength:.2f}",
        visible(path.grain_in_words),
        "",
        tabulate(
            [(*_cells(step.join), _factor(step.multiplies_by)) for step in path.steps],
            headers=(*_HEADERS, "rows per row"),
            disable_numparse=True,
        ),
    ]
    beside = (
        *_crosswalks(path.joins),
        *_choices(path.steps),
        *(["", *path.rivals_in_words] if path.rivals else []),
        *_direct(path.direct),
    )
    return "\n".join([*lines, *beside])


def _route(path: JoinPath) -> str:
    """List the tables and crosswalks of a path in order."""
    names = [path.tables[0].name]
    for join in path.joins:
        through = [f"crosswalk {join.via[0].table.name}"] if join.via else []
        names += [*through, join.right.table.name]
    return visible(" → ".join(names))


def _crosswalks(joins: Sequence[CatalogJoin]) -> list[str]:
    """Describe the two steps of each join through a crosswalk, as lines of text."""
    steps = [
        visible(
            f"{join.left} = {join.via[0]}, then {join.via[1]} = {join.right}, through crosswalk "
            f"table {join.via[0].table.name}"
        )
        for join in joins
        if join.via
    ]
    return ["", "Joins in two steps:", *steps] if steps else []


def _factor(multiplies_by: float | None) -> str:
    return "unknown" if multiplies_by is None else f"{multiplies_by:.3g}"


def _choices(steps: Sequence[Step]) -> list[str]:
    """List the alternatives to each join of a path, as lines of text."""
    choices = [
        f"{other.arrows} ({_score(other)}) instead of {step.join.arrows}"
        for step in steps
        for other in step.alternatives
    ]
    return ["", "Other references between the same tables:", *choices] if choices else []


def _direct(joins: Sequence[CatalogJoin]) -> list[str]:
    """List, as lines of text, the direct joins between a path's first and last table."""
    names = [join_in_brief(join) for join in joins]
    return ["", "Direct joins of the first and the last table:", *names] if names else []


def path_as_json(path: JoinPath) -> str:
    """Format a path of joins as JSON."""
    rivals = [
        {**_path_record(rival), "differs": path.difference_in_words(rival)} for rival in path.rivals
    ]
    direct = [_record(join) for join in path.direct]
    return _dump({**_path_record(path), "rivals": rivals, "direct": direct})


def _path_record(path: JoinPath) -> dict[str, Any]:
    return {
        "tables": [dataset_urn(table) for table in path.tables],
        "joinability": path.strength,
        "safe": path.is_safe,
        "grain": dataset_urn(path.grain) if path.grain else None,
        "multiplies_by": path.multiplies_by,
        "joins": [
            _record(step.join)
            | {
                "multiplies_by": step.multiplies_by,
                "alternatives": [_record(other) for other in step.alternatives],
            }
            for step in path.steps
        ],
    }
