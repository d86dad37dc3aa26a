"""Collect the content of the HTML page.

Records refer to each other by index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType

from datahub_hyperjoin.graphql.joins import CatalogJoin, with_left_table
from datahub_hyperjoin.graphql.published import catalog_join
from datahub_hyperjoin.graphql.sentences import describe_rows
from datahub_hyperjoin.joins import (
    Evidence,
    Join,
    JoinedColumns,
    Role,
    Statement,
    Suggestion,
    is_in_two_steps,
)
from datahub_hyperjoin.model.domains import Domain, find_domains
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.page.examples import list_examples, list_unmatched
from datahub_hyperjoin.page.exported import ExportChoices, choose_exports
from datahub_hyperjoin.page.publishers import number_publishers, publisher_of
from datahub_hyperjoin.page.translations import Translations, translate
from datahub_hyperjoin.sql.anti_join import write_anti_join
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, TableId, TableProfile

MOST_JOINS = 20_000
"""Maximum number of joins that a page shows."""

Record = tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The content of the HTML page: tables, columns and joins.

    They refer to each other by index.
    """

    publishers: tuple[str, ...]
    """Publishers of the tables; the publisher with the most joins comes first."""

    tables: tuple[Record, ...]
    """Name, title, publisher, row count and column count of each readable table."""

    columns: tuple[Record, ...]
    """For each column: table; path; whether it is a key column; type; number of distinct values;
    whether this number is an estimate."""

    joins: tuple[Record, ...]
    """One record for each join, with the values that `_Pair.record` returns.

    These are: left and right column; rank and score of the right column as a suggestion for the
    left one, then of the left one for the right one, with rank 0 if it is not suggested; number of
    shared values; containments, cardinality and fan-outs, left side first; notes of the catalog;
    the role's place in the order of use; 1 if the left column refers to the right one, -1 for the
    reverse and 0 without a direction; and the value domain, or -1.
    """

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
    """The statements of joins in other dialects."""

    exports: ExportChoices
    """The joins that the page exports to dbt and Mermaid."""

    examples: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """A few values of each joined column; none for personal columns. It is empty unless the recipe
    allows values on the page."""

    unmatched: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """A few values of the referring column that have no partner, by the number of the join; empty
    unless the recipe allows values on the page."""

    compared: Mapping[int, str]
    """The form in which values were compared, such as `countries`, by the number of the join. It is
    missing for values compared as written and for joins through a crosswalk."""

    crosswalks: Mapping[int, tuple[str, str, str, str, str]]
    """Facts about each join through a crosswalk, by the join's number. They are the crosswalk's
    title, the crosswalk's column for the left side, its column for the right side, and the SQL and
    the note as in `statements`."""

    lone: tuple[int, ...] = ()
    """The numbers of the joins that only a crosswalk connects. They are counted apart."""

    further: Mapping[int, tuple[tuple[str, str], ...]]
    """For each join on a composite key, by the join's number: the paths of all its column pairs but
    the first. The left column comes first in each pair."""

    domains: tuple[tuple[str, tuple[int, ...]], ...]
    """For each value domain, its name and its columns, the representative column first. The largest
    domain comes first."""

    signal_names: tuple[str, ...] = ()
    """Names of the signals whose probabilities `signals` lists."""

    signals: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """For each join, by its number: its probability by all signals, then by each signal alone in
    the order of `signal_names`."""

    declared: tuple[tuple[str, str], ...] = ()
    """The referring and the referenced columns of foreign keys that no values confirm."""

    left_out: int
    """Number of joins that the page does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A pair of columns that join, with the suggestion for each direction."""

    join: Join
    domain: int
    """Index of the value domain that holds both columns; -1 if there is none."""
    forward: Suggestion | None
    """The suggestion of the right column for the left column; None if there is none."""
    backward: Suggestion | None
    """The suggestion of the left column for the right column; None if there is none."""

    def record(self, indices: dict[ColumnId, int]) -> Record:
        """Return the join as a record for the page's script, with indices instead of columns."""
        join, evidence = self.join, self.join.measured
        return (
            indices[join.left],
            indices[join.right],
            *_rank_and_score(self.forward, join),
            *_rank_and_score(self.backward, join),
            *_evidence_values(evidence),
            "; ".join(join.catalog.descriptions),
            join.role.place,
            _direction(join),
            self.domain,
        )


def _direction(join: Join) -> int:
    """Return 1 if a join leads from left to right, -1 from right to left, 0 if it has no direction.

    A join leads to the column that it refers to.
    """
    if join.referenced is None:
        return 0
    return 1 if join.referenced == join.right else -1


def _rank_and_score(suggestion: Suggestion | None, join: Join) -> Iterator[int | float]:
    yield suggestion.rank if suggestion else 0
    # Two digits are shown; rounded to three first, 0.9954 would be shown as 0.99.
    yield round(suggestion.joinability if suggestion else join.joinability, 4)


