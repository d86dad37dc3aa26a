"""Write joins in one of the export formats."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from typing_extensions import assert_never

from datahub_hyperjoin.export import held_names
from datahub_hyperjoin.export.constraints import (
    to_databricks_constraints,
    to_snowflake_constraints,
)
from datahub_hyperjoin.export.dbml import to_dbml
from datahub_hyperjoin.export.errors import NoSafeJoinError
from datahub_hyperjoin.export.evidence import describe_evidence, list_evidence
from datahub_hyperjoin.export.lookml import to_lookml
from datahub_hyperjoin.export.metricflow import to_metricflow
from datahub_hyperjoin.export.names import distinct_names, identifier, name_parts
from datahub_hyperjoin.export.ossie import to_ossie
from datahub_hyperjoin.export.quoting import (
    can_quote,
    dialect_of,
    needs_quotes,
    quoted_name,
    quoted_path,
)
from datahub_hyperjoin.export.safe_joins import LeftOut, SafeJoin, select_safe, word_reasons
from datahub_hyperjoin.export.schema import (
    DeclaredColumns,
    ExportedTable,
    JoinSchema,
    KeyColumns,
    NamedJoin,
    build_schema,
    rank_keys,
)
from datahub_hyperjoin.export.semantic_view import to_semantic_view
from datahub_hyperjoin.export.sqlalchemy_tables import to_sqlalchemy
from datahub_hyperjoin.export.text import write_yaml
from datahub_hyperjoin.graphql.joins import CatalogJoin, best_first
from datahub_hyperjoin.tables import DataType, TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import name_some

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


# GitHub and DataHub's documentation show such diagrams.

_ENTITIES = str.maketrans(
    {'"': "#quot;", "#": "#35;", "%": "#37;", "<": "#lt;", ">": "#gt;", "\\": "#92;"}
)
"""Quotes end a text, `%%{` begins a directive, browsers read HTML, and backslashes begin the
escapes of characters that are not seen."""


def to_mermaid(schema: JoinSchema) -> str:
    """Write the tables and joins as a Mermaid entity relationship diagram."""
    lines = [
        "erDiagram",
        *(line for table in schema.tables for line in _entity(schema, table)),
        *map(_relationship, schema.joins),
    ]
    return "\n".join(lines) + "\n"


def _entity(schema: JoinSchema, table: ExportedTable) -> Iterator[str]:
    referring = {path for join in schema.joins_from(table) for path in join.join.referring_columns}
    unique = {path for key in table.unique_keys for path in key if len(key) == 1}
    names = distinct_names([[identifier(path)] for path in table.columns])
    yield f"    {table.name} {{"
    for name, (path, kind) in zip(names, table.columns.items(), strict=True):
        roles = {"PK": table.primary_key, "FK": referring, "UK": unique}
        keys = ", ".join(key for key, columns in roles.items() if path in columns)
        comment = "" if name == path else f'"{_plain(path)}"'
        words = [kind.value if kind else "unknown", name, keys, comment]
        yield "        " + " ".join(filter(None, words))
    yield "    }"


def _relationship(named: NamedJoin) -> str:
    left = "|o" if named.join.is_one_to_one else "}o"
    right = "||" if named.join.keeps_rows else "o|"
    condition = " and ".join(
        f"{referring} = {referenced}" for referring, referenced in named.join.columns
    )
    start, end = named.referring.name, named.referenced.name
    return f'    {start} {left}--{right} {end} : "{_plain(condition)}"'


def _plain(text: str) -> str:
    """Write the characters that would end a quoted text or change its meaning as entities."""
    return visible(text.translate(_ENTITIES))


def to_dbt_tests(schema: JoinSchema) -> str:
    """Write the joins as dbt's `relationships` tests, and the keys as `unique` tests.

    If some values of a join have no match, its test only warns.
    """
    models = [{"name": table.name, "columns": _columns(schema, table)} for table in schema.tables]
    document = {"version": 2, "models": models}
    return write_yaml(document)


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


_NOTHING_DECLARED = DeclaredColumns()


class ExportFormat(str, Enum):
    """The formats in which joins can be exported."""

    OSSIE = "ossie"
    DBT_TESTS = "dbt-tests"
    METRICFLOW = "metricflow"
    SNOWFLAKE_SEMANTIC_VIEW = "snowflake-semantic-view"
    SNOWFLAKE_CONSTRAINTS = "snowflake-constraints"
    DATABRICKS_CONSTRAINTS = "databricks-constraints"
    LOOKML = "lookml"
    CUBE = "cube"
    DBML = "dbml"
    MERMAID = "mermaid"
    SQLALCHEMY = "sqlalchemy"

    @property
    def comment(self) -> str:
        """The characters that start a comment in this format."""
        match self:
            case (
                ExportFormat.SNOWFLAKE_SEMANTIC_VIEW
                | ExportFormat.SNOWFLAKE_CONSTRAINTS
                | ExportFormat.DATABRICKS_CONSTRAINTS
            ):
                return "--"
            case ExportFormat.DBML:
                return "//"
            case ExportFormat.MERMAID:
                return "%%"
            case (
                ExportFormat.OSSIE
                | ExportFormat.DBT_TESTS
                | ExportFormat.METRICFLOW
                | ExportFormat.LOOKML
                | ExportFormat.CUBE
                | ExportFormat.SQLALCHEMY
            ):
                return "#"
        assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The text of an export, with the numbers of included and omitted joins."""

    text: str
    """The text, without the first line that `precede_with_checksum` adds."""

    joins: int
    """Number of joins in the text."""

    left_out: Counter[LeftOut]
    """Number of joins left out, by reason."""

    unheld: tuple[str, ...] = ()
    """The conditions of the joins that were left out because of their names."""


