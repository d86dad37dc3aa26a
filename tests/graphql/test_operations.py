"""Test that failed operations raise errors with the reason and the fix."""

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig

from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.graphql import accept, all_joins, find_join
from datahub_hyperjoin.graphql.errors import DeniedError, NoServerError, UnansweredError
from datahub_hyperjoin.graphql.operations import execute
from gms import Gms
from lakes.shop import Shop

TOKEN = "eyJhbGciOi.secret"  # noqa: S105 - nobody's


def test_a_server_that_fails_is_quoted(shop: Shop) -> None:
    shop.gms.fail("POST /api/graphql", message="disk full")
    expected = "^DataHub does not answer all_joins: 500 .*: disk full. Try again; if the"
    with pytest.raises(UnansweredError, match=expected):
        all_joins(shop.graph)


@pytest.mark.parametrize("status", [401, 403])
def test_missing_permissions_are_a_denial(shop: Shop, status: int) -> None:
    shop.gms.fail("POST /api/graphql", status, message="No permission")
    expected = f"^DataHub refuses all_joins: {status} .*: No permission. Check that the URNs"
    with pytest.raises(DeniedError, match=expected):
        all_joins(shop.graph)


def test_graphql_errors_name_the_field(shop: Shop) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    expected = "^DataHub refuses accept_join: tag: .*urn:li:tag:join:accepted.*does not exist. Ch"
    with pytest.raises(DeniedError, match=expected):
        execute(shop.graph, "accept_join", join=urn)


def test_an_unreadable_tag_prevents_the_decision(shop: Shop) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.fail("GET /aspects", message="busy")
    with pytest.raises(UnansweredError, match=r"^DataHub does not answer tag: "):
        accept(shop.graph, urn)
    assert find_join(shop.graph, urn).verdict is None


def test_a_server_without_relationships_is_too_old() -> None:
    with Gms(without=["erModelRelationship"]) as gms:
        graph = gms.graph()
        with pytest.raises(UnknownEntityTypeError, match="no entity type erModelRelationship"):
            all_joins(graph)
        with pytest.raises(UnknownEntityTypeError, match="no entity type erModelRelationship"):
            find_join(graph, "urn:li:erModelRelationship:a")


def test_an_unreachable_server_is_named_without_the_token() -> None:
    with Gms() as gms:
        config = DatahubClientConfig(server=gms.url, token=TOKEN, retry_max_times=0)
        graph = DataHubGraph(config)
        url = gms.url
    with pytest.raises(UnansweredError, match=f"nothing answers at {url}/api/graphql. ") as raised:
        all_joins(graph)
    assert TOKEN not in str(raised.value)
    graph.close()


def test_a_token_in_the_servers_message_is_masked(shop: Shop) -> None:
    graph = shop.gms.graph(token=TOKEN, retry_max_times=0)
    shop.gms.fail("POST /api/graphql", message=f"bad {TOKEN}")
    with pytest.raises(UnansweredError, match=r"all_joins: 500 .*: bad \*\*\*\. Try again"):
        all_joins(graph)


def test_an_invalid_token_is_masked() -> None:
    graph = DataHubGraph(DatahubClientConfig(server="http://127.0.0.1:9", token=f"{TOKEN}\n"))
    with pytest.raises(UnansweredError, match=r"InvalidHeader: .*'Bearer \*\*\*'") as raised:
        all_joins(graph)
    assert TOKEN not in str(raised.value)
    graph.close()


def test_errors_about_settings_name_the_fix() -> None:
    expected = "^DataHub cannot be reached: .*DATAHUB_GMS_URL.*. Run `datahub init`, or set DATAHUB"
    with pytest.raises(NoServerError, match=expected):
        raise NoServerError.without_settings()
