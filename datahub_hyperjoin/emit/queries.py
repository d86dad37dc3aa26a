"""Write joins as DataHub's `query` entities, with tested SQL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DataPlatformInstanceClass,
    QueryLanguageClass,
    QueryPropertiesClass,
    QuerySourceClass,
    QueryStatementClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    _Aspect,
)
from datahub.metadata.urns import DataPlatformUrn
from typing_extensions import assert_never, override

from datahub_hyperjoin.emit.layer import OwnEntities, Writing, unit_of
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import FILE_DIALECT, Cardinality, CrosswalkJoin, Join, Statement
from datahub_hyperjoin.joins.describe import decision_in_words, describe_rows, result_in_words
from datahub_hyperjoin.metadata.relationships import (
    MODEL_VERSION,
    SQL_DIALECT,
    catalog_join,
    join_urn,
)
from datahub_hyperjoin.metadata.urns import AUTHOR, column_urn, dataset_urn, plain_path, query_urn
from datahub_hyperjoin.tables import ColumnId, TableId, labels
from datahub_hyperjoin.visible import markdown, visible
from datahub_hyperjoin.wording import number_of, percent


def _title(
    firsts: Sequence[ColumnId], seconds: Sequence[ColumnId], names: Mapping[TableId, str]
) -> str:
    equal = (
        " = ".join(dict.fromkeys(plain_path(column.path) for column in ends))
        for ends in zip(firsts, seconds, strict=True)
    )
    tables = f"{names[firsts[0].table]} joined with {names[seconds[0].table]}"
    return visible(f"{tables} on {' and '.join(equal)}")


def _describe(
    join: Join, first: ColumnId, statement: Statement, names: Mapping[TableId, str]
) -> str:
    # The rows come first, since DataHub's list of queries shows the first words only.
    seen = join if first == join.left else join.reversed
    one, other = _tables(seen, names)
    evidence, decision = seen.measured, decision_in_words(join)
    return (
        f"{_describe_rows(seen, names)} Both sides share "
        f"{number_of(evidence.shared, 'distinct value')}: {percent(evidence.left_containment)} of "
        f"those in {one}, and {percent(evidence.right_containment)} of those in {other}. "
        f"{_describe_statement(statement)} {decision[:1].upper()}{decision[1:]}."
    )


def _describe_statement(statement: Statement) -> str:
    where = (
        " Run it in DuckDB where these files can be opened."
        if statement.dialect == FILE_DIALECT
        else ""
    )
    return f"The statement gave {result_in_words(statement)}.{where}"


def _tables(join: Join, names: Mapping[TableId, str]) -> tuple[str, str]:
    left, right = (markdown(names[table]) for table in join.tables)
    return left, right


def _describe_rows(join: Join, names: Mapping[TableId, str]) -> str:
    known = catalog_join(join).seen_from(join.left.table)
    forward = describe_rows(known, _tables(known, names))
    back = describe_rows(known.reversed, _tables(known.reversed, names))
    return forward if known.cardinality is Cardinality.MANY_MANY else f"{forward} {back}"


def emit_query(
    join: Join | CrosswalkJoin,
    *,
    statement: Statement,
    model_version: str,
    names: Mapping[TableId, str],
    now: int,
) -> Iterator[MetadataWorkUnit]:
    """Write one join as a `query` entity."""
    title, description, columns = _present(join, statement, names)
    stamp = AuditStampClass(time=now, actor=AUTHOR)
    properties = QueryPropertiesClass(
        statement=QueryStatementClass(value=statement.sql, language=QueryLanguageClass.SQL),
        # DataHub does not show SYSTEM queries among a dataset's Highlighted Queries.
        source=QuerySourceClass.MANUAL,
        name=title,
        description=description,
        customProperties={MODEL_VERSION: model_version, SQL_DIALECT: statement.dialect},
        created=stamp,
        lastModified=stamp,
    )
    entities = [*(dataset_urn(column.table) for column in columns), *map(column_urn, columns)]
    subjects = QuerySubjectsClass([QuerySubjectClass(urn) for urn in dict.fromkeys(entities)])
    platform = DataPlatformInstanceClass(platform=DataPlatformUrn(columns[0].table.platform).urn())
    for aspect in (properties, subjects, platform):
        # Not primary, so that DataHub's removal of stale entities leaves queries to `withdraw`.
        yield unit_of(query_of(join), aspect)


def query_of(join: Join | CrosswalkJoin) -> str:
    """Return the URN of a join's `query` entity."""
    return query_urn(join_urn(join if isinstance(join, Join) else join.as_join))


