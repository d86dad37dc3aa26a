"""Store a person's decision about a join in the catalog.

Every run of the source reads the decisions. That about a relationship is a tag of it, that about
two columns without a relationship is a property of one of them.
"""

from typing import TYPE_CHECKING

from datahub_hyperjoin.graphql.columns import decide_columns
from datahub_hyperjoin.graphql.find import find_decidable
from datahub_hyperjoin.graphql.operations import execute, requesting
from datahub_hyperjoin.graphql.pairs import is_pair
from datahub_hyperjoin.joins import Join, Verdict
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
        urn: URN of the join, or `URN = URN` of two columns without a relationship.
        why: Reason of the decision, which becomes the description of a relationship.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = find_decidable(graph, urn)
    if is_pair(join.urn):
        decide_columns(graph, join, Verdict.ACCEPTED)
        return
    _define(graph, ACCEPTED)
    execute(graph, "accept_join", join=join.urn, hidden=join.is_hidden, **_decided(join))
    _describe(graph, join, why)


def reject(graph: "DataHubGraph", urn: str, *, why: str = "") -> None:
    """Reject a join, so that no later run suggests it.

    DataHub's search and pages hide it.

    Args:
        graph: DataHub's server.
        urn: URN of the join, or `URN = URN` of two columns without a relationship.
        why: Reason of the decision, which becomes the description of a relationship.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = find_decidable(graph, urn)
    if is_pair(join.urn):
        decide_columns(graph, join, Verdict.REJECTED)
        return
    _define(graph, REJECTED)
    execute(graph, "reject_join", join=join.urn, visible=not join.is_hidden, **_decided(join))
    _describe(graph, join, why)


def undo(graph: "DataHubGraph", urn: str) -> tuple[Verdict, ...]:
    """Remove any decision about a join, and show a rejected join again.

    A reason that somebody gave stays, as the join's description.

    Args:
        graph: DataHub's server.
        urn: URN of the join, or `URN = URN` of two columns without a relationship.

    Returns:
        What had been decided; empty if nobody had decided about the join.

    Raises:
        UnknownNameError: The join does not exist.
        DeniedError: The server refuses the change.
    """
    join = find_decidable(graph, urn)
    if is_pair(join.urn):
        return decide_columns(graph, join, None)
    if not join.verdicts:
        return ()
    decided = _decided(join)
    # A join that a run withdrew stays hidden.
    hidden = decided["rejected"] and join.is_hidden
    execute(graph, "undo_decision", join=join.urn, hidden=hidden, **decided)
    return join.verdicts


def _decided(join: Join) -> dict[str, bool]:
    """Return which decisions about a join were made."""
    return {verdict.value: verdict in join.verdicts for verdict in Verdict}


def last_decision(graph: "DataHubGraph", urn: str) -> tuple[str, int]:
    """Return who last changed the decision about a join, and when, in milliseconds since 1970."""
    if is_pair(urn):
        return "", 0
    # It is the user who last wrote the join's tags, which hold the decision.
    with requesting(graph, "tags"):
        aspects = graph.get_entity_raw(urn, ["globalTags"])["aspects"]
        stamp = aspects.get("globalTags", {}).get("created", {})
        return str(stamp.get("actor", "")), int(stamp.get("time", 0))


def _define(graph: "DataHubGraph", tag: str) -> None:
    """Create a tag if it does not exist."""
    # The server assigns only existing tags.
    with requesting(graph, "tag"):
        exists = graph.exists(tag)
    if not exists:
        name = tag.removeprefix("urn:li:tag:")
        execute(graph, "create_tag", id=name, description=_DESCRIPTIONS[tag])


def _describe(graph: "DataHubGraph", join: Join, why: str) -> None:
    """Store the reason for a decision as the join's description."""
    # The request repeats the name that people gave the join; otherwise the server would remove the
    # name.
    title = join.published.title if join.published else ""
    if why:
        execute(graph, "describe_join", join=join.urn, description=why, name=title or None)


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
