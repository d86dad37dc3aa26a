"""Small lakes made in the test itself."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from pandas.util import hash_array

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.locations import File, FileFormat
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
    TableProfile,
    pair_of,
)

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
SKETCH_SIZE = 1024


def _type(values: Sequence[str]) -> DataType:
    numbers = all(value.lstrip("-").isdecimal() for value in values)
    return DataType.INTEGER if numbers else DataType.TEXT


def _profile(table: TableId, position: int, path: str, cells: Sequence[str]) -> ColumnProfile:
    counts = Counter(cell for cell in cells if cell)
    values = np.array(sorted(counts), dtype=object)
    hashes = hash_array(values, categorize=False) if len(values) else np.zeros(0, np.uint64)
    order = np.argsort(hashes)
    sample = tuple(str(values[place]) for place in order[:64])
    lengths = [len(value) for value in values] or [0]
    return ColumnProfile(
        id=ColumnId(table, path),
        position=position,
        type=_type(sample),
        rows=len(cells),
        nulls=len(cells) - sum(counts.values()),
        distinct=len(values),
        sketch=hashes[order][:SKETCH_SIZE].astype("<u8").tobytes(),
        sample=sample,
        counts=tuple(counts[value] for value in sample),
        lengths=Lengths(shortest=min(lengths), mean=float(np.mean(lengths)), longest=max(lengths)),
        patterns=(),
    )


def profile_lake(tables: Tables) -> list[TableProfile]:
    profiles = []
    for name, columns in tables.items():
        table = Table(
            id=TableId("file", name),
            title=name,
            location=File(uri=name, format=FileFormat.CSV),
            size=1,
        )
        profiles.append(
            TableProfile(
                table=table,
                columns=tuple(
                    _profile(table.id, position, path, cells)
                    for position, (path, cells) in enumerate(columns.items())
                ),
            )
        )
    return profiles


def _column(path: str) -> ColumnId:
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


@pytest.fixture
def know() -> Know:
    """Makes what is known of pairs, their columns written as `table.column`."""

    def knowledge(pairs: Mapping[tuple[str, str], CatalogEvidence]) -> CatalogFacts:
        return CatalogFacts(
            pairs={pair_of(_column(one), _column(other)): s for (one, other), s in pairs.items()}
        )

    return knowledge


@pytest.fixture(scope="session")
def make_lake() -> MakeLake:
    return lambda tables: Lake.from_tables(profile_lake(tables))


@pytest.fixture(scope="session")
def airline_tables() -> Tables:
    """Flights, airlines and planes, beside two tables that have nothing to do with them."""
    random = np.random.default_rng(7)
    carriers = [first + second for first in "ABDEFH" for second in "JKLMN"]
    planes = [f"N{number}" for number in range(100, 190)]
    genera = [f"{a}{b}us" for a in ("ros", "quer", "pin", "ac", "sal") for b in "abcdefg"]
    return {
        "flights": {
            "carrier": random.choice(carriers, 300).tolist(),
            "tailnum": random.choice(planes, 300).tolist(),
            "distance": [str(number) for number in random.integers(1, 2000, 300)],
        },
        "airlines": {
            "carrier_code": carriers,
            "name": [f"{code} Airways Ltd" for code in carriers],
        },
        "planes": {
            "tailnum": planes,
            "seats": [str(number) for number in random.integers(1, 300, len(planes))],
        },
        "trees": {"genus": genera, "family": [f"{genus[:3]}aceae" for genus in genera]},
        "herbarium": {
            "genus": random.choice(genera, 120).tolist(),
            "sheet": [f"H-{number:05}" for number in range(120)],
        },
    }
