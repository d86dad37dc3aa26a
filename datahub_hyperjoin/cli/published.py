"""The commands that list joins, decide about them, and find paths of joins."""

from collections.abc import Sequence
from typing import Any

import click

from datahub_hyperjoin.cli.conditions import Condition, parse_condition
from datahub_hyperjoin.cli.output import print_result, terminal_width, with_format
from datahub_hyperjoin.cli.sources import JoinSource, with_source
from datahub_hyperjoin.joins import Join, Verdict, rename_columns
from datahub_hyperjoin.joins.describe import (
    WRITTEN,
    cardinality_in_words,
    fan_out_in_words,
    join_in_brief,
    role_in_words,
)
from datahub_hyperjoin.joins.lists import fit_lines, fit_table, short_columns
from datahub_hyperjoin.joins.paths import MIN_JOINABILITY, JoinPath, walk
from datahub_hyperjoin.metadata.relationships import join_as_json
from datahub_hyperjoin.metadata.urns import dataset_urn, plain_path
from datahub_hyperjoin.visible import visible, visible_json
from datahub_hyperjoin.wording import number_of

_HEADERS = ("joinability", "join", "role", "cardinality", "decision")
_NAMES = slice(1, 2)


def _as_table(joins: Sequence[Join]) -> str:
    """Format joins as a text table.

    `hyperjoin accept` and `hyperjoin reject` understand the join conditions in the table.
    """
    rename = short_columns(joins)
    rows = [_cells(rename_columns(join, rename)) for join in joins]
    return fit_table(_HEADERS, rows, terminal_width(), names=_NAMES)


def _cells(join: Join) -> tuple[str, ...]:
    way = "in two steps" if join.via else join.compared_as and f"as {join.compared_as}"
    role = ", ".join(filter(None, [role_in_words(join), way]))
    return _score(join), join.arrows, role, cardinality_in_words(join), _decision(join)


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
    path = path.renamed(short_columns(path.all_joins))
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
    width = terminal_width()
    rows = [(*_cells(step.join), fan_out_in_words(step.join) or "unknown") for step in path.steps]
    lines = [
        visible(" → ".join(names)),
        f"{number_of(len(path.steps), 'join')} with a combined joinability of {path.strength:.2f}",
        visible(path.grain_in_words),
        "",
        fit_table((*_HEADERS, "rows"), rows, width, names=_NAMES),
        *(line for title, found in beside if found for line in (*title, *found)),
    ]
    return fit_lines("\n".join(lines), width)


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
_by = click.option("--by", help="With --in: who decides.  [default: your name on this machine]")
_decided = click.argument("joins", metavar="JOIN...", nargs=-1, required=True)


@click.command("joins")
@click.option("--dataset", help="URN or name of a dataset; all joins by default.")
@click.option("--column", help="A column of the dataset; all columns by default.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Skip suggestions with a lower joinability. Joins that people accepted, created or "
    "declared are always listed.",
)
@click.option("--all", "every", is_flag=True, help="Also list rejected and hidden joins.")
@click.option(
    "--members",
    is_flag=True,
    help="With --dataset: also list what only columns list, the further members of their value "
    "domains.",
)
@click.option("--undecided", is_flag=True, help="Only list joins about which nobody decided.")
@click.option(
    "--accept-where",
    "accepted",
    metavar="CONDITION",
    callback=lambda _, __, text: text and (text, parse_condition(text)),
    help="Accept the undecided joins that meet a condition, such as `role=reference and "
    "joinability>=0.95`; others compare cardinality or table. Without --yes, only list them.",
)
@click.option("--yes", is_flag=True, help="With --accept-where: accept, rather than list.")
@_format
@with_source
def list_joins(  # noqa: PLR0913 - one for each option
    *,
    source: JoinSource,
    dataset: str | None,
    column: str | None,
    min_score: float,
    every: bool,
    members: bool,
    undecided: bool,
    accepted: tuple[str, Condition] | None,
    yes: bool,
    output_format: str,
) -> None:
    """List joins of DataHub, a file or data, best first; --all adds rejected and hidden joins.

    Joins that people confirmed come first, then references to keys (→ leads to the key), then
    one-to-one joins, siblings and joins within a domain.
    """
    if column and not dataset:
        message = "--column needs --dataset"
        raise click.UsageError(message)
    if yes and not accepted:
        message = (
            "--yes accepts nothing without --accept-where, as in --accept-where role=reference"
        )
        raise click.UsageError(message)
    if members and not dataset:
        message = "--members needs --dataset"
        raise click.UsageError(message)
    if dataset:
        joins = source.joins_of(dataset, hidden=every, members=members)
    else:
        joins = source.joins(hidden=every)
    shown = [
        join
        for join in joins
        if (every or join.open)
        and join.strength >= min_score
        and (column is None or plain_path(column) in join.paths_in(join.left.table))
        and (join.is_undecided or not (undecided or accepted))
        and (accepted is None or accepted[1](join))
    ]
    if output_format == "json":
        click.echo(as_json(shown))
    elif shown:
        click.echo(_as_table(shown))
    else:
        of = " of ".join(["", ".".join(filter(None, [dataset, column]))] if dataset else [""])
        click.echo(f"No joins{of} in {source.where}.")
    if accepted and shown:
        _accept_all(source, shown, accepted[0], yes=yes)


