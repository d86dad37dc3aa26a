"""Write large lakes that resemble a company's tables: areas of tables that refer to each other.

An area is a folder of 20 tables. Each table has a key, and most refer to an earlier table of their
area. Half of all tables also refer to one of five tables of the first area, as to customers. Most
have a country and a status, whose values hundreds of tables share; amounts, days and texts are
their own. Half of the keys are running numbers, which every other such key contains.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pycountry
from pyarrow import parquet

AREA = 20
"""Number of tables in an area."""
SHARED_KEYS = 5
"""Number of tables, all in the first area, to which the tables of every area refer."""
COUNTRIES = tuple((each.alpha_2, each.name) for each in pycountry.countries)
"""The code and the name of each country."""
STATES = (
    ("open", "paid", "late"),
    ("new", "active", "closed", "blocked"),
    ("draft", "sent", "accepted", "rejected", "expired"),
    ("low", "medium", "high"),
)
_WORDS = (
    "account agent asset batch branch budget building campaign carrier case claim contract course "
    "customer delivery department device district document driver employee event facility factory "
    "fleet grant invoice journey ledger lesson licence machine market material member meter order "
    "parcel patient payment permit plant policy product project property quote region rental route "
    "sample sensor shift site station store student supplier survey task team ticket tour unit "
    "vehicle vendor visit warehouse"
)
NOUNS = _WORDS.split()


@dataclass(frozen=True)
class _Key:
    """The key of a table that is already written, to which later tables can refer."""

    name: str
    values: pa.Array


def write_areas(folder: Path, tables: int, seed: int = 0) -> None:
    """Write a lake of Parquet files with seven columns a table on average.

    Args:
        folder: Where to write; one folder for each area.
        tables: Number of tables.
        seed: Number that all values follow from.
    """
    for path, table in generate_areas(tables, seed):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, folder / path)


def generate_areas(tables: int, seed: int = 0) -> Iterator[tuple[str, pa.Table]]:
    """Yield the tables of a lake, each with the path of its file below the lake's folder.

    Every fifth table has 500 to 4,000 rows, the others a tenth of that.

    Args:
        tables: Number of tables.
        seed: Number that all values follow from.
    """
    shared: list[_Key] = []
    for first in range(0, tables, AREA):
        area = first // AREA
        random = np.random.default_rng([seed, area])
        parent = f"{NOUNS[area % len(NOUNS)]}_{area}"
        keys: list[_Key] = []
        for number in range(first, min(first + AREA, tables)):
            columns = dict(_columns(number, random, keys, shared))
            yield f"{parent}/{_entity(number)}.parquet", pa.table(columns)
        shared = shared or keys[:SHARED_KEYS]


def _entity(table: int) -> str:
    """Return a table name made of two nouns; names repeat only after about 5,000 tables."""
    first, second = divmod(table, len(NOUNS))
    return f"{NOUNS[first % len(NOUNS)]}_{NOUNS[second]}"


def _columns(
    table: int, random: np.random.Generator, keys: list[_Key], shared: Sequence[_Key]
) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns of a table, and append the table's key to `keys`, the keys of its area."""
    rows = int(random.integers(50, 400)) * (10 if table % 5 == 0 else 1)
    key = _Key(f"{_entity(table)}_id", _key_values(table, rows, random))
    yield key.name, key.values
    if keys:
        yield _reference(keys[int(random.integers(len(keys)))], rows, random)
    if shared and random.random() < 0.5:
        yield _reference(shared[int(random.integers(len(shared)))], rows, random)
    keys.append(key)
    yield from _attributes(rows, random)


def _attributes(rows: int, random: np.random.Generator) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns of a table that are neither keys nor references."""
    if random.random() < 0.6:
        yield "country", _countries(rows, random)
    if random.random() < 0.7:
        yield "status", pa.array(random.choice(STATES[int(random.integers(len(STATES)))], rows))
    if random.random() < 0.8:
        yield "amount", pa.array(random.gamma(2, 50, rows).round(2))
    if random.random() < 0.8:
        days = int(random.integers(15_000, 19_000)) + random.integers(1_000, size=rows)
        yield "created_on", pa.array(days.astype("datetime64[D]"))
    for name in ("name", "remark"):
        if random.random() < 0.8:
            yield (
                name,
                pa.array([f"{a:x} {b:x}" for a, b in random.integers(1 << 33, size=(rows, 2))]),
            )


def _key_values(table: int, rows: int, random: np.random.Generator) -> pa.Array:
    if random.random() < 0.5:
        return pa.array(np.arange(1, rows + 1))
    return pa.array([f"{table:05}-{number:05}" for number in range(rows)])


def _reference(key: _Key, rows: int, random: np.random.Generator) -> tuple[str, pa.Array]:
    return key.name, key.values.take(pa.array(random.integers(len(key.values), size=rows)))


def _countries(rows: int, random: np.random.Generator) -> pa.Array:
    """Return a column of country codes or country names, drawn from a random set of countries."""
    form = int(random.integers(2))
    drawn = random.permutation(len(COUNTRIES))[: int(random.integers(5, len(COUNTRIES)))]
    written = pa.array([COUNTRIES[number][form] for number in drawn])
    return written.take(pa.array(random.integers(len(drawn), size=rows)))
