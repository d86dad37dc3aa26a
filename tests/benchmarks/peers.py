"""Count containment exactly with polars and with DuckDB: `python -m benchmarks.peers NAME FOLDER`.

Each peer counts the distinct values of each column, takes columns without repeats for keys, and
prints the share of every other column's values that a key has, from 80 % on.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path

import duckdb
import polars as pl

_KEY, _LEAST, _FEWEST = 0.99, 0.8, 2


def _files(folder: Path) -> Iterator[Path]:
    return (each for each in sorted(folder.rglob("*")) if each.suffix in {".csv", ".parquet"})


def polars_containment(folder: Path) -> Iterator[tuple[str, str, float]]:
    """Count with polars, which keeps the distinct values of all columns in memory."""
    columns: dict[tuple[Path, str], pl.Series] = {}
    keys = []
    for file in _files(folder):
        scan = pl.scan_parquet(file) if file.suffix == ".parquet" else pl.scan_csv(
            file, infer_schema_length=10_000, ignore_errors=True
        )  # fmt: skip
        rows = scan.collect()
        for name in rows.columns:
            distinct = rows.get_column(name).drop_nulls().unique().alias("value")
            columns[file, name] = distinct
            if len(distinct) >= max(_KEY * len(rows), _FEWEST):
                keys.append((file, name))
    for key, column in product(keys, columns):
        held, asked = columns[key], columns[column]
        if key[0] == column[0] or held.dtype != asked.dtype or not len(asked):
            continue
        shared = asked.to_frame().join(held.to_frame(), on="value", how="semi")
        if len(shared) >= _LEAST * len(asked):
            yield ".".join(map(str, column)), ".".join(map(str, key)), len(shared) / len(asked)


def duckdb_containment(folder: Path) -> Iterator[tuple[str, str, float]]:
    """Count with DuckDB, which keeps the distinct values of all columns as tables."""
    columns: dict[tuple[Path, str], tuple[str, str, int]] = {}
    keys = []
    with duckdb.connect(config={"threads": 1}) as connection:
        for file in _files(folder):
            read = "read_parquet" if file.suffix == ".parquet" else "read_csv"
            connection.execute(f"CREATE OR REPLACE TABLE source AS FROM {read}('{file}')")
            types = connection.execute("DESCRIBE source").fetchall()
            [rows] = connection.execute("SELECT COUNT(*) FROM source").fetchone() or [0]
            for name, kind, *_ in types:
                table = f"c{len(columns)}"
                quoted = '"' + name.replace('"', '""') + '"'
                connection.execute(
                    f"CREATE TABLE {table} AS SELECT DISTINCT {quoted} AS value FROM source "
                    f"WHERE {quoted} IS NOT NULL"
                )
                [count] = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() or [0]
                columns[file, name] = table, kind, count
                if count >= max(_KEY * rows, _FEWEST):
                    keys.append((file, name))
        for key, column in product(keys, columns):
            (held, its_kind, _), (asked, kind, count) = columns[key], columns[column]
            if key[0] == column[0] or kind != its_kind or not count:
                continue
            query = f"SELECT COUNT(*) FROM {asked} SEMI JOIN {held} USING (value)"
            [shared] = connection.execute(query).fetchone() or [0]
            if shared >= _LEAST * count:
                yield ".".join(map(str, column)), ".".join(map(str, key)), shared / count


PEERS: Mapping[str, Callable[[Path], Iterator[tuple[str, str, float]]]] = {
    "polars": polars_containment,
    "duckdb": duckdb_containment,
}


if __name__ == "__main__":
    for found in PEERS[sys.argv[1]](Path(sys.argv[2])):
        print(*found)
