"""What can be said to `hyperjoin`."""

from collections.abc import Callable

import click
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin import __version__
from datahub_hyperjoin.cli.connect import connected
from datahub_hyperjoin.cli.measure import evaluate_rankings
from datahub_hyperjoin.cli.show import as_json, as_table, path_as_json, path_as_table
from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    find_dataset,
    find_join,
    find_path,
    joins_of_column,
    joins_of_dataset,
    reject,
)
from datahub_hyperjoin.urns import table_id

_format = click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="What the answer looks like.",
)
_why = click.option("--why", default="", help="The reason; it becomes the join's description.")
_decided = click.argument("joins", metavar="JOIN...", nargs=-1, required=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hyperjoin")
def main() -> None:
    """Joins that DataHub's catalog holds, and what people say of them.

    The server is that of `datahub init`, or of DATAHUB_GMS_URL and DATAHUB_GMS_TOKEN.
    """


main.add_command(evaluate_rankings)


@main.command("joins")
@click.option("--dataset", required=True, help="Urn or name of a dataset.")
@click.option("--column", help="One of its columns; without it, all of them.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Leave out suggestions of a lower joinability; what people accepted or wrote stays.",
)
@click.option("--all", "every", is_flag=True, help="List rejected and hidden joins, too.")
@_format
def list_joins(
    *, dataset: str, column: str | None, min_score: float, every: bool, shape: str
) -> None:
    """List what a dataset joins with, best first."""
    with connected() as graph:
        urn = find_dataset(graph, dataset)
        if column is None:
            found = joins_of_dataset(graph, urn, min_score=min_score, hidden=every)
        else:
            found = joins_of_column(graph, urn, column, min_score=min_score, hidden=every)
    shown = [join for join in found if every or join.open]
    if shape == "json":
        click.echo(as_json(shown))
    elif shown:
        click.echo(as_table(shown))
    else:
        click.echo(f"No joins of {' '.join(filter(None, [dataset, column]))} are known.")


@main.command("accept")
@_decided
@_why
def accept_joins(*, joins: tuple[str, ...], why: str) -> None:
    """Say that joins are right.

    JOIN is a urn, or a join as `hyperjoin joins` lists it. Every later run suggests it.
    """
    _decide(joins, lambda graph, urn: accept(graph, urn, why=why), "Accepted")


@main.command("reject")
@_decided
@_why
def reject_joins(*, joins: tuple[str, ...], why: str) -> None:
    """Say that joins are wrong.

    JOIN is a urn, or a join as `hyperjoin joins` lists it. It is hidden, and no later run
    suggests it.
    """
    _decide(joins, lambda graph, urn: reject(graph, urn, why=why), "Rejected")


def _decide(names: tuple[str, ...], decide: Callable[[DataHubGraph, str], None], done: str) -> None:
    """Finds all joins before it decides about any."""
    with connected() as graph:
        found = {join.urn: join for join in [find_join(graph, name) for name in names]}
        for urn, join in found.items():
            decide(graph, urn)
            click.echo(f"{done} {join.name}")


@main.command("path")
@click.argument("start", metavar="A")
@click.argument("end", metavar="B")
@click.option("--max-hops", type=click.IntRange(min=1), help="The most joins it may have.")
@_format
def show_path(*, start: str, end: str, max_hops: int | None, shape: str) -> None:
    """Show how to get from dataset A to dataset B by joins.

    Of all chains it is the one with the greatest product of joinabilities, and of equally good
    ones the shortest. What people accepted or wrote counts as 1; what they rejected or hid is
    never used.
    """
    with connected() as graph:
        tables = [table_id(find_dataset(graph, name)) for name in (start, end)]
        path = find_path(all_joins(graph), *tables, most=max_hops)
    click.echo(path_as_json(path) if shape == "json" else path_as_table(path))
