"""A join as a `query`: SQL that people find with the tables, and can run."""

from collections.abc import Iterator, Mapping

from datahub.emitter.mcp import MetadataChangeProposalWrapper
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
)
from datahub.metadata.urns import CorpUserUrn, DataPlatformUrn

from datahub_hyperjoin.emit.lineage import reference
from datahub_hyperjoin.relationship_aspect import band, join_urn, mirror
from datahub_hyperjoin.tables import ColumnId, Join, TableId
from datahub_hyperjoin.urns import column_urn, dataset_urn, plain_path, query_urn


def _title(first: ColumnId, second: ColumnId, names: Mapping[TableId, str]) -> str:
    columns = dict.fromkeys(plain_path(column.path) for column in (first, second))
    return f"{names[first.table]} joined with {names[second.table]} on {' = '.join(columns)}"


def _describe(join: Join, first: ColumnId) -> str:
    """The evidence, in the names of the statement: people's names would be read as Markdown."""
    evidence = join.evidence if first == join.left else mirror(join.evidence)
    return (
        f"Suggested, with a joinability of {join.joinability:.2f} ({band(join.joinability)}). "
        f"The key columns share {evidence.shared} different values: "
        f"{evidence.left_containment:.1%} of those in a, {evidence.right_containment:.1%} of those "
        f"in b. On average a row of a meets {evidence.left_fan_out:.1f} rows of b, and a row of b "
        f"meets {evidence.right_fan_out:.1f} rows of a."
    )


def emit_query(
    join: Join, *, statement: str, model_version: str, names: Mapping[TableId, str], now: int
) -> Iterator[MetadataWorkUnit]:
    """One query, with what it is about and where it runs.

    Args:
        join: The join.
        statement: Its SQL.
        model_version: What suggested it.
        names: What people call the tables.
        now: Milliseconds since 1970; the query says that it was made then.

    Yields:
        Three aspects. The framework removes no queries, so what wrote them must take them back.
    """
    first, second = reference(join) or (join.left, join.right)
    columns = dict.fromkeys((first, second))
    # The user whom DataHub's own sources name, and whom its pages do not show as an author.
    stamp = AuditStampClass(time=now, actor=CorpUserUrn("_ingestion").urn())
    properties = QueryPropertiesClass(
        statement=QueryStatementClass(value=statement, language=QueryLanguageClass.SQL),
        # What is found by a program is not shown among a dataset's highlighted queries.
        source=QuerySourceClass.MANUAL,
        name=_title(first, second, names),
        description=_describe(join, first),
        customProperties={"model_version": model_version},
        created=stamp,
        lastModified=stamp,
    )
    about = [*dict.fromkeys(dataset_urn(column.table) for column in columns)]
    about.extend(map(column_urn, columns))
    subjects = QuerySubjectsClass(subjects=[QuerySubjectClass(entity=urn) for urn in about])
    platform = DataPlatformInstanceClass(platform=DataPlatformUrn(first.table.platform).urn())
    for aspect in (properties, subjects, platform):
        yield MetadataChangeProposalWrapper(
            entityUrn=query_urn(join_urn(join)), aspect=aspect
        ).as_workunit(is_primary_source=False)
