"""Test that names are quoted as sqlglot quotes them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import TokenType, exp, tokenize

from datahub_hyperjoin.export.names import quoted_name

DIALECTS = ("", "duckdb", "mysql", "postgres", "spark", "sqlite", "trino", "tsql")


@pytest.mark.parametrize("dialect", DIALECTS)
@given(name=st.text(min_size=1, max_size=12))
def test_a_name_is_quoted_as_sqlglot_quotes_it(dialect: str, name: str) -> None:
    assert quoted_name(name, dialect) == exp.to_identifier(name, quoted=True).sql(dialect=dialect)


@pytest.mark.parametrize("name", ["share\\", '\\"; DROP', "\\n", "a`b"])
def test_clickhouse_reads_backslashes_as_escapes(name: str) -> None:
    written = quoted_name(name, "clickhouse")
    (token,) = tokenize(written, read="clickhouse")
    assert (token.token_type, token.text) == (TokenType.IDENTIFIER, name)


def test_bigquery_has_one_line_and_no_doubled_quotes() -> None:
    assert quoted_name("a\\` -- \n", "bigquery") == r"`a\\\x60 -- \x0a`"


def test_threads_quote_alike() -> None:
    names = [f'n{at}"`]' for at in range(2000)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda name: quoted_name(name, "mysql"), names)]
    assert found == [f'`n{at}"``]`' for at in range(2000)]
