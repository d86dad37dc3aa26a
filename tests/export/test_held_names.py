"""Test every format and platform with names that are commands, using the format's own parser."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import jinja2
import lkml
import pytest
import yaml
from sqlglot import TokenType, tokenize

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.export.errors import NoSafeJoinError
from datahub_hyperjoin.export.formats import Exported
from datahub_hyperjoin.export.names import dialect_of
from datahub_hyperjoin.joins import Cardinality, Join, Role
from datahub_hyperjoin.joins.semantic_layers import LeftOut
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible
from lakes.chains import changed, made
from lakes.evil_names import EVIL

PLATFORMS = (
    *("athena", "bigquery", "clickhouse", "databricks", "delta-lake", "duckdb", "file", "hive"),
    *("iceberg", "mariadb", "mssql", "mysql", "oracle", "postgres", "presto", "redshift", "s3"),
    *("snowflake", "spark", "sqlite", "trino", "vertica"),
)
PLAIN = [f"Name {number}" for number in range(len(EVIL))]

Reader = Callable[[str, str], Iterator[str]]
"""Yields the names in the text of an export, given sqlglot's name of the tables' dialect."""


def joins_of(names: list[str], platform: str) -> list[Join]:
    """Join a column of each name with a key of this name."""
    return [
        made(
            urn=f"urn:li:erModelRelationship:{number}",
            name="",
            pairs=((ColumnId(TableId(platform, "orders"), name), key),),
            cardinality=Cardinality.MANY_ONE,
            joinability=0.9,
            band="high",
            role=Role.REFERENCE,
            referenced=key,
            left_fan_out=1.0,
            right_fan_out=2.0,
            left_containment=1.0,
            right_containment=0.5,
        )
        for number, name in enumerate(names)
        for key in [ColumnId(TableId(platform, f"customers_{number}"), name)]
    ]


def export(names: list[str], platform: str, export_format: ExportFormat) -> Exported:
    return export_joins(joins_of(names, platform), export_format)


def identifiers(sql: str, dialect: str) -> list[str]:
    return [
        token.text
        for token in tokenize(sql, read=dialect)
        if token.token_type in {TokenType.IDENTIFIER, TokenType.VAR}
    ]


def from_sql(own: str, text: str, _: str) -> Iterator[str]:
    yield from identifiers(text, own)


def texts_of(value: object) -> Iterator[str]:
    """Yield all texts of a YAML document."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    if isinstance(value, str):
        yield value


def parsed(text: str) -> Any:  # noqa: ANN401 - YAML
    """Parse YAML as `yaml.safe_load` does, but in C."""
    return yaml.load(text, yaml.CSafeLoader)


@cache
def rendered(text: str) -> str:
    """Fill a template, which many exports have."""
    return jinja2.Template(text).render(ref=str)


def from_dbt(text: str, dialect: str) -> Iterator[str]:
    document = parsed(text)
    assert all(map(rendered, texts_of(document)))
    for model in document["models"]:
        for column in model["columns"]:
            for test in column["data_tests"]:
                if test != "unique":
                    field = test["relationships"]["arguments"]["field"]
                    assert identifiers(field, dialect)[0].lower() == column["name"].lower()
                    yield column["name"]


def from_metricflow(text: str, dialect: str) -> Iterator[str]:
    document = parsed(text)
    assert all(map(rendered, texts_of(document)))
    for model in document["semantic_models"]:
        for entity in model["entities"]:
            yield from identifiers(entity["expr"], dialect)


def from_ossie(text: str, dialect: str) -> Iterator[str]:
    for table in parsed(text)["semantic_model"][0]["datasets"]:
        for field in table["fields"]:
            (expression,) = field["expression"]["dialects"]
            own = dialect if expression["dialect"] != "ANSI_SQL" else ""
            (read,) = identifiers(expression["expression"], own)
            assert read.lower() == field["name"].lower()
            yield field["name"]