def export_joins(
    joins: Iterable[CatalogJoin],
    export_format: ExportFormat,
    *,
    declared: DeclaredColumns = _NOTHING_DECLARED,
) -> Exported:
    """Return the safe joins as text in an export format, with the `declared` types and keys.

    A safe join matches each row of one table with at most one row of the other.

    Args:
        joins: Joins of the catalog; `catalog_join` converts those of a run.
        export_format: The format.
        declared: Types and primary keys that the catalog declares.

    Returns:
        The same text for the same joins, in whatever order they come.

    Raises:
        NoSafeJoinError: No join is left.
    """
    safe, left_out = select_safe(best_first(joins))
    declared = _without_unheld_keys(declared, export_format)
    primary_keys = {table: keys[0] for table, keys in rank_keys(safe, declared).items()}
    held, unheld = [], []
    for join in safe:
        reason = reason_left_out(join, export_format, primary_keys)
        if reason is LeftOut.NAMES:
            unheld.append(join.condition)
        if reason:
            left_out[reason] += 1
        else:
            held.append(join)
    if not held:
        names = f" ({name_some(unheld)})" if unheld else ""
        reasons = f"{word_reasons(left_out)}{names}"
        raise NoSafeJoinError.for_format(export_format.value, reasons=reasons)
    text = _writer(export_format)(build_schema(held, declared))
    return Exported(text=text, joins=len(held), left_out=left_out, unheld=tuple(unheld))


def reason_left_out(
    join: SafeJoin, export_format: ExportFormat, primary_keys: Mapping[TableId, KeyColumns]
) -> LeftOut | None:
    """Return why a format cannot express a safe join; None if it can.

    Args:
        primary_keys: The primary key of each referenced table, which only the format
            `databricks-constraints` needs.
    """
    if not _holds_names(join, export_format):
        return LeftOut.NAMES
    is_composite = len(join.columns) > 1
    match export_format:
        case ExportFormat.DBT_TESTS:
            return LeftOut.COMPOSITE if is_composite else None
        case ExportFormat.METRICFLOW:
            if is_composite:
                return LeftOut.COMPOSITE
            return LeftOut.SELF_REFERENCE if join.is_self_reference else None
        case ExportFormat.DATABRICKS_CONSTRAINTS:
            is_primary = join.referenced_columns == primary_keys[join.referenced]
            return None if is_primary else LeftOut.SECOND_KEY
        case (
            ExportFormat.OSSIE
            | ExportFormat.SNOWFLAKE_SEMANTIC_VIEW
            | ExportFormat.SNOWFLAKE_CONSTRAINTS
            | ExportFormat.LOOKML
            | ExportFormat.CUBE
            | ExportFormat.DBML
            | ExportFormat.MERMAID
            | ExportFormat.SQLALCHEMY
        ):
            return None
    assert_never(export_format)


def _without_unheld_keys(declared: DeclaredColumns, export_format: ExportFormat) -> DeclaredColumns:
    """Leave out the declared keys whose columns a format cannot hold."""
    keys = {
        table: key
        for table, key in declared.primary_keys.items()
        if _holds(table, key, export_format)
    }
    return replace(declared, primary_keys=keys)


def _holds_names(join: SafeJoin, export_format: ExportFormat) -> bool:
    return _holds(join.referring, join.referring_columns, export_format) and _holds(
        join.referenced, join.referenced_columns, export_format
    )


def _holds(table: TableId, columns: KeyColumns, export_format: ExportFormat) -> bool:
    """Return whether a format can hold the names of a table and its columns."""
    holds, dialect = _holder(export_format), dialect_of(table)
    return all(holds(name, dialect) for name in (*name_parts(table), *columns))


def _holder(  # noqa: C901, PLR0911
    export_format: ExportFormat,
) -> Callable[[str, str], bool]:
    # As complex as there are formats.
    match export_format:
        case ExportFormat.MERMAID | ExportFormat.SQLALCHEMY:
            return held_names.holds_any
        case ExportFormat.OSSIE:
            return can_quote
        case ExportFormat.DBT_TESTS:
            return held_names.dbt_holds
        case ExportFormat.METRICFLOW:
            return held_names.metricflow_holds
        case ExportFormat.SNOWFLAKE_SEMANTIC_VIEW | ExportFormat.SNOWFLAKE_CONSTRAINTS:
            return held_names.snowflake_holds
        case ExportFormat.DATABRICKS_CONSTRAINTS:
            return held_names.databricks_holds
        case ExportFormat.LOOKML:
            return held_names.lookml_holds
        case ExportFormat.CUBE:
            return held_names.cube_holds
        case ExportFormat.DBML:
            return held_names.dbml_holds
    assert_never(export_format)


def _writer(export_format: ExportFormat) -> Callable[[JoinSchema], str]:  # noqa: C901, PLR0911
    # As complex as there are formats.
    match export_format:
        case ExportFormat.OSSIE:
            return to_ossie
        case ExportFormat.DBT_TESTS:
            return to_dbt_tests
        case ExportFormat.METRICFLOW:
            return to_metricflow
        case ExportFormat.SNOWFLAKE_SEMANTIC_VIEW:
            return to_semantic_view
        case ExportFormat.SNOWFLAKE_CONSTRAINTS:
            return to_snowflake_constraints
        case ExportFormat.DATABRICKS_CONSTRAINTS:
            return to_databricks_constraints
        case ExportFormat.LOOKML:
            return to_lookml
        case ExportFormat.CUBE:
            return to_cube
        case ExportFormat.DBML:
            return to_dbml
        case ExportFormat.MERMAID:
            return to_mermaid
        case ExportFormat.SQLALCHEMY:
            return to_sqlalchemy
    assert_never(export_format)
