"""Check the watched joins of a run: those that it found, and those that no longer look like joins.

A run that searches for joins hands over its findings. A run that only watches has none: it reads
the tables of the watched joins, and no others.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from datahub.emitter.mce_builder import get_sys_time
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import AssertionResultTypeClass

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit.config import EmitConfig, JoinChoice
from datahub_hyperjoin.emit.watched_joins import (
    Watched,
    assertion_of,
    candidates,
    first_threshold,
    is_wanted,
    is_watchable,
    read_watched,
    share_of,
    with_facts,
)
from datahub_hyperjoin.find import (
    FindConfig,
    SqlConfig,
    measure_again,
    profile_tables_of,
    write_untested_sql,
)
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Evidence, Join, rename_columns
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.tables import TableId, TableProfile


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What a check of watched joins needs."""

    catalog: Catalog
    emit: EmitConfig
    find: FindConfig
    sql: SqlConfig
    graph: DataHubGraph | None
    written: WrittenState
    """What the last run wrote."""

    report: HyperJoinReport
    session: OptionalSession

    def check(self, findings: Findings | None) -> tuple[Watched, ...]:
        """Check the watched joins; without `findings`, only those that are watched already."""
        mode = self.emit.watch
        if not mode:
            return ()
        with self.report.stage("Checking watched joins"):
            return self._check(mode, findings)

    def measure(self, joins: Sequence[Join]) -> Sequence[Join]:
        """Count the rows of given joins; those that cannot be counted are left out."""
        run = (self.find, self.report, self.session)
        profiles = profile_tables_of(joins, self.catalog, *run)
        return measure_again(self._spelled_as(profiles, joins), profiles, *run).joins

    def _check(self, mode: JoinChoice, findings: Findings | None) -> tuple[Watched, ...]:
        known = self._known(mode)
        kept = [each.join for each in known.values() if each.wanted]
        found = self._by_urn(filter(is_watchable, findings.all_joins if findings else ()))
        new = {urn for urn, join in found.items() if urn not in known and is_wanted(join, mode)}
        run = (self.find, self.report, self.session)
        profiles = findings.profiles if findings else profile_tables_of(kept, self.catalog, *run)
        # A join that broke may no longer be among the findings.
        lost = [join for join in self._spelled_as(profiles, kept) if self._urn(join) not in found]
        again = measure_again(lost, profiles, *run)
        found |= self._by_urn(again.joins)
        unread = again.unread | (findings.unread if findings else frozenset())
        read = {each.table.id for each in profiles} - unread
        watched = [
            self._judge(known.get(urn), found.get(urn), read) for urn in sorted({*new, *known})
        ]
        return self._with_sql([each for each in watched if each], found, profiles)

    def _known(self, mode: JoinChoice) -> dict[str, Watched]:
        if not self.graph:
            return {}
        catalog, urns = self.catalog, candidates(self.catalog, self.written)
        known = read_watched(self.graph, urns, self.report.warn)
        facts = {urn: with_facts(each.join, catalog.facts) for urn, each in known.items()}
        return {
            urn: replace(each, wanted=is_wanted(facts[urn], mode, watched=True))
            for urn, each in known.items()
        }

    def _urn(self, join: Join) -> str:
        return assertion_of(rename_columns(join, self.catalog.field_path))

    def _by_urn(self, joins: Iterable[Join]) -> dict[str, Join]:
        return {self._urn(join): join.directed for join in joins}

    def _spelled_as(self, profiles: Sequence[TableProfile], joins: Iterable[Join]) -> list[Join]:
        """Spell the columns of joins of the catalog as their tables do."""
        columns = (column.id for profile in profiles for column in profile.columns)
        spellings = self.catalog.facts.spelled_by(columns).spellings
        own = {known: column for column, known in spellings.items()}
        return [rename_columns(join, lambda column: own.get(column, column)) for join in joins]

    def _judge(
        self, known: Watched | None, join: Join | None, read: AbstractSet[TableId]
    ) -> Watched | None:
        """Return a watched join with its threshold; None if its rows were never counted."""
        if known and not known.wanted:
            return replace(known, at=get_sys_time())
        seen = rename_columns(join, self.catalog.field_path) if join else None
        if known:
            # It keeps its direction even if the data no longer speaks for it.
            evidence = _seen_from(known.join, seen) if seen else None
            seen = replace(known.join, evidence=evidence)
        share = share_of(seen.left_counts) if seen else None
        threshold, from_recipe = self._threshold(known, share)
        if seen is None or threshold is None:
            return None
        return replace(
            known or Watched(join=seen, threshold=threshold),
            join=seen,
            threshold=threshold,
            from_recipe=from_recipe,
            at=get_sys_time(),
            fault=_fault(seen, read),
        )

    def _threshold(self, known: Watched | None, share: float | None) -> tuple[float | None, bool]:
        """Return the threshold of a join, and whether the recipe states it."""
        stated = self.emit.watch_threshold
        if stated is not None and (known or share is not None):
            return stated, True
        if known and not (known.from_recipe and share is not None):
            return known.threshold, known.from_recipe
        return (None if share is None else first_threshold(share)), False

    def _with_sql(
        self,
        watched: Sequence[Watched],
        found: Mapping[str, Join],
        profiles: Sequence[TableProfile],
    ) -> tuple[Watched, ...]:
        """Add to each broken join the SQL for the rows that find no row."""
        broken = {
            each.urn: found[each.urn]
            for each in watched
            if each.wanted and each.result == AssertionResultTypeClass.FAILURE
        }
        if not broken:
            return (*watched,)
        from datahub_hyperjoin.sql.write import write_anti_join  # noqa: PLC0415 (the parser)

        joins = [*broken.values()]
        statements = write_untested_sql(joins, profiles, self.sql, self.report, self.session)
        anti_joins = {
            urn: write_anti_join(statement, only_with_value=True)
            for urn, join in broken.items()
            if (statement := statements[join.pairs]).sql
        }
        return tuple(replace(each, anti_join=anti_joins.get(each.urn, "")) for each in watched)


def _seen_from(known: Join, join: Join) -> Evidence | None:
    """Return the evidence of a join with the left side of the same join as DataHub holds it."""
    is_same = join.left in {own for own, _ in known.pairs}
    return join.evidence if is_same else join.reversed.evidence


def _fault(join: Join, read: AbstractSet[TableId]) -> str:
    """Say why the rows of a join cannot be counted although its tables were read."""
    counts = join.left_counts
    if share_of(counts) is not None or not {*join.tables} <= read:
        return ""
    if join.evidence is None:
        return "one of its columns is gone or has no values"
    return f"the values of {join.right} repeat" if counts else ""
