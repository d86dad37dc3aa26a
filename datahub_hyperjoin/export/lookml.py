"""Export joins as LookML, the modelling language of Looker."""

from collections.abc import Iterator, Mapping, Sequence

from datahub_hyperjoin.export.evidence import describe_evidence
from datahub_hyperjoin.export.names import distinct_names, identifier
from datahub_hyperjoin.export.quoting import dialect_of, quoted_name, quoted_path
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.tables import DataType

_TYPES: Mapping[DataType | None, str] = {
    DataType.INTEGER: "number",
    DataType.DECIMAL: "number",
    DataType.BOOLEAN: "yesno",
    DataType.DATE: "date",
    DataType.TIMESTAMP: "date_time",
}


def to_lookml(schema: JoinSchema) -> str:
    """Write the tables as LookML `view` blocks, and the joins as `explore` blocks.

    Each table that refers to others is an explore with a join for each reference.
    """
    views = [_view(table) for table in schema.tables]
    explores = [
        _explore(table, schema.joins_from(table))
        for table in schema.tables
        if schema.joins_from(table)
    ]
    return "\n".join([*views, *explores])


def _view(table: ExportedTable) -> str:
    dialect = dialect_of(table.id)
    lines = [
        f"view: {table.name} {{",
        f"  sql_table_name: {quoted_path(table.path, dialect)} ;;",
        *(line for path in table.columns for line in _dimension(table, path, dialect)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _dimension(table: ExportedTable, path: str, dialect: str) -> Iterator[str]:
    kind = table.columns[path]
    yield f"  dimension: {_dimension_names(table)[path]} {{"
    if table.primary_key == (path,):
        yield "    primary_key: yes"
    yield f"    type: {_TYPES.get(kind, 'string')}"
    yield f"    sql: ${{TABLE}}.{quoted_name(path, dialect)} ;;"
    yield "  }"


def _dimension_names(table: ExportedTable) -> dict[str, str]:
    names = distinct_names([[identifier(path)] for path in table.columns])
    return dict(zip(table.columns, names, strict=True))


def _explore(table: ExportedTable, joins: Sequence[NamedJoin]) -> str:
    lines = [f"explore: {table.name} {{", *(line for join in joins for line in _join(join)), "}"]
    return "\n".join(lines) + "\n"


def _join(named: NamedJoin) -> Iterator[str]:
    kind = "one_to_one" if named.join.is_one_to_one else "many_to_one"
    yield f"  # {describe_evidence(named.join)}"
    yield f"  join: {named.alias} {{"
    if named.needs_role:
        yield f"    from: {named.referenced.name}"
    yield "    type: left_outer"
    yield f"    relationship: {kind}"
    yield f"    sql_on: {_condition(named)} ;;"
    yield "  }"


def _condition(named: NamedJoin) -> str:
    left, right = _dimension_names(named.referring), _dimension_names(named.referenced)
    return " AND ".join(
        f"${{{named.referring.name}.{left[referring]}}} = ${{{named.alias}.{right[referenced]}}}"
        for referring, referenced in named.join.columns
    )
