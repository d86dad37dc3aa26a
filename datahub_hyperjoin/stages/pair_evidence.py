"""Measure pairs of columns on the data, keep the confirmed pairs, and count the rows of joins."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.joins import (
    Bridge,
    Cardinality,
    ColumnPairs,
    CompositeEvidence,
    Evidence,
    Join,
    KeySearch,
    RowCounts,
    is_in_two_steps,
)
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.reference.entities import load_lexicon
from datahub_hyperjoin.normal_form import hash_values, normal_forms
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.spark.routes import session_for, session_to_compare
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.counting import NoteUnread, log_unread
from datahub_hyperjoin.spark.verification.key_search import search_keys
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, size_to_read, verify_joins
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    Pair,
    Table,
    TableId,
    TableProfile,
    pair_of,
)
from datahub_hyperjoin.value_forms import Notation

if TYPE_CHECKING:
    from datahub_hyperjoin.spark.verification.cell_parts import PartsOfPairs


_KEY = 0.98
"""Least uniqueness of a key to which markers may refer."""
_FEW, _MANY, _APART = 3, 10, 100
"""Fewest values beside a word and beside a number that may be a marker, and the least distance of
the number from all others."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_LONGEST_CODE = 3
"""Maximum number of letters of a marker that may be a code instead."""


def _name_ways(
    kinds: Mapping[Pair, str], notations: Mapping[ColumnId, Notation], pairs: Sequence[Pair]
) -> dict[Pair, str]:
    """Describe how the values of each pair are compared."""
    named = {pair: [kinds.get(pair), *(notations.get(column) for column in pair)] for pair in pairs}
    return {pair: "|".join(way or "" for way in ways) for pair, ways in named.items() if any(ways)}


def _placeholders_of(pairs: Sequence[Pair], lake: Lake) -> dict[Pair, tuple[str, ...]]:
    """Find the values of pairs that stand for a missing key in one of the columns."""
    texts = sorted({text for each in lake.profiles for text in each.markers})
    hashes = hash_values(normal_forms(pa.array(texts, pa.string())), lake.value_hash).tolist()
    marked = dict(zip(texts, hashes, strict=True))
    found = {}
    for pair in pairs:
        one, other = (lake.profiles[lake.index_of[column]] for column in pair)
        left_out = {
            # What stands for no key in one column does not refer to a key in the other.
            *one.placeholders,
            *other.placeholders,
            *_unmatched(one, other, marked),
            *_unmatched(other, one, marked),
        }
        if left_out:
            found[pair] = tuple(sorted(left_out))
    return found


def _unmatched(
    column: ColumnProfile, other: ColumnProfile, marked: Mapping[str, int]
) -> Iterator[str]:
    """Yield the markers of a column which are no key of another one, in a row of its own."""
    if other.uniqueness >= _KEY:
        for text in column.markers:
            is_held = text in other.markers or _may_hold(other, marked[text])
            if not is_held and _is_apart(text, column):
                yield text
    else:
        # Numbers such as 0 are counted more often than they are missing.
        both = {*column.markers} & {*other.markers}
        yield from (text for text in both if not text.isdigit() and not _is_code(text, column))


def _is_apart(text: str, column: ColumnProfile) -> bool:
    """Return whether a marker is unlike the other values, as 0 among flags or measures is not."""
    if not _NUMBER.fullmatch(text):
        return column.distinct > _FEW
    others = {float(each) for each in column.sample if _NUMBER.fullmatch(each)} - {float(text)}
    is_far = all(abs(each - float(text)) >= _APART for each in others)
    return is_far and column.distinct > _MANY


def _is_code(text: str, column: ColumnProfile) -> bool:
    """Return whether a marker may be a code, as `TBA` is that of a team among others like it."""
    if not text.isalpha() or len(text) > _LONGEST_CODE:
        return False
    alike = [each.isalpha() and len(each) == len(text) for each in column.sample]
    return sum(alike) > len(alike) / 2


def _may_hold(column: ColumnProfile, value: int) -> bool:
    sketch = np.frombuffer(column.sketch, "<u8")
    at = int(np.searchsorted(sketch, np.uint64(value)))
    return column.distinct_is_estimated if at == len(sketch) else int(sketch[at]) == value


TableKeys = Mapping[TableId, tuple[tuple[str, ...], ...]]
"""The paths of the columns of each key, by table."""


