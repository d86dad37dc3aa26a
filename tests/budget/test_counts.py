from dataclasses import replace

from datahub_hyperjoin.budget.counts import count_lake
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, RankingConfig, Scoring
from handmade import profile_lake

CODES = [f"c{number}" for number in range(12)]
TABLES = profile_lake(
    {
        "flights": {"carrier": CODES, "price": ["1.5", "2.5"] * 6},
        "airlines": {"carrier": [*CODES, "new"]},
    }
)


def test_columns_keys_hashes_and_pairs_are_counted() -> None:
    counts = count_lake(TABLES, ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.keys, counts.hashes) == (3, 2, 27)
    assert (counts.compared, counts.kept) == (2, 2)
    assert not counts.network


def test_tables_that_cannot_be_read_do_not_count() -> None:
    size = 1 << 20
    tables = [replace(each, table=replace(each.table, size=size)) for each in TABLES]
    assert count_lake(tables, ModelConfig(), CatalogFacts()).mebibytes == 2
    faulty = [replace(tables[0], fault="it is damaged"), tables[1]]
    counts = count_lake(faulty, ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.mebibytes) == (1, 1)


def test_values_that_are_not_read_make_no_pairs() -> None:
    by_names = ModelConfig(features=FeatureConfig(values=False))
    counts = count_lake(TABLES, by_names, CatalogFacts())
    assert (counts.columns, counts.hashes, counts.compared, counts.kept) == (3, 0, 0, 0)


def test_a_network_is_counted() -> None:
    blend = ModelConfig(ranking=RankingConfig(scoring=Scoring.BLEND))
    assert count_lake(TABLES, blend, CatalogFacts()).network


def test_a_lake_without_tables_has_nothing() -> None:
    counts = count_lake([], ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.keys, counts.kept) == (0, 0, 0)
