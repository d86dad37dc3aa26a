"""The results of a run, and those that are kept for later runs in which nothing has changed.

The findings follow from the rows of the tables, the settings, the catalog's facts with people's
decisions, and this package. If all of these are the same, they are used again. They hold names and
numbers, but no values of columns.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import chain

from pydantic import TypeAdapter
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import (
    CrosswalkJoin,
    Derivation,
    Join,
    JoinedColumns,
    Statement,
    Suggestion,
)
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.domains import Domain
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.memory import gc_paused
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.tables import ColumnId, DataType, Pair, TableId, TableProfile


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of a run: profiles, key columns, suggestions and joins."""

    profiles: tuple[TableProfile, ...]
    """The profiles of all tables, even of unreadable ones, with the columns that the catalog has.
    """

    keys: tuple[ColumnId, ...]

    suggestions: tuple[Suggestion, ...]
    """Suggestions that the data or a person confirms, grouped by key column, best first."""

    joins: tuple[Join, ...]
    """The joins to list and to write, the most useful first."""

    model_version: str
    """This package's version and the model's fingerprint."""

    derived: Mapping[Derivation, tuple[Join, ...]] = field(default_factory=dict)
    """The joins that follow from others or join no things, by the reason why they are not listed.
    """

    statements: Mapping[JoinedColumns, Statement] = field(default_factory=dict)
    """The SQL of each join, or the reason why it has none; empty if no SQL is shown."""

    domains: tuple[Domain, ...] = ()
    """The value domains of at least three columns."""

    crosswalks: tuple[CrosswalkJoin, ...] = ()
    """The joins that a crosswalk of the lake connects, with the evidence of both steps."""

    copies: tuple[tuple[TableId, TableId], ...] = ()
    """The tables that are copies, each with its original."""

    named: tuple[Join, ...] = ()
    """Joins suggested by names and the catalog alone, because the rows of a table were not read or
    a column has no values. These joins have no evidence."""

    described: frozenset[TableId] = frozenset()
    """The tables of which no row was read: unreadable ones, and those that only the catalog knows.
    """

    contributions: Mapping[Pair, Contributions] = field(default_factory=dict)
    """The signals of each join's first pair of columns."""

    unverified: frozenset[TableId] = frozenset()
    """Tables that could be profiled, but no longer be read when joins were verified."""

    def without_columns(self) -> "Findings":
        """Return the findings without the profiles of columns, which take most of the memory."""
        return replace(self, profiles=tuple(replace(each, columns=()) for each in self.profiles))

    @property
    def all_joins(self) -> tuple[Join, ...]:
        """All joins that the data confirm, also those that are not listed."""
        return (*self.joins, *chain.from_iterable(self.derived.values()))

    @property
    def derived_counts(self) -> Mapping[Derivation, int]:
        """The number of joins that are not listed, by the reason."""
        return {reason: len(joins) for reason, joins in self.derived.items()}

    @property
    def declared(self) -> tuple[Join, ...]:
        """The joins that a foreign key declares, and that no values confirm."""
        return tuple(join for join in self.named if join.catalog.declared)

    @cached_property
    def unread(self) -> frozenset[TableId]:
        """Tables whose rows could not be read, for profiling or for verification."""
        faulty = (profile.table.id for profile in self.profiles if profile.fault)
        return self.unverified.union(self.described, faulty)

    @cached_property
    def types(self) -> Mapping[ColumnId, DataType]:
        """The data type of each column."""
        return {column.id: column.type for table in self.profiles for column in table.columns}


_NAME = "findings"


@dataclass
class NotedProgress:
    """A progress report that also notes the counts, and whether there was a warning."""

    shown: Progress
    """Receives all that is reported."""

    counts: dict[str, float] = field(default_factory=dict)
    warned: bool = False

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Return a context manager for a named stage of the run."""
        return self.shown.stage(name)

    def count(self, name: str, by: float) -> None:
        """Add an amount to a counter of the run, and note the new count."""
        self.counts[name] = self.counts.get(name, 0) + by
        self.shown.count(name, by)

    def say(self, line: str) -> None:
        """Show one line of progress."""
        self.shown.say(line)

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Report a problem that does not stop the run, and record that there was a warning."""
        self.warned = True
        self.shown.warn(title, message, context)