def _evidence_values(evidence: Evidence) -> Iterator[str | int | float]:
    yield evidence.shared
    yield round(evidence.left_containment, 4)
    yield round(evidence.right_containment, 4)
    yield evidence.cardinality.value
    yield float(f"{evidence.left_fan_out:.3g}")
    yield float(f"{evidence.right_fan_out:.3g}")


def list_contents(  # noqa: PLR0913 - one for each part of the page
    profiles: Sequence[TableProfile],
    *,
    keys: Sequence[ColumnId],
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
    declared: Sequence[Join] = (),
    lone: Sequence[Join] = (),
    statements: Mapping[JoinedColumns, Statement] = MappingProxyType({}),
    contributions: Mapping[Pair, Contributions] = MappingProxyType({}),
    values: bool = False,
) -> Contents:
    """Collect the tables, columns and joins that the HTML page shows.

    Args:
        profiles: Profiles of all tables; those with an error are not listed.
        joins: The suggested joins, with evidence, best first. The page keeps their order.
        lone: The joins that only a crosswalk connects, which come last.
        statements: The SQL of joins, or the reasons why they have none.
        contributions: The signals of joins, by their first pairs of columns.
        values: Whether the page shows a few values of the joined columns.
    """
    column_profiles = {column.id: column for profile in profiles for column in profile.columns}
    every = [*joins, *lone]
    domains = find_domains(every, column_profiles)
    pairs = _with_suggestions(every, suggestions, domains)
    shown = pairs[:MOST_JOINS]
    known = [with_left_table(catalog_join(pair.join), pair.join.left.table) for pair in shown]
    titles = {profile.table.id: profile.table.title for profile in profiles}
    ends = [end for pair in shown for end in (pair.join.left, pair.join.right)]
    own = [statements.get(pair.join.pairs, Statement()) for pair in shown]
    readable = sorted((it for it in profiles if not it.fault), key=lambda each: each.table.id)
    tables = {profile.table.id: number for number, profile in enumerate(readable)}
    publishers = number_publishers(tables, ends)
    columns = {column: number for number, column in enumerate(sorted({*keys, *ends}))}
    return Contents(
        publishers=tuple(publishers),
        tables=tuple(_table(profile, publishers) for profile in readable),
        columns=tuple(_columns((column_profiles[each] for each in columns), tables, {*keys})),
        joins=tuple(pair.record(columns) for pair in shown),
        sentences=tuple(describe_both(join, titles) for join in known),
        matched=count_matched(known),
        statements=tuple(map(_statement, own)),
        translations=_translations(shown, statements),
        exports=choose_exports(known),
        anti_joins=write_anti_joins(known, own),
        examples=list_examples(every, column_profiles, columns) if values else {},
        unmatched=list_unmatched(every, profiles) if values else {},
        compared=_compared(shown),
        crosswalks=_crosswalks(shown, titles, statements),
        lone=_numbers_of(lone, shown),
        domains=tuple(_domain(domain, columns) for domain in domains),
        further=_further(shown),
        signal_names=tuple(next(iter(contributions.values())).alone) if contributions else (),
        signals=_signals(shown, contributions),
        declared=tuple(map(_ends, declared)),
        left_out=len(pairs) - len(shown),
    )


def describe_both(join: CatalogJoin, titles: Mapping[TableId, str]) -> tuple[str, str]:
    """Describe the rows of both tables of a join, each in a sentence."""
    left, right = (titles[table] for table in join.tables)
    return describe_rows(join, (left, right)), describe_rows(join.reversed, (right, left))


def count_matched(joins: Sequence[CatalogJoin]) -> dict[int, tuple[int, int, int, int]]:
    """Map the numbers of joins to the rows of both tables and those with a partner, if known."""
    found = {}
    for number, join in enumerate(joins):
        left, right = join.left_counts, join.right_counts
        if left and right and left.matched is not None and right.matched is not None:
            found[number] = (left.total, left.matched, right.total, right.matched)
    return found


def write_anti_joins(
    joins: Sequence[CatalogJoin], statements: Sequence[Statement]
) -> dict[int, str]:
    """Write SQL for the rows of table a that have no partner, by the number of the join.

    Args:
        statements: The SQL of each join, if it has any.
    """
    return {
        number: sql
        for number, (join, statement) in enumerate(zip(joins, statements, strict=True))
        if statement.sql and _drops_rows(join) and (sql := write_anti_join(statement))
    }


def _drops_rows(join: CatalogJoin) -> bool:
    """Return whether rows of the referring table have no partner.

    Of a join without a direction, either table may have such rows.
    """
    forward = join.referenced is None or join.referenced == join.right
    backward = join.referenced is None or not forward
    sides = (join.left_counts if forward else None, join.right_counts if backward else None)
    return any(each and each.matched is not None and not each.are_all_matched for each in sides)


