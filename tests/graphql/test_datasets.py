"""Test the summaries of datasets, and the lookup of the signed-in user."""

import pytest

from datahub_hyperjoin.graphql.errors import DeniedError, UnansweredError
from datahub_hyperjoin.graphql.read import DatasetSummary, read_dataset_summaries, signed_in_user
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.lake import describe
from lakes.shop import Shop, open_shop, table

ORDERS, REGIONS = dataset_urn(table("orders")), dataset_urn(table("regions"))


def test_a_dataset_has_a_title_and_a_number_of_columns(shop: Shop) -> None:
    describe(shop.gms, "shop.public.orders", ["id", "customer"], platform="postgres")
    assert read_dataset_summaries(shop.graph, [ORDERS, REGIONS]) == {
        ORDERS: DatasetSummary(title="Orders", columns=2),
        REGIONS: DatasetSummary(title="Regions"),
    }


def test_many_datasets_are_read_in_parts(shop: Shop) -> None:
    urns = [dataset_urn(table(f"t{number}")) for number in range(201)]
    shop.gms.requests.clear()
    assert read_dataset_summaries(shop.graph, urns).keys() == {*urns}
    assert len(shop.gms.requests) == 2


def test_no_datasets_need_no_request(shop: Shop) -> None:
    shop.gms.requests.clear()
    assert read_dataset_summaries(shop.graph, []) == {}
    assert shop.gms.requests == []


def test_the_user_is_the_owner_of_the_token() -> None:
    with open_shop({"a": "urn:li:corpuser:ada"}) as shop:
        assert signed_in_user(shop.graph) == "urn:li:corpuser:ada"
        with pytest.raises(DeniedError, match=r"^DataHub refuses signed_in: 401 Unauthorized: "):
            signed_in_user(shop.gms.graph(token="b", retry_max_times=0))  # noqa: S106 - nobody's


def test_an_answer_without_a_user_is_an_error(shop: Shop) -> None:
    shop.gms.reply("POST /api/graphql", '{"data": {"me": null}}')
    with pytest.raises(UnansweredError, match="DataHub does not answer signed_in"):
        signed_in_user(shop.graph)
