"""Find joins, from the tables of a run to findings: the one pipeline of all ways to start a run.

The DataHub source, `hyperjoin find`, Python and the action list their tables, each in its way, and
call `find`. Each stage takes and returns values, and reports its counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from datahub_hyperjoin import __version__
from datahub_hyperjoin.budget import check_budget
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.findings import Findings, KeptFindings, NotedProgress
from datahub_hyperjoin.joins import (
    Evidence,
    Join,
    JoinedColumns,
    RunSql,
    Statement,
    Suggestion,
)
from datahub_hyperjoin.joins.lists import shown_first
from datahub_hyperjoin.locations import File, Relation
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.config.sections import require_extras
from datahub_hyperjoin.model.domains import find_domains, set_aside
from datahub_hyperjoin.model.encode import Elsewhere, Encoding, Epoch, encode
from datahub_hyperjoin.model.errors import EmptyIndexError, NothingToLearnError
from datahub_hyperjoin.model.hypergraph.join_graph import find_hyperedges
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.pair_scoring import list_contributions
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.signals.copies import find_copies
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.routes import need_spark
from datahub_hyperjoin.spark.session import OptionalSession, Session
from datahub_hyperjoin.stages.composite_joins import find_composite_joins, with_composite_joins
from datahub_hyperjoin.stages.crosswalk_joins import (
    choose_evidence,
    collect_crosswalk_joins,
    measure_with_crosswalks,
    with_crosswalks,
)
from datahub_hyperjoin.stages.named_joins import (
    describe_unread,
    find_named_joins,
    find_unverified_keys,
)
from datahub_hyperjoin.stages.pair_evidence import (
    DataReader,
    confirm_pairs,
    measure_joins,
    with_row_counts,
)
from datahub_hyperjoin.stages.part_joins import add_part_joins
from datahub_hyperjoin.stages.profiling import drop_unknown_columns, open_store, read_profiles
from datahub_hyperjoin.stages.role_decisions import (
    ask_about_keys,
    decide_joins,
    propose_references,
    rank_partners,
    report_answers,
)
from datahub_hyperjoin.tables import DescribedTable, Pair, Table, TableId, TableProfile, pair_of
from datahub_hyperjoin.wording import number_of

if TYPE_CHECKING:
    from datahub_hyperjoin.sql import FileAddresses

_MOST_COPIES = 9
"""Maximum number of copies of tables that are named in warnings."""


@dataclass(frozen=True, kw_only=True)
class SqlConfig:
    """How the SQL of the joins names files, and which of it is run."""

    run: RunSql = RunSql.SHOWN
    timeout: float = 60.0
    """Seconds that a statement may take."""
    folder: Path | None = None
    """The folder in which files are named; None if they have no common one."""
    files_at: str = ""
    """What stands for the folder in the SQL."""

    @property
    def addresses(self) -> "FileAddresses | None":
        """How the SQL names files; None if they have no common folder."""
        from datahub_hyperjoin.sql import FileAddresses  # noqa: PLC0415 (the parser)

        return FileAddresses(folder=self.folder, base=self.files_at) if self.folder else None


@dataclass(frozen=True, kw_only=True)
class FindConfig:
    """What `find` reads, how it ranks, and whether it writes SQL."""

    profile: ProfileConfig = field(default_factory=ProfileConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    sql: SqlConfig | None = None
    """None writes no SQL."""
    spares_spark: bool = False
    """Whether Spark is started only for what surely needs it, even if a size is unknown."""


@dataclass(frozen=True, kw_only=True)
class LakeComparison:
    """The findings of a run, and the intermediate results behind them."""

    findings: Findings
    index: LakeIndex
    encoding: Encoding
    ranked: tuple[Suggestion, ...]
    """The suggestions of the ranking, before verification."""
    measured: Mapping[Pair, Evidence]
    """The evidence of all pairs that were compared on the data, whether or not they join."""


def index_lake(
    profiles: Sequence[TableProfile],
    config: ModelConfig,
    facts: CatalogFacts,
    progress: Progress,
    *,
    knows_copies: bool = False,
) -> LakeIndex:
    """Find the key columns of a lake, and build its join graph and hypergraph."""
    require_extras(config)
    lake = Lake.from_tables(profiles).in_order()
    copies = find_copies(lake, _views(profiles)) if knows_copies else None
    index = build_lake_index(lake, config, facts, progress.say, copies=copies)
    report_answers(index.naming.counts, index.naming.failures, progress)
    within, across = find_hyperedges(lake, index.joins, config.setting)
    progress.count("key_columns", len(index.keys))
    progress.count("columns_with_partners_left_out", index.overlap.cut)
    progress.count("hyperedges_within_tables", len(within))
    progress.count("hyperedges_across_tables", len(across))
    progress.count(
        "largest_hyperedge_across_tables", max(map(len, index.joins.components), default=0)
    )
    return index


def _views(profiles: Sequence[TableProfile]) -> set[TableId]:
    places = ((each.table.id, each.table.location) for each in profiles)
    return {id_ for id_, place in places if isinstance(place, Relation | File) and place.is_view}


def embed(
    index: LakeIndex, config: ModelConfig, progress: Progress, elsewhere: Elsewhere | None = None
) -> Encoding:
    """Compute an embedding of each column, with a saved or a new model."""

    def watch(epoch: Epoch) -> None:
        if epoch.resumed:
            last = epoch.number - 1
            progress.say(f"Resuming training after epoch {last}, where an earlier run ended")
        # An upper bound: training may stop early.
        remaining = epoch.seconds * (config.training.epochs - epoch.number)
        progress.say(
            f"Epoch {epoch.number} of at most {config.training.epochs}: loss {epoch.loss:.3f}, "
            f"held-out recall {epoch.recall:.2f}, at most {remaining:.0f} s left"
        )

    encoding = encode(index, config, watch, elsewhere)
    progress.count("models_trained", int(encoding.trained))
    return encoding


def _report_findings(findings: Findings, progress: Progress) -> None:
    composite = sum(bool(join.further) for join in findings.joins)
    progress.count("suggestions", len(findings.suggestions))
    progress.count("joins", len(findings.joins))
    progress.count("joins_that_follow", len(findings.all_joins) - len(findings.joins))
    progress.count("joins_of_several_columns", composite)
    progress.count("joins_not_verified", len(findings.named))
    progress.count("joins_through_crosswalks", len(findings.crosswalks))
    progress.count("value_domains", len(findings.domains))
    progress.count("copies_of_tables", len(findings.copies))
    lines = [f"{copy} has the content of {original}" for copy, original in findings.copies]
    rest = len(lines) - _MOST_COPIES
    more = [f"and {number_of(rest, 'more table')}, such as {lines[-1]}"] if rest > 0 else []
    for line in lines[:_MOST_COPIES] + more:
        progress.warn(
            "Copy of a table",
            "It joins no other copy, and other tables join the copy in their own folder or schema, "
            "else the original. Accept a join with the copy to have it nevertheless",
            line,
        )
    for table in sorted(findings.unverified):
        progress.warn(
            "Table not verified",
            "It could be profiled, but no longer be read when joins were verified. Its joins of "
            "earlier runs stay as they are. Run again when it can be read",
            str(table),
        )


def find(
    catalog: Catalog, config: FindConfig, progress: Progress, session: OptionalSession
) -> Findings:
    """Find the joins of a run's tables, verify them on the data, and write their SQL.

    Args:
        catalog: The tables, what is known of columns and pairs, and people's decisions. Accepted
            pairs are suggested whatever their score, rejected pairs never.
        session: Starts the Spark session; not called if there is nothing to read with it.

    Returns:
        Suggestions and joins, with the profiles that they are based on.
    """
    profiles, facts, starts = _read(catalog, config, progress, session)
    findings = _find(profiles, facts, config, progress, starts)
    _report_findings(findings, progress)
    if catalog.filed:
        # Decisions name tables as DataHub does, whose URNs take long to import.
        from datahub_hyperjoin.catalog.filed_decisions import warn_of_unknown_columns  # noqa: PLC0415

        warn_of_unknown_columns(catalog.filed, profiles, progress.warn)
    if config.sql:
        with progress.stage("Running the SQL"):
            findings = _with_sql(findings, config, config.sql, progress, session)
    return findings


def compare(
    catalog: Catalog, config: FindConfig, progress: Progress, session: OptionalSession
) -> tuple[LakeComparison, CatalogFacts]:
    """Find joins as `find` does, but keep the intermediate results, for explanations.

    Returns:
        The findings with what they follow from, and the catalog facts.
    """
    profiles, facts, starts = _read(catalog, config, progress, session)
    return _compare_values(profiles, facts, config, progress, starts), facts


def measure_again(
    joins: Sequence[Join],
    profiles: Sequence[TableProfile],
    config: FindConfig,
    progress: Progress,
    session: OptionalSession,
) -> Findings:
    """Measure given joins once more, with the rows that find a partner, in the same way as a run.

    Joins whose tables cannot be read, or whose columns are gone or empty, are left out.
    """
    read = [profile for profile in profiles if not profile.fault]
    filled = (column for profile in read for column in profile.columns if column.distinct)
    columns = {column.id for column in filled}
    ends = {join.pairs: {end for pair in join.pairs for end in pair} for join in joins}
    joins = [join for join in joins if ends[join.pairs] <= columns]
    tables = {end.table for join in joins for end in ends[join.pairs]}
    read = [profile for profile in read if profile.table.id in tables]
    unverified, measured = set[TableId](), list[Join]()
    if joins:
        # Nothing is ranked, so nothing is asked about names, and no decision counts.
        model = replace(config.model, llm=None)
        index = build_lake_index(Lake.from_tables(read).in_order(), model, CatalogFacts())
        listed, store = [each.table for each in read], open_store(config.profile, progress)
        starts = _starts(listed, config, session)
        reader = DataReader(index, listed, starts, store, unverified.add)
        measured = measure_joins(joins, reader)
    return Findings(
        profiles=tuple(profiles),
        keys=(),
        suggestions=(),
        joins=with_row_counts(measured, read),
        model_version=__version__,
        unverified=frozenset(unverified),
    )


def profile_tables_of(
    joins: Iterable[Join],
    catalog: Catalog,
    config: FindConfig,
    progress: Progress,
    session: OptionalSession,
) -> tuple[TableProfile, ...]:
    """Profile no other tables than those of the given joins."""
    ends = {table for join in joins for table in join.tables}
    tables = [table for table in catalog.tables if table.id in ends]
    return _read(replace(catalog, tables=tables), config, progress, session)[0]


def write_untested_sql(
    joins: Sequence[Join],
    profiles: Sequence[TableProfile],
    sql: SqlConfig,
    progress: Progress,
    session: OptionalSession,
) -> dict[JoinedColumns, Statement]:
    """Write the SQL of joins without running it."""
    from datahub_hyperjoin.sql import LakeInSql, SqlTest, run_joins  # noqa: PLC0415 (the parser)

    lake = LakeInSql.of(profiles, sql.addresses)
    test = SqlTest(timeout=sql.timeout, run=RunSql.NONE)
    starts = cast("Session", session)
    return run_joins(joins, lake, session=starts, test=test, progress=progress)


def _starts(
    tables: Sequence[Table], config: FindConfig, session: OptionalSession
) -> OptionalSession:
    needs_spark = not config.spares_spark or need_spark(tables, config.profile)
    return session if needs_spark else lambda: None


def _read(
    catalog: Catalog, config: FindConfig, progress: Progress, session: OptionalSession
) -> tuple[tuple[TableProfile, ...], CatalogFacts, OptionalSession]:
    """Profile the tables; return also the catalog's facts, spelled as in them, and the session."""
    starts = _starts(catalog.tables, config, session)
    with progress.stage("Profiling tables"):
        read = read_profiles(catalog.tables, starts, config.profile, progress)
        profiles = drop_unknown_columns(read, catalog.facts, progress)
        paths = (column.id for each in profiles for column in each.columns)
        return profiles, catalog.facts.spelled_by(paths), starts


