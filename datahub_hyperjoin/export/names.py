"""Names of tables, columns and joins in exports: which are accepted, and how they are quoted."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import PurePosixPath
from threading import get_ident

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.generator import Generator

from datahub_hyperjoin.names import escape_for_quotes
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
    """Return whether a name, as DataHub writes it, must be quoted in SQL.

    >>> needs_quotes("customer"), needs_quotes("order"), needs_quotes("Order No")
    (False, True, True)
    """
    return bool(_RESERVED.fullmatch(name)) or not _PLAIN.fullmatch(name)


@cache
def quoted_name(name: str, dialect: str) -> str:
    """Quote a name, so that it may contain any characters or be a reserved word.

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

    >>> can_quote("Order `No`", "mysql"), can_quote("Order `No`", "bigquery")
    (True, False)
    """
    return bool(name) and not _UNQUOTABLE.get(dialect, _NOWHERE).search(name)


@lru_cache(maxsize=64)
def _generator(dialect: str, thread: int) -> Generator:
    """Create a dialect's SQL generator for one thread, because threads cannot share a generator."""
    # Creating one takes a hundred times as long as quoting a name, and a page has thousands of
    # names.
    del thread
    return Dialect.get_or_raise(dialect).generator()


def quoted_path(names: Iterable[str], dialect: str) -> str:
    """Quote names, and put dots between them, as in the full name of a table.

    >>> quoted_path(("shop", "orders"), "mysql")
    '`shop`.`orders`'
    """
    return ".".join(quoted_name(name, dialect) for name in names)


def quoted_list(names: Iterable[str], dialect: str) -> str:
    """Quote names, and list them in parentheses, as in SQL constraints."""
    return f"({', '.join(quoted_name(name, dialect) for name in names)})"


_FILE_ENDINGS = re.compile(
    r"(\.(csv|tsv|txt|jsonl?|parquet|orc|avro|gz|bz2|zst|lz4|br|snappy))+$", re.IGNORECASE
)
_TWO_LEVELS = {"mysql", "mariadb", "hive", "glue", "athena", "clickhouse"}
"""Platforms whose tables have no schema between the database and the table."""

_OF_FILES = {"", "spark"}
"""Dialects of platforms whose tables may be files or folders, named by their paths."""

_ACCEPTED = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]")


def name_parts(table: TableId) -> tuple[str, ...]:
    """Return the parts of a table's name in SQL, such as database, schema and table.

    The platform instance is omitted. A file has one part: the name of the table with its rows.

    >>> name_parts(TableId("postgres", "eu.shop.public.orders"))
    ('shop', 'public', 'orders')
    >>> name_parts(TableId("file", "lake/shop/orders.csv.gz"))
    ('orders',)
    """
    is_path = "/" in table.name and dialect_of(table) in _OF_FILES
    if is_path or table.platform == "file":
        name = PurePosixPath(table.name).name
        return (_FILE_ENDINGS.sub("", name) or name,)
    levels = 2 if table.platform in _TWO_LEVELS else 3
    return tuple(table.name.split(".")[-levels:])


def identifier(*parts: str) -> str:
    """Combine names into one lower-case name of letters, digits and underscores.

    >>> identifier("Order Lines", "Größe"), identifier("2024"), identifier("a")
    ('order_lines_grosse', 't_2024', 't_a')
    """
    text = "_".join(parts).casefold()
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    name = re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")
    return name if _ACCEPTED.fullmatch(name) else f"t_{name or 'x'}"


def distinct_names(choices: Sequence[Sequence[str]], *, taken: Collection[str] = ()) -> list[str]:
    """Choose a unique name for each table, join or column, from its `choices`.

    Items with the same name take their next, longer name. If the last names are equal, too, a
    number is appended. None gets a name that is `taken`.

    >>> distinct_names([["orders", "eu_orders"], ["orders", "us_orders"], ["lines"]])
    ['eu_orders', 'us_orders', 'lines']
    >>> distinct_names([["orders"], ["orders"]])
    ['orders', 'orders_2']
    """
    levels = [0] * len(choices)
    while True:
        names = [names[level] for names, level in zip(choices, levels, strict=True)]
        counts = Counter([*names, *taken])
        longer = [
            at
            for at, name in enumerate(names)
            if counts[name] > 1 and levels[at] + 1 < len(choices[at])
        ]
        if not longer:
            return _numbered(names, set(taken))
        for at in longer:
            levels[at] += 1


def _numbered(names: Sequence[str], used: set[str]) -> list[str]:
    numbered = []
    for name in names:
        number, unused = 2, name
        while unused in used:
            unused, number = f"{name}_{number}", number + 1
        used.add(unused)
        numbered.append(unused)
    return numbered


# Many formats put names into templates, or between quotes that know no escapes. There, a name could
# end the text around it, and what follows would be read as instructions. Each rule below gets a
# name as DataHub writes it, and sqlglot's name of its table's dialect.

NameRule = Callable[[str, str], bool]
"""Whether a format can hold a name, given sqlglot's name of its table's dialect."""

_LINE_BREAKS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
_DBML = re.compile(rf'["\\\0\ud800-\udfff{_LINE_BREAKS}]')


def _without(pattern: str) -> NameRule:
    """Return the rule of a format that holds what SQL can quote, except names with a pattern."""
    refused = re.compile(pattern)
    return lambda name, dialect: can_quote(name, dialect) and not refused.search(name)


metricflow_holds = _without(r"\{[{%#]")  # dbt runs Jinja in every text
lookml_holds = _without(r";;|\{[{%]|[$@]\{")  # `;;` ends SQL, and braces are a template
cube_holds = _without(rf"[{{}}\\{_LINE_BREAKS}]")  # it reads SQL as a formatted string of Python


def dbt_holds(name: str, dialect: str) -> bool:
    """Return whether dbt's tests can hold a name: dbt runs Jinja, and quotes without escaping."""
    written = quoted_name(name, dialect)[1:-1] if needs_quotes(name) else name
    return metricflow_holds(name, dialect) and written.lower() == name.lower()


def dbml_holds(name: str, _: str) -> bool:
    """Return whether DBML can hold a name: its readers disagree on escapes and outer spaces."""
    return bool(name) and name == name.strip() and not _DBML.search(name)