@dataclass(frozen=True, kw_only=True)
class _Record:
    """The stored findings of a run, except the profiles, which are stored separately."""

    keys: tuple[ColumnId, ...]
    suggestions: tuple[Suggestion, ...]
    joins: tuple[Join, ...]
    derived: Mapping[Derivation, tuple[Join, ...]]
    model_version: str
    domains: tuple[Domain, ...]
    crosswalks: tuple[CrosswalkJoin, ...]
    copies: tuple[tuple[TableId, TableId], ...]
    contributions: tuple[tuple[Pair, Contributions], ...]
    counts: Mapping[str, float]
    """The counts of the run that made the findings."""

    @classmethod
    def of(cls, findings: Findings, counts: Mapping[str, float]) -> "_Record":
        same = {name: getattr(findings, name) for name in _SAME}
        return cls(**same, contributions=tuple(findings.contributions.items()), counts=counts)

    def findings(self, profiles: tuple[TableProfile, ...]) -> Findings:
        same = {name: getattr(self, name) for name in _SAME}
        return Findings(profiles=profiles, contributions=dict(self.contributions), **same)


_SAME = (
    "keys",
    "suggestions",
    "joins",
    "derived",
    "model_version",
    "domains",
    "crosswalks",
    "copies",
)
"""The fields that findings and their record have alike."""


@dataclass(frozen=True)
class KeptFindings:
    """The findings that an earlier run with the same input left in the profile store."""

    store: Store
    key: str
    """Store key that stands for all inputs of the findings; empty if findings cannot be kept."""

    @classmethod
    def of(
        cls, profiles: Sequence[TableProfile], store: Store, model: ModelConfig, facts: CatalogFacts
    ) -> "KeptFindings":
        """Look for the findings of an earlier run with the same input."""
        # Nothing is kept if a network is trained or a language model asked, because the findings
        # then follow from more than this.
        learns = model.ranking.scoring is not Scoring.SIGNALS or model.llm is not None
        if learns or store.config.store is None:
            return cls(store, key="")
        settings = replace(store.config, store=None, force=False)
        faults = [(profile.fault, profile.notes) for profile in profiles]
        tables = [profile.table for profile in profiles]
        parts = [*tables, settings, model, facts, faults]
        return cls(store, result_key(tables, *map(_describe, parts)))

    def read(self, profiles: tuple[TableProfile, ...], progress: Progress) -> Findings | None:
        """Return the findings if nothing has changed since they were kept, else None."""
        text = self.store.results(_NAME).get(self.key)
        if text is None:
            return None
        with gc_paused():
            record = TypeAdapter(_Record).validate_json(text)
        for name, count in record.counts.items():
            progress.count(name, count)
        progress.count("joins_from_profile_store", len(record.joins))
        progress.say("Nothing has changed since the last run, so its joins are used again")
        return record.findings(profiles)

    def keep(self, findings: Findings, noted: NotedProgress) -> None:
        """Keep the findings of this run for later runs."""
        # Findings of a run with warnings are not kept, so that the next run gives them again.
        kept = {}
        if self.key and not (noted.warned or findings.unverified):
            record = _Record.of(findings, noted.counts)
            kept[self.key] = TypeAdapter(_Record).dump_json(record).decode()
        self.store.keep_results(_NAME, kept)


def _describe(value: object) -> str:
    """Convert a value to a text that is the same in every process."""
    # Sets and mappings have a different order in each process.
    match value:
        case Mapping():
            pairs = (f"{_describe(key)}: {_describe(item)}" for key, item in value.items())
            return f"{{{', '.join(sorted(pairs))}}}"
        case AbstractSet():
            return f"{{{', '.join(sorted(map(_describe, value)))}}}"
        case list() | tuple():
            return f"({', '.join(map(_describe, value))})"
        case _ if is_dataclass(value):
            own = (_describe(getattr(value, each.name)) for each in fields(value))
            return f"{type(value).__name__}({', '.join(own)})"
        case _:
            return repr(value)