def from_lookml(text: str, dialect: str) -> Iterator[str]:
    assert not re.search(r"\{[{%]", text)
    for view in lkml.load(text)["views"]:
        for dimension in view["dimensions"]:
            start, sql = dimension["sql"][:9], dimension["sql"][9:]
            assert start == "${TABLE}."
            yield from identifiers(sql, dialect)


def from_cube(text: str, dialect: str) -> Iterator[str]:
    assert jinja2.Template(text).render() == text.removesuffix("\n")
    for cube in parsed(text)["cubes"]:
        for dimension in cube["dimensions"]:
            # Cube's compiler makes a formatted string of it.
            quoted = dimension["sql"].replace('"', '\\"')
            assert eval(f'f"{quoted}"') == dimension["sql"]  # noqa: S307 - of this package
            yield from identifiers(dimension["sql"], dialect)


def from_dbml(text: str, _: str) -> Iterator[str]:
    import pydbml  # noqa: PLC0415 - it has deprecation warnings

    for table in pydbml.PyDBML(text).tables:
        yield from (column.name for column in table.columns)


def from_mermaid(text: str, _: str) -> Iterator[str]:
    first, *lines = text.splitlines()
    assert first == "erDiagram"
    entity, attribute = r"    \w+ \{|    \}", r'        unknown \w+ [A-Z, ]+(?: "([^"]*)")?'
    relation = r'    \w+ \}o--\|\| \w+ : "[^"]*"'
    assert "%%" not in text
    for line in lines:
        found = re.fullmatch(f"{entity}|{relation}|{attribute}", line)
        assert found, line
        if line.startswith("        "):
            yield decoded(found[1] or line.split()[1])


def decoded(text: str) -> str:
    """Read the entities of Mermaid, and the escapes of characters that are not seen."""
    signs = {"quot": '"', "lt": "<", "gt": ">"}
    escape = r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})"
    text = re.sub(escape, lambda found: chr(int(found[1] or found[2], 16)), text)
    text = text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
    return re.sub(r"#(\w+);", lambda found: signs.get(found[1]) or chr(int(found[1])), text)


def from_sqlalchemy(text: str, _: str) -> Iterator[str]:
    module: dict[str, object] = {}
    exec(compile(text, "joins.py", "exec"), module)  # noqa: S102 - what this package wrote
    metadata = module["metadata"]
    for table in metadata.tables.values():  # type: ignore[attr-defined] # of the module
        yield from (column.name for column in table.columns)


READERS: Mapping[ExportFormat, Reader] = {
    ExportFormat.OSSIE: from_ossie,
    ExportFormat.DBT_TESTS: from_dbt,
    ExportFormat.METRICFLOW: from_metricflow,
    ExportFormat.SNOWFLAKE_SEMANTIC_VIEW: partial(from_sql, "snowflake"),
    ExportFormat.SNOWFLAKE_CONSTRAINTS: partial(from_sql, "snowflake"),
    ExportFormat.DATABRICKS_CONSTRAINTS: partial(from_sql, "databricks"),
    ExportFormat.LOOKML: from_lookml,
    ExportFormat.CUBE: from_cube,
    ExportFormat.DBML: from_dbml,
    ExportFormat.MERMAID: from_mermaid,
    ExportFormat.SQLALCHEMY: from_sqlalchemy,
}

UNQUOTED = {ExportFormat.DBML, ExportFormat.MERMAID, ExportFormat.SQLALCHEMY}
"""The formats that are the same for every dialect of SQL."""


def cases() -> Iterator[tuple[ExportFormat, str]]:
    """Yield each format with each platform whose names it writes differently."""
    for export_format in ExportFormat:
        is_alike = isinstance(READERS[export_format], partial) or export_format in UNQUOTED
        for platform in ("postgres", "snowflake", "file") if is_alike else PLATFORMS:
            yield export_format, platform


