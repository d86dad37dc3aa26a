"""Render the queue, in which people decide about many joins."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar
from urllib.parse import urlencode

from datahub_hyperjoin.graphql.decide import assign_owner, release_owner
from datahub_hyperjoin.graphql.find import find_dataset, find_join
from datahub_hyperjoin.graphql.review import ReviewFilter, ReviewState, joins_to_review
from datahub_hyperjoin.joins import Join, Role, rename_columns
from datahub_hyperjoin.joins.describe import describe_rows, list_notes, role_in_words
from datahub_hyperjoin.joins.lists import short_columns
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.page.write import render_template
from datahub_hyperjoin.service.errors import QueueFilterError
from datahub_hyperjoin.service.sessions import PersonalSession
from datahub_hyperjoin.wording import join_with_and

_PAGE = 50
"""Number of joins on a page."""

_ME = "me"
_USER = "urn:li:corpuser:"
_STATES = {state.value: state for state in ReviewState}
_ROLES = {role.value: role for role in Role}

_Known = TypeVar("_Known")

_Asked = Mapping[str, str]
"""The filters of the page's address, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """What the queue shows of a join."""

    urn: str
    verdict: str
    columns: str
    whole: str
    """The columns with the whole names of their tables."""

    role: str
    cardinality: str
    score: str
    sentence: str
    notes: Sequence[str]
    owners: str
    dataset: str
    """URN of a dataset of which the page shows all evidence."""


def render_queue(
    session: PersonalSession, asked: _Asked, *, nonce: str, signs_out: bool = True
) -> str:
    """Render one page of the joins that people review.

    Args:
        session: The person's session, with whose rights the joins are read.
        asked: The filters `table`, `role`, `at-least`, `state` and `assignee`, and the number of
            joins before the page (`start`).
        nonce: The secret that marks the page's own scripts and styles.
        signs_out: Whether the page has a button to sign out.

    Raises:
        QueueFilterError: A filter has a value that it cannot have.
        UnknownNameError: The table is unknown, or its name that of several.
    """
    wanted, start = _parse(session, asked), int(_number("start", asked.get("start") or "0"))
    review, state = joins_to_review(session.graph, wanted), wanted.state
    joins = review.joins[start : start + _PAGE]
    reachable = len(review.joins)
    return render_template(
        "queue.html.j2",
        title="Queue",
        nonce=nonce,
        csrf=session.csrf,
        person=session.person.rpartition(":")[2],
        signs_out=signs_out,
        rows=_list_rows(joins),
        total=review.total,
        # The search knows no joinability, and counts joins that runs withdrew.
        is_most=review.total > reachable and bool(wanted.at_least or state is ReviewState.ALL),
        reachable=reachable,
        first=start + 1,
        last=start + len(joins),
        previous=_address(asked, max(start - _PAGE, 0)) if start else "",
        following=_address(asked, start + _PAGE) if start + _PAGE < reachable else "",
        asked={**dict.fromkeys(("table", "role", "at-least", "assignee"), ""), **asked},
        state=state.value,
        states=[*_STATES],
        roles=[*_ROLES],
    )


def _parse(session: PersonalSession, asked: _Asked) -> ReviewFilter:
    table, role, assignee = (asked.get(name, "") for name in ("table", "role", "assignee"))
    state = asked.get("state") or ReviewState.UNDECIDED.value
    return ReviewFilter(
        state=_choose("state", state, _STATES),
        dataset=find_dataset(session.graph, table) if table else "",
        role=_choose("role", role, _ROLES) if role else None,
        at_least=_number("at-least", asked.get("at-least") or "0"),
        assignee=_user_urn(session, assignee) if assignee else "",
    )


def assign(session: PersonalSession, join: str, assignee: str, *, release: bool) -> str:
    """Assign a join to a person, or take it away, and return the names of all to whom it is."""
    change = release_owner if release else assign_owner
    change(session.graph, join, owner=_user_urn(session, assignee))
    published = find_join(session.graph, join).published
    return _names(published.owners if published else ())


def _names(owners: Sequence[str]) -> str:
    return join_with_and([owner.rpartition(":")[2] for owner in owners]) if owners else ""


def _user_urn(session: PersonalSession, name: str) -> str:
    """Return the URN of a person by its URN, its user name or `me`."""
    if name == _ME:
        return session.person
    return name if name.startswith("urn:li:") else f"{_USER}{name}"


def _choose(name: str, value: str, known: Mapping[str, _Known]) -> _Known:
    if value not in known:
        raise QueueFilterError.of_value(name, value, known)
    return known[value]


def _number(name: str, value: str) -> float:
    with suppress(ValueError):
        if isfinite(number := float(value)) and number >= 0:
            return number
    raise QueueFilterError.of_value(name, value, ["a number from 0"])


def _address(asked: _Asked, start: int) -> str:
    return f"queue?{urlencode({**asked, 'start': start})}"


def _list_rows(joins: Sequence[Join]) -> list[QueueRow]:
    rename = short_columns(joins)
    return [_row(join, rename_columns(join, rename)) for join in joins]


def _row(join: Join, short: Join) -> QueueRow:
    owners = join.published.owners if join.published else ()
    left, right = (table.name for table in short.tables)
    return QueueRow(
        urn=join.urn,
        verdict=join.verdict.value if join.verdict else "",
        columns=short.arrows,
        whole=join.arrows,
        role=role_in_words(join),
        cardinality=join.cardinality.words,
        score="" if join.is_written else f"{join.joinability:.2f}",
        sentence=describe_rows(short, (left, right)) if join.evidence else "",
        notes=list_notes(join),
        owners=_names(owners),
        dataset=dataset_urn(join.left.table),
    )
