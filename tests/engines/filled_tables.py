"""Create tables in each database system, with values that are given in its SQL."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice

from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.tables import Table
from engines.servers import Server


def literal(server: Server, text: str) -> str:
    syntax = system_named(server.kind).syntax
    assert syntax
    return syntax.quote_text(text)


def series(server: Server, end: int) -> str:
    """Write a table expression with the whole numbers `i` from 1 to `end`."""
    if server.kind == "mariadb":
        return f"(SELECT seq AS i FROM seq_1_to_{end}) AS numbers"
    if server.kind == "databricks":
        return f"(SELECT id AS i FROM range(1, {end + 1})) AS numbers"
    if server.kind == "snowflake":
        generated = f"table(generator(rowcount => {end}))"
        return f"(SELECT seq4() + 1 AS i FROM {generated}) AS numbers"
    if server.kind == "clickhouse":
        return f"(SELECT number + 1 AS i FROM numbers({end})) AS numbers"
    if server.kind == "trino":
        return f"UNNEST(sequence(1, {end})) AS numbers(i)"
    return f"generate_series(1, {end}) AS numbers(i)"


def numbered(server: Server, word: str, number: str = "i") -> str:
    """Write the text of a word with a number after it."""
    return f"concat('{word}', {f'CAST({number} AS varchar)' if server.kind == 'trino' else number})"


def fill(server: Server, name: str, type_: str, values: Sequence[str]) -> Table:
    """Create a table with one column `v`."""
    return _filled(server, name, {"v": (type_, values)})


def fill_columns(server: Server, name: str, columns: Mapping[str, Sequence[str]]) -> Table:
    """Create a table with a column `c0`, `c1`, ... of each type.

    The values of a column are repeated until all columns are as long as the longest.
    """
    rows = max(map(len, columns.values()))
    repeated = [(type_, [*islice(cycle(each), rows)]) for type_, each in columns.items()]
    return _filled(server, name, {f"c{at}": column for at, column in enumerate(repeated)})


def _filled(server: Server, name: str, columns: Mapping[str, tuple[str, Sequence[str]]]) -> Table:
    """Create a table, given each column's type and values."""
    # Rejected by default are dates such as 0000-00-00, which old tables have.
    odd_values = ["SET sql_mode = ''"] if server.kind == "mariadb" else []
    engine = "ENGINE = MergeTree ORDER BY tuple()" if server.kind == "clickhouse" else ""
    types = [_type_in(server.kind, type_) for type_, _ in columns.values()]
    # Trino converts no texts to other types by itself.
    form = "CAST({} AS {})" if server.kind == "trino" else "{}"
    written = (
        [form.format(value, type_) for value in values]
        for (_, values), type_ in zip(columns.values(), types, strict=True)
    )
    inserted = ", ".join(f"({', '.join(row)})" for row in zip(*written, strict=True))
    declared = ", ".join(map(" ".join, zip(columns, types, strict=True)))
    server.run(
        *odd_values,
        f"DROP TABLE IF EXISTS {name}",
        f"CREATE TABLE {name} ({declared}) {engine}",
        f"INSERT INTO {name} VALUES {inserted}",
    )
    return server.table(name)


def _type_in(kind: str, type_: str) -> str:
    """Return what a system calls a type."""
    if kind == "clickhouse" and type_.islower():
        # Its columns have no nulls by default.
        return f"Nullable({type_})"
    if text := {"databricks": "string", "trino": "varchar"}.get(kind):
        return {"text": text, "double precision": "double"}.get(type_, type_)
    return type_
