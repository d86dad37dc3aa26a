"""The report of a run: counters, stages, warnings and the best joins."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StaleEntityRemovalSourceReport,
)
from datahub.utilities.lossy_collections import LossyList
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import (
    CrosswalkJoin,
    Derivation,
    Join,
    JoinedColumns,
    Statement,
    Verdict,
)
from datahub_hyperjoin.joins.lists import list_best_joins
from datahub_hyperjoin.tables import Pair, TableId
from datahub_hyperjoin.visible import logger_of, visible

# DataHub's command line shows the progress of its own loggers, and only warnings of others.
logger = logger_of("datahub.hyperjoin")


@dataclass
class HyperJoinReport(StaleEntityRemovalSourceReport):
    """DataHub's ingestion report, extended with this source's counters and joins."""

    datasets_in_catalog: int = 0
    datasets_not_read: LossyList[str] = field(default_factory=LossyList)
    """Datasets of the catalog that are no table of the recipe's folder and connections."""
    files_matched: LossyList[str] = field(default_factory=LossyList)
    """Files whose datasets are not named after the path of the file below `catalog.folder`."""
    joins_declared: int = 0
    joins_accepted: int = 0
    joins_rejected: int = 0
    deleted_suggestions: LossyList[str] = field(default_factory=LossyList)
    """Suggestions of the last run that people deleted. They count as rejected from now on, unless
    one of the columns lists the other among its confirmed joins."""
    files_not_read: int = 0
    """Number of files below the recipe's folders that are not tables, except descriptions and
    checksums."""
    tables_found: int = 0
    tables_profiled: int = 0
    tables_from_profile_store: int = 0
    """Profiled tables that were not read again because `profile.store` had their profiles."""
    tables_written_again: int = 0
    """Tables whose files were written again with the same content, so that they are unchanged."""
    tables_skipped: int = 0
    columns_profiled: int = 0
    personal_columns: int = 0
    """Profiled columns whose values are personal, so that their samples are hashes."""
    columns_called_row_name: int = 0
    """Number of first columns that were named `row_name`, because their file gives them no name."""
    key_columns: int = 0
    expected_pairs: int = 0
    """Number of pairs of columns that share values and are kept, as estimated after profiling."""
    estimated_memory_mib: int = 0
    """Memory that this process will need at most, as estimated after profiling."""
    usable_memory_mib: int = 0
    """Memory that this process may use: `model.max_memory`, or that of the container or machine."""
    estimated_cpu_seconds: int = 0
    """Processor time to compare, rank and verify, as estimated after profiling."""
    columns_with_partners_left_out: int = 0
    """Columns that share values with so many others that only the best pairs are considered."""
    approximate_searches: int = 0
    """Searches that compare each key column with a part of the lake, since more than 65,536 columns
    of a kind differ in their cells, or more than 262,144 in their names. They may miss columns that
    are hardly similar."""
    hyperedges_within_tables: int = 0
    hyperedges_across_tables: int = 0
    largest_hyperedge_across_tables: int = 0
    llm_questions: int = 0
    """Questions to a language model: for the keys of columns, and for name variants."""
    llm_answers: int = 0
    llm_answers_from_cache: int = 0
    llm_requests: int = 0
    llm_tokens: int = 0
    """Tokens of requests and answers; an upper estimate if the endpoint does not count tokens."""
    llm_cost: float = 0.0
    models_trained: int = 0
    suggestions: int = 0
    joins: int = 0
    joins_that_follow: int = 0
    """Joins that are not listed, because they follow from others or join no things."""
    joins_of_several_columns: int = 0
    joins_from_profile_store: int = 0
    """Number of joins taken from `profile.store`, as nothing had changed since they were stored."""
    joins_not_verified: int = 0
    """Additional joins suggested only by names and the catalog, because a table was not read."""
    value_domains: int = 0
    """Groups of at least three columns that hold the same kind of values, without a key among them.
    In a large group, relationships connect one column with all others."""
    copies_of_tables: int = 0
    """Tables with the content of another table, which they do not join."""
    joins_through_crosswalks: int = 0
    """Joins of codes with names through a crosswalk: a table that holds both."""
    joins_with_sql: int = 0
    """Joins with SQL. What was run of it returned as many rows as the evidence predicts."""
    joins_with_sql_not_run: int = 0
    """Joins whose SQL was only written. `emit.run_sql: all` runs it, too."""
    joins_with_normalised_sql: int = 0
    """Joins with SQL that compares values not as written but in another form, such as lower case.
    """
    joins_without_sql: LossyList[str] = field(default_factory=LossyList)
    """Joins that have no SQL, with the reasons."""
    sql_from_profile_store: int = 0
    """Joins whose SQL was not run again because `profile.store` had the result."""
    joins_without_query: int = 0
    """Joins without a `query`, for example because no single database has both tables."""
    joins_skipped_as_lineage_cycles: int = 0
    """Joins that are not written as lineage because they would close a cycle."""
    joins_watched: int = 0
    joins_broken: LossyList[str] = field(default_factory=LossyList)
    """Watched joins that do not hold or cannot be checked, with SQL for the rows that find no row.
    """
    unchanged_aspects: int = 0
    """Aspects that the catalog already has, so that they were not written again."""
    page: str = ""
    """Path of the HTML page, once it is written."""
    _table: str = ""

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Return a context manager that measures how long a stage takes."""
        return self.new_stage(name)

    def count(self, name: str, by: float) -> None:
        """Add an amount to a counter of this report."""
        setattr(self, name, getattr(self, name) + by)

    def say(self, line: str) -> None:
        """Show one line of progress."""
        logger.info(line)

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Report a problem that does not stop the run."""
        self.warning(title=title, message=message, context=visible(context))

    def show_catalog_facts(
        self,
        datasets: Collection[TableId],
        facts: CatalogFacts,
        deleted: Sequence[Pair],
        *,
        read: Collection[TableId],
    ) -> None:
        """Report the catalog's datasets and joins, and what people decided or deleted."""
        for left, right in deleted:
            self.deleted_suggestions.append(f"{left} = {right}")
        for dataset in sorted({*datasets} - {*read}):
            self.datasets_not_read.append(str(dataset))
        self.datasets_in_catalog = len(datasets)
        composite = sum(key.is_composite for key in facts.keys.foreign)
        declared = sum(bool(evidence.declared) for evidence in facts.pairs.values())
        self.joins_declared = declared + composite
        composites = Counter(evidence.verdict for evidence in facts.composites.values())
        self.joins_accepted = len(facts.accepted) + composites[Verdict.ACCEPTED]
        self.joins_rejected = len(facts.rejected) + composites[Verdict.REJECTED]

    def show_matches(self, matched: Mapping[TableId, TableId]) -> None:
        """List the files whose names differ from the names of their datasets."""
        for file, dataset in sorted(matched.items()):
            self.files_matched.append(f"{file} is {dataset}")

    def show_missing_sql(self, statements: Mapping[JoinedColumns, Statement]) -> None:
        """Add the joins without SQL to the report, each with the reason."""
        for pairs, statement in sorted(statements.items()):
            if statement.reason:
                equal = " and ".join(f"{left} = {right}" for left, right in pairs)
                self.joins_without_sql.append(f"{equal}: {statement.reason}")

    def show_watched(self, watched: Sequence[tuple[str, str]]) -> None:
        """Report watched joins: of each, what is wrong with it, if anything, and SQL to see it."""
        self.joins_watched = len(watched)
        for news, sql in watched:
            if news:
                in_one_line = re.sub(r"\n *", " ", sql)
                self.joins_broken.append(f"{news}: {in_one_line}" if sql else news)
                self.warn(
                    "Watched join broken",
                    "Rows no longer find their row, or cannot be counted. Correct the data, or "
                    "reject the join. `joins_broken` has SQL for the rows",
                    news,
                )

    def show_joins(
        self,
        joins: Sequence[Join],
        crosswalks: Sequence[CrosswalkJoin] = (),
        named: Sequence[Join] = (),
        derived: Mapping[Derivation, int] | None = None,
    ) -> None:
        """Put a table of the best joins, verified or not, at the end of the report.

        `derived` counts the joins that are not listed, by the reason.
        """
        self._table = list_best_joins(joins, crosswalks, named, derived)

    def as_string(self, *args: object, **kwargs: object) -> str:
        """Format the report as text: the counters, then the table of the best joins."""
        counters = super().as_string(*args, **kwargs)  # type: ignore[arg-type]
        if not self._table:
            return counters
        page = f"\nAll joins, with their evidence: {self.page}" if self.page else ""
        return f"{counters}\n\n{self._table}{page}"
