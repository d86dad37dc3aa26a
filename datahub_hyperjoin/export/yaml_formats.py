"""Export joins as YAML: to Apache Ossie, dbt's tests, dbt's semantic layer and Cube."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from datahub_hyperjoin.export.names import (
    dialect_of,
    needs_quotes,
    quoted_name,
    quoted_path,
)
from datahub_hyperjoin.export.schema import (
    ExportedTable,
    JoinSchema,
    KeyColumns,
    NamedJoin,
    list_evidence,
    type_names,
)
from datahub_hyperjoin.joins.semantic_layers import advise, describe_evidence
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


def to_ossie(schema: JoinSchema) -> str:
    """Write the joins as relationships of an Apache Ossie semantic model."""
    model = {
        "name": _MODEL,
        "description": "Tables and the joins that repeat none of their rows.",
        "datasets": [_dataset(table) for table in schema.tables],
        "relationships": [_relationship(join) for join in schema.joins],
    }
    return _write_yaml({"version": _VERSION, "semantic_model": [model]})


def _dataset(table: ExportedTable) -> dict[str, Any]:
    keys = {"primary_key": [*table.primary_key], "unique_keys": [*map(list, table.unique_keys)]}
    return {
        "name": table.name,
        "source": ".".join(table.path),
        **{name: columns for name, columns in keys.items() if columns},
        "fields": [_field(table, path) for path in table.columns],
    }


def _field(table: ExportedTable, path: str) -> dict[str, Any]:
    dialect = dialect_of(table.id)
    written = _if_needed(path, dialect if dialect in _DIALECTS else "")
    expression = {"dialect": _DIALECTS.get(dialect, "ANSI_SQL"), "expression": written}
    kind = type_names(table.columns[path]).ossie
    datatype = {"datatype": kind} if kind else {}
    return {"name": path, "expression": {"dialects": [expression]}, **datatype}


def _if_needed(path: str, dialect: str) -> str:
    """Quote a name only if SQL needs that, since tools move names to other databases."""
    # They write unquoted names in another case.
    return quoted_name(path, dialect) if needs_quotes(path) else path


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
    return advise(named.join, named.referring.name, named.referenced.name) + role


def to_dbt_tests(schema: JoinSchema) -> str:
    """Write the joins as dbt's `relationships` tests, and the keys as `unique` tests."""
    # If some values of a join have no match, its test only warns.
    models = [{"name": table.name, "columns": _columns(schema, table)} for table in schema.tables]
    return _write_yaml({"version": 2, "models": models})


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
    field = _if_needed(path, dialect_of(named.referenced.id))
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
    return _write_yaml({"semantic_models": models})


def _entities(schema: JoinSchema, table: ExportedTable) -> list[dict[str, Any]]:
    is_primary = len(table.primary_key) == 1
    primary = [_entity(table, table.name, "primary", table.primary_key)] if is_primary else []
    own = {
        name: _entity(table, name, "unique", join.join.referenced_columns)
        for join in schema.joins_to(table)
        if (name := _entity_name(join)) != table.name
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
    return [*primary, *own.values(), *foreign]


def _entity_name(named: NamedJoin) -> str:
    is_primary = named.join.referenced_columns == named.referenced.primary_key
    return named.referenced.name if is_primary and not named.needs_role else named.role_name


def _entity(
    table: ExportedTable,
    name: str,
    kind: str,
    columns: KeyColumns,
    evidence: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    (path,) = columns
    expression = _if_needed(path, dialect_of(table.id))
    config = {"config": {"meta": {"datahub": evidence}}} if evidence else {}
    return {"name": name, "type": kind, "expr": expression, **config}


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
    return _write_yaml({"cubes": [*cubes, *roles]})


def _cube(table: ExportedTable, joins: Sequence[NamedJoin]) -> dict[str, Any]:
    cube = {"name": table.name, "sql_table": quoted_path(table.path, dialect_of(table.id))}
    joined = {"joins": [_join(join) for join in joins]} if joins else {}
    return {**cube, **joined, "dimensions": _dimensions(table)}


def _join(named: NamedJoin) -> dict[str, str]:
    dialect = dialect_of(named.referring.id)  # both tables are on one platform
    conditions = (
        f"{{CUBE}}.{quoted_name(left, dialect)} = {{{named.alias}}}.{quoted_name(right, dialect)}"
        for left, right in named.join.columns
    )
    return {
        "name": named.alias,
        "relationship": named.join.kind,
        "sql": " AND ".join(conditions),
    }


def _dimensions(table: ExportedTable) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "sql": quoted_name(path, dialect_of(table.id)),
            "type": type_names(table.columns[path]).cube,
            **({"primary_key": True} if path in table.primary_key else {}),
        }
        for path, name in table.column_names.items()
    ]
