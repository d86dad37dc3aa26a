"""Test which references are found where nothing but names is known."""

from collections.abc import Mapping

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.header_references import (
    SHIPPED_HEADER_TREES,
    HeaderNames,
    correct_by_header_trees,
)
from datahub_hyperjoin.model.roles.name_clues import LakeNames, spell_out_markers
from datahub_hyperjoin.model.roles.named_references import find_named_references
from datahub_hyperjoin.model.roles.reference_trees import Correction, DescribedCandidates
from datahub_hyperjoin.model.signals.pairs import PairFloats
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble
from datahub_hyperjoin.tables import DataType, DescribedTable, TableId, describe_columns
from lakes.handmade import lake_of, numbers

Headers = Mapping[str, str]


def described(headers: Headers) -> Lake:
    tables = [
        DescribedTable(
            id=TableId("file", f"{name}.csv"),
            title=name.rpartition("/")[2],
            columns=describe_columns(
                TableId("file", f"{name}.csv"), [(path, DataType.TEXT) for path in header.split()]
            ),
        )
        for name, header in headers.items()
    ]
    return Lake.from_tables([]).with_described(tables).in_order()


def find(lake: Lake) -> dict[str, str]:
    references = find_named_references(lake, CatalogPriors.from_facts(lake, CatalogFacts()))
    names = [f"{id_.table.name.removesuffix('.csv')}.{id_.path}" for id_ in lake.ids]
    return {names[a]: names[b] for a, (b, likely) in references.best.items() if likely >= 0.5}


SHOP = {"users": "id email", "orders": "id user_id total", "lines": "id order_id amount"}
FORUM = {"users": "id name", "topics": "id user_id title", "posts": "id topic_id user_id body"}


def test_references_stay_in_their_folder() -> None:
    headers = {f"shop/{name}": header for name, header in SHOP.items()}
    headers |= {f"forum/{name}": header for name, header in FORUM.items()}
    found = find(described(headers))
    assert found["shop/orders.user_id"] == "shop/users.id"
    assert found["forum/posts.user_id"] == "forum/users.id"
    assert all(a.partition("/")[0] == b.partition("/")[0] for a, b in found.items())


def test_no_order_of_tables_or_columns_changes_references() -> None:
    turned = {name: " ".join(reversed(FORUM[name].split())) for name in reversed(FORUM)}
    assert find(described(turned)) == find(described(FORUM))


def test_types_beside_keys_do_not_mark_keys() -> None:
    headers = {name: f"id {name}_type label" for name in ("policy", "group", "asset")}
    links = {"grants": "id policy_id policy_type group_type", "shares": "id asset_type group_id"}
    lake = described(headers | links)
    assert spell_out_markers(lake) is lake


@pytest.mark.parametrize(
    ("column", "title", "abbreviates"),
    [("uid", "users", 1.0), ("detid", "omdeterminations", 1.0), ("uid", "orders", 0.0)],
)
def test_a_key_may_be_called_by_the_start_of_its_title(
    column: str, title: str, abbreviates: float
) -> None:
    names = LakeNames(described({title: column}))
    header = HeaderNames(names, np.zeros(1, dtype=bool))
    assert header.own_title["initials"].tolist() == [abbreviates]


def test_a_title_with_which_others_begin_is_the_home_of_their_columns() -> None:
    tables = {"Section": "SchoolYear", "SectionPeriod": "SchoolYear", "SectionRoom": "SchoolYear"}
    lake = described(tables)
    header = HeaderNames(LakeNames(lake), np.zeros(3, dtype=bool))
    assert lake.titles == ("Section", "SectionPeriod", "SectionRoom")
    assert header.among_namesakes["starts"].tolist() == [1.0, 0.0, 0.0]
    assert header.home.argmax() == 0


def test_columns_whose_rows_were_counted_are_not_corrected() -> None:
    read = lake_of({"users": {"id": numbers(1, 90)}, "orders": {"user_id": numbers(1, 90)}})
    seen: list[DescribedCandidates] = []

    def refuse(candidates: DescribedCandidates) -> PairFloats:
        seen.append(candidates)
        return np.full(len(candidates.scores), -99.0)

    def probabilities(lake: Lake, correct: Correction) -> list[float]:
        priors = CatalogPriors.from_facts(lake, CatalogFacts())
        return find_named_references(lake, priors, correct).probability.tolist()

    assert probabilities(read, refuse) == probabilities(read, correct_by_header_trees)
    assert not seen
    assert max(probabilities(described(SHOP), refuse)) < 1e-6
    assert seen


def test_the_shipped_trees_read_the_features_that_they_learnt() -> None:
    from safetensors import safe_open  # noqa: PLC0415

    seen: list[tuple[str, ...]] = []

    def record(candidates: DescribedCandidates) -> PairFloats:
        seen.append(candidates.features)
        return np.zeros(len(candidates.scores))

    lake = described(SHOP)
    find_named_references(lake, CatalogPriors.from_facts(lake, CatalogFacts()), correct=record)
    with safe_open(SHIPPED_HEADER_TREES, "np") as file:
        learnt = file.metadata()["features"].split("\n")
    assert learnt == [*seen[0]]
    assert TreeEnsemble.load(SHIPPED_HEADER_TREES).feature.max() < len(learnt)
