"""Watched joins: which they are, what DataHub holds of them, and whether they still hold.

A watched join is an assertion of DataHub. Everything that a later run needs is in the assertion and
its last result, so a lost checkpoint changes nothing: neither the threshold nor since when the join
has been broken.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from math import floor

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AssertionInfoClass,
    AssertionResultTypeClass,
    AssertionRunEventClass,
    AssertionRunStatusClass,
    IncidentInfoClass,
    StatusClass,
)
from datahub.utilities.urns.urn import guess_entity_type
from typing_extensions import assert_never

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.entities import (
    aspect_of,
    fetch,
    fetch_each,
    is_removed,
    parse_entity,
    reading,
)
from datahub_hyperjoin.catalog.relationships import report_skipped
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.cell_parts import CellParts
from datahub_hyperjoin.emit.config import JoinChoice
from datahub_hyperjoin.joins import (
    Join,
    Role,
    RowCounts,
    Verdict,
    is_in_two_steps,
    is_safe,
    rounded_share,
)
from datahub_hyperjoin.metadata.relationships import (
    MODEL_VERSION,
    catalog_evidence,
    columns_urn,
    join_urn,
)
from datahub_hyperjoin.metadata.urns import assertion_urn, column_id, column_urn, incident_urn
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.visible import visible

ASSERTION = "assertion"

TOLERANCE = 0.005
"""By how much the share of rows may fall below that of the first check. Rows often arrive before
those that they refer to."""

FAILING_SINCE = "failing since"
"""The result of a failed check that tells the time of the first one, in ISO 8601."""

_THRESHOLD, _ORIGIN, _COLUMNS = "least_share", "least_share_from", "columns"
_RECIPE, _FIRST_CHECK = "recipe", "first check"


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A watched join: as DataHub holds it, and as a run finds it."""

    join: Join
    """The join with the referring table on the left; without evidence if it was not measured."""

    threshold: float
    """Least share of the rows with a value that must find their row."""

    from_recipe: bool = False
    """Whether the recipe states the threshold, rather than the first check."""

    failing_since: int = 0
    """When the join broke, in milliseconds since 1970; 0 if it held in the last check."""

    incident: IncidentInfoClass | None = None
    at: int = 0
    """When the run measured the join, in milliseconds since 1970."""

    fault: str = ""
    """Why the rows cannot be counted although the tables were read; empty if they were counted."""

    anti_join: str = ""
    """SQL for the rows with a value that find no row, if the join is broken."""

    wanted: bool = True
    """Whether the join is still watched."""

    @property
    def urn(self) -> str:
        """URN of the assertion."""
        return assertion_of(self.join)

    @property
    def counts(self) -> RowCounts | None:
        """The rows of the referring table; None if they were not counted."""
        return self.join.left_counts

    @property
    def result(self) -> str | None:
        """The result as DataHub names it; None if a table was not read."""
        if self.fault:
            return AssertionResultTypeClass.ERROR
        share = share_of(self.counts)
        if share is None:
            return None
        holds = share >= self.threshold
        return AssertionResultTypeClass.SUCCESS if holds else AssertionResultTypeClass.FAILURE

    @property
    def broken_since(self) -> int:
        """When the join broke, in milliseconds since 1970; 0 if it holds now."""
        match self.result:
            case AssertionResultTypeClass.FAILURE:
                return self.failing_since or self.at
            case AssertionResultTypeClass.SUCCESS:
                return 0
            case _:  # what cannot be told changes nothing
                return self.failing_since

    @property
    def properties(self) -> dict[str, str]:
        """The custom properties of the assertion, from which later runs read the join."""
        pairs = [[column_urn(one), column_urn(other)] for one, other in self.join.pairs]
        return {
            _COLUMNS: json.dumps(pairs),
            _THRESHOLD: f"{self.threshold:.4f}",
            _ORIGIN: _RECIPE if self.from_recipe else _FIRST_CHECK,
        }

    @property
    def news(self) -> str:
        """One line that tells what is wrong with the join; empty if it holds."""
        name = self.join.arrows
        if self.fault:
            return visible(f"{name}: not counted, since {self.fault}")
        share = share_of(self.counts)
        if share is None:
            return f"{name}: not checked, since one of its tables cannot be read"
        if not self.broken_since:
            return ""
        return (
            f"{name}: {in_percent(share)} of the rows with a value find their row, and at least "
            f"{in_percent(self.threshold)} should; broken since {in_time(self.broken_since)}"
        )


def share_of(counts: RowCounts | None) -> float | None:
    """Return the share of rows with a value that have a partner; None if it is unknown."""
    if counts is None or counts.matched is None or not counts.filled:
        return None
    return counts.matched / counts.filled


def first_threshold(share: float) -> float:
    """Return the threshold of a join by its first check, in tenths of a percent.

    >>> first_threshold(1.0), first_threshold(0.9838), first_threshold(0.001)
    (0.995, 0.978, 0.0)
    """
    return max(floor((share - TOLERANCE) * 1000 + 1e-6) / 1000, 0.0)


