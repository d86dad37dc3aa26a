"""Measure how well pairs of columns join, on all rows of their tables.

Evidence is their containment, cardinality and fan-out.

Codes and names of the same entities share no value, nor do `000123` and `123`. If both columns of a
pair hold entities of one kind, or if one is written in a notation of its own, the pair is therefore
counted twice: by values as written, and by entities or by values in the form of the notation. The
second count is the evidence if it explains the pair much better.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.texts import is_usual_marker
from datahub_hyperjoin.spark.verification.counting import (
    Counted,
    CountedPair,
    NoteUnread,
    PairCounts,
    ValueCounter,
    log_unread,
    request_values,
)
from datahub_hyperjoin.spark.verification.values import value_files, without
from datahub_hyperjoin.tables import ColumnId, Pair, Table
from datahub_hyperjoin.value_forms import VALUE_FORMS, Notation, ValueForm
from datahub_hyperjoin.visible import logger_of
from datahub_hyperjoin.written_in import common_forms, readings_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logger_of(__name__)

CountedValues = tuple[ColumnId, str]
"""A column, and the name of the entity kind or notation by which its values are converted."""

_AS_WRITTEN = ""
_ENTITY_FACTOR = 2.0
"""Entities are compared only if that raises the containment by this factor: words such as `de` are
names of several kinds of entities."""
_UNLISTED = "a value that repeats"
_LEAST_KEPT = 0.9
"""What an exact comparison must keep of the containment."""
_LEAST_GAIN, _LEAST_SHARE, _LEAST_VALUES = 0.01, 0.1, 2
"""What a value form must gain: in containment, of the values without a partner as written, and in
values, if any match as written. A few of many values match by chance."""


@dataclass(frozen=True, kw_only=True)
class ColumnKinds:
    """The facts that determine how columns are compared, such as entity kinds."""

    kinds: Mapping[Pair, str] = field(default_factory=dict)
    """The entity kind of pairs whose columns hold entities of one kind."""

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    notations: Mapping[ColumnId, Notation] = field(default_factory=dict)
    """The notations of columns whose values have another form than their normal form."""

    placeholders: Mapping[Pair, tuple[str, ...]] = field(default_factory=dict)
    """The values of some pairs that stand for a missing key in one of the columns."""

    texts: AbstractSet[ColumnId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A way to compare the values of two columns."""

    pair: Pair
    compared_as: str
    """How the values are compared, in the words of the evidence; empty if compared as written."""

    kinds: tuple[str, str]
    """For each column, the entity kind or notation by which its values are read."""

    left_out: tuple[str, ...] = ()
    """The values of both columns that are not compared, since they stand for a missing key."""

    @property
    def sides(self) -> tuple[CountedValues, CountedValues]:
        """The two columns, each with the form in which its values are read."""
        return (self.pair[0], self.kinds[0]), (self.pair[1], self.kinds[1])


_NO_KINDS, _DEFAULT_CONFIG = ColumnKinds(), ProfileConfig()


def verify_joins(
    session: "SparkSession | None",
    tables: Sequence[Table],
    pairs: Sequence[Pair],
    *,
    kinds: ColumnKinds = _NO_KINDS,
    config: ProfileConfig = _DEFAULT_CONFIG,
    note_unread: NoteUnread = log_unread,
) -> dict[Pair, Evidence]:
    """Measure how well pairs of columns join.

    Args:
        session: Runs one Spark job; None to read all tables in processes of this program.
        config: Provides the size from which a table is read by many tasks.
        note_unread: Receives the tables that cannot be read: their pairs are not refuted.

    Returns:
        Evidence by pair, without pairs whose tables or columns cannot be read.
    """
    compared = [way for pair in dict.fromkeys(pairs) for way in _comparisons(pair, kinds)]
    logger.info("Verifying %s pairs of columns", len(pairs))
    inside = _count_in_databases(tables, compared, kinds.texts)
    is_inside = [way.pair in inside and not any(way.kinds) for way in compared]
    rest = [way.sides for way, is_ in zip(compared, is_inside, strict=True) if not is_]
    counter = ValueCounter(session, config, note_unread)
    read = iter(counter.count(tables, rest, texts=kinds.texts, synonyms=kinds.synonyms))
    found: list[CountedPair | None] = []
    for way, is_ in zip(compared, is_inside, strict=True):
        left, right = way.pair
        ends = (left, left), (right, right), (left, right)
        found.append(CountedPair(*map(inside.__getitem__, ends)) if is_ else next(read))
    return _choose_evidence(compared, found)


