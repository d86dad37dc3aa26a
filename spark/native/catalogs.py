"""List the tables and views of Spark catalogs."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.databases.listing import ListedRelation
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.frames import quoted, spark_error_text
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS


def list_catalog(
    session: SparkSession,
    catalog: str,
    connection: str,
    *,
    wanted: Callable[[str], bool],
    views: bool,
) -> list[ListedRelation]:
    """List the tables and views of a Spark catalog.

    Returns:
        Tables and views, ordered by schema and name. Their sizes are 0, because Spark does not
        report them.
    """
    try:
        schemas = session.sql(f"SHOW NAMESPACES IN {quoted([catalog])}").collect()
        return sorted(
            ListedRelation(schema, name, 0)
            for (schema,) in schemas
            if wanted(schema)
            for name in _relation_names(session, quoted([catalog, schema]), views=views)
        )
    except SPARK_ERRORS as error:
        raise UnreachableSourceError.of_catalog(connection, spark_error_text(error)) from error


def _relation_names(session: SparkSession, schema: str, *, views: bool) -> set[str]:
    tables = _names(session, f"SHOW TABLES IN {schema}", "tableName")
    try:
        view_names = _names(session, f"SHOW VIEWS IN {schema}", "viewName")
    except SPARK_ERRORS:
        return tables  # The catalog does not support views.
    # Some catalogs list views among their tables, others do not.
    return tables | view_names if views else tables - view_names


def _names(session: SparkSession, statement: str, field: str) -> set[str]:
    return {row[field] for row in session.sql(statement).collect() if not row["isTemporary"]}
