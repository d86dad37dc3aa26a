"""Render the pages that the service shows to a person."""

from collections.abc import Mapping, Sequence
from itertools import islice

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql import CatalogJoin, all_joins, find_dataset, joins_of_dataset
from datahub_hyperjoin.graphql.datasets import DatasetSummary, read_dataset_summaries
from datahub_hyperjoin.graphql.join_sql import statements_of_joins
from datahub_hyperjoin.joins import Cardinality, Role, Statement, Verdict
from datahub_hyperjoin.metadata.confidence_bands import NOT_VERIFIED
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.page.contents import (
    MOST_JOINS,
    Contents,
    Record,
    count_matched,
    describe_both,
    write_anti_joins,
)
from datahub_hyperjoin.page.exported import choose_exports
from datahub_hyperjoin.page.publishers import number_publishers, publisher_of
from datahub_hyperjoin.page.served import ServedPage
from datahub_hyperjoin.page.translations import Translations, translate
from datahub_hyperjoin.page.write import render_page, render_template
from datahub_hyperjoin.service.sessions import PersonalSession
from datahub_hyperjoin.tables import ColumnId, TableId

_UNKNOWN = -1
"""Stands for a number that the catalog does not have; the page leaves it out."""

_NO_DOMAIN = -1
_BY_CARDINALITY = {Cardinality.MANY_ONE: 1, Cardinality.ONE_MANY: -1}
_FROM_CATALOG = "DataHub shows it among the Highlighted Queries of both datasets"


def list_catalog_contents(
    joins: Sequence[CatalogJoin],
    *,
    summaries: Mapping[str, DatasetSummary],
    statements: Mapping[str, Statement],
    about: TableId | None = None,
) -> Contents:
    """Collect the contents of the page: joins, columns and tables, including the table `about`.

    Args:
        about: A table that is shown even without a join.

    Returns:
        Tables, columns and joins. Numbers that the catalog does not tell are -1.
    """
    shown = joins[:MOST_JOINS]
    ends = [end for join in shown for end in (join.left, join.right)]
    tables = number_tables(joins, about)
    publishers = number_publishers(tables, ends)
    columns = {column: number for number, column in enumerate(sorted({*ends}))}
    titles = {table: _title(table, summaries) for table in tables}
    return Contents(
        publishers=tuple(publishers),
        tables=tuple(_table(table, publishers, summaries) for table in tables),
        columns=tuple(
            (tables[column.table], column.path, False, "", _UNKNOWN, False) for column in columns
        ),
        joins=tuple(_record(join, columns) for join in shown),
        sentences=tuple(describe_both(join, titles) for join in shown),
        matched=count_matched(shown),
        anti_joins=write_anti_joins(
            shown,
            [Statement() if join.via else statements.get(join.urn, Statement()) for join in shown],
        ),
        statements=tuple(("", "") if join.via else _sql(join, statements) for join in shown),
        translations=_translate(shown, statements),
        exports=choose_exports(shown),
        compared=_compared(shown),
        crosswalks={
            number: (_title(via[0].table, summaries), *_paths(via), *_sql(join, statements))
            for number, join in enumerate(shown)
            if (via := join.via)
        },
        further={
            number: tuple(map(_paths, join.pairs[1:]))
            for number, join in enumerate(shown)
            if join.pairs[1:]
        },
        domains=(),
        left_out=len(joins) - len(shown),
    )


def number_tables(joins: Sequence[CatalogJoin], about: TableId | None) -> dict[TableId, int]:
    """Map each table of the shown joins, and also `about`, to its index on the page.

    Args:
        about: The table that the page is about, which is shown even without a join; None for a page
            about all joins.

    Returns:
        The index of each table in the contents of the page.
    """
    ends = {table for join in joins[:MOST_JOINS] for table in join.tables}
    tables = ends | ({about} if about else set())
    return {table: number for number, table in enumerate(sorted(tables))}


def _title(table: TableId, summaries: Mapping[str, DatasetSummary]) -> str:
    summary = summaries.get(dataset_urn(table))
    return (summary.title if summary else "") or table.name


def _table(
    table: TableId, publishers: Mapping[str, int], summaries: Mapping[str, DatasetSummary]
) -> Record:
    summary = summaries.get(dataset_urn(table), DatasetSummary())
    columns = _UNKNOWN if summary.columns is None else summary.columns
    publisher = publishers[publisher_of(table)]
    return table.name, _title(table, summaries), publisher, _UNKNOWN, columns


def _paths(columns: tuple[ColumnId, ColumnId]) -> tuple[str, str]:
    return columns[0].path, columns[1].path


def _compared(joins: Sequence[CatalogJoin]) -> dict[int, str]:
    return {
        number: join.compared_as
        for number, join in enumerate(joins)
        if join.compared_as and not join.via
    }


def _translate(joins: Sequence[CatalogJoin], statements: Mapping[str, Statement]) -> Translations:
    """Translate the SQL of joins, including joins in two steps through a crosswalk."""
    known = {at: statements[join.urn] for at, join in enumerate(joins) if join.urn in statements}
    return translate(
        {at: statement for at, statement in known.items() if not joins[at].via},
        {at: statement for at, statement in known.items() if joins[at].via},
        differing=_compared(joins),
    )


