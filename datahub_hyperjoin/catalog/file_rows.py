"""Tell from the first rows of like files whether they are one table: its states, times or parts."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from os.path import commonprefix

FirstRows = Sequence[Mapping[str, str | None]]

LEAST_SHARE = 0.5
"""Minimum share of keys that two states of a table have in common, and of their equal values."""
_FEWEST_KEYS = 3
_BY_CHANCE = 10
_MOST_CODES = 300
"""Maximum number of rows of lists of codes."""
_FEWEST_IN_PARTS = 10
"""Minimum number of rows of a part that is as large as the others by intention."""
_FLAG_VALUES = 2
_STEPS = 3
"""Maximum distance of the numbers of two parts, in steps from one number to the next."""
_LETTERS, _WORD, _SIGN = re.compile(r"[^\W\d_]*"), re.compile(r"[^\W_]+"), re.compile("[0-9@/:_#]")


def share_keys(first: FirstRows, second: FirstRows) -> bool:
    """Return whether a column of one file has keys, of which the other file has many."""
    for column in first[0]:
        for own, other in ((first, second), (second, first)):
            keys, found = ({row.get(column) for row in each} for each in (own, other))
            # Of as many rows with values by chance, at least five pairs would have equal ones.
            if len(keys) == len(own) and len(own) * len(keys & found) > _BY_CHANCE * len(found):
                return True
    return False


def share_of_same_values(*rows: FirstRows) -> float | None:
    """Return how many values are equal in rows of equal keys; None if keys do not repeat."""
    shares = []
    for column in rows[0][0]:
        keyed = [{row.get(column): row for row in each} for each in rows]
        if any(len(keys) < len(each) for keys, each in zip(keyed, rows, strict=True)):
            continue
        shared = keyed[0].keys() & keyed[1].keys()
        if len(shared) >= max(_FEWEST_KEYS, LEAST_SHARE * len(rows[0])):
            same = [
                keyed[0][key][name] == keyed[1][key].get(name)
                for key in shared
                for name in rows[0][0]
                if name != column
            ]
            shares.append(sum(same) / len(same) if same else 1.0)
    return max(shares, default=None)


def are_measured_again(first: FirstRows, second: FirstRows) -> bool:
    """Return whether two files have numbers of the same labels, as of two years.

    >>> years = [[{"country": "Chad", "rain": "37"}], [{"country": "Chad", "rain": "28.5"}]]
    >>> are_measured_again(*years), are_measured_again([{"id": "1", "name": "A"}], years[1])
    (True, False)
    """
    measured = dict(_columns(first, second))
    labels = [name for name, values in measured.items() if not all(map(_numbers, values))]
    if len(labels) != 1 or len(measured) == 1:
        return False
    own, other = map(frozenset, measured[labels[0]])
    is_key = len(own) == len(first) and len(other) == len(second)
    return is_key and len(own & other) >= LEAST_SHARE * min(len(own), len(other))


def seem_parts(files: Sequence[FirstRows]) -> bool:
    """Return whether numbered files of different keys continue each other.

    Otherwise they are lists of codes for several things, which have columns of the same names.
    """
    *sizes, last = map(len, files)
    are_equal = len(sizes) > 1 and {*sizes} == {max(*sizes, last)}
    if min(sizes) > _MOST_CODES or (are_equal and sizes[0] >= _FEWEST_IN_PARTS):
        return True
    return all(
        any(_continue(*values) for _, values in _columns(*pair))
        for pair in itertools.pairwise(files)
    )


_Values = Sequence[str]


def _columns(first: FirstRows, second: FirstRows) -> Iterator[tuple[str, tuple[_Values, _Values]]]:
    """Yield the values of the columns that both files have, without nulls."""
    for column in first[0]:
        own, other = (
            [value for row in rows if (value := row.get(column)) is not None]
            for rows in (first, second)
        )
        if own and other:
            yield column, (own, other)


def _continue(first: _Values, second: _Values) -> bool:
    """Return whether the values of a column in two files are of one kind.

    >>> _continue(["C1", "C2", "C3"], ["C7", "C8"]), _continue(["C1", "C2", "C3"], ["S1", "S2"])
    (True, False)
    >>> _continue(["1", "2", "4"], ["5", "6"]), _continue(["1", "2", "4"], ["100", "200"])
    (True, False)
    """
    own, other = {*first}, {*second}
    if len(own | other) <= _FLAG_VALUES:
        return False
    repeat = len(own) < len(first) and len(other) < len(second)
    if repeat and len(own & other) >= LEAST_SHARE * min(len(own), len(other)):
        return True
    if (numbers := _numbers(first)) and (later := _numbers(second)):
        steps = [(max(each) - min(each)) / len(each) for each in (numbers, later) if len(each) > 1]
        distance = max(min(later) - max(numbers), min(numbers) - max(later))
        # Running numbers begin anew in each list.
        return min(numbers) != min(later) and distance <= _STEPS * min(steps, default=0)
    shapes, found = {*_shapes(first)}, [*_shapes(second)]
    return sum(shape in shapes for shape in found) >= LEAST_SHARE * len(second)


def _numbers(values: _Values) -> list[float]:
    """Parse the values; return none if one is no number."""
    with suppress(ValueError):
        return [*map(float, values)]
    return []


def _shapes(values: _Values) -> Iterator[str]:
    """Yield the shapes of identifiers: the letters with which all begin, and kinds of others.

    >>> [*_shapes(["ORD-17", "ORD-4"])], [*_shapes(["A7", "B8"])], [*_shapes(["Peru", "Chad"])]
    (['ORD-0', 'ORD-0'], ['0', '0'], [])
    """
    begin = _LETTERS.match(commonprefix(values))  # noqa: RUF071 (of characters)
    prefix = begin.group() if begin and len(values) > 1 else ""
    for value in values:
        shape = _WORD.sub(_kind_of_word, value[len(prefix) :])
        if _SIGN.search(shape):
            yield prefix + shape


def _kind_of_word(word: re.Match[str]) -> str:
    return "0" if any(map(str.isdigit, word.group())) else "a"
