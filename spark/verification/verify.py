"""Measure how well pairs of columns join, on all rows of their tables.

Evidence is their containment, cardinality and fan-out.

One Spark job in three stages. The first reads the columns that pairs compare, each table once
however many pairs it is in, and partitions the distinct values of every column by hash. The second
counts all pairs in each hash partition. The third adds up the counts of the partitions.

Codes and names of the same entities share no value, nor do `000123` and `123`. If both columns of a
pair hold entities of one kind, or if one is written in a notation of its own, the pair is therefore
counted twice: by values as written, and by entities or by values in the form of the notation. The
second count is the evidence if it explains the pair much better.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.read import with_absolute_paths
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts, evidence_of
from datahub_hyperjoin.spark.verification.process_counts import count_without_spark
from datahub_hyperjoin.spark.verification.values import RequestedColumns, value_files
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId
from datahub_hyperjoin.value_forms import Notation, common_form
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logger_of(__name__)

CountedValues = tuple[ColumnId, str]
"""A column, and the name of the entity kind or notation by which its values are converted. The name
is empty if they are not converted."""

NoteUnread = Callable[[TableId], None]
"""Receives each table that can no longer be read, although it was profiled."""

_NO_COUNTS = PairCounts(0, 0, 0)
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
    """Synonyms by entity kind."""

    notations: Mapping[ColumnId, Notation] = field(default_factory=dict)
    """The notations of columns whose values have another form than their normal form."""

    texts: AbstractSet[ColumnId] = frozenset()
    """The columns whose values are text."""


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


def log_unread(table: TableId) -> None:
    """Log a warning about a table that can no longer be read.

    This is the default for callers that have no report.
    """
    logger.warning("Not verified, because it can no longer be read: %s", table)


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
    # Numbers instead of identifiers: every row of every partition carries one.
    numbers: dict[CountedValues, int] = {}
    ends = [_number(way.sides, numbers) for way in compared]
    logger.info("Verifying %s pairs of columns", len(pairs))
    counts = _count_in_databases(tables, compared, numbers, kinds.texts)
    unread = [pair for pair in ends if pair not in counts]
    used = {*chain.from_iterable(unread)}
    needed = {values: number for values, number in numbers.items() if number in used}
    requests = _requests(tables, needed, kinds.texts, value_files(config, tables))
    # A column counted with itself has its numbers of distinct values and of rows.
    to_count = {(number, number) for number in used}.union(unread)
    if requests and session is None:
        read = count_without_spark(requests, to_count, synonyms=kinds.synonyms)
    elif requests and session:
        # PySpark takes a tenth of a second to import; small lakes need none.
        from datahub_hyperjoin.spark.verification.pair_jobs import count_requests  # noqa: PLC0415
        from datahub_hyperjoin.spark.verification.partition_routes import (  # noqa: PLC0415
            partition_lake,
        )

        partition = partial(partition_lake, session, synonyms=kinds.synonyms, config=config)
        read = count_requests(partition, requests, to_count)
    else:
        read = {}
    for table in unread_tables(requests, read):
        note_unread(table)
    return _choose_evidence(compared, ends, {**counts, **read})


def size_to_read(
    tables: Sequence[Table], pairs: Sequence[Pair], kinds: ColumnKinds, config: ProfileConfig
) -> list[Table]:
    """Return the tables of some pairs, with the bytes to read of each as its size.

    Of an unchanged table, the store may hold the values.

    Args:
        config: Names the store in which values are kept.
    """
    files = value_files(config, tables)
    if not files:
        return [*tables]
    ways = (way for pair in pairs for way in _comparisons(pair, kinds))
    needed = dict.fromkeys(chain.from_iterable(way.sides for way in ways), 0)
    return [request.as_kept for request in _requests(tables, needed, kinds.texts, files)]


def _number(
    sides: tuple[CountedValues, CountedValues], numbers: dict[CountedValues, int]
) -> tuple[int, int]:
    """Return the numbers of the values of two columns; new values get the next numbers."""
    left, right = (numbers.setdefault(values, len(numbers)) for values in sides)
    return left, right


def _count_in_databases(
    tables: Sequence[Table],
    compared: Iterable[_Comparison],
    numbers: Mapping[CountedValues, int],
    texts: AbstractSet[ColumnId],
) -> dict[tuple[int, int], PairCounts]:
    """Let databases count the matches of pairs whose values are compared as written.

    The result names each column by its number in `numbers`. `texts` has the columns of text.
    """
    pairs = [way.pair for way in compared if not any(way.kinds)]
    if not any(isinstance(table.location, Relation) for table in tables):
        return {}
    # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
    from datahub_hyperjoin.spark.verification.in_database import (  # noqa: PLC0415
        count_in_databases,
    )

    counted = count_in_databases(tables, pairs, texts)
    return {
        (numbers[left, _AS_WRITTEN], numbers[right, _AS_WRITTEN]): counts
        for (left, right), counts in counted.items()
    }


def _comparisons(pair: Pair, kinds: ColumnKinds) -> Iterator[_Comparison]:
    """Yield the ways to compare a pair of columns.

    The first compares the values as written.
    """
    yield _Comparison(pair, _AS_WRITTEN, (_AS_WRITTEN, _AS_WRITTEN))
    if kind := kinds.kinds.get(pair):
        yield _Comparison(pair, kind, (kind, kind))
    left, right = (kinds.notations.get(column) for column in pair)
    if form := common_form(left, right):
        yield _Comparison(pair, form.value, (left or _AS_WRITTEN, right or _AS_WRITTEN))


def _requests(
    tables: Sequence[Table],
    numbers: Mapping[CountedValues, int],
    texts: AbstractSet[ColumnId],
    files: Mapping[TableId, Path],
) -> list[RequestedColumns]:
    """Build one request per table. It maps each column to count to the number of that column.

    `numbers` maps each column, read in one form, to its number; `texts` are the columns of text.
    `files` keep the values of tables.
    """
    columns: dict[TableId, dict[str, dict[str, int]]] = {}
    for (column, kind), number in numbers.items():
        columns.setdefault(column.table, {}).setdefault(column.path, {})[kind] = number
    return [
        RequestedColumns(
            table,
            columns[table.id],
            texts=frozenset(
                path for path in columns[table.id] if ColumnId(table.id, path) in texts
            ),
            kept=files.get(table.id),
        )
        for table in with_absolute_paths(tables)
        if table.id in columns
    ]


def unread_tables(
    requests: Iterable[RequestedColumns], counts: Mapping[tuple[int, int], PairCounts]
) -> Iterator[TableId]:
    """Yield each table of which no requested column was read.

    Args:
        requests: The columns of each table, with their numbers.
    """
    for request in requests:
        numbers = chain(*(kinds.values() for kinds in request.columns.values()))
        if not any((at, at) in counts for at in (*numbers, *request.tuples.values())):
            yield request.table.id


def _choose_evidence(
    compared: Sequence[_Comparison],
    ends: Sequence[tuple[int, int]],
    counts: Mapping[tuple[int, int], PairCounts],
) -> dict[Pair, Evidence]:
    """For each pair, choose one way to compare the values, and return the evidence from it.

    Values are compared as written unless another comparison matches far more. The other
    comparisons are of entities or of another form of the values. In `compared`, a pair as written
    comes before the same pair compared in other ways. `ends` are the numbers of the values of each
    comparison, and `counts` the counts by two such numbers.
    """
    chosen: dict[Pair, Evidence] = {}
    for way, (left, right) in zip(compared, ends, strict=True):
        if (left, left) not in counts or (right, right) not in counts:
            continue
        both = counts.get((left, right), _NO_COUNTS)
        evidence = evidence_of(counts[left, left], counts[right, right], both)
        before = chosen.get(way.pair)
        if before is None or evidence.containment > _MIN_GAIN * before.containment:
            # Most pairs are compared as written.
            chosen[way.pair] = (
                replace(evidence, compared_as=way.compared_as) if way.compared_as else evidence
            )
    return chosen
