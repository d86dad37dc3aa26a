"""Write joins in one of the export formats, to a file without overwriting people's changes.

The first line of a file holds a checksum of the other lines. The file is replaced only if that
checksum is right, so nobody has edited it. The same joins give the same file, which suits a version
control system.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from datahub_hyperjoin.errors import UnwritablePathError
from datahub_hyperjoin.export.errors import ForeignFileError, NoSafeJoinError
from datahub_hyperjoin.export.names import (
    NameRule,
    can_quote,
    cube_holds,
    dbml_holds,
    dbt_holds,
    dialect_of,
    lookml_holds,
    metricflow_holds,
    name_parts,
)
from datahub_hyperjoin.export.schema import (
    DeclaredColumns,
    JoinSchema,
    KeyColumns,
    build_schema,
    rank_keys,
)
from datahub_hyperjoin.export.sql_formats import (
    to_databricks_constraints,
    to_semantic_view,
    to_snowflake_constraints,
)
from datahub_hyperjoin.export.text_formats import to_dbml, to_lookml, to_mermaid, to_sqlalchemy
from datahub_hyperjoin.export.yaml_formats import to_cube, to_dbt_tests, to_metricflow, to_ossie
from datahub_hyperjoin.joins import Join, best_first
from datahub_hyperjoin.joins.semantic_layers import LeftOut, SafeJoin, select_safe, word_reasons
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.wording import name_some


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


@dataclass(frozen=True)
class _Format:
    """What the export knows of a format."""

    write: Callable[[JoinSchema], str]

    holds: NameRule
    comment: str = "#"

    composite: bool = True
    """Whether the format can hold keys of several columns."""

    self_reference: bool = True

    second_key: bool = True
    """Whether the format can hold a key beside the primary key."""


def _snowflake_holds(name: str, _: str) -> bool:
    return can_quote(name, "snowflake")


_FORMATS = {
    ExportFormat.OSSIE: _Format(to_ossie, can_quote),
    ExportFormat.DBT_TESTS: _Format(to_dbt_tests, dbt_holds, composite=False),
    ExportFormat.METRICFLOW: _Format(
        to_metricflow, metricflow_holds, composite=False, self_reference=False
    ),
    ExportFormat.SNOWFLAKE_SEMANTIC_VIEW: _Format(to_semantic_view, _snowflake_holds, "--"),
    ExportFormat.SNOWFLAKE_CONSTRAINTS: _Format(to_snowflake_constraints, _snowflake_holds, "--"),
    ExportFormat.DATABRICKS_CONSTRAINTS: _Format(
        to_databricks_constraints,
        lambda name, _: can_quote(name, "databricks"),
        "--",
        second_key=False,
    ),
    ExportFormat.LOOKML: _Format(to_lookml, lookml_holds),
    ExportFormat.CUBE: _Format(to_cube, cube_holds),
    ExportFormat.DBML: _Format(to_dbml, dbml_holds, "//"),
    # Both escape every name.
    ExportFormat.MERMAID: _Format(to_mermaid, lambda name, _: bool(name), "%%"),
    ExportFormat.SQLALCHEMY: _Format(to_sqlalchemy, lambda name, _: bool(name)),
}

_NOTHING_DECLARED = DeclaredColumns()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The text of an export, with the numbers of included and omitted joins."""

    text: str
    """The text, without the first line that `precede_with_checksum` adds."""

    joins: int
    left_out: Counter[LeftOut]

    unheld: tuple[str, ...] = ()
    """The conditions of the joins that were left out because of their names."""


def export_joins(
    joins: Iterable[Join],
    export_format: ExportFormat,
    *,
    declared: DeclaredColumns = _NOTHING_DECLARED,
) -> Exported:
    """Return the safe joins as text in an export format, with the `declared` types and keys.

    A safe join matches each row of one table with at most one row of the other, and is probable or
    confirmed: `datahub_hyperjoin.joins.is_safe` has the rule.

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
    # Declared keys whose columns the format cannot hold are left out.
    held_keys = {
        table: key
        for table, key in declared.primary_keys.items()
        if _holds(table, key, export_format)
    }
    declared = replace(declared, primary_keys=held_keys)
    primary_keys = {table: keys[0] for table, keys in rank_keys(safe, declared).items()}
    held, unheld = [], []
    for join in safe:
        reason = reason_left_out(join, export_format, primary_keys)
        if reason:
            left_out[reason] += 1
            unheld += [join.condition] if reason is LeftOut.NAMES else []
        else:
            held.append(join)
    if not held:
        names = f" ({name_some(unheld)})" if unheld else ""
        reasons = f"{word_reasons(left_out)}{names}"
        raise NoSafeJoinError.for_format(export_format.value, reasons=reasons)
    text = _FORMATS[export_format].write(build_schema(held, declared))
    return Exported(text=text, joins=len(held), left_out=left_out, unheld=tuple(unheld))


def reason_left_out(
    join: SafeJoin, export_format: ExportFormat, primary_keys: Mapping[TableId, KeyColumns]
) -> LeftOut | None:
    """Return why a format cannot express a safe join; None if it can."""
    known = _FORMATS[export_format]
    sides = ((join.referring, join.referring_columns), (join.referenced, join.referenced_columns))
    if not all(_holds(*side, export_format) for side in sides):
        return LeftOut.NAMES
    if not known.composite and len(join.columns) > 1:
        return LeftOut.COMPOSITE
    if not known.self_reference and join.is_self_reference:
        return LeftOut.SELF_REFERENCE
    if not known.second_key and join.referenced_columns != primary_keys[join.referenced]:
        return LeftOut.SECOND_KEY
    return None


def _holds(table: TableId, columns: KeyColumns, export_format: ExportFormat) -> bool:
    """Return whether a format can hold the names of a table and its columns."""
    holds, dialect = _FORMATS[export_format].holds, dialect_of(table)
    return all(holds(name, dialect) for name in (*name_parts(table), *columns))


_OPTION = "--out"
_MODE = 0o644


def precede_with_checksum(exported: Exported, export_format: ExportFormat) -> str:
    """Return the text of an export, preceded by a line with the text's checksum.

    Args:
        exported: The export.
        export_format: Its format.
    """
    return f"{_first_line(exported.text, export_format)}\n{exported.text}"


def _first_line(text: str, export_format: ExportFormat) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    command = f"hyperjoin export --format {export_format.value}"
    return f"{_FORMATS[export_format].comment} Written by `{command}`, checksum {digest}"


def write_export(path: Path, text: str, export_format: ExportFormat) -> None:
    """Write an export to a file.

    Args:
        path: The file; missing folders are created.
        text: The text that `precede_with_checksum` returns.
        export_format: Its format.

    Raises:
        ForeignFileError: The file exists, and is not as an export in this format wrote it.
        UnwritablePathError: The file cannot be written.
    """
    if path.exists() and not _is_own(path, export_format):
        raise ForeignFileError.at(str(path))
    try:
        with replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(_MODE)  # others read it, as they read a file in a version control system
    except OSError as error:
        reason = f"writing fails: {error.strerror}"
        raise UnwritablePathError.because(_OPTION, str(path), reason=reason) from error


def _is_own(path: Path, export_format: ExportFormat) -> bool:
    try:
        first, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return first == _first_line(text, export_format)
