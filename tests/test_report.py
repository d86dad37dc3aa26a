import logging
import re
from dataclasses import replace

import pytest

from datahub_hyperjoin.joins import (
    Bridge,
    Cardinality,
    CatalogEvidence,
    CrosswalkJoin,
    Evidence,
    Join,
    Role,
    RowCounts,
    Statement,
    sort_joins,
)
from datahub_hyperjoin.joins.lists import list_best_joins
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.tables import ColumnId, TableId


def join(number: int) -> Join:
    return Join(
        left=ColumnId(TableId("file", "flights.csv"), f"carrier_{number}"),
        right=ColumnId(TableId("file", "airlines.csv"), "carrier"),
        joinability=0.9,
        evidence=Evidence(
            shared=16,
            left_containment=1.0,
            right_containment=0.5,
            cardinality=Cardinality.MANY_ONE,
            left_fan_out=1.0,
            right_fan_out=21048.5,
        ),
    )


def test_the_end_of_the_report_is_a_table_people_can_read() -> None:
    report = HyperJoinReport()
    report.show_joins([join(0)])
    text = report.as_string()
    assert "1 join found, best first:" in text
    line = next(line for line in text.splitlines() if line.startswith("flights.csv.carrier_0"))
    assert re.split(" {2,}", line) == [
        "flights.csv.carrier_0",
        "airlines.csv.carrier",
        "same domain",
        "0.90",
        "16",
        "100% / 50% of values",
        "many-to-one",
    ]


def test_the_table_shows_a_reference_from_the_referring_column() -> None:
    report = HyperJoinReport()
    same = join(1)
    reference = replace(
        same,
        left=same.right,
        right=same.left,
        evidence=same.measured.reversed,
        joinability=0.85,
        role=Role.REFERENCE,
        referenced=same.right,
    )
    report.show_joins(sort_joins([join(0), reference]))
    first, second = (line for line in report.as_string().splitlines() if "carrier_" in line)
    assert first.split()[:4] == [
        "flights.csv.carrier_1",
        "airlines.csv.carrier",
        "reference",
        "0.85",
    ]
    assert first.split()[-1] == "many-to-one"
    assert "same domain" in second


def test_the_table_says_that_a_key_repeats_and_which_rows_have_a_partner() -> None:
    same = join(0)
    evidence = replace(
        same.measured,
        cardinality=Cardinality.MANY_MANY,
        left_counts=RowCounts(total=100, filled=90, matched=84),
        right_counts=RowCounts(total=1_000, filled=1_000, matched=1),
    )
    repeats = replace(same, evidence=evidence, referenced=same.right, role=Role.REFERENCE)
    line = list_best_joins([repeats]).splitlines()[-1]
    assert re.split(" {2,}", line)[2:] == [
        "reference, key repeats",
        "0.90",
        "16",
        "84% / <1% of rows",
        "many-to-many",
    ]


def test_the_table_names_what_counts_as_no_value() -> None:
    evidence = replace(join(0).measured, placeholders="-1, 0")
    line = list_best_joins([replace(join(0), evidence=evidence)]).splitlines()[-1]
    assert line.endswith("-1 and 0 count as no value")
    alone = list_best_joins([replace(join(0), evidence=replace(evidence, placeholders="0"))])
    assert alone.endswith("0 counts as no value")


def test_names_are_as_short_as_they_tell_tables_apart() -> None:
    tables = [TableId("file", name) for name in ("a/x/days.csv", "b/x/days.csv", "b/x/sums.csv")]
    first, second, sums = (ColumnId(table, "day") for table in tables)
    joins = [
        replace(join(0), left=first, right=sums),
        replace(join(0), left=second, right=sums),
    ]
    lines = list_best_joins(joins).splitlines()[-2:]
    assert [line.split()[:2] for line in lines] == [
        ["a/x/days.csv.day", "sums.csv.day"],
        ["b/x/days.csv.day", "sums.csv.day"],
    ]


def test_the_table_fits_a_narrow_terminal() -> None:
    wide = list_best_joins([join(0)])
    most = max(map(len, wide.splitlines()))
    assert list_best_joins([join(0)], width=most) == wide
    narrow = list_best_joins([join(0)], width=most - 1).splitlines()
    assert max(map(len, narrow)) < most
    assert narrow[-2].startswith("flights.csv.carrier_0")
    assert narrow[-1].rstrip() == "= airlines.csv.carrier"
    narrowest = list_best_joins([join(0), join(1)], width=80).splitlines()
    assert max(map(len, narrowest)) <= 80
    assert narrowest[1] == "role · joinability · shared values · with a partner · cardinality"
    assert narrowest[3:5] == [
        "flights.csv.carrier_0 = airlines.csv.carrier",
        "  same domain · 0.90 · 16 · 100% / 50% of values · many-to-one",
    ]


def test_the_table_names_all_columns_of_a_composite_key() -> None:
    report = HyperJoinReport()
    single = join(0)
    tables = single.left.table, single.right.table
    further = tuple(ColumnId(table, "month") for table in tables)
    composite = replace(
        single,
        further=((further[0], further[1]),),
        referenced=single.left,
        role=Role.REFERENCE,
    )
    report.show_joins([composite])
    line = next(line for line in report.as_string().splitlines() if "carrier_0" in line)
    assert line.startswith("airlines.csv.carrier + month  flights.csv.carrier_0 + month  reference")


