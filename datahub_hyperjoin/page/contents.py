"""Collect the content of the HTML page, of a run or of the catalog."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from datahub_hyperjoin.export.formats import ExportFormat, reason_left_out
from datahub_hyperjoin.export.names import dialect_of, needs_quotes, quoted_name
from datahub_hyperjoin.joins import (
    Cardinality,
    Derivation,
    Join,
    JoinedColumns,
    Role,
    Statement,
    Suggestion,
    Verdict,
)
from datahub_hyperjoin.joins.describe import (
    FOLLOWING,
    MORE_TABLES,
    describe_rows,
    list_notes,
    note_in_words,
    result_in_words,
)
from datahub_hyperjoin.joins.semantic_layers import LeftOut, SafeJoin, examine
from datahub_hyperjoin.metadata.relationships import catalog_join
from datahub_hyperjoin.model.domains import Domain, find_domains
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.page.examples import list_examples, list_unmatched
from datahub_hyperjoin.page.translations import Translations, translate
from datahub_hyperjoin.sql.write import write_anti_join
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, TableId, TableProfile, labels

MOST_JOINS = 20_000
"""Maximum number of joins that a page shows."""

UNKNOWN = -1
"""Stands for a number that nobody knows; the page leaves it out."""

_BY_CARDINALITY = {Cardinality.MANY_ONE: 1, Cardinality.ONE_MANY: -1}

Record = tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChoices:
    """The joins that the page exports in each format, and the reasons to leave out the others."""

    reasons: tuple[str, ...]
    """The reasons to leave a join out, in words; rejection comes first."""

    ways: tuple[int, ...]
    """For each join, 1 if its left column refers to the right one, -1 for the reverse, and 0 if no
    format exports the join."""

    undecided: Mapping[str, tuple[int, ...]]
    """For each format, one index per join: the reason to leave the join out, or -1 if the join is
    exported. The indices apply to joins about which nobody has decided on the page."""

    accepted: Mapping[str, Mapping[int, int]]
    """For each format, the entries of `undecided` that change once people accept their joins. Maps
    the position of each such join to its new index."""

    quoted: Mapping[int, tuple[str, str]]
    """The columns of joins as SQL writes them, by the number of the join, of joins with a column
    that needs quotes; empty for the other column if it needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The content of the HTML page: tables, columns and joins, which have numbers."""

    publishers: tuple[str, ...]
    """Publishers of the tables; the publisher with the most joins comes first."""

    tables: tuple[Record, ...]
    """Name, title, publisher, row count and column count of each readable table."""

    columns: tuple[Record, ...]
    """For each column: table; path; whether it is a key column; type; number of distinct values;
    whether this number is an estimate."""

    joins: tuple["JoinRow", ...]
    """One row for each join; the script reads its values by the names of `JoinRow`."""

    sentences: tuple[tuple[str, str], ...]
    """For each join, how many rows have partners: a sentence about its left table, and one about
    its right table."""

    matched: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)
    """For each join, by its number: the rows of the left table, those with a partner, and the same
    of the right table. It is missing if these numbers are unknown."""

    anti_joins: Mapping[int, str] = field(default_factory=dict)
    """The SQL of the referring rows that have no partner, by the number of the join."""

    statements: tuple[tuple[str, str], ...]
    """For each join, its SQL and the result of running it, if it was run; without SQL, an empty
    text and the reason."""

    translations: Translations = field(default_factory=Translations)
    exports: ExportChoices

    examples: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """A few values of each joined column; none for personal columns. It is empty unless the recipe
    allows values on the page."""

    unmatched: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """A few values of the referring column that have no partner, by the number of the join; empty
    unless the recipe allows values on the page."""

    compared: Mapping[int, str]
    """How values were compared, as in `compared as countries`, by the number of the join. It is
    missing if all were compared as written, and for joins through a crosswalk."""

    crosswalks: Mapping[int, tuple[str, str, str, str, str]]
    """For each join through a crosswalk, by its number: the crosswalk's title, its columns for the
    left and for the right side, and the SQL and the note as in `statements`."""

    lone: tuple[int, ...] = ()
    """The numbers of the joins that only a crosswalk connects. They are counted apart."""

    further: Mapping[int, tuple[tuple[str, str], ...]]
    """For each join on a composite key, by the join's number: the paths of all its column pairs but
    the first. The left column comes first in each pair."""

    domains: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """For each value domain, its name and its columns, the representative column first. The largest
    domain comes first."""

    signal_names: tuple[str, ...] = ()

    signals: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """For each join, by its number: its probability by all signals, then by each signal alone in
    the order of `signal_names`."""

    declared: tuple[tuple[str, str], ...] = ()
    """The referring and the referenced columns of foreign keys that no values confirm."""

    left_out: int = 0

    derived: tuple[tuple[str, str, tuple[tuple[int, int], ...]], ...] = ()
    """For each reason, in brief and in words, the columns of the joins that follow from others."""

    copies: tuple[tuple[str, str], ...] = ()
    """The names of the tables that are copies, each with that of its original."""


class JoinRow(NamedTuple):
    """A join as the script of the page reads it."""

    left: int
    """Number of the left column, as in `Contents.columns`."""
    right: int
    rank: int
    """Rank of the right column as a suggestion for the left one; 0 if it is none."""
    score: float
    reverse_rank: int
    """Rank of the left column as a suggestion for the right one; 0 if it is none."""
    reverse_score: float
    shared: int
    left_containment: float
    right_containment: float
    cardinality: str
    left_fan_out: float
    right_fan_out: float
    notes: str
    role: int
    """The role's place in the order of use."""
    direction: int
    """1 if the left column refers to the right one, -1 for the reverse, 0 without a direction."""
    domain: int
    """Number of the value domain, or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJoin:
    """A join of the page, with its SQL and its places in a run."""

    join: Join

    known: Join
    """The join as DataHub holds it, with the same table on the left."""

    statement: Statement = Statement()  # noqa: RUF009 - it is frozen
    steps: Statement = Statement()  # noqa: RUF009 - it is frozen
    """The SQL of both steps of a join through a crosswalk."""

    forward: Suggestion | None = None
    """The suggestion of the right column for the left column; None if there is none."""

    backward: Suggestion | None = None
    domain: int = -1

    def row(self, numbers: Mapping[ColumnId, int]) -> JoinRow:
        """Return the join with the numbers of its columns."""
        join, evidence = self.join, self.join.evidence
        # Two digits are shown; rounded to three first, 0.9954 would be shown as 0.99.
        (rank, score), (reverse_rank, reverse_score) = (
            (each.rank if each else 0, round((each or join).joinability, 4))
            for each in (self.forward, self.backward)
        )
        return JoinRow(
            left=numbers[join.left],
            right=numbers[join.right],
            rank=rank,
            score=score,
            reverse_rank=reverse_rank,
            reverse_score=reverse_score,
            shared=evidence.shared if evidence else UNKNOWN,
            left_containment=round(evidence.left_containment, 4) if evidence else UNKNOWN,
            right_containment=round(evidence.right_containment, 4) if evidence else UNKNOWN,
            cardinality=join.cardinality.value,
            left_fan_out=float(f"{evidence.left_fan_out:.3g}") if evidence else UNKNOWN,
            right_fan_out=float(f"{evidence.right_fan_out:.3g}") if evidence else UNKNOWN,
            notes="; ".join(list_notes(join)),
            role=join.role.place,
            direction=_direction(join),
            domain=self.domain,
        )


def _direction(join: Join) -> int:
    """Return 1 or -1 if a join leads from left to right or back, 0 if it has no direction."""
    # A join without a role leads from many rows to one.
    if join.referenced:
        return 1 if join.referenced == join.right else -1
    return 0 if join.known_role else _BY_CARDINALITY.get(join.cardinality, 0)


def collect(
    shown: Sequence[ShownJoin],
    *,
    tables: Mapping[TableId, tuple[int, int]],
    titles: Mapping[TableId, str],
    columns: Mapping[ColumnId, Record],
    note: Callable[[Statement], str],
) -> Contents:
    """Collect what the pages of a run and of the catalog have in common."""
    known = [each.known for each in shown]
    ends = [end for each in shown for end in (each.join.left, each.join.right)]
    publishers = _number_publishers(tables, ends)
    numbers = {table: number for number, table in enumerate(tables)}
    called = labels(titles)
    places = {column: number for number, column in enumerate(columns)}
    compared = {at: words for at, join in enumerate(known) if (words := note_in_words(join))}
    return Contents(
        publishers=tuple(publishers),
        tables=tuple(
            (table.name, titles[table], publishers[_publisher_of(table)], *counts)
            for table, counts in tables.items()
        ),
        columns=tuple((numbers[one.table], one.path, *facts) for one, facts in columns.items()),
        joins=tuple(each.row(places) for each in shown),
        sentences=tuple(_describe_both(join, called) for join in known),
        matched=_count_matched(known),
        anti_joins={
            at: sql
            for at, each in enumerate(shown)
            if each.statement.sql and _drops_rows(each.known)
            if (sql := write_anti_join(each.statement))
        },
        statements=tuple((each.statement.sql, note(each.statement)) for each in shown),
        translations=translate(
            {at: each.statement for at, each in enumerate(shown)},
            {at: each.steps for at, each in enumerate(shown) if each.join.via},
            differing={at for at, join in enumerate(known) if join.compared_as},
        ),
        exports=choose_exports(known),
        compared=compared,
        crosswalks={
            at: (titles[via[0].table], via[0].path, via[1].path, steps.sql, note(steps))
            for at, (via, steps) in enumerate((each.join.via, each.steps) for each in shown)
            if via
        },
        further={
            at: tuple((left.path, right.path) for left, right in each.join.further)
            for at, each in enumerate(shown)
            if each.join.further
        },
    )


def list_contents(  # noqa: PLR0913 - one for each part of the page
    profiles: Sequence[TableProfile],
    *,
    keys: Sequence[ColumnId],
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
    declared: Sequence[Join] = (),
    copies: Sequence[tuple[TableId, TableId]] = (),
    lone: Sequence[Join] = (),
    statements: Mapping[JoinedColumns, Statement] = MappingProxyType({}),
    contributions: Mapping[Pair, Contributions] = MappingProxyType({}),
    derived: Mapping[Derivation, Sequence[Join]] = MappingProxyType({}),
    values: bool = False,
) -> Contents:
    """Collect what the page of a run shows; `write_page` has the meaning of the arguments."""
    column_profiles = {column.id: column for profile in profiles for column in profile.columns}
    every = [*joins, *lone]
    domains = find_domains(every, column_profiles)
    shown = _shown(every[:MOST_JOINS], suggestions, domains, statements)
    related = chain(every[:MOST_JOINS], *derived.values())
    ends = {end for join in related for end in (join.left, join.right)}
    columns, is_key = sorted({*keys, *ends}), {*keys}
    places = {column: number for number, column in enumerate(columns)}
    readable = sorted((it for it in profiles if not it.fault), key=lambda each: each.table.id)
    contents = collect(
        shown,
        tables={each.table.id: (each.rows, len(each.columns)) for each in readable},
        titles={profile.table.id: profile.table.title for profile in profiles},
        columns={one: _facts(column_profiles[one], is_key=one in is_key) for one in columns},
        note=result_in_words,
    )
    alone = {(join.left, join.right) for join in lone}
    return replace(
        contents,
        examples=list_examples(every, column_profiles, places) if values else {},
        unmatched=list_unmatched(every, profiles) if values else {},
        lone=tuple(
            at for at, each in enumerate(shown) if (each.join.left, each.join.right) in alone
        ),
        domains=tuple(_domain(domain, places) for domain in domains),
        signal_names=tuple(next(iter(contributions.values())).alone) if contributions else (),
        signals={
            at: tuple(round(share, 2) for share in (each.together, *each.alone.values()))
            for at, join in enumerate(shown)
            if (each := contributions.get(join.join.pairs[0]))
        },
        declared=tuple(map(_ends, declared)),
        left_out=len(every) - len(shown),
        derived=_number_derived(derived, places),
        copies=tuple((str(copy), str(original)) for copy, original in copies),
    )


def _number_derived(
    derived: Mapping[Derivation, Sequence[Join]], places: Mapping[ColumnId, int]
) -> tuple[tuple[str, str, tuple[tuple[int, int], ...]], ...]:
    return tuple(
        (
            MORE_TABLES[why],
            FOLLOWING[why],
            tuple((places[join.left], places[join.right]) for join in some[:MOST_JOINS]),
        )
        for why, some in derived.items()
    )


def _facts(profile: ColumnProfile, *, is_key: bool) -> Record:
    return is_key, profile.type_in_words, profile.distinct, profile.distinct_is_estimated


def _shown(
    joins: Sequence[Join],
    suggestions: Sequence[Suggestion],
    domains: Sequence[Domain],
    statements: Mapping[JoinedColumns, Statement],
) -> list[ShownJoin]:
    """Add the suggestions, value domains and SQL of joins, whose order stays."""
    by_pair = {(each.query, each.candidate): each for each in suggestions}
    domain_of = {one: number for number, domain in enumerate(domains) for one in domain.members}
    none = Statement()
    return [
        ShownJoin(
            join=join,
            known=catalog_join(join).seen_from(join.left.table),
            statement=statements.get(join.pairs, none),
            steps=statements.get(join.steps, none),
            forward=by_pair.get((join.left, join.right)),
            backward=by_pair.get((join.right, join.left)),
            domain=_common_domain(join, domain_of),
        )
        for join in joins
    ]


def _common_domain(join: Join, domain_of: Mapping[ColumnId, int]) -> int:
    """Return the number of the value domain that contains both columns; -1 if none does."""
    # Only joins of the role "same domain" have one.
    left, right = domain_of.get(join.left, -1), domain_of.get(join.right, -1)
    return left if left == right and join.role is Role.SAME_DOMAIN else -1


def _domain(domain: Domain, places: Mapping[ColumnId, int]) -> tuple[str, tuple[int, ...]]:
    members = dict.fromkeys([domain.representative, *domain.members])
    return domain.name, tuple(places[member] for member in members if member in places)


def _describe_both(join: Join, titles: Mapping[TableId, str]) -> tuple[str, str]:
    """Describe the rows of both tables of a join, each in a sentence."""
    left, right = (titles[table] for table in join.tables)
    return describe_rows(join, (left, right)), describe_rows(join.reversed, (right, left))


def _count_matched(joins: Sequence[Join]) -> dict[int, tuple[int, int, int, int]]:
    """Map the numbers of joins to the rows of both tables and those with a partner, if known."""
    return {
        number: (left.total, left.matched, right.total, right.matched)
        for number, join in enumerate(joins)
        if (left := join.left_counts) and (right := join.right_counts)
        if left.matched is not None and right.matched is not None
    }


def _drops_rows(join: Join) -> bool:
    """Return whether rows of the referring table have no partner."""
    # Of a join without a direction, either table may have such rows.
    sides = {join.right: join.left_counts, join.left: join.right_counts}
    counted = sides.values() if join.referenced is None else [sides.get(join.referenced)]
    return any(each and each.matched is not None and not each.are_all_matched for each in counted)


def _ends(join: Join) -> tuple[str, str]:
    """Return the referring and the referenced columns of a join as text."""
    referring, referenced = zip(*join.directed_pairs, strict=True)
    return " and ".join(map(str, referring)), " and ".join(map(str, referenced))


_FILE_PLATFORMS = {"abs", "file", "gcs", "hdfs", "s3"}
"""DataHub's platforms whose tables have the names of files."""


