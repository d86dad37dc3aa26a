"""Test the evidence of joins that are found from names and the catalog, without values."""

import pytest

from datahub_hyperjoin.evaluate import EvaluationProgress
from datahub_hyperjoin.joins import CatalogEvidence, KnownNamesakes
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.stages.named_joins import find_named_joins
from datahub_hyperjoin.tables import DataType, DescribedTable, TableId, describe_columns
from lakes.handmade import facts_of

SHOP = {"customers": "id name", "orders": "id customer_id", "returns": "id customer_id"}
DECLARED = facts_of({("orders.customer_id", "customers.id"): CatalogEvidence(declared="fk")})


def describe(name: str, header: str) -> DescribedTable:
    table = TableId("file", name)
    typed = [(path, DataType.INTEGER) for path in header.split()]
    return DescribedTable(id=table, title=name, columns=describe_columns(table, typed))


@pytest.mark.parametrize(
    ("referring", "told"),
    [("returns", KnownNamesakes(known=1, agreeing=1)), ("orders", None)],
)
def test_columns_of_the_same_name_are_counted_without_values(
    referring: str, told: KnownNamesakes | None
) -> None:
    described = [describe(*table) for table in SHOP.items()]
    joins = find_named_joins((), described, ModelConfig(), DECLARED, EvaluationProgress(print))
    by_column = {str(join.referring): join for join in joins}
    assert by_column[f"{referring}.customer_id"].namesakes == told
