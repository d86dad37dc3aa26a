"""Export joins as a Cube data model."""

from collections.abc import Mapping, Sequence
from typing import Any

from datahub_hyperjoin.export.names import distinct_names, identifier
from datahub_hyperjoin.export.quoting import dialect_of, quoted_name, quoted_path
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.export.text import write_yaml
from datahub_hyperjoin.tables import DataType

_Cube = dict[str, Any]

_TYPES: Mapping[DataType | None, str] = {
    DataType.INTEGER: "number",
    DataType.DECIMAL: "number",
    DataType.BOOLEAN: "boolean",
    DataType.DATE: "time",
    DataType.TIMESTAMP: "time",
}


def to_cube(schema: JoinSchema) -> str:
    """Write the joins as a Cube data model.

    A cube joins another cube by its name, so each further reference to a table gets a cube of its
    own. Such a cube has no joins, because a table that refers to itself would join without end.
    """
    cubes = [_cube(table, schema.joins_from(table)) for table in schema.tables]
    roles = [
        {**_cube(join.referenced, ()), "name": join.alias}
        for join in schema.joins
        if join.needs_role
    ]
    document = {"cubes": [*cubes, *roles]}
    return write_yaml(document)


def _cube(table: ExportedTable, joins: Sequence[NamedJoin]) -> _Cube:
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
            "type": _TYPES.get(kind, "string"),
            **({"primary_key": True} if path in table.primary_key else {}),
        }
        for name, (path, kind) in zip(names, table.columns.items(), strict=True)
    ]
