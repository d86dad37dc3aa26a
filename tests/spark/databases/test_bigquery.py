"""Test what BigQuery computes, on the reference implementation of its SQL."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy.types import String, TypeEngine

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.listing import list_keys
from datahub_hyperjoin.spark.databases.sql_forms import quote_in_one_line
from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.spark.verification.verify import ColumnKinds
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from engines.columns_by_system import FOREIGN, MESSY, RANGE, WORDS
from engines.counted_pairs import verified_and_counted, verified_by_reading
from engines.counted_profiles import (
    by_reading,
    in_normal_form,
    profiled,
    profiled_and_unread,
    unread,
)

pytest.importorskip("sqlalchemy_bigquery")
pytest.importorskip("zetasql")
bigquery_driver = pytest.importorskip("engines.bigquery_driver")

CONFIG = Md5ProfileConfig.of(ProfileConfig())
SMALL = replace(CONFIG, sketch_size=8, sample_size=4)
"""Settings whose sketches are too small for all hashes of a column with ten values."""
QUOTED = [f"'{word}'" for word in WORDS]
DAYS = [f"'2024-02-{n}'" for n in range(10, 29)]
MOMENTS = [f"'2024-01-{n} 09:30:00.{n}'" for n in range(10, 28)]
# The type, and values of which none needs to be read.
TYPED = {
    "BOOL": ["true", "false", "true", "NULL"],
    "INT64": ["9223372036854775807", "-9223372036854775808", *RANGE],
    "NUMERIC": [*RANGE, "-1.50", "1234567.89", "'0.000000001'", "NULL"],
    "BIGNUMERIC": ["'1e-38'", "'1e38'", "12.50", "-7"],
    "FLOAT64": [
        "0.1",
        "1.5e-15",
        "-0.0",
        "0",
        "123456789012.345",
        "2",
        "-9007199254740991",
        "1e-7",
    ],
    "DATE": ["'2024-01-31'", "'0001-06-01'", "NULL", *DAYS],
    "DATETIME": [*MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'", "'0800-01-31 09:30:00'"],
    "TIMESTAMP": [*(f"'2024-01-31 01:00:{n}+01'" for n in range(10, 28)), "'2024-01-31'"],
    "TIME": ["'09:30:00'", "'23:59:59.25'", "'00:00:00'", "NULL"],
    "STRING": ["'NA'", "NULL", "'n/a'", "'Köln'", *QUOTED],
}
# The type, and values of which some must be read.
READ = [
    ("STRING", [f"'{number},5'" for number in range(20)]),
    ("STRING", [f"'000{number}'" for number in range(20)]),
    ("STRING", [f"'Köln {number}'" for number in range(20)]),
    ("FLOAT64", ["CAST('nan' AS FLOAT64)", "1"]),
    ("FLOAT64", ["1e16", "1"]),
    ("FLOAT64", ["1e-300", "1"]),
    ("FLOAT64", ["0.30000000000000004", "1"]),
    ("DATE", ["'0001-01-01'", "'2024-01-31'"]),
    ("TIMESTAMP", ["'9999-12-31 09:30:00'", "'2024-01-31'"]),
]


def filled(
    name: str, type_: str, values: Sequence[str], compute: Compute = Compute.DATABASE
) -> Table:
    """Add a table with one column `v`."""
    bigquery_driver.add_table(name, type_, values)
    location = Relation(
        database=Database(url=SecretStr("bigquery+local://project"), compute=compute),
        connection="connections[0]",
        schema="",
        name=name,
    )
    return Table(
        id=TableId("bigquery", f"shop.{name}"), title=name, location=location, size=1 << 20
    )


@pytest.mark.parametrize("type_", TYPED)
def test_profiles_equal_those_of_reading(type_: str) -> None:
    table = filled("typed", type_, TYPED[type_])
    for config in (CONFIG, SMALL):
        found, missing = profiled_and_unread(table, config)
        assert (found, missing) == (by_reading(table, config), [])
        assert found.columns[0].distinct > 1


@pytest.mark.parametrize("config", [CONFIG, SMALL], ids=["whole", "small"])
def test_odd_texts_are_counted_once_in_whichever_spelling(config: ProfileConfig) -> None:
    values = [quote_in_one_line(text) for text in (*MESSY, *FOREIGN, *MESSY[:9])]
    table = filled("messy", "STRING", [*values, "NULL"])
    # Of a small sample, one value in a notation would be many.
    assert unread(table, replace(config, sketch_size=64, sample_size=64)) == []
    [found], [expected] = (of(table, config).columns for of in (profiled, by_reading))
    assert in_normal_form(found) == in_normal_form(expected)
    assert (found.nulls, found.lengths.longest) == (6, 1500)


@pytest.mark.parametrize(("type_", "values"), READ)
def test_columns_that_sql_cannot_count_are_read(type_: str, values: list[str]) -> None:
    table = filled("odd", type_, values)
    found, missing = profiled_and_unread(table, SMALL)
    assert missing in (["all"], ["v"])
    assert found == by_reading(table, SMALL)


def test_of_a_large_table_the_rows_that_would_be_read_are_counted() -> None:
    table = filled("large", "INT64", [str(number % 700) for number in range(900)])
    config = replace(SMALL, max_rows=320)
    found = profiled(table, config)
    assert found.rows == 320
    assert found.notes == (
        "read the first 320 rows that the database returned; the table has 900 rows",
    )


def test_few_rows_are_read_if_the_size_is_unknown() -> None:
    table = replace(filled("few", "INT64", RANGE), size=0)
    for rows, missing in ((len(RANGE), ["all"]), (len(RANGE) - 1, [])):
        assert unread(table, replace(CONFIG, sketch_size=rows)) == missing
    assert profiled(table, CONFIG) == by_reading(table, CONFIG)


def test_evidence_is_the_same_wherever_values_are_counted() -> None:
    tables = [filled(f"t_{type_}", type_, values) for type_, values in TYPED.items()]
    texts = [
        filled("messy", "STRING", [*map(quote_in_one_line, (*MESSY, *MESSY[:7]))]),
        filled("tidy", "STRING", ["'oslo'", "'x'", "'12'", "'true'", "'2024-01-31'"]),
    ]
    # The words in this column make it uncertain which of them are nulls.
    tables = [*(table for table in tables if table.title != "t_STRING"), *texts]
    columns = sorted(ColumnId(table.id, "v") for table in tables)
    pairs = [*combinations_with_replacement(columns, 2)]
    kinds = ColumnKinds(texts=frozenset(ColumnId(table.id, "v") for table in texts))
    read = verified_by_reading(tables, pairs, kinds)
    assert verified_and_counted(tables, pairs, kinds) == (read, {*pairs})
    assert sum(evidence.shared > 0 for evidence in read.values()) > len(tables)


def test_no_keys_are_listed() -> None:
    location = filled("keyless", "INT64", RANGE).location
    assert isinstance(location, Relation)
    with Databases() as databases:
        assert list_keys(databases.engine(location), "connections[0]", [("", "keyless")]) == {}


def test_fields_of_structs_are_read() -> None:
    text = cast("TypeEngine[object]", String())
    system = system_named("bigquery")
    assert system.form_of_column("address", text)
    assert system.form_of_column("address.city", text) is None
    assert system_named("postgresql").form_of_column("address.city", text)


ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=12)
NUMBERS = st.from_regex(r"-?[0-9]{1,3}(\.0{0,3}[0-9]{0,2})?(e[+-]?[0-9])?", fullmatch=True)


@given(st.lists(st.one_of(ASCII, NUMBERS), min_size=1, max_size=80))
@settings(max_examples=25)
def test_profiles_of_any_ascii_texts_equal_those_of_reading(values: list[str]) -> None:
    table = filled("random", "STRING", [*map(quote_in_one_line, values)])
    [found], [expected] = (of(table, CONFIG).columns for of in (profiled, by_reading))
    assert in_normal_form(found) == in_normal_form(expected)


MAGNITUDES = st.floats(1e-15, 2**53 - 1)


@given(st.lists(MAGNITUDES | MAGNITUDES.map(lambda value: -value), min_size=1, max_size=80))
@settings(max_examples=25)
def test_profiles_of_any_floats_equal_those_of_reading(values: list[float]) -> None:
    # Those of more digits are read.
    shortened = [repr(float(f"{value:.15g}")) for value in values]
    table = filled("floats", "FLOAT64", shortened)
    assert profiled_and_unread(table, CONFIG) == (by_reading(table, CONFIG), [])
