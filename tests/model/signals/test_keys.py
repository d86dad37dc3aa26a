from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]


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
    facts = replace(facts, unique=frozenset([lake.ids[4]]))
    keys = find_keys(lake, KeyConfig(), CatalogPriors.from_facts(lake, facts))
    assert [str(lake.ids[key]) for key in keys] == ["a.yes", "b.no", "c.yes"]