# The parser of DBML calls pyparsing by names that are deprecated.
@pytest.mark.filterwarnings("ignore:.* deprecated:DeprecationWarning")
@pytest.mark.parametrize(("export_format", "platform"), [*cases()])
def test_every_name_is_read_back_or_named(export_format: ExportFormat, platform: str) -> None:
    names = [name for name in EVIL if "." not in name]
    assert len(names) == len(EVIL)
    exported = export(names, platform, export_format)
    read = READERS[export_format](exported.text, dialect_of(TableId(platform, "orders")))
    folded = {name.lower() for name in read}
    lost = [name for name in names if name.lower() not in folded]
    assert len(lost) == len(exported.unheld) == exported.left_out[LeftOut.NAMES]
    assert exported.joins == len(names) - len(lost)
    assert exported.joins > len(names) / 3
    # What is left over is what a harmless export has: no name became a word of the format.
    harmless = export(PLAIN[: exported.joins], platform, export_format).text
    assert shape(exported.text, export_format) == shape(harmless, export_format)


def shape(text: str, export_format: ExportFormat) -> object:
    """Return what a text holds of a format beside the names."""
    match export_format:
        case ExportFormat.SNOWFLAKE_SEMANTIC_VIEW | ExportFormat.SNOWFLAKE_CONSTRAINTS:
            return [token.token_type for token in tokenize(text, read="snowflake")]
        case ExportFormat.DATABRICKS_CONSTRAINTS:
            return [token.token_type for token in tokenize(text, read="databricks")]
        case _:
            return None


JINJA = {"{{ 1/0 }}", "{% raw %}", "{# id #}"}
UNHELD: Mapping[ExportFormat, set[str]] = {
    ExportFormat.OSSIE: set(),
    ExportFormat.MERMAID: set(),
    ExportFormat.SQLALCHEMY: set(),
    ExportFormat.SNOWFLAKE_CONSTRAINTS: set(),
    ExportFormat.DATABRICKS_CONSTRAINTS: set(),
    ExportFormat.METRICFLOW: JINJA,
    ExportFormat.DBT_TESTS: {*JINJA, *(name for name in EVIL if '"' in name)},
    ExportFormat.LOOKML: {
        *("{{ 1/0 }}", "{% raw %}", "${x}", "@{x}"),
        *(name for name in EVIL if ";;" in name),
    },
}


@pytest.mark.parametrize("export_format", UNHELD, ids=lambda each: each.value)
def test_only_names_that_a_format_cannot_hold_are_left_out(export_format: ExportFormat) -> None:
    unheld = export([*EVIL], "postgres", export_format).unheld
    named = {f"orders.{visible(name)}" for name in UNHELD[export_format]}
    assert {condition.partition(" = ")[0] for condition in unheld} == named


def test_without_another_join_the_error_names_them() -> None:
    message = r"1 with names that the format cannot hold \(orders.a;;b = customers_0.a;;b\)\. List"
    with pytest.raises(NoSafeJoinError, match=message):
        export(["a;;b"], "postgres", ExportFormat.LOOKML)


def test_a_reserved_word_in_small_letters_is_no_fault() -> None:
    assert export(["order"], "snowflake", ExportFormat.DBT_TESTS).joins == 1


def test_a_declared_key_that_a_format_cannot_hold_is_left_out() -> None:
    (join,) = joins_of(["id"], "postgres")
    declared = DeclaredColumns(primary_keys={join.right.table: ("a;;b",)})
    held = export_joins([join], ExportFormat.DBML, declared=declared).text
    assert '"a;;b" unknown [pk]' in held
    unheld = export_joins([join], ExportFormat.LOOKML, declared=declared).text
    assert unheld == export_joins([join], ExportFormat.LOOKML).text


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_table_with_an_evil_name_is_quoted_or_left_out(platform: str) -> None:
    key = ColumnId(TableId(platform, "customers"), "id")
    for name in EVIL:
        (join,) = joins_of(["id"], platform)
        left = ColumnId(TableId(platform, name), "id")
        join = changed(join, pairs=((left, key),))
        try:
            text = export_joins([join], ExportFormat.LOOKML).text
        except NoSafeJoinError:
            continue
        dialect = dialect_of(left.table)
        views = lkml.load(text)["views"]
        found = [identifiers(view["sql_table_name"], dialect) for view in views]
        if "/" not in name or dialect not in {"", "spark"}:
            assert name.lower() in {each.lower() for names in found for each in names}
