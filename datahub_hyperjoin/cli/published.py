"""The commands that list the joins in DataHub, decide about them, and find paths of joins."""

from collections.abc import Callable
from functools import partial

import click
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.cli.connect import connected
from datahub_hyperjoin.cli.output_format import with_format
from datahub_hyperjoin.cli.show import (
    as_json,
    as_table,
    decisions_as_json,
    path_as_json,
    path_as_table,
)
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
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.path_ends import find_path_end
from datahub_hyperjoin.graphql.paths import MIN_JOINABILITY
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.visible import visible

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
        click.echo(as_table(shown))
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
    decide = partial(accept, why=why)
    _decide(joins, Verdict.ACCEPTED, decide, as_json=output_format == "json")


@click.command("reject")
@_decided
@_why
@_format
def reject_joins(*, joins: tuple[str, ...], why: str, output_format: str) -> None:
    """Reject joins, so that later runs never publish them.

    JOIN is a URN, or a join as `hyperjoin joins` lists it. DataHub hides rejected joins.
    """
    decide = partial(reject, why=why)
    _decide(joins, Verdict.REJECTED, decide, as_json=output_format == "json")


@click.command("undo")
@_decided
@_format
def undo_decisions(*, joins: tuple[str, ...], output_format: str) -> None:
    """Undo decisions about joins, so that later runs decide again whether to publish them.

    JOIN is a URN, or a join as `hyperjoin joins --all` lists it. DataHub shows rejected joins
    again.
    """
    undone = {}
    with connected() as graph:
        found = _find_joins(graph, joins)
        for join in found:
            undone[join.urn] = undo(graph, join.urn)
            was = " and ".join(verdict.value for verdict in undone[join.urn])
            if output_format != "json":
                name = visible(join.name)
                click.echo(
                    f"Undone {name}, which was {was}" if was else f"Nobody has decided about {name}"
                )
    if output_format == "json":
        click.echo(decisions_as_json(found, None, undone))


def _decide(
    names: tuple[str, ...],
    verdict: Verdict,
    decide: Callable[[DataHubGraph, str], None],
    *,
    as_json: bool,
) -> None:
    with connected() as graph:
        joins = _find_joins(graph, names)
        for join in joins:
            decide(graph, join.urn)
            if not as_json:
                click.echo(f"{verdict.value.capitalize()} {visible(join.name)}")
    if as_json:
        click.echo(decisions_as_json(joins, verdict))


def _find_joins(graph: DataHubGraph, names: tuple[str, ...]) -> list[CatalogJoin]:
    """Find all joins that the user named, so that a wrong name changes nothing."""
    found = [find_join(graph, name) for name in names]
    return [*{join.urn: join for join in found}.values()]


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
    click.echo(path_as_json(path) if output_format == "json" else path_as_table(path))
