"""Lead BigQuery's SQLAlchemy dialect to Google's own implementation of its SQL, in this process.

`zetasql` has the reference implementation of GoogleSQL, compiled to WebAssembly. It executes only
queries, so tests add tables here. Importing this module lets SQLAlchemy know the URL
`bigquery+local://`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from functools import cache
from threading import Lock
from types import SimpleNamespace
from typing import Any

from google.cloud.bigquery import SchemaField
from google.cloud.bigquery.dbapi import exceptions
from google.cloud.bigquery.dbapi.cursor import _format_operation
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy_bigquery import BigQueryDialect
from zetasql.api import CatalogBuilder, PreparedQuery, TableBuilder
from zetasql.core.exceptions import ServerError
from zetasql.types import (
    AnalyzerOptions,
    LanguageFeature,
    LanguageOptions,
    ProductMode,
    TypeKind,
    ZetaSQLBuiltinFunctionOptions,
)

from engines.buffered_cursor import BufferedCursor

_KINDS = {
    "BIGNUMERIC": TypeKind.TYPE_BIGNUMERIC,
    "BOOL": TypeKind.TYPE_BOOL,
    "DATE": TypeKind.TYPE_DATE,
    "DATETIME": TypeKind.TYPE_DATETIME,
    "FLOAT64": TypeKind.TYPE_DOUBLE,
    "INT64": TypeKind.TYPE_INT64,
    "INTERVAL": TypeKind.TYPE_INTERVAL,
    "NUMERIC": TypeKind.TYPE_NUMERIC,
    "STRING": TypeKind.TYPE_STRING,
    "TIME": TypeKind.TYPE_TIME,
    "TIMESTAMP": TypeKind.TYPE_TIMESTAMP,
}
_ZONED = "TIMESTAMP"
_FROM_TEXT: Mapping[TypeKind, Callable[[str], object]] = {
    TypeKind.TYPE_BIGNUMERIC: Decimal,
    TypeKind.TYPE_DATE: date.fromisoformat,
    TypeKind.TYPE_DATETIME: datetime.fromisoformat,
    TypeKind.TYPE_INTERVAL: str,
    TypeKind.TYPE_NUMERIC: Decimal,
    TypeKind.TYPE_TIME: time.fromisoformat,
    TypeKind.TYPE_TIMESTAMP: lambda text: datetime.fromisoformat(text).replace(tzinfo=timezone.utc),
}
"""What the driver makes of the texts that BigQuery sends for values of these types."""


_AS_TEXT = {
    TypeKind.TYPE_DATETIME: "FORMAT_DATETIME('%E4Y-%m-%d %H:%M:%E6S', {})",
    TypeKind.TYPE_TIME: "FORMAT_TIME('%H:%M:%E6S', {})",
    TypeKind.TYPE_TIMESTAMP: "FORMAT_TIMESTAMP('%E4Y-%m-%d %H:%M:%E6S', {}, 'UTC')",
}
"""How values of these types are sent, where it is not as their usual text."""


@dataclass(frozen=True)
class _LocalTable:
    """The rows of a table with one column `v`, and the type of this column."""

    type: str
    content: Any


_sent: Callable[[str, Any], tuple[str, object]] = _format_operation
_ONE_AT_A_TIME = Lock()
_TABLES: dict[str, _LocalTable] = {}


def add_table(name: str, type_: str, values: Sequence[str]) -> None:
    """Add a table with one column `v`, given the values as expressions of BigQuery's SQL."""
    cast = f"CAST({{}} AS {type_})"
    # `zetasql` takes no points in time with a zone.
    kept = f"UNIX_MICROS({cast})" if type_ == _ZONED else cast
    rows = " UNION ALL ".join(f"SELECT {kept.format(value)} AS v" for value in values)
    _TABLES[name] = _LocalTable(type_, _prepared(rows).execute().content)


@cache
def _language() -> LanguageOptions:
    language = LanguageOptions.maximum_features()
    language.product_mode = ProductMode.PRODUCT_EXTERNAL
    language.enabled_language_features.append(LanguageFeature.FEATURE_V_1_3_COLLATION_SUPPORT)
    return language


