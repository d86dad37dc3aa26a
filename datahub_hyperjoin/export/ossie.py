"""Export joins as an Apache Ossie semantic model.

Many tools convert such a model into their own.
"""

import json
from collections.abc import Mapping
from typing import Any

from datahub_hyperjoin.export.evidence import describe_evidence, list_evidence
from datahub_hyperjoin.export.quoting import dialect_of, needs_quotes, quoted_name
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.export.text import write_yaml
from datahub_hyperjoin.tables import DataType

_VERSION = "0.2.0.dev0"
_MODEL = "suggested_joins"
_DIALECTS = {"snowflake": "SNOWFLAKE", "databricks": "DATABRICKS", "bigquery": "BIGQUERY"}
"""Ossie's names of SQL dialects, by sqlglot's names; all other dialects are labelled `ANSI_SQL`."""

_TYPES: Mapping[DataType | None, str] = {
    DataType.TEXT: "String",
    DataType.INTEGER: "Integer",
    DataType.DECIMAL: "Decimal",
    DataType.BOOLEAN: "Boolean",
    DataType.DATE: "Date",
    DataType.TIMESTAMP: "DateTime",
}


def to_ossie(schema: JoinSchema) -> str:
    """Write the joins as relationships of an Apache Ossie semantic model."""
    model = {
        "name": _MODEL,
        "description": "Tables and the joins that repeat none of their rows.",
        "datasets": [_dataset(table) for table in schema.tables],
        "relationships": [_relationship(join) for join in schema.joins],
    }
    document = {"version": _VERSION, "semantic_model": [model]}
    return write_yaml(document)


def _dataset(table: ExportedTable) -> dict[str, Any]:
    keys = {
        "primary_key": [*table.primary_key],
        "unique_keys": [[*key] for key in table.unique_keys],
    }
    return {
        "name": table.name,
        "source": ".".join(table.path),
        **{name: columns for name, columns in keys.items() if columns},
        "fields": [_field(table, path) for path in table.columns],
    }


def _field(table: ExportedTable, path: str) -> dict[str, Any]:
    dialect = dialect_of(table.id)
    # Converters move unquoted names to databases that write them in another case.
    written = (
        quoted_name(path, dialect if dialect in _DIALECTS else "") if needs_quotes(path) else path
    )
    expression = {
        "dialect": _DIALECTS.get(dialect, "ANSI_SQL"),
        "expression": written,
    }
    kind = table.columns[path]
    datatype = {"datatype": _TYPES[kind]} if kind in _TYPES else {}
    return {"name": path, "expression": {"dialects": [expression]}, **datatype}


def _relationship(named: NamedJoin) -> dict[str, Any]:
    data = json.dumps(list_evidence(named.join), ensure_ascii=False)
    return {
        "name": named.name,
        "from": named.referring.name,
        "to": named.referenced.name,
        "from_columns": [*named.join.referring_columns],
        "to_columns": [*named.join.referenced_columns],
        "ai_context": {"instructions": _instructions(named)},
        "custom_extensions": [{"vendor_name": "DATAHUB", "data": data}],
    }


def _instructions(named: NamedJoin) -> str:
    role = f" Call {named.referenced.name} {named.alias} in it." if named.needs_role else ""
    keep = "" if named.join.keeps_rows else " Use a left join: rows without a match may exist."
    return (
        f"Each row of {named.referring.name} has at most one row of {named.referenced.name} "
        f"({describe_evidence(named.join)}).{role}{keep}"
    )