def _ends(join: Join) -> tuple[str, str]:
    """Return the referring and the referenced columns of a join as text."""
    referring, referenced = zip(*join.directed_pairs, strict=True)
    return " and ".join(map(str, referring)), " and ".join(map(str, referenced))


def _signals(
    pairs: Sequence[_Pair], contributions: Mapping[Pair, Contributions]
) -> dict[int, tuple[float, ...]]:
    known = ((at, contributions.get(pair.join.pairs[0])) for at, pair in enumerate(pairs))
    return {
        at: tuple(round(share, 2) for share in (each.together, *each.alone.values()))
        for at, each in known
        if each
    }


def _with_suggestions(
    joins: Sequence[Join], suggestions: Sequence[Suggestion], domains: Sequence[Domain]
) -> list[_Pair]:
    """Add the suggestions and value domains of joins, whose order stays."""
    by_pair = {(each.query, each.candidate): each for each in suggestions}
    domain_of = {
        member: number for number, domain in enumerate(domains) for member in domain.members
    }
    return [
        _Pair(
            join=join,
            domain=_common_domain(join, domain_of),
            forward=by_pair.get((join.left, join.right)),
            backward=by_pair.get((join.right, join.left)),
        )
        for join in joins
    ]


def _common_domain(join: Join, domain_of: Mapping[ColumnId, int]) -> int:
    """Return the index of the value domain that contains both columns; -1 if none does.

    Only joins of the role "same domain" have one.
    """
    left, right = domain_of.get(join.left, -1), domain_of.get(join.right, -1)
    return left if left == right and join.role is Role.SAME_DOMAIN else -1


def _domain(domain: Domain, indices: Mapping[ColumnId, int]) -> tuple[str, tuple[int, ...]]:
    others = [member for member in domain.members if member != domain.representative]
    members = [domain.representative, *others]
    return domain.name, tuple(indices[member] for member in members if member in indices)


def _numbers_of(joins: Sequence[Join], pairs: Sequence[_Pair]) -> tuple[int, ...]:
    ends = {(join.left, join.right) for join in joins}
    return tuple(at for at, pair in enumerate(pairs) if (pair.join.left, pair.join.right) in ends)


def _further(pairs: Sequence[_Pair]) -> dict[int, tuple[tuple[str, str], ...]]:
    return {
        number: tuple((left.path, right.path) for left, right in pair.join.further)
        for number, pair in enumerate(pairs)
        if pair.join.further
    }


def _compared(pairs: Sequence[_Pair]) -> dict[int, str]:
    return {
        number: pair.join.measured.compared_as
        for number, pair in enumerate(pairs)
        if pair.join.measured.compared_as and not is_in_two_steps(pair.join.measured)
    }


def _crosswalks(
    pairs: Sequence[_Pair],
    titles: Mapping[TableId, str],
    statements: Mapping[JoinedColumns, Statement],
) -> dict[int, tuple[str, str, str, str, str]]:
    return {
        number: (
            titles[via[0].table],
            via[0].path,
            via[1].path,
            *_statement(statements.get(pair.join.steps, Statement())),
        )
        for number, pair in enumerate(pairs)
        if (via := pair.join.via)
    }


def _statement(statement: Statement) -> tuple[str, str]:
    """Return the SQL of a join, and a note about it.

    Without SQL, the note gives the reason.
    """
    if not statement.sql:
        return "", statement.reason
    compared = f", comparing values as {statement.compared}" if statement.compared else ""
    if not statement.was_run:
        return statement.sql, f"not run{compared}"
    noun = "row" if statement.rows == 1 else "rows"
    return statement.sql, f"{statement.rows:,} {noun} when it was run without its limit{compared}"


def _translations(
    pairs: Sequence[_Pair], statements: Mapping[JoinedColumns, Statement]
) -> Translations:
    none, joins = Statement(), [pair.join for pair in pairs]
    return translate(
        {at: statements.get(join.pairs, none) for at, join in enumerate(joins)},
        {at: statements.get(join.steps, none) for at, join in enumerate(joins) if join.via},
        differing=_compared(pairs),
    )


def _table(profile: TableProfile, publishers: dict[str, int]) -> Record:
    table = profile.table
    publisher = publishers[publisher_of(table.id)]
    return table.id.name, table.title, publisher, profile.rows, len(profile.columns)


def _columns(
    profiles: Iterable[ColumnProfile], tables: Mapping[TableId, int], keys: AbstractSet[ColumnId]
) -> Iterator[Record]:
    for each in profiles:
        counted = each.distinct, each.distinct_is_estimated
        yield tables[each.id.table], each.id.path, each.id in keys, each.type_in_words, *counted
