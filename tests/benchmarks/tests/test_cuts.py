"""Test that lakes can be reduced to a given number of tables."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cuts import check_sizes, cut, cut_labelled
from benchmarks.errors import CutError
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.tables import Table, TableId, TableProfile


def column(table: str) -> ColumnName:
    return ColumnName(table, "x")


def lake(clusters: int, noise: int) -> LabelledLake:
    """Make a lake that has clusters of three joining tables, and unrelated tables.

    In each cluster, table `a` joins with `b` and `c`.
    """
    names = [f"{letter}{at}" for at in range(clusters) for letter in "abc"]
    truth = {
        column(f"a{at}"): frozenset({column(f"b{at}"), column(f"c{at}")}) for at in range(clusters)
    }
    tables = [*names, *(f"n{at}" for at in range(noise))]
    return LabelledLake(Path("lake"), {table: frozenset({"x"}) for table in tables}, truth)


@pytest.mark.parametrize("tables", [2, 3, 7, 30, 59, 60])
@pytest.mark.parametrize("seed", range(5))
def test_a_cut_has_the_tables_and_the_noise_it_should_and_asks_what_it_can_answer(
    tables: int, seed: int
) -> None:
    whole = lake(10, 30)
    part = cut_labelled(whole, tables, seed=seed)
    assert len(part.headers) == tables
    assert part.truth
    for query, gold in part.truth.items():
        assert part.has(query)
        assert gold
        assert gold == {answer for answer in whole.truth[query] if part.has(answer)}
    noise = sum(table.startswith("n") for table in part.headers)
    assert noise == (0 if tables == 2 else tables - round(tables / 2))


def test_a_cut_to_all_tables_is_the_whole_by_another_name() -> None:
    whole = lake(4, 3)
    part = cut_labelled(whole, 15, seed=1)
    assert part == replace(whole, part="15 tables")
    assert (part.name, part.slug) == ("lake (15 tables)", "lake-15-tables")
    assert list(part.headers) == list(whole.headers)


def test_two_tables_must_be_the_query_and_an_answer() -> None:
    whole = lake(1, 50)
    [[query, gold]] = cut_labelled(whole, 2, seed=3).truth.items()
    assert query == column("a0")
    assert len(gold) == 1


def test_a_query_is_dropped_when_its_answers_are() -> None:
    for seed in range(20):
        part = cut_labelled(lake(10, 0), 10, seed=seed)
        lost = [table for table in part.headers if table[0] == "a"]
        lost = [table for table in lost if not {f"b{table[1:]}", f"c{table[1:]}"} & {*part.headers}]
        assert not {column(table) for table in lost} & part.truth.keys()


def test_a_query_s_answers_are_lost_as_tables_are() -> None:
    queries = [column(f"q{at}") for at in range(20)]
    answers = [column(f"t{at}") for at in range(180)]
    truth = {query: frozenset(answers[9 * at : 9 * at + 9]) for at, query in enumerate(queries)}
    headers = {one.table: frozenset({"x"}) for one in (*queries, *answers)}
    whole = LabelledLake(Path("lake"), headers, truth)
    left = [
        len(gold)
        for seed in range(40)
        for gold in cut_labelled(whole, 100, seed=seed).truth.values()
    ]
    # All 20 queries fit with an answer each; of the other 160 answers, 60 are kept.
    assert np.mean(left) == pytest.approx(1 + 8 * 60 / 160)


def test_seeds_cut_differently_and_always_the_same() -> None:
    whole = lake(10, 30)
    first, again, other = (cut_labelled(whole, 20, seed=seed) for seed in (0, 0, 1))
    assert first == again != other


def test_profiles_are_those_of_the_whole() -> None:
    suite = lake(3, 3)
    profiles = tuple(
        TableProfile(
            table=Table(
                id=TableId(platform="file", name=f"{table}.csv"),
                title=table,
                location=File(uri="", format="csv"),
                size=0,
            )
        )
        for table in suite.headers
    )
    part = cut(ProfiledLake(suite, profiles, 5.0), 4, seed=0)
    assert {one.table.id.name for one in part.profiles} == {
        f"{table}.csv" for table in part.labelled.headers
    }
    assert all(any(one is before for before in profiles) for one in part.profiles)
    assert part.seconds == 5


def test_more_tables_than_there_are_and_too_few_are_refused() -> None:
    suites = [lake(3, 3), lake(2, 0)]
    check_sizes(suites, [2, 6])
    message = "lake cannot be cut to 7 tables: it has 6. Use a smaller size"
    with pytest.raises(CutError, match=re.escape(message)):
        check_sizes(suites, [7])
    message = (
        "a lake of 1 tables has no query: a query column and its join need two tables. "
        "Use at least 2"
    )
    with pytest.raises(CutError, match=re.escape(message)):
        check_sizes(suites, [1])
