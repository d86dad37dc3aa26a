"""Test that names decide where columns or keys have too few values."""

from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from lakes.deciding import index_of
from lakes.handmade import Tables, numbers, things

VALUES: Tables = {
    "brands": {"id": numbers(1, 13), "label": [f"brand {number}" for number in range(12)]},
    "company": {"company_id": ["1"], "title": ["North Ltd"]},
    "sites": {"site_code": ["N", "S"], "town": ["Nara", "Sion"]},
    **things(8),
}


def find(tables: Tables, config: ModelConfig | None = None) -> set[tuple[str, str]]:
    index = index_of({**VALUES, **tables}, config=config or ModelConfig())
    ids = [str(column) for column in index.lake.ids]
    best = index.references.best.items()
    return {(ids[column], ids[key]) for column, (key, likely) in best if likely >= 0.5}


def stock(**columns: list[str]) -> Tables:
    return {"stock": {"stock_id": numbers(1001, 1081), **columns}}


def test_a_column_of_one_value_refers_to_the_table_that_it_names() -> None:
    named = stock(brand_id=["7"] * 80, company_id=["1"] * 80, home_site_code=["N", "S"] * 40)
    assert find(named) == {
        ("stock.brand_id", "brands.id"),
        ("stock.company_id", "company.company_id"),
        ("stock.home_site_code", "sites.site_code"),
    }


def test_one_value_proves_nothing_without_a_name() -> None:
    unnamed = stock(level=["7"] * 80, version=["1"] * 80, side=["N", "S"] * 40)
    assert find(unnamed) == set()
    # Only an identifier is named after the rows of a table: a brand may be a word.
    assert find(stock(brand=["7"] * 80)) == set()


def test_a_name_of_several_tables_decides_nothing() -> None:
    other = {"brand": {"id": numbers(1, 20), "label": [f"label {n}" for n in range(19)]}}
    assert find({**stock(brand_id=["7"] * 80), **other}) == set()


def test_names_do_not_decide_if_the_recipe_forbids_it() -> None:
    config = ModelConfig(features=FeatureConfig(names=False))
    assert find(stock(brand_id=["7"] * 80), config) == set()
