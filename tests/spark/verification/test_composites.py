"""Test the evidence of composite references against a nested loop over all rows."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Cardinality, ColumnPairs, Evidence
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.verification import composites
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.tables import ColumnId, Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
Cells = Sequence[object]


def reference(left: Table, right: Table, *names: str) -> ColumnPairs:
    return tuple((ColumnId(left.id, name), ColumnId(right.id, name)) for name in names)


def tuples(*columns: Cells) -> list[tuple[str, ...]]:
    rows = zip(*columns, strict=True)
    filled = [row for row in rows if all(cell is not None and cell != "" for cell in row)]
    return [tuple(normal_form(str(cell)) for cell in row) for row in filled]


def plain(ours: list[tuple[str, ...]], theirs: list[tuple[str, ...]]) -> Evidence:
    left, right = Counter(ours), Counter(theirs)
    shared = left.keys() & right.keys()
    joined = sum(left[value] * right[value] for value in shared)
    sides = ["ONE" if max(side.values()) == 1 else "N" for side in (left, right)]
    return Evidence(
        shared=len(shared),
        left_containment=len(shared) / len(left),
        right_containment=len(shared) / len(right),
        cardinality=Cardinality("_".join(sides)),
        left_fan_out=joined / len(ours),
        right_fan_out=joined / len(theirs),
        rows=joined,
    )


@pytest.fixture(params=["in this process", "in a Spark job"])
def session(request: pytest.FixtureRequest, spark: SparkSession) -> SparkSession | None:
    """Run each test twice, without Spark and with it."""
    return spark if request.param == "in a Spark job" else None


@pytest.mark.parametrize("split_bytes", [1 << 28, 1])
def test_evidence_equals_that_of_a_nested_loop(
    session: SparkSession | None, make_table: MakeTable, split_bytes: int
) -> None:
    random = np.random.default_rng(0)
    parents = [(at // 4, f"Line {at % 4}") for at in range(80)]
    # Another case, and a number as text: both are equal in normal form.
    chosen = [parents[at] for at in random.integers(0, 80, 300)]
    order: list[str | None] = [str(number) for number, _ in chosen]
    line: list[str | None] = [text.upper() for _, text in chosen]
    order[0], line[1], line[2] = None, "", "Line 9"
    right = make_table(
        "parents.parquet",
        pa.table({"order": [one for one, _ in parents], "line": [other for _, other in parents]}),
    )
    left = make_table("children.parquet", pa.table({"order": order, "line": line}))
    wanted = reference(left, right, "order", "line")
    found = verify_composites(
        session,
        [left, right],
        [wanted],
        texts={ColumnId(left.id, "line"), ColumnId(right.id, "line")},
        config=ProfileConfig(split_bytes=split_bytes),
    )[wanted]
    ours = tuples(order, line)
    theirs = tuples([one for one, _ in parents], [other for _, other in parents])
    assert found.evidence == plain(ours, theirs)
    assert found.tuples == len({*ours})
    assert found.matched == sum(value in theirs for value in ours) / len(ours)
    assert found.is_unique


@pytest.mark.parametrize("at_once", [256, 0])
def test_shuffled_columns_show_what_would_match_by_chance(
    session: SparkSession | None,
    make_table: MakeTable,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    monkeypatch.setattr(composites, "_AT_ONCE", at_once)
    # The first column of the key names the second, and the third is on its own.
    keys = [(at, at * 7, kind) for at in range(100) for kind in ("x", "y")]
    columns = {name: [key[at] for key in keys] for at, name in enumerate("abc")}
    left = make_table("left.parquet", pa.table(columns))
    right = make_table("right.parquet", pa.table(columns))
    wanted = reference(left, right, "a", "b", "c")
    found = verify_composites(
        session, [left, right], [wanted], texts={ColumnId(left.id, "c"), ColumnId(right.id, "c")}
    )[wanted]
    assert found.matched == 1
    assert max(found.by_chance[:2]) < 0.1
    assert found.by_chance[2] == 1


def test_a_tuple_is_counted_once_for_all_its_references(
    spark: SparkSession, make_table: MakeTable
) -> None:
    rows = pa.table({"a": [1, 1, 2], "b": [1, 2, 2]})
    one, other, third = (make_table(f"{name}.parquet", rows) for name in ("p", "q", "r"))
    wanted = [reference(one, third, "a", "b"), reference(other, third, "a", "b")]
    found = verify_composites(spark, [one, other, third], wanted, texts=set())
    assert {evidence.evidence.shared for evidence in found.values()} == {3}
    assert [*found] == wanted


def test_null_words_are_nulls_only_in_columns_without_text(
    spark: SparkSession, make_table: MakeTable
) -> None:
    table = make_table("land.csv", "code,size\nNA,1\nDE,NA\nDE,2\n")
    wanted = reference(table, table, "code", "size")
    found = verify_composites(spark, [table], [wanted], texts={ColumnId(table.id, "code")})
    assert found[wanted].tuples == 2


def test_of_many_references_only_those_that_may_hold_are_shuffled(
    spark: SparkSession, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composites, "_AT_ONCE", 0)
    key = make_table("key.parquet", pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]}))
    some = make_table("some.parquet", pa.table({"a": [1, 1, 2, 3], "b": [1, 2, 1, 3]}))
    kept, refuted = reference(key, key, "a", "b"), reference(some, key, "a", "b")
    found = verify_composites(spark, [key, some], [kept, refuted], texts=set())
    assert (len(found[kept].by_chance), len(found[refuted].by_chance)) == (1, 0)


def test_a_reference_that_cannot_be_read_has_no_evidence(
    spark: SparkSession, make_table: MakeTable
) -> None:
    good, bad = make_table("good.csv", "a,b\n1,2\n"), make_table("junk.csv", b"\0\1")
    lost = reference(good, bad, "a", "b")
    gone = reference(good, good, "a", "c")
    kept = reference(good, good, "a", "b")
    assert [*verify_composites(spark, [good, bad], [lost, gone, kept], texts=set())] == [kept]
    assert verify_composites(spark, [], [kept], texts=set()) == {}