def _present(
    join: Join | CrosswalkJoin, statement: Statement, names: Mapping[TableId, str]
) -> tuple[str, str, Sequence[ColumnId]]:
    # The parser of SQL takes a tenth of a second to import, and few recipes write queries.
    from datahub_hyperjoin.sql.write import columns_in_order, sides_of  # noqa: PLC0415

    match join:
        case Join():
            firsts, seconds = sides_of(join)
            # The joined columns come first, those of a composite key after them.
            columns = [column for ends in zip(firsts, seconds, strict=True) for column in ends]
            return (
                _title(firsts, seconds, names),
                _describe(join, firsts[0], statement, names),
                columns,
            )
        case CrosswalkJoin():
            steps = columns_in_order(join)
            return (
                _title_steps(steps, names),
                _describe_steps(join, steps[0], statement, names),
                steps,
            )
    assert_never(join)


def _title_steps(columns: Sequence[ColumnId], names: Mapping[TableId, str]) -> str:
    first, into, out, second = (plain_path(column.path) for column in columns)
    start, through, _, end = (names[column.table] for column in columns)
    equal = f"{first} = {into} and {out} = {second}"
    return visible(f"{start} joined with {end} through {through} on {equal}")


def _describe_steps(
    join: CrosswalkJoin, first: ColumnId, statement: Statement, names: Mapping[TableId, str]
) -> str:
    direct = join.as_join
    seen = direct if first == join.left else direct.reversed
    one, other = _tables(seen, names)
    return (
        f"{_describe_rows(seen, names)} {markdown(names[join.bridge.left_via.table])} holds the "
        f"values of both columns: {percent(seen.measured.left_containment)} of the distinct values "
        f"in {one} reach {other} through it, and {percent(seen.measured.right_containment)} of "
        f"those in {other} reach {one}. {_describe_statement(statement)} "
        f"Suggested in two steps with joinability {join.joinability:.2f}."
    )


class Queries(OwnEntities):
    """Joins as queries whose SQL was run, under the Highlighted Queries of both datasets."""

    key = "queries"
    entity = "query"
    info = QueryPropertiesClass
    read = (QuerySubjectsClass,)
    needs: ClassVar = {"query": ("queryProperties", "querySubjects", "status")}
    per_join = 3

    @override
    def urns(self, publication: Publication) -> Iterable[str]:
        joins: list[Join | CrosswalkJoin] = [*publication.joins, *publication.crosswalks]
        return map(query_of, joins)

    @override
    def shown_by(self, aspects: Mapping[type[_Aspect], _Aspect]) -> Iterable[str]:
        subjects = aspects.get(QuerySubjectsClass)
        found = subjects.subjects if isinstance(subjects, QuerySubjectsClass) else ()
        return (subject.entity for subject in found)

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        """Write a query for each join whose SQL was run, those through crosswalks last."""
        publication, names = run.publication, labels(run.publication.titles)
        # What a person changed or deleted is skipped, and a crosswalk between columns that have a
        # query already.
        skipped = {*run.existing.closed, *run.written.queries}
        joins: list[Join | CrosswalkJoin] = [*publication.linking, *publication.crosswalks]
        for join in joins:
            statement = publication.statements.get(join.pairs, Statement())
            if not statement.sql and isinstance(join, Join):
                run.count("joins_without_query", 1)
            if statement.sql and (urn := query_of(join)) not in skipped:
                version, now = publication.model_version, publication.now
                query = emit_query(
                    join, statement=statement, model_version=version, names=names, now=now
                )
                yield from self.put(run, urn, query)
                skipped.add(urn)