@dataclass(frozen=True)
class DataReader:
    """Compares columns on the data, or reuses what earlier runs measured on unchanged tables."""

    index: LakeIndex
    tables: Sequence[Table]
    session: OptionalSession  # not started if there is little or nothing to read
    store: Store
    note_unread: NoteUnread = log_unread  # receives each table that can no longer be read

    def pairs(self, pairs: Sequence[Pair]) -> dict[Pair, Evidence]:
        """Measure each pair of columns; pairs whose tables cannot be read are left out."""
        lake, store = self.index.lake, self.store
        number, kind_of = lake.index_of, self.index.entities.kind
        shared = {(one, other): kind_of(number[one], number[other]) for one, other in pairs}
        kinds = {pair: kind for pair, kind in shared.items() if kind}
        ways = _name_ways(kinds, lake.notations, pairs)
        stored = store.evidence(pairs, self.tables, ways)
        changed = [pair for pair in pairs if pair not in stored]
        needed = {kinds[pair] for pair in changed if pair in kinds}
        columns = ColumnKinds(
            kinds=kinds,
            synonyms={kind: load_lexicon().synonyms(kind) for kind in needed},
            notations=lake.notations,
            placeholders=_placeholders_of(changed, lake),
            texts=lake.texts,
        )
        compared = {column for pair in changed for column in pair}
        read = self._tables_of(compared)
        sizes = size_to_read(read, changed, columns, store.config)
        values = sum(lake.profiles[lake.index_of[column]].distinct for column in compared)
        measured = verify_joins(
            session_to_compare(sizes, values, self.session, store.config),
            read,
            changed,
            kinds=columns,
            config=store.config,
            note_unread=self.note_unread,
        )
        evidence = {**stored, **measured}
        store.keep_evidence(evidence, self.tables, ways)
        return evidence

    def bridges(self, bridges: Sequence[Bridge]) -> dict[Bridge, Evidence]:
        """Measure joins through crosswalks."""
        stored = self.store.evidence(bridges, self.tables)
        changed = [bridge for bridge in bridges if bridge not in stored]
        measured: Mapping[Bridge, Evidence] = {}
        if changed:
            # Few lakes have crosswalks.
            from datahub_hyperjoin.spark.verification.bridges import verify_bridges  # noqa: PLC0415

            steps = (step for bridge in changed for step in bridge.steps)
            read = self._tables_of(column for step in steps for column in step)
            measured = verify_bridges(
                session_for(read, self.session, self.store.config),
                read,
                changed,
                texts=self.index.lake.texts,
                config=self.store.config,
                note_unread=self.note_unread,
            )
        evidence = {**stored, **measured}
        self.store.keep_evidence(evidence, self.tables)
        return evidence

    def _tables_of(self, columns: Iterable[ColumnId]) -> list[Table]:
        ends = {column.table for column in columns}
        return [table for table in self.tables if table.id in ends]

    @cached_property
    def _by_id(self) -> dict[TableId, Table]:
        return {table.id: table for table in self.tables}

    def keys(self, searches: Sequence[KeySearch]) -> TableKeys:
        """Search the given columns of each table for composite keys."""
        by_id = self._by_id

        def search_tables(changed: list[KeySearch]) -> dict[KeySearch, tuple[tuple[str, ...], ...]]:
            tables = [by_id[search.table] for search in changed]
            session = session_for(tables, self.session, self.store.config)
            read = search_keys(session, tables, changed, self.store.config)
            for search in changed:
                if search.table not in read:
                    self.note_unread(search.table)
            return {search: read[search.table] for search in changed if search.table in read}

        found = self.store.reuse_results(
            "composite_keys",
            {search: result_key([by_id[search.table]], repr(search)) for search in searches},
            search_tables,
            dump=json.dumps,
            load=lambda text: tuple(map(tuple, json.loads(text))),
        )
        # Tables without keys are stored, too, so that they are not searched again.
        return {search.table: keys for search, keys in found.items() if keys}

    def composites(self, references: Sequence[ColumnPairs]) -> dict[ColumnPairs, CompositeEvidence]:
        """Measure composite references on all rows of their tables."""

        def measure(changed: list[ColumnPairs]) -> Mapping[ColumnPairs, CompositeEvidence]:
            ends = (column.table for pairs in changed for pair in pairs for column in pair)
            tables = [self._by_id[table] for table in dict.fromkeys(ends)]
            return verify_composites(
                session_for(tables, self.session, self.store.config),
                tables,
                changed,
                texts=self.index.lake.texts,
                config=self.store.config,
                note_unread=self.note_unread,
            )

        return self.store.reuse_results(
            "composite_evidence",
            {reference: self._name(reference) for reference in references},
            measure,
            dump=lambda evidence: json.dumps(asdict(evidence)),
            load=_from_json,
        )

    def parts(self, wanted: "Sequence[PartsOfPairs]") -> "dict[PartsOfPairs, Evidence]":
        """Measure joins by parts of cells on all rows of their tables."""

        def measure(changed: "list[PartsOfPairs]") -> "Mapping[PartsOfPairs, Evidence]":
            if not changed:
                return {}
            # Few lakes have such joins.
            from datahub_hyperjoin.spark.verification.cell_parts import verify_parts  # noqa: PLC0415

            tables = self._tables_of(column for pairs, _ in changed for column in pairs[0])
            return verify_parts(
                session_for(tables, self.session, self.store.config),
                tables,
                changed,
                texts=self.index.lake.texts,
                config=self.store.config,
                note_unread=self.note_unread,
            )

        return self.store.reuse_results(
            "part_evidence",
            {way: f"{self._name(way[0])} {way[1].words}" for way in wanted},
            measure,
            dump=lambda evidence: json.dumps(asdict(evidence)),
            load=lambda text: _evidence_of(json.loads(text)),
        )

    def _name(self, reference: ColumnPairs) -> str:
        ends = [column.table for column in reference[0]]
        paths = repr([[column.path for column in pair] for pair in reference])
        return result_key([self._by_id[table] for table in ends], paths)


