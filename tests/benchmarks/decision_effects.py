"""What decisions change in the joins of a whole run, beyond the pairs that they are about.

A relative of a decided pair shares a column with it, or has two columns of which each is like one
of its columns: it has the same name, or joins the column or is in one value domain with it if
nobody decides. All other joins should stay as they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.decision_bound import Named
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.sources import list_sources
from datahub_hyperjoin.find import FindConfig, find
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import BANDS, CatalogEvidence, Join, Verdict
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.session import lazy_session
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of

HEADERS = (
    "decisions",
    "other joins",
    "moved by more than 0.05",
    "crossed 0.65",
    "appeared",
    "vanished",
    "relatives that changed",
    "of these against the decision",
)
MOVED, SAFE = 0.05, BANDS["medium"]

Verdicts = Mapping[Pair, Verdict]
_Found = Mapping[tuple[Pair, ...], Join]


class Effects(NamedTuple):
    """How joins changed that nobody decided about."""

    others: int
    """Number of joins without decisions that are no relatives of decided pairs."""

    moved: int
    """Number of others whose joinability moved by more than 0.05."""

    crossed: int
    """Number of others that crossed the lowest joinability that agents use."""

    appeared: int
    vanished: int
    relatives: int
    """Number of relatives that moved as much, appeared or vanished."""

    against: int
    """Number of these that rose by rejections alone, or fell by acceptances alone. Joins of a
    referring column whose key people accepted are not counted: it has one key."""


class Runs:
    """Runs on the same tables, which are read once."""

    def __init__(self, tables: Path, store: Path) -> None:
        self._progress = RunProgress()
        self._tables = list_sources([tables], store, self._progress)
        self._config = FindConfig(profile=ProfileConfig(store=store / "profiles"))

    def find(self, decisions: Verdicts) -> Findings:
        """Find the joins of all tables after some decisions.

        Args:
            decisions: People's verdicts on pairs.
        """
        pairs = {pair: CatalogEvidence(verdict=verdict) for pair, verdict in decisions.items()}
        catalog = Catalog(tables=self._tables, facts=CatalogFacts(pairs=pairs))
        with lazy_session(SessionConfig()) as session:
            return find(catalog, self._config, self._progress, session)


def identify(findings: Findings, decisions: Mapping[Named, Verdict]) -> dict[Pair, Verdict]:
    """Find the columns that a file of decisions names.

    Args:
        findings: The findings of a run.
        decisions: Verdicts on pairs, by the names of labelled lakes.
    """
    ids = {
        (Path(column.id.table.name).stem, column.id.path): column.id
        for profile in findings.profiles
        for column in profile.columns
    }
    return {
        pair_of(ids[left], ids[right]): verdict
        for (left, right), verdict in decisions.items()
        if left in ids and right in ids
    }


def toss(findings: Findings, number: int, seed: int) -> dict[Pair, Verdict]:
    """Accept or reject joins of one column that are drawn at random, as a coin falls.

    Args:
        findings: The findings of a run.
        number: Number of decisions; more add to those of the same seed.
        seed: Seed of the draw.
    """
    random = np.random.default_rng(seed)
    joins = sorted((join.left, join.right) for join in findings.all_joins if not join.further)
    drawn = random.permutation(len(joins))[:number].tolist()
    coins = np.random.default_rng((seed, 1)).random(len(joins)) < 0.5
    verdicts = (Verdict.ACCEPTED, Verdict.REJECTED)
    return {joins[place]: verdicts[int(coins[at])] for at, place in enumerate(drawn)}


@dataclass(frozen=True)
class Relatives:
    """Which joins are relatives of decided pairs."""

    decisions: Verdicts
    like: Mapping[ColumnId, AbstractSet[object]]
    """What is like each decided column: columns, and its name."""

    @classmethod
    def of(cls, decisions: Verdicts, before: Findings) -> "Relatives":
        """Find what is like the decided columns.

        Args:
            decisions: The decisions.
            before: The findings without decisions.
        """
        decided = {column for pair in decisions for column in pair}
        like: dict[ColumnId, set[object]] = defaultdict(set)
        joined = [(join.left, join.right) for join in before.all_joins if not join.further]
        groups = [*joined, *(domain.members for domain in before.domains)]
        for column in decided:
            together = (group for group in groups if column in group)
            like[column] |= {column, _name(column), *chain(*together)}
        return cls(decisions, like)

    def verdicts(self, join: Join) -> set[Verdict]:
        """Return the verdicts on pairs of which a join is a relative.

        Args:
            join: The join.
        """
        return {
            verdict
            for pair, verdict in self.decisions.items()
            if any(self._are_related(pair, each) for each in join.pairs)
        }

    def _are_related(self, decided: Pair, pair: Pair) -> bool:
        (one, other), (left, right) = decided, pair
        straight = self._is_like(one, left) and self._is_like(other, right)
        crossed = self._is_like(one, right) and self._is_like(other, left)
        return straight or crossed or not {*decided}.isdisjoint(pair)

    def _is_like(self, decided: ColumnId, column: ColumnId) -> bool:
        return column in self.like[decided] or _name(column) in self.like[decided]


def _name(column: ColumnId) -> str:
    return column.path.casefold()


def compare(before: Findings, after: Findings, decisions: Verdicts) -> Effects:
    """Count the changes of joins that nobody decided about.

    Args:
        before: The findings without decisions.
        after: The findings with them.
        decisions: The decisions.
    """
    was, now = _undecided(before.all_joins, decisions), _undecided(after.all_joins, decisions)
    family = Relatives.of(decisions, before)
    settled = {
        column
        for pair, verdict in decisions.items()
        if verdict is Verdict.ACCEPTED
        for column in pair
    }
    count = dict.fromkeys(Effects._fields, 0)
    for pairs in {**was, **now}:
        old, new = was.get(pairs), now.get(pairs)
        join = old or new
        assert join is not None
        start, end = (each.joinability if each else 0.0 for each in (old, new))
        verdicts, changed = family.verdicts(join), abs(end - start) > MOVED
        if verdicts:
            wrong = {Verdict.REJECTED} if end > start else {Verdict.ACCEPTED}
            one_key = end < start and join.referring in settled
            count["relatives"] += changed
            count["against"] += changed and verdicts == wrong and not one_key
            continue
        count["others"] += old is not None
        count["appeared"] += old is None
        count["vanished"] += new is None
        if old and new:
            count["moved"] += changed
            count["crossed"] += (start >= SAFE) != (end >= SAFE)
    return Effects(**count)


def _undecided(joins: Iterable[Join], decisions: Verdicts) -> _Found:
    return {join.pairs: join for join in joins if join.further or join.pairs[0] not in decisions}
