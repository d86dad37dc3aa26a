"""Aggregate the columns of many tables together.

Most tables are short, and then the number of calls costs more time than the work in each. The texts
of columns are therefore collected until there are enough to be aggregated in one call; a long table
fills this buffer several times.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate, merge_aggregates
from datahub_hyperjoin.spark.counting.text_counts import TextCounts

_BUFFER_BYTES = 1 << 20
"""Size at which the buffer is aggregated; a larger buffer is not faster."""
_COLUMN_BYTES = 1 << 8
"""Bytes that each column adds to the estimated size of the buffer, besides its texts."""

_Key = TypeVar("_Key", bound=Hashable)


class AggregateBuffer(Generic[_Key]):
    """The aggregates of columns, of which some batches are still waiting to be aggregated.

    Args:
        aggregate: Aggregates a batch of each of several columns.
        size: Number of distinct values to keep of each column.
    """

    def __init__(
        self, aggregate: Callable[[Sequence[TextCounts]], list[ColumnAggregate]], size: int
    ) -> None:
        self._aggregate = aggregate
        self._size = size
        self._waiting: list[tuple[_Key, TextCounts]] = []
        self._bytes = 0
        self.aggregates: dict[_Key, ColumnAggregate] = {}
        """The aggregates by column, without the batches that wait."""

    @property
    def is_full(self) -> bool:
        """Whether the batches that wait should be aggregated."""
        return self._bytes > _BUFFER_BYTES

    def add(self, column: _Key, texts: TextCounts) -> None:
        """Add a batch of a column, after all earlier ones of this column."""
        self._waiting.append((column, texts))
        self._bytes += texts.values.get_total_buffer_size() + _COLUMN_BYTES

    def flush(self) -> None:
        """Aggregate all batches that wait."""
        counted = self._aggregate([texts for _, texts in self._waiting])
        for (column, _), aggregate in zip(self._waiting, counted, strict=True):
            before = self.aggregates.get(column)
            self.aggregates[column] = (
                merge_aggregates(before, aggregate, size=self._size) if before else aggregate
            )
        self._waiting, self._bytes = [], 0

    def remove(self, is_removed: Callable[[_Key], bool]) -> None:
        """Forget columns, such as those of a table that can no longer be read."""
        self._waiting = [each for each in self._waiting if not is_removed(each[0])]
        self.aggregates = {
            column: aggregate
            for column, aggregate in self.aggregates.items()
            if not is_removed(column)
        }
