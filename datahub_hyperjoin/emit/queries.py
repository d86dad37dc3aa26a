"""Write a join as a `query`, with SQL that people can run."""

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
from datahub.metadata.urns import DataPlatformUrn

from datahub_hyperjoin.emit.lineage import reference
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.relationship_aspect import MODEL_VERSION, band, join_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import AUTHOR, column_urn, dataset_urn, plain_path, query_urn


def _title(first: ColumnId, second: ColumnId, names: Mapping[TableId, str]) -> str:
    columns = dict.fromkeys(plain_path(column.path) for column in (first, second))
    return f"{names[first.table]} joined with {names[second.table]} on {' = '.join(columns)}"


def _describe(join: Join, first: ColumnId) -> str:
    """Describe the evidence for a join in English sentences.

    Tables are named by their aliases in the statement, because DataHub reads the text as Markdown
    and would format some of their names.
    """
    evidence = join.evidence if first == join.left else join.evidence.reversed
    return (
        f"Suggested join with a joinability of {join.joinability:.2f} ({band(join.joinability)}), "
        f"{evidence.cardinality.words}. The key columns share {evidence.shared} distinct values: "
        f"{evidence.left_containment:.1%} of the distinct values in a also occur in b, and "
        f"{evidence.right_containment:.1%} of those in b also occur in a. On average, each row of "
        f"a matches {evidence.left_fan_out:.1f} rows of b, and each row of b matches "
        f"{evidence.right_fan_out:.1f} rows of a."
    )


def emit_query(
    join: Join, *, statement: str, model_version: str, names: Mapping[TableId, str], now: int
) -> Iterator[MetadataWorkUnit]:
    """Write one query, the datasets and columns that it is about, and its platform.

    Args:
        join: The join.
        statement: Its SQL.
        model_version: The model that suggested the join.
        names: Labels of tables.
        now: Time of creation, in milliseconds since 1970.

    Yields:
        Three aspects. Stateful ingestion does not remove queries; `withdraw` does.
    """
    first, second = reference(join) or (join.left, join.right)
    columns = dict.fromkeys((first, second))
    stamp = AuditStampClass(time=now, actor=AUTHOR)
    properties = QueryPropertiesClass(
        statement=QueryStatementClass(value=statement, language=QueryLanguageClass.SQL),
        # DataHub does not show SYSTEM queries among a dataset's Highlighted Queries.
        source=QuerySourceClass.MANUAL,
        name=_title(first, second, names),
        description=_describe(join, first),
        customProperties={MODEL_VERSION: model_version},
        created=stamp,
        lastModified=stamp,
    )
    entities = [*dict.fromkeys(dataset_urn(column.table) for column in columns)]
    entities.extend(map(column_urn, columns))
    subjects = QuerySubjectsClass(subjects=[QuerySubjectClass(entity=urn) for urn in entities])
    platform = DataPlatformInstanceClass(platform=DataPlatformUrn(first.table.platform).urn())
    for aspect in (properties, subjects, platform):
        yield MetadataChangeProposalWrapper(
            entityUrn=query_urn(join_urn(join)), aspect=aspect
        ).as_workunit(is_primary_source=False)
