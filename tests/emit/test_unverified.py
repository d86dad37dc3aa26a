"""Test that joins which were not verified on data are marked, and have no counts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import ERModelRelationshipPropertiesClass

from datahub_hyperjoin.emit.lineage import build_lineage
from datahub_hyperjoin.emit.properties import emit_column, emit_dataset, partners
from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.joins import CatalogEvidence, Join, Role, best_first
from datahub_hyperjoin.metadata.relationships import (
    catalog_join,
    from_aspect,
    read_tag_context,
    tag_context,
)
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
ORDERS, CUSTOMERS = TableId("file", "orders.csv"), TableId("file", "customers.csv")
KEY, FOREIGN = ColumnId(CUSTOMERS, "id"), ColumnId(ORDERS, "customer_id")
JOIN = Join(
    left=KEY, right=FOREIGN, joinability=0.97, evidence=None, role=Role.REFERENCE, referenced=KEY
)
DECLARED = Join(
    left=KEY,
    right=FOREIGN,
    joinability=0.97,
    evidence=None,
    catalog=CatalogEvidence(declared="fk"),
    role=Role.REFERENCE,
    referenced=KEY,
)
NAMES = {ORDERS: "orders", CUSTOMERS: "customers"}


def aspect_of(join: Join) -> ERModelRelationshipPropertiesClass:
    aspect = next(emit_relationship(join, "1-abc")).get_aspect_of_type(
        ERModelRelationshipPropertiesClass
    )
    assert aspect
    return aspect


def test_the_relationship_names_no_counts() -> None:
    assert aspect_of(JOIN).customProperties == {
        "joinability": "0.9700",
        "band": "unverified",
        "role": "reference",
        "evidence": "not verified on data",
        "model_version": "1-abc",
    }


def test_what_the_catalog_states_is_many_to_one_and_what_names_suggest_is_not() -> None:
    assert aspect_of(JOIN).cardinality == "N_N"
    assert aspect_of(DECLARED).cardinality == "N_ONE"


def test_it_is_read_as_it_was_written() -> None:
    assert from_aspect(aspect_of(JOIN)) == JOIN


def test_it_has_a_band_of_its_own(describe: Describe) -> None:
    assert JOIN.band == "unverified"
    tags = describe([*emit_relationship(JOIN, "")][1])["value"]["patch"]
    added = {each["path"].rpartition(":")[2] for each in tags if each["op"] == "add"}
    removed = {each["path"].rpartition(":")[2] for each in tags if each["op"] == "remove"}
    assert added == {"suggested-unverified", "reference"}
    assert removed >= {"suggested-high", "suggested-medium", "suggested-low"}


def test_its_facts_are_unknown() -> None:
    assert read_tag_context(tag_context(DECLARED), DECLARED.cardinality) == (None, True, None)


def test_a_path_takes_only_what_people_or_the_catalog_confirm() -> None:
    assert not catalog_join(JOIN).is_reference
    assert not catalog_join(JOIN).to_one
    assert catalog_join(DECLARED).is_reference


def test_columns_and_datasets_say_it(describe: Describe) -> None:
    found = partners([JOIN], NAMES)
    [change] = [
        each["value"]
        for each in describe(emit_column(FOREIGN, found[FOREIGN], NAMES, "io"))["value"]["patch"]
        if "joinSuggestions" in json.dumps(each)
    ]
    assert "id \\u00b7 customers (0.97, many to one, not verified on data)" in json.dumps(change)
    patch = json.dumps(describe(emit_dataset(ORDERS, [JOIN], NAMES, "io")), ensure_ascii=False)
    assert "· not verified on data · joinability 0.97" in patch


def test_the_best_score_is_that_of_verified_joins(describe: Describe) -> None:
    found = partners([JOIN], NAMES)
    written = describe(emit_column(FOREIGN, found[FOREIGN], NAMES, "io"))["value"]["patch"]
    [score] = [each["value"] for each in written if "bestJoinScore" in each["path"]]
    assert [*score["values"][0].values()] == [0.0]


def test_counts_of_it_are_an_error() -> None:
    with pytest.raises(TypeError, match="was not verified on data"):
        JOIN.measured  # noqa: B018


def test_lists_show_it_after_all_that_was_verified() -> None:
    weak = changed(catalog_join(JOIN), band="low", joinability=0.5)
    assert best_first([catalog_join(JOIN), weak]) == [weak, catalog_join(JOIN)]
    assert best_first([weak, catalog_join(DECLARED)])[0].catalog.is_declared


def test_it_is_no_lineage_unless_the_catalog_confirms_it() -> None:
    assert build_lineage([JOIN], {})[0] == []
    assert len(build_lineage([DECLARED], {})[0]) == 1
