"""Render the pages that the service shows to a person."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql import all_joins, find_dataset, joins_of_dataset
from datahub_hyperjoin.graphql.read import (
    DatasetSummary,
    read_dataset_summaries,
    statements_of_joins,
)
from datahub_hyperjoin.joins import Join, Role, Statement
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.page.contents import MOST_JOINS, UNKNOWN, Contents, ShownJoin, collect
from datahub_hyperjoin.page.write import ServedPage, render_page, render_template
from datahub_hyperjoin.service.sessions import PersonalSession
from datahub_hyperjoin.tables import TableId

_FROM_CATALOG = "DataHub shows it among the Highlighted Queries of both datasets"


def list_catalog_contents(
    joins: Sequence[Join],
    *,
    summaries: Mapping[str, DatasetSummary],
    statements: Mapping[str, Statement],
    about: TableId | None = None,
) -> Contents:
    """Collect the contents of the page: joins, columns and tables, including the table `about`."""
    none = Statement()
    shown = [
        ShownJoin(
            join=join,
            known=join,
            statement=none if join.via else statements.get(join.urn, none),
            steps=statements.get(join.urn, none) if join.via else none,
        )
        for join in joins[:MOST_JOINS]
    ]
    tables = list_tables(joins, about)
    columns = {column for each in shown for column in (each.join.left, each.join.right)}
    vias = {join.via[0].table for join in joins[:MOST_JOINS] if join.via}
    unknown = DatasetSummary()
    found = {table: summaries.get(dataset_urn(table), unknown) for table in {*tables, *vias}}
    contents = collect(
        shown,
        tables={
            table: (UNKNOWN, UNKNOWN if (own := found[table].columns) is None else own)
            for table in tables
        },
        titles={table: summary.title or table.name for table, summary in found.items()},
        columns=dict.fromkeys(sorted(columns), (False, "", UNKNOWN, False)),
        note=lambda statement: _FROM_CATALOG if statement.sql else "",
    )
    return replace(contents, left_out=len(joins) - len(shown))


def list_tables(joins: Sequence[Join], about: TableId | None) -> list[TableId]:
    """List the tables of the shown joins, and the one that the page is about, in its order."""
    ends = {table for join in joins[:MOST_JOINS] for table in join.tables}
    return sorted(ends | ({about} if about else set()))


def render_joins(
    session: PersonalSession, *, nonce: str, dataset: str = "", signs_out: bool = True
) -> str:
    """Render the page that shows the joins of one dataset or all joins."""
    # The joins are read from DataHub with the person's rights, so that the page shows what this
    # person may see, and every decision at once.
    graph = session.graph
    about = table_id(find_dataset(graph, dataset)) if dataset else None
    joins = _read(graph, about)
    tables = list_tables(joins, about)
    vias = {join.via[0].table for join in joins if join.via}
    contents = list_catalog_contents(
        joins,
        summaries=read_dataset_summaries(graph, sorted(map(dataset_urn, {*tables, *vias}))),
        statements=statements_of_joins(graph, joins[:MOST_JOINS]),
        about=about,
    )
    focus = tables.index(about) if about else -1
    shown = {join.urn: join.verdict.value if join.verdict else "" for join in joins[:MOST_JOINS]}
    session.shown.update({urn: each for urn, each in shown.items() if each or urn in session.shown})
    return render_page(
        contents,
        title=f"Joins of {contents.tables[focus][1]}" if about else "Joins of all datasets",
        counts={
            "tables": len(tables),
            "joins": sum(join.open for join in joins),
            "undecided": sum(join.open and join.is_undecided for join in joins),
            "references": sum(join.open and join.known_role is Role.REFERENCE for join in joins),
        },
        served=ServedPage(
            nonce=nonce,
            csrf=session.csrf,
            person=session.person.rpartition(":")[2],
            urns=tuple(shown),
            verdicts=tuple(shown.values()),
            queue=f"?{urlencode({'table': dataset_urn(about)})}" if about else "",
            focus=focus,
            signs_out=signs_out,
        ),
    )


def _read(graph: DataHubGraph, about: TableId | None) -> list[Join]:
    """Read the joins of a table, or all joins."""
    if about:
        found = joins_of_dataset(graph, dataset_urn(about), hidden=True)
    else:
        found = all_joins(graph, hidden=True)
    return [join for join in found if join.is_listed]


def render_sign_in(*, nonce: str, datahub: str = "") -> str:
    """Render the sign-in page, which asks for a token or leads to DataHub's own sign-in."""
    name = "shared_sign_in.html.j2" if datahub else "sign_in.html.j2"
    return render_template(name, title="Sign in", nonce=nonce, datahub=datahub)


def render_error(message: str, *, nonce: str) -> str:
    """Render a page that shows an error."""
    return render_template("error.html.j2", title="No page", nonce=nonce, message=message)
