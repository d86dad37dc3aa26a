"""What a run tells DataHub: counts, stages, warnings, and at the end what it found."""

import logging
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StaleEntityRemovalSourceReport,
)
from datahub.utilities.lossy_collections import LossyList
from tabulate import tabulate
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.tables import Cardinality, Join, Pair, TableId

# DataHub's command line shows what its own loggers say, and of others only warnings.
logger = logging.getLogger("datahub.hyperjoin")

_SHOWN = 25
_WORDS = {
    Cardinality.ONE_ONE: "one to one",
    Cardinality.ONE_MANY: "one to many",
    Cardinality.MANY_ONE: "many to one",
    Cardinality.MANY_MANY: "many to many",
}


@dataclass
class HyperJoinReport(StaleEntityRemovalSourceReport):
    """DataHub's report, with our counters."""

    datasets_in_catalog: int = 0
    datasets_not_read: LossyList[str] = field(default_factory=LossyList)
    """Of these, those that are no table of the recipe's folder and connections."""
    joins_declared: int = 0
    joins_accepted: int = 0
    joins_rejected: int = 0
    deleted_by_people: LossyList[str] = field(default_factory=LossyList)
    """Suggestions of the last run that are gone: taken for rejected from now on, unless one of the
    columns lists the other among its confirmed joins."""
    tables_found: int = 0
    tables_profiled: int = 0
    tables_unchanged: int = 0
    """Of these, those that were not read again: `profile.store` had what they say."""
    tables_skipped: int = 0
    columns_profiled: int = 0
    key_columns: int = 0
    hyperedges_within_tables: int = 0
    hyperedges_across_tables: int = 0
    largest_hyperedge_across: int = 0
    names_asked: int = 0
    """Key columns that a language model could give another name."""
    names_answered: int = 0
    names_from_cache: int = 0
    names_by_rules: int = 0
    name_requests: int = 0
    name_tokens: int = 0
    """Estimated from above where the endpoint does not count."""
    name_cost: float = 0.0
    models_trained: int = 0
    suggestions: int = 0
    joins: int = 0
    joins_without_query: int = 0
    """Joins between platforms, for which no SQL runs anywhere."""
    circles_in_lineage: int = 0
    """Joins that are no lineage, because it would lead back to where it comes from."""
    unchanged: int = 0
    """What stands in the catalog already and was not written again."""
    page: str = ""
    """The HTML page, once it is written."""
    _table: str = ""

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Times what happens inside.

        Args:
            name: The stage, as a person would call it.
        """
        return self.new_stage(name)

    def count(self, name: str, by: float) -> None:
        """Adds to a counter of this report.

        Args:
            name: The counter.
            by: How many more.
        """
        setattr(self, name, getattr(self, name) + by)

    def say(self, line: str) -> None:
        """Shows one line of progress.

        Args:
            line: What happened.
        """
        logger.info(line)

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the run goes on without.

        Args:
            title: The kind of fault.
            message: What it means.
            context: Which table, and why.
        """
        self.warning(title=title, message=message, context=context)

    def show_knowledge(
        self,
        datasets: Collection[TableId],
        knowledge: CatalogFacts,
        deleted: Sequence[Pair],
        *,
        read: Collection[TableId],
    ) -> None:
        """Counts what the catalog knows.

        Args:
            datasets: The tables that it describes.
            knowledge: What it says of them.
            deleted: The pairs whose suggestions people deleted since the last run.
            read: The tables that the recipe reads.
        """
        for left, right in deleted:
            self.deleted_by_people.append(f"{left} = {right}")
        for dataset in sorted({*datasets} - {*read}):
            self.datasets_not_read.append(str(dataset))
        self.datasets_in_catalog = len(datasets)
        self.joins_declared = sum(bool(said.declared) for said in knowledge.pairs.values())
        self.joins_accepted = len(knowledge.accepted)
        self.joins_rejected = len(knowledge.rejected)

    def show_joins(self, joins: Sequence[Join]) -> None:
        """Keeps the best joins for the end of the report.

        Args:
            joins: Best first.
        """
        rows = [
            (
                str(join.left),
                str(join.right),
                f"{join.joinability:.2f}",
                f"{join.evidence.shared} {join.evidence.compared_as}".rstrip(),
                f"{join.evidence.left_containment:.0%} / {join.evidence.right_containment:.0%}",
                _WORDS[join.evidence.cardinality],
            )
            for join in joins[:_SHOWN]
        ]
        headers = ("column", "joins with", "joinability", "shared", "contained", "cardinality")
        more = len(joins) - len(rows)
        noun = "join" if len(joins) == 1 else "joins"
        lines = [
            f"{len(joins)} {noun} found, the best first:" if joins else "No joins found.",
            tabulate(rows, headers=headers, disable_numparse=True) if rows else "",
            f"... and {more} more." if more else "",
        ]
        self._table = "\n".join(line for line in lines if line)

    def as_string(self, *args: object, **kwargs: object) -> str:
        """DataHub's rendering of the counters, and below it the joins as a table.

        Args:
            *args: What DataHub's own rendering takes, which differs between its versions.
            **kwargs: The same.

        Returns:
            Text for people.
        """
        counters = super().as_string(*args, **kwargs)  # type: ignore[arg-type]
        if not self._table:
            return counters
        page = f"\nAll of them, with their evidence: {self.page}" if self.page else ""
        return f"{counters}\n\n{self._table}{page}"
