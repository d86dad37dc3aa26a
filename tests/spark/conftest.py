"""Write files of tables, and compute expected results in plain Python."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.util import hash_array

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.counting.texts import NULL_WORDS
from datahub_hyperjoin.tables import DataType, Table, TableId

Cells = Sequence[str | None]
MakeTable = Callable[[str, bytes | str | pa.Table], Table]
PlainProfile = Callable[[Cells, DataType], dict[str, Any]]
PlainEvidence = Callable[[Cells, Cells], Evidence]


@pytest.fixture
def make_table(tmp_path: Path) -> MakeTable:
    """Return a function that writes a file and describes its table as the catalog would."""

    def make(name: str, content: bytes | str | pa.Table) -> Table:
        path = tmp_path / name
        if isinstance(content, pa.Table):
            pq.write_table(content, path, row_group_size=3)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Table(
            id=TableId("file", path.stem),
            title=path.stem,
            location=File(uri=str(path), format=path.suffix[1:]),
            size=path.stat().st_size,
        )

    return make


class _DeadlyFile(File):
    """A file that ends the process that reads it, without an error, as a crash does."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        """Return a call that ends the process in which the table is unpickled.

        A real crash in a library would disappear with the library's next release.
        """
        return os._exit, (9,)


@pytest.fixture(scope="session")
def deadly() -> Callable[[Table], Table]:
    """Return a function that changes a table so that reading it ends the worker."""

    def end_worker(table: Table) -> Table:
        assert isinstance(table.location, File)
        location = _DeadlyFile(uri=table.location.uri, format=table.location.format)
        return replace(table, location=location)

    return end_worker


@pytest.fixture(scope="session")
def plain_profile() -> PlainProfile:
    """Return a function that computes the profile of a short column in the simplest way."""

    def facts(cells: Cells, type_: DataType) -> dict[str, Any]:
        written = _filled(cells, type_)
        rows = Counter(map(normal_form, written))
        longest_first = sorted(written, key=lambda value: (len(value), value), reverse=True)
        shortest = {normal_form(value): value for value in longest_first}
        ranked = sorted(rows, key=_hash)
        return {
            "rows": len(cells),
            "nulls": len(cells) - len(written),
            "distinct": len(rows),
            "sketch": np.array([_hash(value) for value in ranked], "<u8").tobytes(),
            "sample": tuple(shortest[value] for value in ranked),
            "counts": tuple(rows[value] for value in ranked),
        }

    return facts


@pytest.fixture(scope="session")
def plain_evidence() -> PlainEvidence:
    """Return a function that computes evidence for two text columns with a nested loop."""

    def evidence(left: Cells, right: Cells) -> Evidence:
        ours, theirs = (
            list(map(normal_form, _filled(cells, DataType.TEXT))) for cells in (left, right)
        )
        shared = set(ours) & set(theirs)
        joined = sum(one == other for one in ours for other in theirs)
        sides = ["ONE" if len(set(side)) == len(side) else "N" for side in (ours, theirs)]
        return Evidence(
            shared=len(shared),
            left_containment=len(shared) / max(1, len(set(ours))),
            right_containment=len(shared) / max(1, len(set(theirs))),
            cardinality=Cardinality("_".join(sides)),
            left_fan_out=joined / max(1, len(ours)),
            right_fan_out=joined / max(1, len(theirs)),
            rows=joined,
        )

    return evidence


def _filled(cells: Cells, type_: DataType) -> list[str]:
    null = {""} if type_ is DataType.TEXT else {"", *NULL_WORDS}
    return [cell for cell in cells if cell is not None and normal_form(cell) not in null]


def _hash(normal: str) -> int:
    return int(hash_array(np.array([normal], object), categorize=False)[0])
