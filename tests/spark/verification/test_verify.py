"""Test the evidence from Spark against a nested loop over all rows."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.normal_form import Synonyms, hash_values, normal_forms
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.verification.counting import count_pairs_of_partition, partition_values
from datahub_hyperjoin.spark.verification.values import RequestedColumns, read_values
from datahub_hyperjoin.spark.verification.verify import (
    ColumnKinds,
    verify_joins,
)
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.value_forms import Notation, ValueForm

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
PlainEvidence = Callable[[Sequence[str | None], Sequence[str | None]], Evidence]


def column(table: Table, path: str) -> ColumnId:
    return ColumnId(table.id, path)


def test_evidence_equals_that_of_a_nested_loop(
    spark: SparkSession, make_table: MakeTable, plain_evidence: PlainEvidence
) -> None:
    rng = np.random.default_rng(0)
    lake: dict[str, Sequence[str | None]] = {
        f"t{at}": [f"City {rng.integers(0, 30 * at + 10)}" for _ in range(100)] for at in range(4)
    }
    lake |= {"keys": [f"CITY  {at}" for at in range(50)], "void": [None, ""]}
    tables = [make_table(f"{name}.parquet", pa.table({"city": lake[name]})) for name in lake]
    cities = [column(table, "city") for table in tables]
    pairs = list(product(cities, cities))
    found = verify_joins(spark, tables, pairs)
    expected = {
        (left, right): plain_evidence(lake[left.table.name], lake[right.table.name])
        for left, right in pairs
    }
    assert found == expected


def test_a_table_that_ends_its_worker_costs_only_its_pairs(
    spark: SparkSession, make_table: MakeTable, deadly: Callable[[Table], Table]
) -> None:
    tables = [make_table(f"t{at}.csv", "id\n1\n2\n") for at in range(4)]
    tables[2] = deadly(tables[2])
    ids = [column(table, "id") for table in tables]
    unread: list[TableId] = []
    found = verify_joins(
        spark, tables, [(ids[0], other) for other in ids[1:]], note_unread=unread.append
    )
    assert {pair: evidence.shared for pair, evidence in found.items()} == {
        (ids[0], ids[1]): 2,
        (ids[0], ids[3]): 2,
    }
    assert unread == [tables[2].id]


def test_values_beyond_any_sketch_are_counted_exactly(
    spark: SparkSession, make_table: MakeTable
) -> None:
    orders = make_table("orders.parquet", pa.table({"id": range(20_000)}))
    lines = make_table("lines.csv", "order\n" + "".join(f"{at % 9_000}\n" for at in range(18_000)))
    pair = column(orders, "id"), column(lines, "order")
    assert verify_joins(spark, [orders, lines], [pair]) == {
        pair: Evidence(
            shared=9_000,
            left_containment=0.45,
            right_containment=1.0,
            cardinality=Cardinality.ONE_MANY,
            left_fan_out=0.9,
            right_fan_out=1.0,
            rows=18_000,
        )
    }


def test_codes_and_names_are_compared_as_entities(
    spark: SparkSession, make_table: MakeTable, plain_evidence: PlainEvidence
) -> None:
    rng = np.random.default_rng(0)
    codes, names = [f"c{at}" for at in range(50)], [f"Country {at}" for at in range(50)]
    called = {**dict(zip(codes, codes, strict=True)), **dict(zip(names, codes, strict=True))}
    hashes = hash_values(normal_forms(pa.array(called.keys())))
    order = np.argsort(hashes)
    synonyms = Synonyms(hashes[order], hash_values(pa.array(called.values()))[order])
    lake = {
        "codes": [*codes, "total"],
        "names": [*rng.choice(names[:30], 80).tolist(), "Elsewhere"],
        "half": [*names[:20], *codes[20:40]],
    }
    tables = [make_table(f"{name}.parquet", pa.table({"land": lake[name]})) for name in lake]
    coded, named, mixed = (column(table, "land") for table in tables)
    pairs = [(coded, named), (named, coded), (coded, mixed)]
    found = verify_joins(
        spark,
        tables,
        pairs,
        kinds=ColumnKinds(
            kinds=dict.fromkeys(pairs, "countries"), synonyms={"countries": synonyms}
        ),
    )
    meant = {name: [called.get(value, value) for value in lake[name]] for name in lake}
    as_meant = plain_evidence(meant["codes"], meant["names"])
    back = plain_evidence(meant["names"], meant["codes"])
    assert as_meant.containment > 0.9
    assert found == {
        (coded, named): replace(as_meant, compared_as="countries"),
        (named, coded): replace(back, compared_as="countries"),
        # Half of the values are written equally, so entities only double the containment.
        (coded, mixed): plain_evidence(lake["codes"], lake["half"]),
    }


def test_null_words_join_only_in_columns_of_text(
    spark: SparkSession, make_table: MakeTable
) -> None:
    table = make_table("airports.csv", "code,runways,country\nFRA,4,DE\nWDH,NA,NA\n")
    runways, country = column(table, "runways"), column(table, "country")
    found = verify_joins(spark, [table], [(runways, country), (country, country)])
    assert (found[runways, country].shared, found[country, country].shared) == (0, 2)


def test_unreadable_pairs_are_left_out(
    spark: SparkSession, make_table: MakeTable, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = make_table("cities.csv", "city\nOslo\n"), make_table("junk.csv", b"\0\1")
    here, gone = column(good, "city"), column(good, "mayor")
    pairs = [(here, here), (here, column(bad, "city")), (gone, here)]
    with caplog.at_level(logging.WARNING):
        assert list(verify_joins(spark, [good, bad], pairs)) == [(here, here)]
    assert "Not verified, because it can no longer be read: junk" in caplog.text


def test_counts_of_hash_partitions_add_up_to_those_of_the_table(make_table: MakeTable) -> None:
    table = make_table("numbers.csv", "a,b\n" + "".join(f"{at},{at % 10}\n" for at in range(999)))
    requests = [RequestedColumns(table, {"a": {"": 0}, "b": {"": 1}})]
    values = read_values(requests, {}, Databases())
    rows = pa.Table.from_batches(partition_values(values, count=7))
    parts = [
        count_pairs_of_partition(
            rows.filter(pc.equal(rows["partition"], index)), np.array([(0, 1), (0, 0), (1, 7)])
        )
        for index in range(7)
    ]
    sums = pa.concat_tables(parts).group_by(["left", "right"], use_threads=False)
    totals = sums.aggregate([(name, "sum") for name in ("shared", "rows", "joined")])
    assert [tuple(row.values()) for row in totals.to_pylist()] == [
        (0, 1, 10, 10, 999),
        (0, 0, 999, 999, 999),
    ]


@pytest.mark.parametrize("uri", ["nowhere.csv", "no\0where.csv"])
def test_a_removed_table_has_no_values(make_table: MakeTable, uri: str) -> None:
    table = replace(
        make_table("cities.csv", "city\nOslo\n"),
        location=File(uri=uri, format="csv"),
    )
    assert not [*read_values([RequestedColumns(table, {"city": {"": 0}})], {}, Databases())]


def test_pairs_of_other_tables_are_left_out(spark: SparkSession, make_table: MakeTable) -> None:
    city = column(make_table("cities.csv", "city\nOslo\n"), "city")
    assert verify_joins(spark, [], [(city, city)]) == {}


WAYS_TO_WRITE: Sequence[tuple[ValueForm, Notation, str, str]] = (
    (ValueForm.WITHOUT_ZEROS, Notation.PADDED, "000123", "123"),
    (ValueForm.NUMBERS, Notation.COMMA, "1.234,50", "1234.5"),
    (ValueForm.DATES, Notation.DAY_FIRST, "31.01.2024", "2024-01-31"),
    (ValueForm.TRUTH, Notation.TRUTH_WORDS, "ja", "true"),
    (ValueForm.INSTANTS, Notation.OFFSET, "2024-01-31T09:30+01:00", "2024-01-31 08:30:00"),
)


@pytest.mark.parametrize(("form", "notation", "left", "right"), WAYS_TO_WRITE)
def test_values_that_are_equal_in_another_form_are_counted_in_it(
    spark: SparkSession,
    make_table: MakeTable,
    form: ValueForm,
    notation: Notation,
    left: str,
    right: str,
) -> None:
    tables = [
        make_table("written.csv", f'v,n\n"{left}",1\n"{left}",2\nNA,3\n'),
        make_table("plain.csv", f"v,n\n{right},1\n,2\n"),
    ]
    pair = column(tables[1], "v"), column(tables[0], "v")
    kinds = ColumnKinds(notations={pair[1]: notation})
    found = verify_joins(spark, tables, [pair], kinds=kinds)[pair]
    assert found == Evidence(
        shared=1,
        left_containment=1.0,
        right_containment=1.0,
        cardinality=Cardinality.ONE_MANY,
        left_fan_out=2.0,
        right_fan_out=1.0,
        rows=2,
        compared_as=form.value,
    )


def test_a_column_of_two_spellings_is_compared_in_the_form_of_both(make_table: MakeTable) -> None:
    days = [f"2024-01-{day}" for day in range(10, 30)]
    spelled = [day if at % 2 else f"{day[8:]}.01.2024" for at, day in enumerate(days * 2)]
    tables = [
        make_table("sales.csv", "day\n" + "\n".join([*spelled, *days]) + "\n"),
        make_table("calendar.csv", "day\n" + "\n".join(days) + "\n"),
    ]
    pair = column(tables[0], "day"), column(tables[1], "day")
    kinds = ColumnKinds(notations={pair[0]: Notation.DAY_FIRST})
    found = verify_joins(None, tables, [pair], kinds=kinds)[pair]
    # All days match as written as well, but not in all rows.
    assert (found.compared_as, found.rows, found.rows_as_written) == ("dates", 60, 40)
    assert (found.left_containment, found.right_containment) == (1, 1)


def test_a_column_without_notation_may_have_codes_with_separators(make_table: MakeTable) -> None:
    tables = [
        make_table("parts.csv", "code\n" + "".join(f"AB-{at}\n" for at in range(100, 120))),
        make_table(
            "uses.csv", "code\n" + "".join(f"AB{at}\n" * 2 + f"AB_{at}\n" for at in range(100, 120))
        ),
    ]
    pair = column(tables[0], "code"), column(tables[1], "code")
    notations = {pair[0]: Notation.SEPARATED}
    kinds = ColumnKinds(notations=notations, texts={*pair})
    assert verify_joins(None, tables, [pair], kinds=kinds)[pair].rows == 60


def test_a_pair_in_another_form_equals_a_nested_loop(
    spark: SparkSession, make_table: MakeTable, plain_evidence: PlainEvidence
) -> None:
    rng = np.random.default_rng(0)
    padded = [f"{rng.integers(0, 400):05}" for _ in range(500)]
    plain = [str(rng.integers(0, 900)) for _ in range(700)]
    tables = [
        make_table("padded.parquet", pa.table({"code": padded})),
        make_table("plain.parquet", pa.table({"code": plain})),
    ]
    pair = column(tables[0], "code"), column(tables[1], "code")
    kinds = ColumnKinds(notations={pair[0]: Notation.PADDED})
    expected = plain_evidence([text.lstrip("0") or "0" for text in padded], plain)
    assert verify_joins(spark, tables, [pair], kinds=kinds) == {
        pair: replace(expected, compared_as=ValueForm.WITHOUT_ZEROS.value)
    }


def test_values_as_written_stay_the_evidence_where_they_explain_a_pair_as_well(
    spark: SparkSession, make_table: MakeTable
) -> None:
    codes = "code\n0007\n0010\n1234\n"
    tables = [make_table("one.csv", codes), make_table("other.csv", codes)]
    pair = column(tables[0], "code"), column(tables[1], "code")
    kinds = ColumnKinds(notations=dict.fromkeys(pair, Notation.PADDED))
    found = verify_joins(spark, tables, [pair], kinds=kinds)[pair]
    assert (found.compared_as, found.shared, found.containment) == ("", 3, 1.0)


def test_columns_of_different_forms_are_compared_as_written(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [make_table("one.csv", "v\n007\n"), make_table("other.csv", "v\n7.50\n")]
    pair = column(tables[0], "v"), column(tables[1], "v")
    kinds = ColumnKinds(notations=dict(zip(pair, (Notation.PADDED, Notation.POINT), strict=True)))
    assert verify_joins(spark, tables, [pair], kinds=kinds)[pair].compared_as == ""
