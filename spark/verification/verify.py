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
from datahub_hyperjoin.spark.verification.counting import (
    Counted,
    CountedPair,
    NoteUnread,
    PairCounts,
    ValueCounter,
    log_unread,
    request_values,
)
from datahub_hyperjoin.spark.verification.values import value_files
from datahub_hyperjoin.tables import ColumnId, Pair, Table
from datahub_hyperjoin.value_forms import Notation, common_form
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logger_of(__name__)

CountedValues = tuple[ColumnId, str]
"""A column, and the name of the entity kind or notation by which its values are converted."""

_AS_WRITTEN = ""
_MIN_GAIN = 2.0
"""Values are compared as written unless another comparison raises the containment by this factor.
A join of values as written then misses most of the rows."""


@dataclass(frozen=True, kw_only=True)
class ColumnKinds:
    """The facts that determine how columns are compared, such as entity kinds."""

    kinds: Mapping[Pair, str] = field(default_factory=dict)
    """The entity kind of pairs whose columns hold entities of one kind."""

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    notations: Mapping[ColumnId, Notation] = field(default_factory=dict)
    """The notations of columns whose values have another form than their normal form."""

    texts: AbstractSet[ColumnId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A way to compare the values of two columns."""

    pair: Pair
    compared_as: str
    """How the values are compared, in the words of the evidence; empty if compared as written."""

    kinds: tuple[str, str]
    """For each column, the entity kind or notation by which its values are read."""

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
    chosen: dict[Pair, Evidence] = {}
    # The way as written is the first of a pair. Another is chosen if it matches far more.
    for way, is_ in zip(compared, is_inside, strict=True):
        left, right = way.pair
        ends = (left, left), (right, right), (left, right)
        counted = CountedPair(*map(inside.__getitem__, ends)) if is_ else next(read)
        if counted is None:
            continue
        evidence, before = counted.evidence, chosen.get(way.pair)
        if before is None or evidence.containment > _MIN_GAIN * before.containment:
            form = way.compared_as  # of most pairs, as written
            chosen[way.pair] = replace(evidence, compared_as=form) if form else evidence
    return chosen


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
    yield _Comparison(pair, _AS_WRITTEN, (_AS_WRITTEN, _AS_WRITTEN))
    if kind := kinds.kinds.get(pair):
        yield _Comparison(pair, kind, (kind, kind))
    left, right = (kinds.notations.get(column) for column in pair)
    if form := common_form(left, right):
        yield _Comparison(pair, form.value, (left or _AS_WRITTEN, right or _AS_WRITTEN))