def _find(
    profiles: tuple[TableProfile, ...],
    facts: CatalogFacts,
    config: FindConfig,
    progress: Progress,
    session: OptionalSession,
) -> Findings:
    model = config.model
    described = describe_unread(profiles, facts)
    findings = Findings(
        profiles=profiles, keys=(), suggestions=(), joins=(), model_version=__version__
    )
    try:
        kept = KeptFindings.of(profiles, open_store(config.profile, progress), model, facts)
        if known := kept.read(profiles, progress):
            findings = known
        else:
            noted = NotedProgress(progress)
            findings = _compare_values(profiles, facts, config, noted, session).findings
            kept.keep(findings, noted)
    except (EmptyIndexError, NothingToLearnError):
        # With one table that can be read, or none, names are all that can be compared.
        if not described and not find_unverified_keys(profiles, facts, ()):
            raise
    named: tuple[Join, ...] = ()
    if described:
        with progress.stage("Comparing names"):
            named = find_named_joins(profiles, described, model, facts, progress)
    declared = find_unverified_keys(profiles, facts, [*findings.all_joins, *named])
    if named or declared or described:
        findings = _with_named(findings, (*declared, *named), described, model.ranking.top_k)
    return findings


def _with_sql(
    findings: Findings,
    config: FindConfig,
    sql: SqlConfig,
    progress: Progress,
    session: OptionalSession,
) -> Findings:
    # The parser of SQL takes long to import, and most runs of `hyperjoin find` write none.
    from datahub_hyperjoin.sql import LakeInSql, SqlTest, find_join_sql  # noqa: PLC0415

    shown = shown_first(findings.joins, findings.crosswalks)
    statements = find_join_sql(
        [*findings.joins, *findings.crosswalks],
        LakeInSql.of(findings.profiles, sql.addresses),
        store=open_store(config.profile, progress),
        session=cast("Session", session),  # called only if a table is in a Spark catalog
        test=SqlTest(timeout=sql.timeout, run=sql.run, shown=shown),
        progress=progress,
    )
    return replace(findings, statements=statements)


