"""Name tables and joins so that all export formats accept the names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from datahub_hyperjoin.export.quoting import dialect_of
from datahub_hyperjoin.tables import TableId

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

    The platform instance is omitted. A file has one part: the name of the table that holds its
    rows.

    Args:
        table: The table.

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

    Args:
        parts: The parts of the name.

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
    number is appended.

    Args:
        choices: The names that each thing may have, the preferred first.
        taken: Names that none may have.

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
