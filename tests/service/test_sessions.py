"""Test that sessions end."""

from unittest.mock import create_autospec

import pytest
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.service.sessions import LIFETIME, Sessions


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def client() -> DataHubGraph:
    graph: DataHubGraph = create_autospec(DataHubGraph, instance=True)
    return graph


def is_closed(graph: DataHubGraph) -> bool:
    return bool(graph.close.called)  # type: ignore[attr-defined]


def test_each_session_has_secrets_of_its_own() -> None:
    sessions = Sessions()
    names = [sessions.open("ada", client()) for _ in range(2)]
    found = [sessions.find(name) for name in names]
    secrets = {*names, *(session.csrf for session in found if session)}
    assert len(secrets) == 4
    assert min(map(len, secrets)) >= 43
    assert sessions.find("") is None


def test_a_session_ends_after_eight_hours_and_its_client_with_it(clock: Clock) -> None:
    sessions, graph = Sessions(clock), client()
    name = sessions.open("ada", graph)
    clock.now = LIFETIME - 1
    assert sessions.find(name)
    clock.now = LIFETIME
    assert sessions.find(name) is None
    assert is_closed(graph)


def test_the_oldest_session_makes_room(clock: Clock) -> None:
    sessions, graphs = Sessions(clock, most=2), [client() for _ in range(3)]
    names = [sessions.open("ada", graph) for graph in graphs]
    assert [bool(sessions.find(name)) for name in names] == [False, True, True]
    assert [is_closed(graph) for graph in graphs] == [True, False, False]


def test_a_service_that_stops_closes_all_clients() -> None:
    sessions, graphs = Sessions(), [client() for _ in range(2)]
    names = [sessions.open("ada", graph) for graph in graphs]
    sessions.close(names[0])
    sessions.close("unknown")
    assert [is_closed(graph) for graph in graphs] == [True, False]
    sessions.close_all()
    assert is_closed(graphs[1])