def _with_named(
    findings: Findings, named: tuple[Join, ...], described: Sequence[DescribedTable], count: int
) -> Findings:
    """Extend the findings with joins that no values confirm, such as those of unread tables.

    These joins come after all verified joins.
    """
    verified = Counter(suggestion.query for suggestion in findings.suggestions)
    further = [
        replace(suggestion, rank=verified[suggestion.query] + suggestion.rank)
        for suggestion in rank_partners(named, (), count)
    ]
    suggestions = [*findings.suggestions, *(each for each in further if each.rank <= count)]
    return replace(
        findings,
        suggestions=tuple(sorted(suggestions, key=lambda each: (each.query, each.rank))),
        named=named,
        described=frozenset(table.id for table in described),
    )


def _rank(
    index: LakeIndex, encoding: Encoding, model: ModelConfig, progress: Progress
) -> tuple[Suggestion, ...]:
    """Rank the candidates of all key columns, and count the searches that were approximate."""
    approximate: list[str] = []
    with progress.stage("Ranking candidates"):
        ranked = tuple(rank(index, encoding.embeddings, model, approximate.append))
    progress.count("approximate_searches", len(approximate))
    return ranked


def _find_executor(
    session: OptionalSession, model: ModelConfig, progress: Progress
) -> Elsewhere | None:
    if model.ranking.scoring is Scoring.SIGNALS:
        return None
    # Most runs train no network.
    from datahub_hyperjoin.stages.executor_training import find_executor  # noqa: PLC0415

    return find_executor(session, progress)


