"""Quote names of tables and columns for the SQL dialect of a platform."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from threading import get_ident

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.generator import Generator

from datahub_hyperjoin.quoted_names import escape_for_quotes
from datahub_hyperjoin.tables import TableId

_DIALECTS = {
    "athena": "athena",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse",
    "databricks": "databricks",
    "delta-lake": "spark",
    "duckdb": "duckdb",
    "hive": "hive",
    "iceberg": "spark",
    "mariadb": "mysql",
    "mssql": "tsql",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgres": "postgres",
    "presto": "presto",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "spark": "spark",
    "sqlite": "sqlite",
    "trino": "trino",
}
"""sqlglot's names for the SQL dialects of DataHub platforms. Platforms that are not listed get
standard SQL."""

_FOLDING = {"snowflake", "oracle"}
"""Dialects that store unquoted names in upper case. DataHub's connectors write these names in lower
case."""

_NOWHERE = re.compile("[\0\ud800-\udfff]")
_UNQUOTABLE = {
    "bigquery": re.compile(r"[`\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"),
    "oracle": re.compile('["\0\ud800-\udfff]'),
}
"""Characters that quoted names of a dialect cannot hold; those of the others are `_NOWHERE`."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = re.compile(
    "all|and|any|as|asc|between|by|case|cast|check|column|constraint|create|cross|"
    "current|current_date|current_time|current_timestamp|current_user|default|desc|"
    "distinct|drop|else|end|except|exists|false|fetch|for|foreign|from|full|grant|"
    "group|having|in|inner|insert|intersect|interval|into|is|join|left|like|limit|"
    "natural|not|null|offset|on|or|order|outer|over|partition|primary|references|"
    "right|row|rows|select|set|some|start|table|then|to|true|union|unique|update|"
    "user|using|values|view|when|where|window|with"
)
"""Words that at least one SQL dialect does not accept as names without quotes."""


def dialect_of(table: TableId) -> str:
    """Return sqlglot's name for a table's SQL dialect; empty for standard SQL."""
    return _DIALECTS.get(table.platform, "")


def needs_quotes(name: str) -> bool:
    """Return whether a name must be quoted in SQL.

    Args:
        name: The name as DataHub writes it.

    >>> needs_quotes("customer"), needs_quotes("order"), needs_quotes("Order No")
    (False, True, True)
    """
    return bool(_RESERVED.fullmatch(name)) or not _PLAIN.fullmatch(name)


@cache
def quoted_name(name: str, dialect: str) -> str:
    """Quote a name, so that it may contain any characters or be a reserved word.

    Args:
        dialect: sqlglot's name of the dialect.

    >>> quoted_name("order", "databricks"), quoted_name("order", "postgres")
    ('`order`', '"order"')
    >>> quoted_name("order", "snowflake"), quoted_name("Order", "snowflake")
    ('"ORDER"', '"Order"')
    """
    folded = name.upper() if dialect in _FOLDING and _PLAIN.fullmatch(name) else name
    written = exp.to_identifier(escape_for_quotes(folded, dialect), quoted=True)
    return _generator(dialect, get_ident()).generate(written)


def can_quote(name: str, dialect: str) -> bool:
    """Return whether a dialect has a way to write a name, even between quotes.

    Args:
        dialect: sqlglot's name of the dialect.

    >>> can_quote("Order `No`", "mysql"), can_quote("Order `No`", "bigquery")
    (True, False)
    """
    return bool(name) and not _UNQUOTABLE.get(dialect, _NOWHERE).search(name)


@lru_cache(maxsize=64)
def _generator(dialect: str, thread: int) -> Generator:
    """Create a dialect's SQL generator for one thread, because threads cannot share a generator.

    Creating one takes a hundred times as long as quoting a name, and a page has thousands of names.
    """
    del thread
    return Dialect.get_or_raise(dialect).generator()


def quoted_path(names: Iterable[str], dialect: str) -> str:
    """Quote names, and put dots between them, as in the full name of a table.

    Args:
        dialect: sqlglot's name of the dialect.

    >>> quoted_path(("shop", "orders"), "mysql")
    '`shop`.`orders`'
    """
    return ".".join(quoted_name(name, dialect) for name in names)


def quoted_list(names: Iterable[str], dialect: str) -> str:
    """Quote names, and list them in parentheses, as in SQL constraints."""
    return f"({', '.join(quoted_name(name, dialect) for name in names)})"
