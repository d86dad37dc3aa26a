"""Read the joins that people review, best first, in a limited number of requests.

A catalog may hold hundreds of thousands of joins, and DataHub's search cannot sort them by a text
of their tags. So of more than `MOST_REVIEWED`, the search chooses by role and confidence band.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from datahub_hyperjoin.graphql.operations import execute, parsing
from datahub_hyperjoin.graphql.read import read_joins
from datahub_hyperjoin.joins import BAND_NAMES, BANDS, UNVERIFIED, Join, Role, Verdict, best_first
from datahub_hyperjoin.joins.join import band
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    DECIDING_TAGS,
    REJECTED,
    band_urn,
    role_urn,
)

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

MOST_REVIEWED = 2_000
"""Maximum number of joins that are read at once."""

_PAGE = 500

_Rules = tuple[dict[str, Any], ...]
"""Conditions of DataHub's search that hold together."""


class ReviewState(str, Enum):
    """What people have decided about the joins that are listed."""

    UNDECIDED = "undecided"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter:
    """Which joins are reviewed."""

    state: ReviewState = ReviewState.UNDECIDED

    dataset: str = ""
    """URN of a dataset on either side; empty for all."""

    role: Role | None = None
    at_least: float = 0.0
    """Lowest joinability."""

    assignee: str = ""
    """URN of the person to whom the joins are assigned; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Joins to review, in the order of `best_first`, and the number of all."""

    joins: Sequence[Join]
    total: int
    """Number of all joins of the filter, of which `joins` are the first `MOST_REVIEWED`."""


def joins_to_review(graph: "DataHubGraph", asked: ReviewFilter) -> Review:
    """Read the joins that a filter chooses, with at most twenty requests."""
    rules = _rules(asked)
    _, total = _search(graph, asked, rules, most=1)
    joins = list[Join]()
    for kind in _kinds() if total > MOST_REVIEWED else [()]:
        if len(joins) < MOST_REVIEWED:
            found, _ = _search(graph, asked, (*rules, *kind), most=MOST_REVIEWED - len(joins))
            joins += found
    # The search index lags behind, the joins do not.
    wanted = best_first(join for join in joins if _is_wanted(join, asked))
    return Review(joins=wanted, total=len(wanted) if total <= MOST_REVIEWED else total)


def _tagged(*tags: str, negated: bool = False) -> dict[str, Any]:
    return {"field": "tags", "values": [*tags], "negated": negated}


def _rules(asked: ReviewFilter) -> _Rules:
    state = {
        ReviewState.UNDECIDED: (
            _tagged(*DECIDING_TAGS, negated=True),
            _tagged(*map(band_urn, BAND_NAMES)),
        ),
        ReviewState.ACCEPTED: (_tagged(ACCEPTED),),
        ReviewState.REJECTED: (_tagged(REJECTED),),
        ReviewState.ALL: (),
    }[asked.state]
    role = (_tagged(role_urn(asked.role)),) if asked.role else ()
    bands = [name for name in BANDS if BANDS[name] >= BANDS[band(asked.at_least)]]
    score = (_tagged(*map(band_urn, [*bands, UNVERIFIED])),)
    assigned = ({"field": "owners", "values": [asked.assignee]},) if asked.assignee else ()
    return (*state, *role, *(score if asked.at_least else ()), *assigned)


def _kinds() -> Iterator[_Rules]:
    """Yield the rules of each kind of join, in the order of `best_first`."""
    yield (_tagged(*map(band_urn, BAND_NAMES), negated=True),)  # people wrote them
    for role in Role:
        for name in BANDS:
            yield (_tagged(role_urn(role)), _tagged(band_urn(name)))
    yield (_tagged(band_urn(UNVERIFIED)),)


def _search(
    graph: "DataHubGraph", asked: ReviewFilter, rules: _Rules, *, most: int
) -> tuple[list[Join], int]:
    """Read up to `most` joins that rules choose, and the number of all."""
    ends = [{"field": end, "values": [asked.dataset]} for end in ("source", "destination")]
    sides: list[_Rules] = [(end,) for end in ends] if asked.dataset else [()]
    filters = [{"and": [*rules, *side]} for side in sides] if rules or asked.dataset else None
    hidden = asked.state in {ReviewState.REJECTED, ReviewState.ALL}
    entities = list[dict[str, Any]]()
    while True:
        data = execute(
            graph,
            "joins_to_review",
            filters=filters,
            hidden=hidden,
            start=len(entities),
            count=min(_PAGE, most - len(entities)),
        )
        with parsing("joins_to_review"):
            page = data["searchAcrossEntities"]
            found, total = [each["entity"] for each in page["searchResults"]], int(page["total"])
        entities += found
        if not found or len(entities) >= min(most, total):
            return [*read_joins(entities)], total


def _is_wanted(join: Join, asked: ReviewFilter) -> bool:
    if join.joinability < asked.at_least:
        return False
    match asked.state:
        case ReviewState.UNDECIDED:
            return join.open and join.is_undecided
        case ReviewState.ACCEPTED:
            return join.open and join.verdict is Verdict.ACCEPTED
        case ReviewState.REJECTED:
            return join.verdict is Verdict.REJECTED
        case ReviewState.ALL:
            return join.is_listed
    assert_never(asked.state)