def size_to_read(
    tables: Sequence[Table], pairs: Sequence[Pair], kinds: ColumnKinds, config: ProfileConfig
) -> list[Table]:
    """Return the tables of some pairs, with the bytes to read of each as its size."""
    files = value_files(config, tables)
    if not files:
        return [*tables]
    ways = (way for pair in pairs for way in _comparisons(pair, kinds))
    needed: dict[Counted, int] = dict.fromkeys(chain.from_iterable(way.sides for way in ways), 0)
    return [request.as_kept for request in request_values(tables, needed, kinds.texts, files)]


def _count_in_databases(
    tables: Sequence[Table], compared: Iterable[_Comparison], texts: AbstractSet[ColumnId]
) -> dict[Pair, PairCounts]:
    """Let databases count the pairs whose values are compared as written, and their columns."""
    if not any(isinstance(table.location, Relation) for table in tables):
        return {}
    # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
    from datahub_hyperjoin.spark.verification.in_database import (  # noqa: PLC0415
        count_in_databases,
    )

    pairs = [way.pair for way in compared if not any(way.kinds)]
    return count_in_databases(tables, pairs, texts)


def _comparisons(pair: Pair, kinds: ColumnKinds) -> Iterator[_Comparison]:
    """Yield the ways to compare a pair of columns."""
    left_out = kinds.placeholders.get(pair, ())
    written = without(left_out)
    yield _Comparison(pair, _AS_WRITTEN, (written, written), left_out)
    if kind := kinds.kinds.get(pair):
        yield _Comparison(pair, kind, (kind, kind))
    notations = [kinds.notations.get(column) for column in pair]
    for form in common_forms(*notations):
        if form is ValueForm.EXACT:
            yield _Comparison(pair, form.value, (Notation.EXACT, Notation.EXACT))
            continue
        left, right = (
            # Numbers and dates that have no notation are written in one way.
            _AS_WRITTEN if read is None or (own is None and column not in kinds.texts) else read
            for read, own, column in zip(
                readings_in(form, *notations), notations, pair, strict=True
            )
        )
        yield _Comparison(pair, form.value, (left, right))


def _choose_evidence(
    compared: Sequence[_Comparison], found: Sequence[CountedPair | None]
) -> dict[Pair, Evidence]:
    """For each pair, choose one of the ways that `compared` lists, the one as written first."""
    chosen: dict[Pair, tuple[_Comparison, CountedPair]] = {}
    as_written: dict[Pair, CountedPair] = {}
    for way, counted in zip(compared, found, strict=True):
        if counted is None:
            continue
        if not way.compared_as:
            as_written[way.pair] = counted
        before = chosen.get(way.pair)
        if before is None or _is_better(counted, before[1], way.compared_as):
            chosen[way.pair] = (way, counted)
    return {
        pair: replace(
            counted.evidence,
            compared_as=way.compared_as,
            rows_as_written=as_written[pair].both.joined
            if way.compared_as and pair in as_written
            else 0,
            placeholders=_shown(way.left_out),
        )
        if way.compared_as or way.left_out
        else counted.evidence  # as most pairs are
        for pair, (way, counted) in chosen.items()
    }


def _shown(left_out: Iterable[str]) -> str:
    """Name the values that are left out; those that no list has may be secret."""
    names = (text if is_usual_marker(text) else _UNLISTED for text in left_out)
    return ", ".join(dict.fromkeys(names))


def _is_better(counted: CountedPair, before: CountedPair, compared_as: str) -> bool:
    """Return whether values should be compared as in `counted` rather than as `before`."""
    new, old = counted.evidence.containment, before.evidence.containment
    if compared_as not in VALUE_FORMS:
        return new > _ENTITY_FACTOR * old
    ends = ((counted.left, before.left), (counted.right, before.right))
    if compared_as == ValueForm.EXACT:
        # Each row has its own key, and the other side spells them alike.
        separates = any(now.is_unique and not then.is_unique for now, then in ends)
        return separates and new >= _LEAST_KEPT * old
    return (
        counted.both.joined > before.both.joined
        and any(_gains(counted.both, now, before.both, then) for now, then in ends)
        # Values that a form makes equal are different keys where each row has its own.
        and not any(then.is_unique and not now.is_unique for now, then in ends)
    )


def _gains(both: PairCounts, end: PairCounts, both_before: PairCounts, before: PairCounts) -> bool:
    """Return whether enough values of one column find a partner that they lacked before."""
    # A column of two spellings has fewer values in the form, of which no more are shared.
    lonely, lonely_before = end.shared - both.shared, before.shared - both_before.shared
    new, old = both.shared / max(end.shared, 1), both_before.shared / max(before.shared, 1)
    return new - old >= max(_LEAST_GAIN, _LEAST_SHARE * (1 - old)) and (
        not both_before.shared or lonely_before - lonely >= _LEAST_VALUES
    )