def _publisher_of(table: TableId) -> str:
    """Return the publisher of a table: its first folder or its schema, or else its platform.

    Example:
        >>> _publisher_of(TableId("file", "lahman/core/Batting.csv"))
        'lahman'
        >>> _publisher_of(TableId("postgres", "shop.sales.orders"))
        'shop.sales'
    """
    folder, slash, _ = table.name.partition("/")
    if slash:
        return folder
    # The dot in the name of a file begins its extension.
    schema = "" if table.platform in _FILE_PLATFORMS else table.name.rpartition(".")[0]
    return schema or table.platform


def _number_publishers(tables: Iterable[TableId], ends: Iterable[ColumnId]) -> dict[str, int]:
    """Number the publishers; the one with the most joins comes first."""
    counts = Counter(_publisher_of(end.table) for end in ends)
    ordered = sorted({*map(_publisher_of, tables)}, key=lambda name: (-counts[name], name))
    return {name: number for number, name in enumerate(ordered)}


# The browser filters the joins and writes the files. Which joins repeat no rows, and why others
# are left out, is decided here, by the rules of `hyperjoin export`.

_FORMATS = {"dbt": ExportFormat.DBT_TESTS, "mermaid": ExportFormat.MERMAID}
"""The export formats that contain safe joins only, by their names in the page's script."""

