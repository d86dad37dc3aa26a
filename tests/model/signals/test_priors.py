"""Test the catalog facts as arrays, and the key columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics, DeclaredKeys
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.tables import ColumnId, TableId

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
LAKE: Tables = {"a": {"x": ["1", "2"], "y": ["3", ""]}, "b": {"x": ["1"]}, "c": {"z": ["9"]}}


def column(path: str) -> ColumnId:
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


def listed(pairs: PairValues) -> list[tuple[int, int]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def test_pairs_are_stored_in_both_orders(make_lake: MakeLake, know: Know) -> None:
    declared = CatalogEvidence(declared="fk")
    priors = CatalogPriors.from_facts(
        make_lake(LAKE), know({("c.z", "a.y"): declared, ("a.x", "b.x"): declared})
    )
    assert listed(priors.connected) == [(0, 2), (1, 3), (2, 0), (3, 1)]
    assert len(priors.connected) == 2
    assert priors.connected.partners(3).tolist() == [1]
    one, other = np.array([[0, 2], [3, 0]]), np.array([[2, 0], [0, 3]])
    assert priors.connected.holds(one, other).tolist() == [[True, True], [False, False]]


def test_pairs_with_a_column_outside_the_lake_are_ignored(make_lake: MakeLake, know: Know) -> None:
    accepted = CatalogEvidence(verdict=Verdict.ACCEPTED)
    priors = CatalogPriors.from_facts(
        make_lake(LAKE), know({("a.x", "lost.x"): accepted, ("a.x", "a.x"): accepted})
    )
    assert (len(priors.accepted), len(priors.connected)) == (0, 0)


def test_decisions_count_beside_what_was_stated_before(make_lake: MakeLake, know: Know) -> None:
    denied = CatalogEvidence(declared="fk", verdict=Verdict.REJECTED)
    priors = CatalogPriors.from_facts(make_lake(LAKE), know({("a.x", "b.x"): denied}))
    assert listed(priors.rejected) == listed(priors.join_probability) == [(0, 2), (2, 0)]
    assert len(priors.connected) == 0


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (CatalogEvidence(), 0.0),
        (CatalogEvidence(verdict=Verdict.ACCEPTED), 0.0),
        (CatalogEvidence(declared="fk"), 0.9),
        (CatalogEvidence(related="urn:li:erModelRelationship:x"), 0.9),
        (CatalogEvidence(queries=1), 0.8 * (1 - np.exp(-1 / 3))),
        (CatalogEvidence(queries=1000), 0.8),
        (CatalogEvidence(queries=1000, declared="fk"), 0.98),
    ],
)
def test_statements_and_use_make_a_join_probable(
    make_lake: MakeLake, know: Know, said: CatalogEvidence, expected: float
) -> None:
    priors = CatalogPriors.from_facts(make_lake(LAKE), know({("a.x", "b.x"): said}))
    assert priors.join_probability.of(np.array([2]), np.array([0]))[0] == pytest.approx(expected)


def test_the_catalog_s_profile_takes_precedence(make_lake: MakeLake) -> None:
    statistics = {column("a.y"): ColumnStatistics(uniqueness=0.25, completeness=0.75)}
    priors = CatalogPriors.from_facts(make_lake(LAKE), CatalogFacts(statistics=statistics))
    assert priors.uniqueness.tolist() == [1, 0.25, 1, 1]
    assert priors.completeness.tolist() == [1, 0.75, 1, 1]


def test_declared_keys_are_indices(make_lake: MakeLake) -> None:
    facts = CatalogFacts(keys=DeclaredKeys(unique=frozenset(map(column, ["c.z", "a.x", "lost.x"]))))
    assert CatalogPriors.from_facts(make_lake(LAKE), facts).declared_unique.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("path", "cells", "expected"),
    [
        ("carrier", ["AA", "UA", "DL", "AA"], True),
        ("carrier", ["AA", "UA", "AA", "AA"], False),
        ("carrier", ["AA", "UA", "DL", "DL", *[""] * 20], False),
        ("carrier", ["AA", "UA", "DL", *[""] * 20], True),
        ("remarks", ["long " * 30 + letter for letter in "abcd"], False),
        ("seats", ["1", "2", "3", "1", "2", "3"], False),
        ("seats", ["1", "2", "3", "4", "5", "6"], True),
        ("order_id", ["1", "2", "3", "1", "2", "3"], True),
        ("ORDERID", ["1", "2", "3", "1", "2", "3"], True),
        ("order_num", ["1", "2", "3", "1", "2", "3"], True),
        ("num_orders", ["1", "2", "3", "1", "2", "3"], False),
    ],
)
def test_keys_are_complete_identifiers(
    make_lake: MakeLake, path: str, cells: list[str], *, expected: bool
) -> None:
    lake = make_lake({"orders": {path: cells}})
    keys = find_keys(lake, KeyConfig(), CatalogPriors.from_facts(lake, CatalogFacts()))
    assert list(keys) == ([0] if expected else [])


def test_thresholds_are_the_configuration_s(make_lake: MakeLake) -> None:
    """Use a column of seven rows: three are empty, and the others hold three distinct values."""
    lake = make_lake({"orders": {"note": ["AA", "UA", "DL", "", "", "", "DL"]}})
    priors = CatalogPriors.from_facts(lake, CatalogFacts())

    def keys(uniqueness: float, completeness: float) -> list[int]:
        config = KeyConfig(min_uniqueness=uniqueness, min_completeness=completeness)
        return find_keys(lake, config, priors).tolist()

    assert keys(uniqueness=0.8, completeness=0.5) == [0]
    assert keys(uniqueness=0.7, completeness=0.6) == [0]
    assert keys(uniqueness=0.8, completeness=0.6) == []


def test_the_catalog_s_profile_decides_where_there_is_one(make_lake: MakeLake) -> None:
    lake = make_lake({"orders": {"seats": ["1", "2", "3", "4"], "crew": ["1", "2", "3", "1"]}})
    seats = ColumnStatistics(uniqueness=0.1, completeness=1.0)
    priors = CatalogPriors.from_facts(lake, CatalogFacts(statistics={lake.ids[0]: seats}))
    assert list(find_keys(lake, KeyConfig(), priors)) == []
    crew = ColumnStatistics(uniqueness=1.0, completeness=1.0)
    priors = CatalogPriors.from_facts(lake, CatalogFacts(statistics={lake.ids[1]: crew}))
    assert list(find_keys(lake, KeyConfig(), priors)) == [0, 1]


def test_declared_and_connected_columns_are_keys_whatever_they_hold(
    make_lake: MakeLake, know: Know
) -> None:
    flags = {"yes": ["1", "1"], "no": ["0", "0"]}
    lake = make_lake({"a": flags, "b": flags, "c": flags})
    facts = know(
        {
            ("a.yes", "b.no"): CatalogEvidence(declared="fk"),
            ("a.no", "c.no"): CatalogEvidence(verdict=Verdict.REJECTED),
            ("b.yes", "c.no"): CatalogEvidence(queries=9),
        }
    )
    facts = replace(facts, keys=DeclaredKeys(unique=frozenset([lake.ids[4]])))
    keys = find_keys(lake, KeyConfig(), CatalogPriors.from_facts(lake, facts))
    assert [str(lake.ids[key]) for key in keys] == ["a.yes", "b.no", "c.yes"]