def in_percent(share: float) -> str:
    """Return a share in percent, with up to two decimals.

    >>> in_percent(0.995), in_percent(1.0), in_percent(0.99999)
    ('99.5%', '100%', '99.99%')
    """
    return f"{rounded_share(share) * 100:.4g}%"


def in_time(milliseconds: int) -> str:
    """Return a time in ISO 8601, as people write it.

    >>> in_time(1_750_000_000_000)
    '2025-06-15 15:06:40+00:00'
    """
    return str(datetime.fromtimestamp(milliseconds // 1000, tz=timezone.utc))


def assertion_of(join: Join) -> str:
    """Return the URN of the assertion that watches a join."""
    return assertion_urn(join_urn(join))


def is_watchable(join: Join) -> bool:
    """Return whether a join is a reference whose whole values are compared."""
    compared = join.evidence.compared_as if join.evidence else ""
    in_parts = CellParts.read(compared) is not None
    measured = join.evidence is None or not is_in_two_steps(join.evidence)
    return join.referring is not None and measured and not in_parts


def is_wanted(join: Join, watch: JoinChoice, *, watched: bool = False) -> bool:
    """Return whether a reference is watched; `watched` says whether it was before."""
    confirmed = join.catalog.is_confirmed
    match watch:
        case JoinChoice.ACCEPTED:
            return join.verdict is Verdict.ACCEPTED
        case JoinChoice.DECLARED:
            return confirmed
        case JoinChoice.SAFE:
            # A join that breaks is no longer safe, which is the news to tell.
            before = watched and join.verdict is not Verdict.REJECTED
            return confirmed or before or is_safe(join)
    assert_never(watch)


def with_facts(join: Join, facts: CatalogFacts) -> Join:
    """Return a join read from an assertion, with what the catalog says about it now."""
    found, pairs = catalog_evidence(join.pairs, facts), frozenset(join.pairs)
    declared = next((key.title for key in facts.keys.foreign if pairs == {*key.pairs}), "")
    return replace(join, catalog=replace(found, declared=found.declared or declared))


def candidates(catalog: Catalog, written: WrittenState) -> set[str]:
    """Return the URNs of all assertions that earlier runs may have written."""
    facts = catalog.facts
    joins = {columns_urn([pair]) for pair in facts.connected}
    joins |= {columns_urn(key.pairs) for key in facts.keys.foreign if key.is_composite}
    joins |= {urn for urn, found in facts.composites.items() if found.is_confirmed}
    recorded = {urn for urn in written.queries if guess_entity_type(urn) == ASSERTION}
    return recorded.union(map(assertion_urn, joins))


def read_watched(graph: DataHubGraph, urns: Iterable[str], warn: Warn) -> dict[str, Watched]:
    """Read the watched joins of the given assertions, by URN; hidden ones are left out."""
    skip = report_skipped(warn)
    names = [AssertionInfoClass.ASPECT_NAME, StatusClass.ASPECT_NAME]
    found: dict[str, Watched] = {}
    for urn, aspects in fetch(graph, ASSERTION, sorted(urns), names, warn=skip).items():
        info = aspect_of(aspects, AssertionInfoClass)
        if not info or MODEL_VERSION not in info.customProperties or is_removed(aspects):
            continue
        if read := parse_entity(urn, partial(watched_in, info), skip):
            found[urn] = replace(read, failing_since=_failing_since(graph, urn))
    incidents = fetch_each(graph, "incident", map(incident_urn, found), IncidentInfoClass)
    return {
        urn: replace(each, incident=incidents.get(incident_urn(urn))) for urn, each in found.items()
    }


def watched_in(info: AssertionInfoClass) -> Watched:
    """Read a watched join from the assertion that an earlier run wrote."""
    custom = info.customProperties
    pairs = [(column_id(one), column_id(other)) for one, other in json.loads(custom[_COLUMNS])]
    (left, right), *further = pairs
    join = Join(
        left=left,
        right=right,
        joinability=1.0,
        evidence=None,
        role=Role.REFERENCE,
        referenced=right,
        further=tuple(further),
    )
    threshold, from_recipe = float(custom[_THRESHOLD]), custom[_ORIGIN] == _RECIPE
    return Watched(join=join, threshold=threshold, from_recipe=from_recipe)


def _failing_since(graph: DataHubGraph, urn: str) -> int:
    """Read when a join broke from its last result; 0 if it held."""
    with reading(graph, f"The results of {urn}"):
        complete = {"status": AssertionRunStatusClass.COMPLETE}
        event = graph.get_latest_timeseries_value(urn, AssertionRunEventClass, complete)
        results = event.result.nativeResults if event and event.result else None
        since = (results or {}).get(FAILING_SINCE)
        return int(datetime.fromisoformat(since).timestamp() * 1000) if since else 0
