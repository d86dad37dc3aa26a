"""The commands that list the joins in DataHub, decide about them, and find paths of joins."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
from datahub.ingestion.graph.client import DataHubGraph
from tabulate import tabulate

from datahub_hyperjoin.cli.connect import connected
from datahub_hyperjoin.cli.output import with_format
from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    find_dataset,
    find_join,
    find_path,
    joins_of_column,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.find import find_path_end
from datahub_hyperjoin.joins import Join, Verdict
from datahub_hyperjoin.joins.describe import WRITTEN, join_in_brief
from datahub_hyperjoin.joins.paths import MIN_JOINABILITY, JoinPath
from datahub_hyperjoin.metadata.relationships import join_as_json
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.visible import visible, visible_json
from datahub_hyperjoin.wording import number_of

_HEADERS = ("joinability", "join", "role", "cardinality", "decision")


def _as_table(joins: Sequence[Join]) -> str:
    """Format joins as a text table.

    `hyperjoin accept` and `hyperjoin reject` understand the join conditions in the table.
    """
    # Otherwise tabulate would rewrite names that look like numbers.
    return tabulate([*map(_cells, joins)], headers=_HEADERS, disable_numparse=True)


def _cells(join: Join) -> tuple[str, ...]:
    way = "in two steps" if join.via else join.compared_as and f"as {join.compared_as}"
    role = ", ".join(filter(None, [join.role.value if join.known_role else "", way]))
    return _score(join), join.arrows, role, join.cardinality.words, _decision(join)


def _score(join: Join) -> str:
    doubt = "" if join.is_verified else ", not verified"
    return "" if join.is_written else f"{join.joinability:.2f}{doubt}"


def _decision(join: Join) -> str:
    verdict = join.verdict.value if join.verdict else ""
    written = WRITTEN if join.is_written and not join.band else ""
    return ", ".join(filter(None, [verdict, written, "hidden" if join.is_hidden else ""]))


def as_json(joins: Sequence[Join]) -> str:
    """Format joins as JSON.

    The JSON keys never change, because scripts rely on them.
    """
    return visible_json([join_as_json(join) for join in joins])


def _path_as_table(path: JoinPath) -> str:
    """Format a path of joins as text.

    The text lists the tables, the grain of the result, and the joins with the number of rows that
    each makes of one row.
    """
    names = [path.tables[0].name]
    for join in path.joins:
        through = [f"crosswalk {join.via[0].table.name}"] if join.via else []
        names += [*through, join.right.table.name]
    crosswalks = [
        visible(
            f"{join.left} = {join.via[0]}, then {join.via[1]} = {join.right}, through crosswalk "
            f"table {join.via[0].table.name}"
        )
        for join in path.joins
        if join.via
    ]
    choices = [
        f"{other.arrows} ({_score(other)}) instead of {step.join.arrows}"
        for step in path.steps
        for other in step.alternatives
    ]
    beside = (
        (["", "Joins in two steps:"], crosswalks),
        (["", "Other references between the same tables:"], choices),
        ([""], path.rivals_in_words),
        (["", "Direct joins of the first and the last table:"], [*map(join_in_brief, path.direct)]),
    )
    rows = [(*_cells(step.join), _factor(step.multiplies_by)) for step in path.steps]
    lines = [
        visible(" → ".join(names)),
        f"{number_of(len(path.steps), 'join')} with a combined joinability of {path.strength:.2f}",
        visible(path.grain_in_words),
        "",
        tabulate(rows, headers=(*_HEADERS, "rows per row"), disable_numparse=True),
        *(line for title, found in beside if found for line in (*title, *found)),
    ]
    return "\n".join(lines)


def _factor(multiplies_by: float | None) -> str:
    return "unknown" if multiplies_by is None else f"{multiplies_by:.3g}"


def _path_as_json(path: JoinPath) -> str:
    """Format a path of joins as JSON."""
    rivals = [
        {**_path_record(rival), "differs": path.difference_in_words(rival)} for rival in path.rivals
    ]
    direct = [join_as_json(join) for join in path.direct]
    return visible_json({**_path_record(path), "rivals": rivals, "direct": direct})


def _path_record(path: JoinPath) -> dict[str, Any]:
    return {
        "tables": [dataset_urn(table) for table in path.tables],
        "joinability": path.strength,
        "safe": path.is_safe,
        "grain": dataset_urn(path.grain) if path.grain else None,
        "multiplies_by": path.multiplies_by,
        "joins": [
            {
                **join_as_json(step.join),
                "multiplies_by": step.multiplies_by,
                "alternatives": [*map(join_as_json, step.alternatives)],
            }
            for step in path.steps
        ],
    }


_format = with_format("table")
_why = click.option(
    "--why", default="", help="Reason for the decision, stored as the join's description."
)
_decided = click.argument("joins", metavar="JOIN...", nargs=-1, required=True)


@click.command("joins")
@click.option("--dataset", required=True, help="URN or name of a dataset.")
@click.option("--column", help="A column of the dataset; all columns by default.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Skip suggestions with a lower joinability. Joins that people accepted, created or "
    "declared are always listed.",
)
@click.option("--all", "every", is_flag=True, help="Also list rejected and hidden joins.")
@_format
def list_joins(
    *, dataset: str, column: str | None, min_score: float, every: bool, output_format: str
) -> None:
    """List the joins of a dataset or column, best first; --all adds rejected and hidden joins.

    Joins that people confirmed come first, then references to keys (→ leads to the key), then
    one-to-one joins, siblings and joins within a domain.
    """
    with connected() as graph:
        urn = find_dataset(graph, dataset)
        if column is None:
            joins = joins_of_dataset(graph, urn, min_score=min_score, hidden=every)
        else:
            joins = joins_of_column(graph, urn, column, min_score=min_score, hidden=every)
    shown = [join for join in joins if every or join.open]
    if output_format == "json":
        click.echo(as_json(shown))
    elif shown:
        click.echo(_as_table(shown))
    else:
        click.echo(f"No joins of {'.'.join(filter(None, [dataset, column]))} in the catalog.")


@click.command("accept")
@_decided
@_why
@_format
def accept_joins(*, joins: tuple[str, ...], why: str, output_format: str) -> None:
    """Accept joins, so that later runs always publish them.

    JOIN is a URN, or a join as `hyperjoin joins` lists it.
    """
    _decide(joins, Verdict.ACCEPTED, partial(accept, why=why), output_format)


@click.command("reject")
@_decided
@_why
@_format
def reject_joins(*, joins: tuple[str, ...], why: str, output_format: str) -> None:
    """Reject joins, so that later runs never publish them.

    JOIN is a URN, or a join as `hyperjoin joins` lists it. DataHub hides rejected joins.
    """
    _decide(joins, Verdict.REJECTED, partial(reject, why=why), output_format)


@click.command("undo")
@_decided
@_format
def undo_decisions(*, joins: tuple[str, ...], output_format: str) -> None:
    """Undo decisions about joins, so that later runs decide again whether to publish them.

    JOIN is a URN, or a join as `hyperjoin joins --all` lists it. DataHub shows rejected joins
    again.
    """
    _decide(joins, None, undo, output_format)


def _decide(
    names: tuple[str, ...],
    verdict: Verdict | None,
    decide: Callable[[DataHubGraph, str], tuple[Verdict, ...] | None],
    output_format: str,
) -> None:
    """Make or undo a decision about joins, and print each; a wrong name changes nothing."""
    records = []
    with connected() as graph:
        for join in {join.urn: join for join in [find_join(graph, it) for it in names]}.values():
            undone, name = decide(graph, join.urn), visible(join.name)
            if verdict:
                line = f"{verdict.value.capitalize()} {name}"
            elif was := " and ".join(each.value for each in undone or ()):
                line = f"Undone {name}, which was {was}"
            else:
                line = f"Nobody has decided about {name}"
            if output_format != "json":
                click.echo(line)
            was_undone = {} if undone is None else {"undone": undone}
            word = verdict.value if verdict else None
            records.append({"urn": join.urn, "name": join.name, "decision": word, **was_undone})
    if output_format == "json":
        click.echo(visible_json(records))


@click.command("path")
@click.argument("start", metavar="A")
@click.argument("end", metavar="B")
@click.option("--max-hops", type=click.IntRange(min=1), help="Maximum number of joins in the path.")
@click.option(
    "--many-to-many",
    is_flag=True,
    help="Also use joins that repeat the rows of both tables, if there is no other path.",
)
@click.option(
    "--min-joinability",
    type=click.FloatRange(0, 1),
    default=MIN_JOINABILITY,
    show_default=True,
    help="Lowest joinability of all joins of the path together.",
)
@_format
def show_path(
    *,
    start: str,
    end: str,
    max_hops: int | None,
    many_to_many: bool,
    min_joinability: float,
    output_format: str,
) -> None:
    """Show the best path of joins from A to B.

    A and B are datasets, or columns as in orders.billing_address: then the path starts or ends with
    a join over this column.

    The best path follows references to keys, and has one row for each row of some table on it: its
    grain. Of several such paths, the best has the fewest joins that multiply rows, then the
    fewest that nobody accepted, created or declared, then the fewest joins, then the greatest
    product of joinabilities. Rejected and hidden joins are never used, and no detour is made around
    a reference whose key has duplicates. A path that is more probably wrong than right is not
    shown. Beside a detour, the joins of A with B themselves are named, and beside every path other
    paths of as many joins: they give other rows.
    """
    with connected() as graph:
        # A path may lead over any table, so all joins are read.
        joins = all_joins(graph)
        first, last = (find_path_end(graph, name, joins) for name in (start, end))
        path = find_path(
            joins,
            first,
            last,
            most=max_hops,
            many_to_many=many_to_many,
            min_joinability=min_joinability,
        )
    click.echo(_path_as_json(path) if output_format == "json" else _path_as_table(path))
