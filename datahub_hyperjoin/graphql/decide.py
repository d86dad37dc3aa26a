"""Store a person's decision about a join in the catalog.

Every run of the source reads the decisions.
"""

from typing import TYPE_CHECKING

from datahub_hyperjoin.graphql.find import find_join
from datahub_hyperjoin.graphql.operations import execute, requesting
from datahub_hyperjoin.joins import Published, Verdict
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

_DESCRIPTIONS = {
    ACCEPTED: "A person confirmed that this join is right.",
    REJECTED: "A person marked this join as wrong.",
}
"""Descriptions of the tags, for catalogs in which no run of the source has defined them yet."""


def accept(graph: "DataHubGraph", urn: str, *, why: str = "") -> None:
    """Accept a join, so that every later run suggests it, whatever its score.

    A hidden join is shown again, and a rejection of it is removed.

    Args:
        graph: DataHub's server.
        urn: URN of the join.
        why: Reason of the decision, which becomes the join's description.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = _find(graph, urn)
    _define(graph, ACCEPTED)
    rejected = Verdict.REJECTED in join.verdicts
    execute(graph, "accept_join", join=join.urn, hidden=join.removed, rejected=rejected)
    _describe(graph, join, why)


def reject(graph: "DataHubGraph", urn: str, *, why: str = "") -> None:
    """Reject a join, so that no later run suggests it.

    DataHub's search and pages hide it.

    Args:
        graph: DataHub's server.
        urn: URN of the join.
        why: Reason of the decision, which becomes the join's description.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = _find(graph, urn)
    _define(graph, REJECTED)
    accepted = Verdict.ACCEPTED in join.verdicts
    execute(graph, "reject_join", join=join.urn, visible=not join.removed, accepted=accepted)
    _describe(graph, join, why)


def undo(graph: "DataHubGraph", urn: str) -> tuple[Verdict, ...]:
    """Remove any decision about a join, and show a rejected join again.

    A reason that somebody gave stays, as the join's description.

    Args:
        graph: DataHub's server.
        urn: URN of the join.

    Returns:
        What had been decided; empty if nobody had decided about the join.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = _find(graph, urn)
    if not join.verdicts:
        return ()
    accepted, rejected = (each in join.verdicts for each in (Verdict.ACCEPTED, Verdict.REJECTED))
    decided = {"accepted": accepted, "rejected": rejected}
    # A join that a run withdrew stays hidden.
    execute(graph, "undo_decision", join=join.urn, hidden=rejected and join.removed, **decided)
    return join.verdicts


def last_decision(graph: "DataHubGraph", urn: str) -> tuple[str, int]:
    """Return who last changed the decision about a join, and when, in milliseconds since 1970."""
    # It is the user who last wrote the join's tags, which hold the decision.
    with requesting(graph, "tags"):
        aspects = graph.get_entity_raw(urn, ["globalTags"])["aspects"]
        stamp = aspects.get("globalTags", {}).get("created", {})
        return str(stamp.get("actor", "")), int(stamp.get("time", 0))


def _find(graph: "DataHubGraph", urn: str) -> Published:
    return find_join(graph, urn).published or Published(urn=urn)


def _define(graph: "DataHubGraph", tag: str) -> None:
    """Create a tag if it does not exist."""
    # The server assigns only existing tags.
    with requesting(graph, "tag"):
        exists = graph.exists(tag)
    if not exists:
        name = tag.removeprefix("urn:li:tag:")
        execute(graph, "create_tag", id=name, description=_DESCRIPTIONS[tag])


def _describe(graph: "DataHubGraph", join: Published, why: str) -> None:
    """Store the reason for a decision as the join's description."""
    # The request repeats the name that people gave the join; otherwise the server would remove the
    # name.
    if why:
        execute(graph, "describe_join", join=join.urn, description=why, name=join.title or None)


def assign_owner(graph: "DataHubGraph", urn: str, *, owner: str) -> None:
    """Make a person the technical owner of a join.

    Args:
        graph: DataHub's server.
        urn: URN of the join.
        owner: URN of the person.

    Raises:
        DeniedError: The server refuses the change, or the join or the person does not exist.
    """
    execute(graph, "own_join", join=urn, owner=owner)


def release_owner(graph: "DataHubGraph", urn: str, *, owner: str) -> None:
    """Make a person no longer the technical owner of a join.

    Args:
        graph: DataHub's server.
        urn: URN of the join.
        owner: URN of the person.

    Raises:
        DeniedError: The server refuses the change, or the join does not exist.
    """
    execute(graph, "release_join", join=urn, owner=owner)
