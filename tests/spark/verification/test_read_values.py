"""Test that the values of tables counted together are those of each table alone."""

import gzip
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark import read
from datahub_hyperjoin.spark.counting import aggregate
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.verification.values import ColumnTuple, RequestedColumns, read_values
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.value_forms import Notation

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
Found = dict[int, tuple[list[int], list[int]]]
NOT_UTF_8 = pa.array([b"K\xf6ln", b"Rom"]).view(pa.string())


@pytest.fixture
def requests(make_table: MakeTable) -> list[RequestedColumns]:
    """Request columns of short, long and unreadable tables, with null words, forms and tuples."""
    cities = make_table("cities.csv", "id,city,code\n1,Oslo,DE\n2,Windhoek,NA\n3,,FR\n")
    numbers = make_table("numbers.csv", "n\n1\nNA\n2\n")
    long = make_table("long.csv", "id\n" + "".join(f"{at % 9}\n" for at in range(600_000)))
    broken = make_table("broken.csv", gzip.compress(b"id\n" + b"1\n" * 600_000)[:-20])
    return [
        RequestedColumns(
            cities,
            {"city": {"": 0}, "code": {"": 1}, "id": {"": 2, Notation.PADDED: 3}, "gone": {"": 4}},
            tuples={ColumnTuple(("city", "code")): 5},
        ),
        RequestedColumns(numbers, {"n": {"": 6}}),
        RequestedColumns(make_table("empty.csv", ""), {"id": {"": 7}}),
        RequestedColumns(broken, {"id": {"": 8}}),
        RequestedColumns(long, {"id": {"": 9}}),
    ]


def values_of(requests: Sequence[RequestedColumns]) -> Found:
    found = read_values(requests, {}, Databases())
    return {number: (each.hashes.tolist(), each.counts.tolist()) for number, each in found}


def alone(requests: Sequence[RequestedColumns]) -> Found:
    return {number: values for each in requests for number, values in values_of([each]).items()}


@pytest.mark.parametrize("size", [0, 100, 1 << 20])
def test_tables_of_one_batch_have_the_values_of_each_alone(
    monkeypatch: pytest.MonkeyPatch, requests: list[RequestedColumns], size: int
) -> None:
    expected = alone(requests)
    assert [*expected] == [0, 1, 2, 3, 5, 6, 9]
    # `NA` is a code, but no number. Of the tuple, it would be a value only if the request said that
    # codes are text.
    assert [sum(expected[number][1]) for number in expected] == [2, 3, 3, 3, 1, 2, 600_000]
    monkeypatch.setattr(aggregate, "_BUFFER_BYTES", size)
    assert values_of(requests) == expected


def test_only_the_table_that_cannot_be_counted_has_no_values(
    monkeypatch: pytest.MonkeyPatch, make_table: MakeTable, requests: list[RequestedColumns]
) -> None:
    monkeypatch.setattr(read, "with_usable_values", lambda stream: stream)
    broken = RequestedColumns(
        make_table("latin.parquet", pa.table({"city": NOT_UTF_8})), {"city": {"": 10}}
    )
    good = [requests[0], requests[1]]
    assert values_of([good[0], broken, good[1]]) == alone(good)
    assert not values_of([broken])