_REASONS = tuple(LeftOut)


def choose_exports(joins: Sequence[Join]) -> ExportChoices:
    """Choose the joins that the page exports."""
    # A rejection is left to the page, whose readers may change it.
    undecided = [
        examine(join.decided(None if join.verdict is Verdict.REJECTED else join.verdict))
        for join in joins
    ]
    # An acceptance only helps a join that the data did not verify, or that is improbable.
    accepted = {
        number: examine(join.decided(Verdict.ACCEPTED))
        for number, join in enumerate(joins)
        if undecided[number] in {LeftOut.UNVERIFIED, LeftOut.IMPROBABLE}
    }
    quoted = {at: (_quoted(join.left), _quoted(join.right)) for at, join in enumerate(joins)}
    return ExportChoices(
        quoted={number: pair for number, pair in quoted.items() if any(pair)},
        reasons=tuple(reason.value for reason in _REASONS),
        ways=tuple(
            _way(join, accepted.get(number, undecided[number])) for number, join in enumerate(joins)
        ),
        undecided={
            name: tuple(_reason(each, it) for each in undecided) for name, it in _FORMATS.items()
        },
        accepted={
            name: {
                number: _reason(each, export_format)
                for number, each in accepted.items()
                if each is not undecided[number]
            }
            for name, export_format in _FORMATS.items()
        },
    )


def _reason(examined: SafeJoin | LeftOut, export_format: ExportFormat) -> int:
    """Return the index of the reason why an export omits a join; -1 if the export contains it."""
    if not isinstance(examined, LeftOut):
        reason = reason_left_out(examined, export_format, {})
        return _REASONS.index(reason) if reason else -1
    return _REASONS.index(examined)


def _quoted(column: ColumnId) -> str:
    path = column.path
    return quoted_name(path, dialect_of(column.table)) if needs_quotes(path) else ""


def _way(join: Join, examined: SafeJoin | LeftOut) -> int:
    if isinstance(examined, LeftOut):
        return 0
    is_left = examined.referring == join.left.table
    return 1 if is_left and (join.left.path, join.right.path) in examined.columns else -1
