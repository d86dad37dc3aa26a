"""Which tables and views a catalog of Spark's has."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.databases.listing import ListedRelation
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.frames import SPARK_ERRORS, quoted, spark_error_text


def list_catalog(
    session: SparkSession,
    catalog: str,
    connection: str,
    *,
    wanted: Callable[[str], bool],
    views: bool,
) -> list[ListedRelation]:
    """Lists what a catalog has.

    Args:
        session: Where to run.
        catalog: The catalog's name.
        connection: Its key in the recipe, for messages.
        wanted: Whether a schema is to be listed.
        views: Whether views are listed, too.

    Returns:
        Tables and views by schema and name; Spark does not tell their sizes.

    Raises:
        UnreachableSourceError: There is no such catalog, or what is behind it does not answer.
    """
    try:
        schemas = session.sql(f"SHOW NAMESPACES IN {quoted([catalog])}").collect()
        return sorted(
            ListedRelation(schema, name, 0)
            for (schema,) in schemas
            if wanted(schema)
            for name in _names(session, quoted([catalog, schema]), views=views)
        )
    except SPARK_ERRORS as error:
        raise UnreachableSourceError.of_catalog(connection, spark_error_text(error)) from error


def _names(session: SparkSession, schema: str, *, views: bool) -> set[str]:
    names = _listed(session, f"SHOW TABLES IN {schema}", "tableName")
    try:
        found = _listed(session, f"SHOW VIEWS IN {schema}", "viewName")
    except SPARK_ERRORS:
        return names  # a catalog without views
    return names | found if views else names - found


def _listed(session: SparkSession, statement: str, name: str) -> set[str]:
    return {row[name] for row in session.sql(statement).collect() if not row["isTemporary"]}
