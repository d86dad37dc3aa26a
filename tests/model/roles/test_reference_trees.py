"""Test what the trees see of possible references, and what becomes of their corrections."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.reference_trees import (
    SHIPPED_TREES,
    Correction,
    DescribedCandidates,
    correct_by_trees,
)
from datahub_hyperjoin.model.roles.references import References, find_references
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.model.signals.pairs import PairFloats
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.tree_ensemble import shipped_trees
from lakes.handmade import Know, Tables, draw, lake_of, numbers

SHOP: Tables = {
    "customers": {"id": numbers(1, 61), "name": [f"Customer {n}" for n in range(60)]},
    "orders": {
        "id": numbers(1, 201),
        "customer_id": draw(numbers(1, 61), 200),
        "amount": draw(numbers(1, 190), 200),
    },
    "Product": {"ProductId": numbers(1, 41), "Label": [f"Thing {n}" for n in range(40)]},
    "OrderLine": {"LineId": numbers(1, 301), "ProductId": draw(numbers(1, 41), 300)},
}


def find(lake: Lake, correct: Correction | None, facts: CatalogFacts | None = None) -> References:
    priors = CatalogPriors.from_facts(lake, facts or CatalogFacts())
    return find_references(lake, measure_overlap(lake), priors, correct=correct)


def describe(lake: Lake) -> DescribedCandidates:
    found = list[DescribedCandidates]()

    def record(candidates: DescribedCandidates) -> PairFloats:
        found.append(candidates)
        return np.zeros(len(candidates.scores))

    find(lake, record)
    return found[0]


def feature_of(described: DescribedCandidates, name: str) -> PairFloats:
    return described.rows[:, described.features.index(name)]


def named(lake: Lake, references: References) -> dict[tuple[str, str], float]:
    ids = [str(each) for each in lake.ids]
    ends = zip(references.referring.tolist(), references.referenced.tolist(), strict=True)
    likely = references.probability.tolist()
    return {(ids[a], ids[b]): p for (a, b), p in zip(ends, likely, strict=True)}


def test_the_shipped_trees_read_the_features_that_they_were_trained_with() -> None:
    described = describe(lake_of(SHOP))
    with safe_open(SHIPPED_TREES, "np") as file:
        assert file.metadata()["features"].splitlines() == [*described.features]
    assert shipped_trees(SHIPPED_TREES).feature.max() < described.rows.shape[1]


def test_a_correction_changes_the_odds_of_one_pair_alone() -> None:
    lake = lake_of(SHOP)
    before = find(lake, None)

    def favour(candidates: DescribedCandidates) -> PairFloats:
        ids = [str(lake.ids[at]) for at in candidates.pairs.referring]
        keys = [str(lake.ids[at]) for at in candidates.pairs.referenced]
        pairs = [*zip(ids, keys, strict=True)]
        return np.array([2.0 * (pair == ("orders.customer_id", "customers.id")) for pair in pairs])

    old, new = named(lake, before), named(lake, find(lake, favour))
    for pair, p in new.items():
        if pair[0] != "orders.customer_id":
            assert p == pytest.approx(old[pair])
    pair = ("orders.customer_id", "customers.id")
    left_before, left_after = (
        1 - sum(p for (column, _), p in some.items() if column == pair[0]) for some in (old, new)
    )
    ratio = (new[pair] / left_after) / (old[pair] / left_before)
    assert ratio == pytest.approx(np.exp(2.0))


def test_the_shipped_trees_find_the_references_of_a_shop() -> None:
    lake = lake_of(SHOP)
    best = find(lake, correct_by_trees).best
    ids = [str(each) for each in lake.ids]
    sure = {(ids[column], ids[key]) for column, (key, p) in best.items() if p > 0.8}
    assert sure == {
        ("orders.customer_id", "customers.id"),
        ("OrderLine.ProductId", "Product.ProductId"),
    }


def test_keys_of_texts_are_not_corrected() -> None:
    codes = [f"{letter}{number}" for letter in "ABCDEF" for number in range(10)]
    described = describe(
        lake_of({**SHOP, "ports": {"code": codes}, "trips": {"origin": draw(codes, 200)}})
    )
    is_text = feature_of(described, "is_text_of_key") > 0
    corrections = correct_by_trees(described)
    assert is_text.any()
    assert (corrections[is_text] == 0).all()
    assert (corrections[~is_text] != 0).all()


def test_the_trees_do_not_contradict_the_catalog(know: Know) -> None:
    lake = lake_of(SHOP)
    facts = know({("orders.amount", "OrderLine.LineId"): CatalogEvidence(declared="a foreign key")})
    found = named(lake, find(lake, correct_by_trees, facts))
    assert found["orders.amount", "OrderLine.LineId"] > 0.99


def test_the_order_of_tables_and_columns_does_not_matter() -> None:
    turned = {name: dict([*SHOP[name].items()][::-1]) for name in [*SHOP][::-1]}
    first, second = lake_of(SHOP), lake_of(turned)
    expected = named(first, find(first, correct_by_trees))
    found = named(second, find(second, correct_by_trees))
    assert found.keys() == expected.keys()
    assert all(found[pair] == pytest.approx(p) for pair, p in expected.items())


def test_rivals_are_the_best_others() -> None:
    keys: Tables = {f"list{n}": {"id": numbers(1, 40 + n)} for n in range(6)}
    described = describe(lake_of({**keys, **SHOP}))
    rival, lead = (feature_of(described, name) for name in ("rival", "lead"))
    scores = defaultdict[int, list[float]](list)
    for column, score in zip(described.pairs.referring.tolist(), described.scores, strict=True):
        scores[column].append(float(score))
    for at, column in enumerate(described.pairs.referring.tolist()):
        others = sorted(scores[column])
        others.remove(float(described.scores[at]))
        expected = max([*others[-1:], -12.0])
        assert rival[at] == pytest.approx(expected, abs=1e-4)
        assert lead[at] == pytest.approx(described.scores[at] - expected, abs=1e-4)
    assert max(map(len, scores.values())) > 2


def test_only_the_best_keys_of_a_column_are_corrected() -> None:
    keys: Tables = {f"list{n}": {"id": numbers(1, 40 + n)} for n in range(20)}
    described = describe(lake_of({**keys, **SHOP}))
    _, counts = np.unique(described.pairs.referring, return_counts=True)
    assert counts.max() == 8
    assert np.expm1(feature_of(described, "candidates").max()) > 18


def test_tables_of_one_style_are_told_apart_from_others() -> None:
    described = describe(lake := lake_of(SHOP))
    titles = [lake.titles[table] for table in lake.table_of]
    styles, plain = (feature_of(described, name) for name in ("column_styles", "other_key_is_id"))
    ends = zip(described.pairs.referring.tolist(), described.pairs.referenced.tolist(), strict=True)
    for at, (column, key) in enumerate(ends):
        assert (styles[at] < 1) == (titles[column].islower() == titles[key].islower())
        assert plain[at] == (titles[key] in {"customers", "orders"})


@pytest.mark.parametrize("number", [2, 13])
def test_a_number_at_the_end_of_a_title_is_no_style(number: int) -> None:
    lake = lake_of(SHOP)
    numbered = replace(lake, titles=tuple(f"{title}_{number}" for title in lake.titles))
    expected, found = (feature_of(describe(each), "title_styles") for each in (lake, numbered))
    assert found.tolist() == expected.tolist()
