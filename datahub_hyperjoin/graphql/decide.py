"""People's decisions on joins, as the source reads them in its next run."""

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.ask import ask, asking
from datahub_hyperjoin.graphql.find import find_join
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.tables import Verdict
from datahub_hyperjoin.urns import ACCEPTED, REJECTED

_MEANING = {
    ACCEPTED: "People say that this join is right.",
    REJECTED: "People say that this join is wrong.",
}
"""What is said of the tags, where no run of the source has defined them yet."""


def accept(graph: DataHubGraph, urn: str, *, why: str = "") -> None:
    """Accepts a join: every later run suggests it, whatever its score.

    Args:
        graph: DataHub's server.
        urn: The join; it is shown again, if it was hidden, and no longer rejected.
        why: Becomes its description.

    Raises:
        UnknownNameError: There is no such join.
        DeniedError: The server does not let us.
    """
    join = find_join(graph, urn)
    _define(graph, ACCEPTED)
    ask(
        graph,
        "accept_join",
        join=join.urn,
        hidden=join.removed,
        rejected=Verdict.REJECTED in join.verdicts,
    )
    _describe(graph, join, why)


def reject(graph: DataHubGraph, urn: str, *, why: str = "") -> None:
    """Rejects a join: no later run suggests it, and searches and pages show it no more.

    Args:
        graph: DataHub's server.
        urn: The join.
        why: Becomes its description.

    Raises:
        UnknownNameError: There is no such join.
        DeniedError: The server does not let us.
    """
    join = find_join(graph, urn)
    _define(graph, REJECTED)
    ask(
        graph,
        "reject_join",
        join=join.urn,
        visible=not join.removed,
        accepted=Verdict.ACCEPTED in join.verdicts,
    )
    _describe(graph, join, why)


def _define(graph: DataHubGraph, tag: str) -> None:
    """Makes sure that a tag is there: the server adds none that it does not know."""
    with asking("tag", token=graph.config.token):
        known = graph.exists(tag)
    if not known:
        name = tag.removeprefix("urn:li:tag:")
        ask(graph, "create_tag", id=name, description=_MEANING[tag])


def _describe(graph: DataHubGraph, join: CatalogJoin, why: str) -> None:
    """Stores a reason; the name that people gave the join stays."""
    if why:
        ask(graph, "describe_join", join=join.urn, description=why, name=join.title or None)


def own(graph: DataHubGraph, urn: str, *, owner: str) -> None:
    """Makes a person responsible for a join.

    Args:
        graph: DataHub's server.
        urn: The join.
        owner: Urn of the person.

    Raises:
        DeniedError: The server does not let us, or knows no such join or person.
    """
    ask(graph, "own_join", join=urn, owner=owner)