def _prepared(statement: str) -> PreparedQuery:
    builder = CatalogBuilder("local").with_builtin_functions(
        ZetaSQLBuiltinFunctionOptions(language_options=_language())
    )
    for name, known in _TABLES.items():
        kind = _KINDS["INT64" if known.type == _ZONED else known.type]
        builder.add_table(TableBuilder(name).add_column("v", kind).build())
        if known.type == _ZONED:
            moments = f"FROM (SELECT TIMESTAMP_MICROS(v) AS v FROM `{name}`)"
            statement = statement.replace(f"FROM `{name}`", moments)
    return (
        PreparedQuery.builder()
        .set_sql(statement)
        .set_analyzer_options(AnalyzerOptions(language_options=_language()))
        .set_catalog(builder.build())
        .set_table_content({name: known.content for name, known in _TABLES.items()})
        .prepare()
    )


def _result_of(statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the names of a result's columns, and its rows as the real driver converts them."""
    prepared = _prepared(statement)
    columns = [(each.name, each.type.type_kind) for each in prepared.columns]
    sent = ", ".join(f"{_sent_as(kind).format(f'`{name}`')} AS `{name}`" for name, kind in columns)
    named = [name for name, _ in columns]
    if any(kind in _FROM_TEXT for _, kind in columns):
        prepared = _prepared(f"SELECT {sent} FROM ({statement})")
    content: Any = prepared.execute().content
    rows = content.table_data.row
    return named, [
        tuple(
            _python_value(cell, _FROM_TEXT.get(kind))
            for cell, (_, kind) in zip(row.cell, columns, strict=True)
        )
        for row in rows
    ]


def _sent_as(kind: TypeKind) -> str:
    return _AS_TEXT.get(kind, "CAST({} AS STRING)" if kind in _FROM_TEXT else "{}")


def _python_value(cell: Any, convert: Callable[[str], object] | None) -> object:  # noqa: ANN401
    found = [value for value in vars(cell).values() if value is not None]
    if not found or convert is None:
        return found[0] if found else None
    return convert(found[0])


class _Cursor(BufferedCursor):
    """A cursor that gets each result as a whole."""

    arraysize, rowcount = 1, -1

    def execute(self, statement: str, parameters: Mapping[str, object] | None = None) -> None:
        sent, _ = _sent(statement, parameters)
        # A limit, which is a whole number, is the only parameter.
        sent = re.sub("@`([^`]+)`", lambda found: str((parameters or {})[found[1]]), sent)
        try:
            with _ONE_AT_A_TIME:
                names, self._rows = _result_of(sent)
        except ServerError as error:
            raise exceptions.DatabaseError(str(error)) from None
        self.description = [(name, *[None] * 6) for name in names]

    def close(self) -> None:
        """Do nothing."""


class _Connection:
    """A connection without transactions, as those of the real driver are."""

    def cursor(self) -> _Cursor:
        return _Cursor()

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class LocalBigQuery(BigQueryDialect):  # type: ignore[misc] # it has no types
    """The dialect of BigQuery, with another way to the server."""

    driver = "local"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:  # noqa: ANN401 (a module, for SQLAlchemy)
        return SimpleNamespace(**vars(exceptions), paramstyle="pyformat", connect=_Connection)

    def create_connect_args(self, url: URL) -> Any:  # noqa: ANN401 (as above)
        del url
        return [], {}

    def _get_table_or_view_names(
        self, connection: object, item_types: Sequence[str], schema: str | None = None
    ) -> list[str]:
        del connection, schema
        return [*_TABLES] if "TABLE" in item_types else []

    def _get_table(self, connection: object, table_name: str, schema: str | None = None) -> Any:  # noqa: ANN401
        del connection, schema
        if table_name not in _TABLES:
            raise NoSuchTableError(table_name)
        return SimpleNamespace(schema=[SchemaField("v", _TABLES[table_name].type)])


registry.register("bigquery.local", __name__, "LocalBigQuery")