def _sql(join: CatalogJoin, statements: Mapping[str, Statement]) -> tuple[str, str]:
    """Return the SQL of a join and a note about it; both are empty if there is no SQL."""
    return (statements[join.urn].sql, _FROM_CATALOG) if join.urn in statements else ("", "")


def _record(join: CatalogJoin, columns: Mapping[ColumnId, int]) -> Record:
    # Two digits are shown; rounded to three first, 0.9954 would be shown as 0.99.
    score = round(join.strength if join.joinability is None else join.joinability, 4)
    return (
        columns[join.left],
        columns[join.right],
        # The catalog does not tell the ranks, and a rank of 0 is shown for no column.
        0,
        score,
        0,
        score,
        _UNKNOWN,
        *map(_known, (join.left_containment, join.right_containment)),
        join.cardinality.value,
        *map(_known, (join.left_fan_out, join.right_fan_out)),
        "; ".join(_notes(join)),
        join.likely_role.place,
        _direction(join),
        _NO_DOMAIN,
    )


def _known(number: float | None) -> float:
    return _UNKNOWN if number is None else number


def _direction(join: CatalogJoin) -> int:
    """Return 1 if a join leads from left to right, -1 from right to left, 0 if it has no direction.

    A join without a role leads from many rows to one.
    """
    if join.referenced:
        return 1 if join.referenced == join.right else -1
    return _BY_CARDINALITY.get(join.cardinality, 0) if join.role is None else 0


def _notes(join: CatalogJoin) -> list[str]:
    return [
        *(["created by a user"] if join.joinability is None and not join.band else []),
        *(["declared in the catalog"] if join.declared else []),
        *([] if join.is_verified else [NOT_VERIFIED]),
        *([join.description] if join.description else []),
    ]


def is_listed(join: CatalogJoin) -> bool:
    """Return whether the page lists a join.

    Rejected joins are listed, so that a person can change the decision; joins that a run withdrew
    are not.
    """
    return join.open or join.verdict is Verdict.REJECTED


_STATEMENTS = 200
"""Maximum number of SQL statements that one request to DataHub reads."""


def render_joins(
    session: PersonalSession, *, nonce: str, dataset: str = "", signs_out: bool = True
) -> str:
    """Render the page that shows the joins of one dataset or all joins.

    The joins are read from DataHub with the person's rights, so that the page shows what this
    person may see, and every decision at once.

    Args:
        dataset: URN or name of the dataset; empty for all joins.
        signs_out: Whether the page has a button to sign out.
    """
    graph = session.graph
    about = table_id(find_dataset(graph, dataset)) if dataset else None
    joins = _read(graph, about)
    tables = number_tables(joins, about)
    vias = {join.via[0].table for join in joins if join.via}
    contents = list_catalog_contents(
        joins,
        summaries=read_dataset_summaries(graph, sorted(map(dataset_urn, tables.keys() | vias))),
        statements=_read_statements(graph, joins[:MOST_JOINS]),
        about=about,
    )
    focus = tables[about] if about else -1
    shown = {join.urn: join.verdict.value if join.verdict else "" for join in joins[:MOST_JOINS]}
    session.shown.update({urn: each for urn, each in shown.items() if each or urn in session.shown})
    return render_page(
        contents,
        title=f"Joins of {contents.tables[focus][1]}" if about else "Joins of all datasets",
        counts={
            "tables": len(tables),
            "joins": sum(join.open for join in joins),
            "references": sum(join.open and join.role is Role.REFERENCE for join in joins),
        },
        served=ServedPage(
            nonce=nonce,
            csrf=session.csrf,
            person=session.person.rpartition(":")[2],
            urns=tuple(shown),
            verdicts=tuple(shown.values()),
            focus=focus,
            signs_out=signs_out,
        ),
    )


def _read(graph: DataHubGraph, about: TableId | None) -> list[CatalogJoin]:
    """Read the joins of a table, or all joins.

    Joins that a person rejected are included.
    """
    if about:
        found = joins_of_dataset(graph, dataset_urn(about), hidden=True)
    else:
        found = all_joins(graph, hidden=True)
    return [join for join in found if is_listed(join)]


def _read_statements(graph: DataHubGraph, joins: Sequence[CatalogJoin]) -> dict[str, Statement]:
    """Read the SQL of joins, in several requests if necessary."""
    rest, statements = iter(joins), dict[str, Statement]()
    while part := list(islice(rest, _STATEMENTS)):
        statements |= statements_of_joins(graph, part)
    return statements


def render_sign_in(*, nonce: str, datahub: str = "") -> str:
    """Render the sign-in page, which asks for a token or leads to DataHub's own sign-in.

    Args:
        datahub: Address of DataHub's pages, if the person signs in there; otherwise empty.
    """
    name = "shared_sign_in.html.j2" if datahub else "sign_in.html.j2"
    return render_template(name, title="Sign in", nonce=nonce, datahub=datahub)


def render_error(message: str, *, nonce: str) -> str:
    """Render a page that shows an error."""
    return render_template("error.html.j2", title="No page", nonce=nonce, message=message)