def test_declared_keys_without_values_are_marked_and_name_all_columns() -> None:
    report = HyperJoinReport()
    single = join(0)
    more = ColumnId(single.left.table, "month"), ColumnId(single.right.table, "month")
    declared = replace(
        single,
        evidence=None,
        catalog=CatalogEvidence(declared="fk"),
        referenced=single.right,
        further=(more,),
    )
    guessed = replace(join(1), evidence=None)
    report.show_joins([single], (), [guessed, declared])
    shown = report.as_string()
    assert "1 foreign key has no values to compare yet:" in shown
    assert (
        "flights.csv.carrier_0 → airlines.csv.carrier and flights.csv.month → airlines.csv.month "
        "(declared, not verified)" in shown
    )
    assert "1 join is suggested by names, and not verified on data:" in shown
    assert "flights.csv.carrier_1 = airlines.csv.carrier (0.90)" in shown


def test_the_table_says_what_values_were_compared_as() -> None:
    report = HyperJoinReport()
    coded = join(0)
    report.show_joins(
        [replace(coded, evidence=replace(coded.measured, compared_as="countries")), coded]
    )
    first, second = (line for line in report.as_string().splitlines() if "carrier_0" in line)
    assert first.endswith("compared as countries")
    assert "countries" not in second


def test_the_page_is_named_once_it_is_written() -> None:
    report = HyperJoinReport()
    report.show_joins([join(0)])
    assert "evidence:" not in report.as_string()
    report.page = "/lake/joins.html"
    assert report.as_string().endswith("All joins, with their evidence: /lake/joins.html")


def test_a_long_table_is_cut_and_says_so() -> None:
    report = HyperJoinReport()
    report.show_joins([join(number) for number in range(30)])
    assert report.as_string().endswith("... and 5 more.")


def test_nothing_found_is_said() -> None:
    report = HyperJoinReport()
    report.show_joins([])
    assert report.as_string().endswith("No joins found.")


def test_a_run_without_findings_prints_counters_only() -> None:
    assert "joins found" not in HyperJoinReport().as_string()


def test_counters_add_up() -> None:
    report = HyperJoinReport()
    report.count("tables_profiled", 2)
    report.count("tables_profiled", 3)
    assert report.as_obj()["tables_profiled"] == 5


def test_a_counter_must_exist() -> None:
    with pytest.raises(AttributeError, match="tables_dropped"):
        HyperJoinReport().count("tables_dropped", 1)


def test_stages_are_timed_and_warnings_kept() -> None:
    report = HyperJoinReport()
    with report.stage("Profiling tables"):
        report.warn("Table skipped", "It gets no suggestions", "bad.csv: is an empty file")
    assert any("Profiling tables" in str(stage) for stage in report.ingestion_stage_durations)
    assert [list(one.context) for one in report.warnings] == [["bad.csv: is an empty file"]]


def test_progress_reaches_datahub_s_console(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="datahub.hyperjoin"):
        HyperJoinReport().say("Epoch 3 of at most 60")
    assert [record.name for record in caplog.records] == ["datahub.hyperjoin"]


def in_two_steps(number: int) -> CrosswalkJoin:
    codes = TableId("file", "codes.csv")
    pair = join(number)
    bridge = Bridge(pair.left, ColumnId(codes, "iata"), ColumnId(codes, "name"), pair.right)
    evidence = pair.measured
    return CrosswalkJoin(
        bridge=bridge,
        joinability=0.81,
        left_step=evidence,
        right_step=evidence,
        evidence=evidence,
    )


def test_joins_in_two_steps_are_listed_with_both_steps() -> None:
    report = HyperJoinReport()
    report.show_joins([join(0)], [in_two_steps(0), in_two_steps(1)])
    text = report.as_string()
    assert (
        "2 pairs of columns join in two steps, through a table with codes and names "
        "(1 besides the joins above):"
    ) in text
    assert (
        "flights.csv.carrier_0 = codes.csv.iata and codes.csv.name = airlines.csv.carrier (0.81)"
    ) in text


def test_only_the_best_joins_in_two_steps_are_listed() -> None:
    report = HyperJoinReport()
    report.show_joins([], [in_two_steps(number) for number in range(30)])
    text = report.as_string()
    assert "30 pairs of columns join in two steps" in text
    assert text.count("codes.csv.iata") == 25
    assert text.endswith("... and 5 more.")


def test_both_steps_of_a_join_without_sql_are_named() -> None:
    report = HyperJoinReport()
    report.show_missing_sql({in_two_steps(0).pairs: Statement(reason="too slow")})
    assert list(report.joins_without_sql) == [
        "flights.csv.carrier_0 = codes.csv.iata and codes.csv.name = airlines.csv.carrier: too slow"
    ]


def test_a_warning_shows_a_name_in_one_line() -> None:
    report = HyperJoinReport()
    report.warn("Table skipped", "Correct it", "orders\nERROR \x1b[2J")
    [warning] = report.warnings
    assert [*warning.context] == [r"orders\nERROR \u001b[2J"]
    assert "\x1b" not in report.as_string()