def _list_pairs(index: LakeIndex, ranked: Iterable[Suggestion]) -> list[Pair]:
    """List the pairs to verify."""
    # A probable reference is verified even if the ranking did not select the pair.
    ends = {pair_of(each.query, each.candidate) for each in ranked}
    return sorted(propose_references(index) | ends)


def _compare_values(
    profiles: tuple[TableProfile, ...],
    facts: CatalogFacts,
    config: FindConfig,
    progress: Progress,
    session: OptionalSession,
) -> LakeComparison:
    """Suggest joins between tables whose rows were read, and verify the joins on the data."""
    model = config.model
    check_budget(profiles, model, facts, progress)
    with progress.stage("Building the hypergraph"):
        index = index_lake(profiles, model, facts, progress, knows_copies=True)
    with progress.stage("Encoding columns"):
        encoding = embed(index, model, progress, _find_executor(session, model, progress))
    ranked = _rank(index, encoding, model, progress)
    least, accepted = model.ranking.min_containment, facts.accepted
    unverified, store = set[TableId](), open_store(config.profile, progress)
    reader = DataReader(index, [each.table for each in profiles], session, store, unverified.add)
    with progress.stage("Verifying on the data"):
        direct, bridged = measure_with_crosswalks(_list_pairs(index, ranked), reader)
        evidence = choose_evidence(direct, bridged, accepted=accepted)
    with progress.stage("Deciding roles"):
        confirmed = confirm_pairs(evidence, min_containment=least, accepted=accepted)
        index = ask_about_keys(index, confirmed, model, progress)
        single = decide_joins(index, ranked, confirmed, facts, model.ranking)
    with progress.stage("Finding keys of several columns"):
        composite = find_composite_joins(index, facts, reader=reader, ranking=model.ranking)
        whole = with_composite_joins(single, composite)
        joins = add_part_joins(whole, facts, reader, model.ranking)
        suggestions = rank_partners(joins, ranked, model.ranking.top_k)
    measured = (index.lake, ranked, direct, bridged)
    crosswalks = collect_crosswalk_joins(*measured, joins, min_containment=least)
    joins = with_row_counts(with_crosswalks(joins, crosswalks), profiles)
    listed, derived = (joins, {}) if model.ranking.list_all else set_aside(joins, profiles)
    joined = [(join.left, join.right) for join in joins]
    findings = Findings(
        profiles=profiles,
        keys=tuple(index.lake.ids[key] for key in np.asarray(index.keys)),
        suggestions=suggestions,
        joins=listed,
        derived=derived,
        domains=find_domains(joins, dict(zip(index.lake.ids, index.lake.profiles, strict=True))),
        crosswalks=crosswalks,
        copies=index.copies.originals if index.copies else (),
        unverified=frozenset(unverified),
        contributions=list_contributions(index, encoding.embeddings, joined, model.ranking.scoring),
        model_version=f"{__version__}-{encoding.fingerprint}",
    )
    return LakeComparison(
        findings=findings, index=index, encoding=encoding, ranked=ranked, measured=evidence
    )
