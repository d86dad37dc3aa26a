"""Measure pairs of columns on the data, keep the confirmed pairs, and count the rows of joins."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from datahub_hyperjoin.joins import Cardinality, Evidence, Join, RowCounts, is_in_two_steps
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.reference.entities import load_lexicon
from datahub_hyperjoin.spark.profiles.routes import session_to_compare
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.spark.verification.verify import (
    ColumnKinds,
    NoteUnread,
    size_to_read,
    verify_joins,
)
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, Table, TableId, TableProfile
from datahub_hyperjoin.value_forms import Notation


def _recognise_kinds(index: LakeIndex, pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Find the entity kind that the two columns of each pair share."""
    number = index.lake.index_of
    kinds = ((pair, index.entities.kind(number[pair[0]], number[pair[1]])) for pair in pairs)
    return {pair: kind for pair, kind in kinds if kind}


def _name_ways(
    kinds: Mapping[Pair, str], notations: Mapping[ColumnId, Notation], pairs: Sequence[Pair]
) -> dict[Pair, str]:
    """Describe how the values of each pair are compared."""
    named = {pair: [kinds.get(pair), *(notations.get(column) for column in pair)] for pair in pairs}
    return {pair: "|".join(way or "" for way in ways) for pair, ways in named.items() if any(ways)}


def measure_pairs(
    pairs: Sequence[Pair],
    tables: Sequence[Table],
    session: OptionalSession,
    store: Store,
    index: LakeIndex,
    note_unread: NoteUnread,
) -> dict[Pair, Evidence]:
    """Measure each pair on the data, or reuse stored evidence of unchanged tables."""
    kinds = _recognise_kinds(index, pairs)
    ways = _name_ways(kinds, index.lake.notations, pairs)
    stored = store.evidence(pairs, tables, ways)
    changed = [pair for pair in pairs if pair not in stored]
    lake, needed = index.lake, {kinds[pair] for pair in changed if pair in kinds}
    columns = ColumnKinds(
        kinds=kinds,
        synonyms={kind: load_lexicon().synonyms(kind) for kind in needed},
        notations=lake.notations,
        texts=lake.texts,
    )
    compared = {column for pair in changed for column in pair}
    ends = {column.table for column in compared}
    read = [table for table in tables if table.id in ends]
    sizes = size_to_read(read, changed, columns, store.config)
    values = sum(lake.profiles[lake.index_of[column]].distinct for column in compared)
    measured = verify_joins(
        session_to_compare(sizes, values, session, store.config),
        read,
        changed,
        kinds=columns,
        config=store.config,
        note_unread=note_unread,
    )
    evidence = {**stored, **measured}
    store.keep_evidence(evidence, tables, ways)
    return evidence


def confirm_pairs(
    evidence: Mapping[Pair, Evidence], *, min_containment: float, accepted: frozenset[Pair]
) -> dict[Pair, Evidence]:
    """Keep the pairs that are confirmed by their values or accepted by a person."""
    # A pair without evidence could not be measured: it is neither confirmed nor refuted.
    return {
        pair: measured
        for pair, measured in evidence.items()
        if pair in accepted or measured.containment >= min_containment
    }


_TO_ONE = {Cardinality.MANY_ONE, Cardinality.ONE_ONE}

_Profiles = Mapping[ColumnId, ColumnProfile]


def with_row_counts(joins: Sequence[Join], profiles: Iterable[TableProfile]) -> tuple[Join, ...]:
    """Add the counts of both tables' rows to the evidence of joins."""
    # The evidence of a join counts rows with a value only. How many rows a table has is known from
    # the profiles of its columns. A large table is profiled by a sample, whose share of rows with a
    # value tells about how many rows there are.
    columns = {column.id: column for profile in profiles for column in profile.columns}
    totals = _count_tables(joins, columns)
    return tuple(_with_counts(join, totals, columns) for join in joins)


def _count_tables(joins: Iterable[Join], profiles: _Profiles) -> dict[TableId, int]:
    """Count the rows of each table."""
    # A column was profiled on all rows if as many have a value as were counted on the data.
    known: dict[TableId, tuple[bool, int, int]] = {}
    for join in joins:
        if join.further or join.measured.compared_as:
            continue
        for column, evidence in _sides(join):
            profile, filled = profiles[column], _filled(evidence)
            sampled = profile.rows - profile.nulls
            if filled and sampled:
                total = round(profile.rows * filled / sampled)
                # The more values a sample has, the better the estimate.
                found = (filled == sampled, sampled, total)
                known[column.table] = max(found, known.get(column.table, found))
    return {table: total for table, (_, _, total) in known.items()}


def _with_counts(join: Join, totals: Mapping[TableId, int], profiles: _Profiles) -> Join:
    if is_in_two_steps(join.measured):
        return join
    left, right = (
        _count(evidence, totals.get(column.table, profiles[column].rows), profiles[column])
        for column, evidence in _sides(join)
    )
    return replace(join, evidence=replace(join.measured, left_counts=left, right_counts=right))


def _sides(join: Join) -> Iterator[tuple[ColumnId, Evidence]]:
    """Yield the first column of each side, with the evidence as seen from this side."""
    yield join.left, join.measured
    yield join.right, join.measured.reversed


def _filled(evidence: Evidence) -> int:
    """Return the number of left rows with a value; 0 if the join returns no row to tell it."""
    return round(evidence.rows / evidence.left_fan_out) if evidence.left_fan_out else 0


def _count(evidence: Evidence, total: int, profile: ColumnProfile) -> RowCounts:
    """Count the rows on the left, of which `profile` describes the first column."""
    filled = _filled(evidence) or round(total * profile.completeness)
    matched = None
    if evidence.cardinality in _TO_ONE:
        matched = evidence.rows
    elif evidence.reversed.cardinality in _TO_ONE:
        matched = evidence.shared  # each value of a unique column is in one row
    return RowCounts(total=max(total, filled), filled=filled, matched=matched)
