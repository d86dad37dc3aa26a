"""Export joins as YAML: to Apache Ossie, dbt's tests, dbt's semantic layer and Cube."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from datahub_hyperjoin.export.names import (
    dialect_of,
    distinct_names,
    identifier,
    needs_quotes,
    quoted_name,
    quoted_path,
)
from datahub_hyperjoin.export.schema import (
    ExportedTable,
    JoinSchema,
    KeyColumns,
    NamedJoin,
    describe_evidence,
    list_evidence,
)
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.visible import visible, visible_lines


class _Dumper(yaml.SafeDumper):  # type: ignore[misc] # the library has no types
    """Writes texts between double quotes if a character in them would not be seen."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if visible(text) == text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def _write_yaml(document: dict[str, Any]) -> str:
    """Write a document as YAML, where control, direction and invisible characters are escapes."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    # Such characters stand only between double quotes, where YAML reads these escapes.
    return visible_lines(text)


_VERSION = "0.2.0.dev0"
_MODEL = "suggested_joins"
_DIALECTS = {"snowflake": "SNOWFLAKE", "databricks": "DATABRICKS", "bigquery": "BIGQUERY"}
"""Ossie's names of SQL dialects, by sqlglot's names; all other dialects are labelled `ANSI_SQL`."""

_OSSIE_TYPES: Mapping[DataType | None, str] = {
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
    return _write_yaml(document)


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
    expression = {"dialect": _DIALECTS.get(dialect, "ANSI_SQL"), "expression": written}
    kind = table.columns[path]
    datatype = {"datatype": _OSSIE_TYPES[kind]} if kind in _OSSIE_TYPES else {}
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


def to_dbt_tests(schema: JoinSchema) -> str:
    """Write the joins as dbt's `relationships` tests, and the keys as `unique` tests."""
    # If some values of a join have no match, its test only warns.
    models = [{"name": table.name, "columns": _columns(schema, table)} for table in schema.tables]
    document = {"version": 2, "models": models}
    return _write_yaml(document)


def _columns(schema: JoinSchema, table: ExportedTable) -> list[dict[str, Any]]:
    columns = []
    for path in table.columns:
        is_key = (path,) in {join.join.referenced_columns for join in schema.joins_to(table)}
        joins = [
            join for join in schema.joins_from(table) if join.join.referring_columns == (path,)
        ]
        tests = [*(["unique"] if is_key else []), *map(_test, joins)]
        quote = {"quote": True} if needs_quotes(path) else {}
        columns += [{"name": path, **quote, "data_tests": tests}] if tests else []
    return columns


def _test(named: NamedJoin) -> dict[str, Any]:
    (path,) = named.join.referenced_columns
    field = quoted_name(path, dialect_of(named.referenced.id)) if needs_quotes(path) else path
    severity = "error" if named.join.is_complete else "warn"
    return {
        "relationships": {
            "name": named.name,
            "description": describe_evidence(named.join),
            "arguments": {"to": f"ref('{named.referenced.name}')", "field": field},
            "config": {"severity": severity, "meta": {"datahub": list_evidence(named.join)}},
        }
    }


def to_metricflow(schema: JoinSchema) -> str:
    """Write the joins as entities of dbt semantic models."""
    # MetricFlow joins entities of the same name. The key of a table is the entity of its name; a
    # further key, and a table to which several columns of one table refer, has an entity for each.
    models = [
        {"name": table.name, "model": f"ref('{table.name}')", "entities": _entities(schema, table)}
        for table in schema.tables
    ]
    document = {"semantic_models": models}
    return _write_yaml(document)


def _entities(schema: JoinSchema, table: ExportedTable) -> list[dict[str, Any]]:
    own = {
        _entity_name(join): _entity(table, _entity_name(join), "unique", _key(join))
        for join in schema.joins_to(table)
        if _entity_name(join) != table.name
    }
    foreign = [
        _entity(
            table,
            _entity_name(join),
            "unique" if join.join.is_one_to_one else "foreign",
            join.join.referring_columns,
            list_evidence(join.join),
        )
        for join in schema.joins_from(table)
    ]
    return [*_primary(table), *own.values(), *foreign]


def _primary(table: ExportedTable) -> list[dict[str, Any]]:
    if len(table.primary_key) != 1:
        return []
    return [_entity(table, table.name, "primary", table.primary_key)]


def _entity_name(named: NamedJoin) -> str:
    is_primary = _key(named) == named.referenced.primary_key
    return named.referenced.name if is_primary and not named.needs_role else named.role_name


def _key(named: NamedJoin) -> KeyColumns:
    return named.join.referenced_columns


def _entity(
    table: ExportedTable,
    name: str,
    kind: str,
    columns: KeyColumns,
    evidence: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    (path,) = columns
    expression = quoted_name(path, dialect_of(table.id)) if needs_quotes(path) else path
    config = {"config": {"meta": {"datahub": evidence}}} if evidence else {}
    return {"name": name, "type": kind, "expr": expression, **config}


_CUBE_TYPES: Mapping[DataType | None, str] = {
    DataType.INTEGER: "number",
    DataType.DECIMAL: "number",
    DataType.BOOLEAN: "boolean",
    DataType.DATE: "time",
    DataType.TIMESTAMP: "time",
}


def to_cube(schema: JoinSchema) -> str:
    """Write the joins as a Cube data model."""
    # A cube joins another cube by its name, so each further reference to a table gets a cube of its
    # own. Such a cube has no joins, because a table that refers to itself would join without end.
    cubes = [_cube(table, schema.joins_from(table)) for table in schema.tables]
    roles = [
        {**_cube(join.referenced, ()), "name": join.alias}
        for join in schema.joins
        if join.needs_role
    ]
    document = {"cubes": [*cubes, *roles]}
    return _write_yaml(document)


def _cube(table: ExportedTable, joins: Sequence[NamedJoin]) -> dict[str, Any]:
    cube = {"name": table.name, "sql_table": quoted_path(table.path, dialect_of(table.id))}
    joined = {"joins": [_join(join) for join in joins]} if joins else {}
    return {**cube, **joined, "dimensions": _dimensions(table)}


def _join(named: NamedJoin) -> dict[str, str]:
    dialect = dialect_of(named.referring.id)  # both tables are on one platform
    columns = (
        (quoted_name(left, dialect), quoted_name(right, dialect))
        for left, right in named.join.columns
    )
    conditions = (f"{{CUBE}}.{left} = {{{named.alias}}}.{right}" for left, right in columns)
    return {
        "name": named.alias,
        "relationship": "one_to_one" if named.join.is_one_to_one else "many_to_one",
        "sql": " AND ".join(conditions),
    }


def _dimensions(table: ExportedTable) -> list[dict[str, Any]]:
    names = distinct_names([[identifier(path)] for path in table.columns])
    return [
        {
            "name": name,
            "sql": quoted_name(path, dialect_of(table.id)),
            "type": _CUBE_TYPES.get(kind, "string"),
            **({"primary_key": True} if path in table.primary_key else {}),
        }
        for name, (path, kind) in zip(names, table.columns.items(), strict=True)
    ]
