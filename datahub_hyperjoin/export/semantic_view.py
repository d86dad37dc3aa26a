"""Export joins as a Snowflake semantic view."""

from collections import defaultdict
from collections.abc import Iterator

from datahub_hyperjoin.export.evidence import describe_evidence
from datahub_hyperjoin.export.quoting import quoted_list, quoted_name, quoted_path
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin

_DIALECT = "snowflake"
_VIEW = "suggested_joins"


def to_semantic_view(schema: JoinSchema) -> str:
    """Write the joins as relationships of a Snowflake semantic view.

    Snowflake refuses relationships in a circle. So a table is listed again, as a logical table of
    another name, where it refers to itself, where a join would close a circle, and where several
    columns of one table refer to it.
    """
    targets = _targets(schema)
    tables = [_logical_table(table.name, table) for table in schema.tables]
    tables += [
        _logical_table(targets[join.name], join.referenced)
        for join in schema.joins
        if targets[join.name] != join.referenced.name
    ]
    relationships = [_relationship(join, targets[join.name]) for join in schema.joins]
    dimensions = [line for table in schema.tables for line in _dimensions(table)]
    return (
        f"CREATE SEMANTIC VIEW {_VIEW}\n"
        f"{_clause('TABLES', tables)}\n"
        f"{_clause('RELATIONSHIPS', relationships)}\n"
        f"{_clause('DIMENSIONS', dimensions)};\n"
    )


def _clause(name: str, lines: list[str]) -> str:
    body = ",\n    ".join(lines)
    return f"  {name} (\n    {body}\n  )"


def _targets(schema: JoinSchema) -> dict[str, str]:
    """Map the name of each join to the logical table that the join refers to."""
    leads_to: defaultdict[str, set[str]] = defaultdict(set)
    targets = {}
    for join in schema.joins:
        start, end = join.referring.name, join.referenced.name
        if join.needs_role or start in _reached(leads_to, end):
            targets[join.name] = join.role_name
        else:
            targets[join.name] = end
            leads_to[start].add(end)
    return targets


def _reached(leads_to: dict[str, set[str]], start: str) -> set[str]:
    reached, frontier = {start}, [start]
    while frontier:
        found = leads_to[frontier.pop()] - reached
        reached |= found
        frontier += found
    return reached


def _logical_table(name: str, table: ExportedTable) -> str:
    keys = [("PRIMARY KEY", table.primary_key), *(("UNIQUE", key) for key in table.unique_keys)]
    words = [f"{kind} {quoted_list(key, _DIALECT)}" for kind, key in keys if key]
    return " ".join([quoted_name(name, _DIALECT), "AS", quoted_path(table.path, _DIALECT), *words])


def _relationship(named: NamedJoin, target: str) -> str:
    return (
        f"{quoted_name(named.name, _DIALECT)} AS {quoted_name(named.referring.name, _DIALECT)} "
        f"{quoted_list(named.join.referring_columns, _DIALECT)} REFERENCES "
        f"{quoted_name(target, _DIALECT)} {quoted_list(named.join.referenced_columns, _DIALECT)} "
        f"/* {describe_evidence(named.join)} */"
    )


def _dimensions(table: ExportedTable) -> Iterator[str]:
    name = quoted_name(table.name, _DIALECT)
    for path in table.columns:
        column = quoted_name(path, _DIALECT)
        yield f"{name}.{column} AS {column}"