def _accept_all(source: JoinSource, joins: Sequence[Join], condition: str, *, yes: bool) -> None:
    """Accept joins that meet a condition, which becomes the reason; without `yes`, only count."""
    told = number_of(len(joins), "join")
    if not yes:
        click.echo(f"Would accept {told}. Add --yes to do so", err=True)
        return
    source.decide(joins, Verdict.ACCEPTED, by=None, why=condition)
    click.echo(f"Accepted {told}", err=True)
    _tell_file(source)


def _tell_file(source: JoinSource) -> None:
    if file := source.writes_to():
        click.echo(f"Written to {file}, which `hyperjoin find --decisions` reads", err=True)


@click.command("accept")
@_decided
@_why
@_by
@_format
@with_source
def accept_joins(
    *, source: JoinSource, joins: tuple[str, ...], why: str, by: str | None, output_format: str
) -> None:
    """Accept joins, so that later runs always publish them.

    JOIN is a URN, or a join as `hyperjoin joins` lists it; without --in also two columns that no
    run suggests, as in 'orders.customer = customers.id'. With --in, the decision is written to the
    file of decisions.
    """
    _decide(source, joins, Verdict.ACCEPTED, output_format, by=by, why=why)


@click.command("reject")
@_decided
@_why
@_by
@_format
@with_source
def reject_joins(
    *, source: JoinSource, joins: tuple[str, ...], why: str, by: str | None, output_format: str
) -> None:
    """Reject joins, so that later runs never publish them.

    JOIN is a URN, or a join as `hyperjoin joins` lists it. DataHub hides rejected joins. With --in,
    the decision is written to the file of decisions.
    """
    _decide(source, joins, Verdict.REJECTED, output_format, by=by, why=why)


@click.command("undo")
@_decided
@_format
@with_source
def undo_decisions(*, source: JoinSource, joins: tuple[str, ...], output_format: str) -> None:
    """Undo decisions about joins, so that later runs decide again whether to publish them.

    JOIN is a URN, or a join as `hyperjoin joins --all` lists it. DataHub shows rejected joins
    again. With --in, the decision is removed from the file of decisions.
    """
    _decide(source, joins, None, output_format)


def _decide(
    source: JoinSource,
    names: tuple[str, ...],
    verdict: Verdict | None,
    output_format: str,
    *,
    by: str | None = None,
    why: str = "",
) -> None:
    """Make or undo a decision about joins, and print each; a wrong name changes nothing."""
    records, written = [], False
    found = [source.find_decidable(name) for name in names]
    for join in {join.urn: join for join in found}.values():
        name = visible(join.name)
        record: dict[str, Any] = {"urn": join.urn, "name": join.name, "decision": None}
        if verdict:
            source.decide([join], verdict, by=by, why=why)
            written = True
            line, record["decision"] = f"{verdict.value.capitalize()} {name}", verdict.value
        else:
            record["undone"] = undone = source.undo(join)
            written |= bool(undone)
            was = " and ".join(each.value for each in undone)
            line = f"Undone {name}, which was {was}" if was else f"Nobody has decided about {name}"
        if output_format != "json":
            click.echo(line)
        records.append(record)
    if output_format == "json":
        click.echo(visible_json(records))
    if written:
        _tell_file(source)


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
@with_format("table", "sql")
@with_source
def show_path(  # noqa: PLR0913 - one for each option
    *,
    source: JoinSource,
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
    paths of as many joins: they give other rows. `--format sql` writes one statement for the path.
    """
    first, last = source.find_ends([start, end])
    path = walk(
        source.reader(),
        first,
        last,
        most=max_hops,
        many_to_many=many_to_many,
        min_joinability=min_joinability,
    )
    match output_format:
        case "json":
            click.echo(_path_as_json(path))
        case "sql":
            print_result(_path_as_sql(path, source))
        case _:
            click.echo(_path_as_table(path))


def _path_as_sql(path: JoinPath, source: JoinSource) -> str:
    """Return one statement that joins the tables of a path, and say whether it was run."""
    from datahub_hyperjoin.sql.paths import write_path  # noqa: PLC0415 (the parser of SQL)

    statement = write_path(path.joins, source.statements(path.joins))
    if not statement.sql:
        message = f"{path.arrows} has no SQL: {statement.reason}"
        raise click.ClickException(message)
    note = "It was run" if statement.was_run else "It was not run: check its number of rows"
    files = any(table.platform == "file" for table in path.tables)
    where = ". Run it in DuckDB, in the folder of which the files have these paths" if files else ""
    return f"-- {visible(path.arrows)}\n-- {note}{where}\n{statement.sql};"
