"""Export joins as entities of dbt's semantic layer.

MetricFlow joins semantic models on these entities.
"""

from collections.abc import Mapping
from typing import Any

from datahub_hyperjoin.export.evidence import list_evidence
from datahub_hyperjoin.export.quoting import dialect_of, needs_quotes, quoted_name
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, KeyColumns, NamedJoin
from datahub_hyperjoin.export.text import write_yaml

_Entity = dict[str, Any]


def to_metricflow(schema: JoinSchema) -> str:
    """Write the joins as entities of dbt semantic models.

    MetricFlow joins entities of the same name. The key of a table is the entity of its name; a
    further key, and a table to which several columns of one table refer, has an entity for each.

    Args:
        schema: The tables and joins of single columns, without references of a table to itself.
    """
    models = [
        {"name": table.name, "model": f"ref('{table.name}')", "entities": _entities(schema, table)}
        for table in schema.tables
    ]
    document = {"semantic_models": models}
    return write_yaml(document)


def _entities(schema: JoinSchema, table: ExportedTable) -> list[_Entity]:
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


def _primary(table: ExportedTable) -> list[_Entity]:
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
) -> _Entity:
    (path,) = columns
    expression = quoted_name(path, dialect_of(table.id)) if needs_quotes(path) else path
    config = {"config": {"meta": {"datahub": evidence}}} if evidence else {}
    return {"name": name, "type": kind, "expr": expression, **config}