def measure_joins(joins: Iterable[Join], reader: DataReader) -> list[Join]:
    """Measure joins of one or of several columns; those that cannot be read are left out."""
    # Evidence of a pair is that of its columns in order, and of several pairs as these are given.
    single, several = {}, {}
    for join in joins:
        if join.further:
            several[tuple(sorted(join.directed_pairs))] = join.directed
        else:
            single[pair_of(join.left, join.right)] = join
    pairs, composites = reader.pairs([*single]), reader.composites([*several])
    found = [
        replace(join if join.left == pair[0] else join.reversed, evidence=pairs[pair])
        for pair, join in single.items()
        if pair in pairs
    ]
    return found + [
        replace(join, evidence=composites[columns].evidence)
        for columns, join in several.items()
        if columns in composites
    ]


def _from_json(text: str) -> CompositeEvidence:
    fields = json.loads(text)
    # JSON has no nested classes, enumerations or tuples.
    evidence = _evidence_of(fields.pop("evidence"))
    fields["by_chance"] = tuple(fields["by_chance"])
    return CompositeEvidence(evidence=evidence, **fields)


def _evidence_of(measures: dict[str, Any]) -> Evidence:
    return Evidence(**{**measures, "cardinality": Cardinality(measures["cardinality"])})


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
            if evidence.missing:
                # The profile counts markers as values, and the evidence does not.
                marked = zip(profile.markers, profile.marker_counts, strict=True)
                sampled -= sum(count for text, count in marked if text in evidence.missing)
            if filled and sampled:
                total = round(profile.rows * filled / sampled)
                # The more values a sample has, the better the estimate.
                found = (filled == sampled, sampled, total)
                known[column.table] = max(found, known.get(column.table, found))
    return {table: total for table, (_, _, total) in known.items()}


def _with_counts(join: Join, totals: Mapping[TableId, int], profiles: _Profiles) -> Join:
    if is_in_two_steps(join.measured):
        return join
    sides = [*_sides(join)]
    others = (None if join.further else profiles[column] for column, _ in reversed(sides))
    left, right = (
        _count(evidence, totals.get(column.table, profiles[column].rows), profiles[column], other)
        for (column, evidence), other in zip(sides, others, strict=True)
    )
    return replace(join, evidence=replace(join.measured, left_counts=left, right_counts=right))


def _sides(join: Join) -> Iterator[tuple[ColumnId, Evidence]]:
    """Yield the first column of each side, with the evidence as seen from this side."""
    yield join.left, join.measured
    yield join.right, join.measured.reversed


def _filled(evidence: Evidence) -> int:
    """Return the number of left rows with a value; 0 if the join returns no row to tell it."""
    return round(evidence.rows / evidence.left_fan_out) if evidence.left_fan_out else 0


def _count_sampled(
    profile: ColumnProfile, other: ColumnProfile, *, filled: int, shared: int
) -> int | None:
    """Count the rows with a partner by the values of samples; None if they lack some."""
    # The sample is the beginning of the sketch. If either lacks values, or others were compared
    # than those as written, the numbers of shared values or of rows differ.
    hashes = np.frombuffer(profile.sketch, "<u8")[: len(profile.sample)]
    is_shared = np.isin(hashes, np.frombuffer(other.sketch, "<u8"))
    counts = np.array(profile.counts, np.int64)
    is_whole = counts.sum() == filled and is_shared.sum() == shared
    return int(counts[is_shared].sum()) if is_whole else None


def _count(
    evidence: Evidence, total: int, profile: ColumnProfile, other: ColumnProfile | None
) -> RowCounts:
    """Count the rows on the left, of which `profile` describes the first column."""
    filled = _filled(evidence) or round(total * profile.completeness)
    matched = None
    if evidence.cardinality in _TO_ONE:
        matched = evidence.rows
    elif evidence.reversed.cardinality in _TO_ONE:
        matched = evidence.shared  # each value of a unique column is in one row
    elif other:
        matched = _count_sampled(profile, other, filled=filled, shared=evidence.shared)
    return RowCounts(total=max(total, filled), filled=filled, matched=matched)
