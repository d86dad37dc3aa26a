"""Convert values in different notations, such as `1,5` and `1.5`, to one canonical form.

`canonical_forms` computes for a column what `canonical_form` defines for one value. Few columns are
written in a notation of their own. The type of a column, and the first and the last byte of its
first values, rule out nearly all others without a regular expression.
"""

import itertools
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import (
    Indices,
    StringBytes,
    bounds_of,
    distinct,
    index_within,
    reduce_each,
)
from datahub_hyperjoin.form_parts import ACCENTED, CODE_REWRITES, MONEY_MARKS, SEPARATORS
from datahub_hyperjoin.normal_form import Hashes, hash_values, normal_forms
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    filtered_bounds,
)
from datahub_hyperjoin.spark.counting.texts import LAST_ZEROS, TextCounts, common_type, rewrite
from datahub_hyperjoin.tables import DataType, ValueHash
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import (
    TRUTHS,
    WITH_CERTAIN,
    best_shares,
    canonical_form,
    notation_of,
)

_FIRST_VALUES = 64
"""Number of values that are examined to find the notations in which a part of a column may be
written."""
_MIN_SHARE = 0.9
"""Maximum of the minimum share of the first `_FIRST_VALUES` values that a notation must be able to
read. The share is lower than for a whole column, because a part may hold more exceptions."""
_SUSPECT_SHARE = 0.03
"""Minimum share of the first values that look as if they were written in a notation."""
_IS_EDGE = np.isin(np.arange(256), np.frombuffer(b"0123456789+-.,", np.uint8))
"""The bytes with which numbers and dates begin and end."""
_MARKS = SEPARATORS.encode() + MONEY_MARKS.encode() + ACCENTED.encode() + b"&\\"
_IS_SEPARATOR = np.isin(np.arange(256), np.frombuffer(SEPARATORS.encode(), np.uint8))
_DIGIT, _OTHER = 1, 2
_IN_CODES = f"{SEPARATORS}{string.ascii_lowercase}".encode()
_CODE_CLASSES = bytes(
    _DIGIT if byte in b"0123456789" else _OTHER * (byte not in _IN_CODES) for byte in range(256)
)
_IS_MARK = np.isin(np.arange(256), np.frombuffer(_MARKS, np.uint8))
_IS_LETTER = np.isin(np.arange(256), np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8))
_EXPONENT, _POINT, _ZERO = b"e.0"
_SEPARATED_NUMBERS = (Notation.POINT, Notation.COMMA)
_NOTATIONS = {
    type_: {each: each.rules.types[type_] for each in Notation if type_ in each.rules.types}
    for type_ in ("text", "integer", "decimal", "timestamp")
}
"""The notations in which columns of a type may be written, with the length of their values."""


def canonical_forms(normal: pa.Array, notation: Notation) -> pa.Array:
    """Convert values from a notation to the canonical form, such as `1.234,5` to `1234.5`."""
    return _in_first(normal, WITH_CERTAIN[notation])


def _in_first(normal: pa.Array, notations: Sequence[Notation]) -> pa.Array:
    """Convert each value from the first notation that reads it."""
    first, *others = notations
    is_readable = _are_readable(normal, first)
    if not pc.any(is_readable, min_count=0).as_py():
        return _in_first(normal, others) if others else normal
    written = _write(normal.filter(is_readable), first)
    is_left = pc.invert(is_readable)
    if others and pc.any(is_left).as_py():
        rest = _in_first(normal.filter(is_left), others)
        normal = pc.replace_with_mask(normal, is_left, rest)
    return pc.replace_with_mask(normal, is_readable, written)


def _are_readable(normal: pa.Array, notation: Notation) -> pa.Array:
    if notation is not Notation.SEPARATED:
        return pc.match_substring_regex(normal, notation.rules.pattern)
    classes = StringBytes.of(normal).classes(_CODE_CLASSES)
    return pa.array((classes & _OTHER == 0) & (classes & _DIGIT > 0))


def in_notation(counted: TextCounts, notation: Notation) -> TextCounts:
    """Convert a column's distinct texts from a notation to the canonical form.

    The results may repeat, and that of a null is empty.
    """
    if notation is Notation.EXACT:
        return replace(counted, values=_exact(pc.fill_null(counted.values, "")))
    normal = normal_forms(pc.fill_null(counted.values, ""))
    return replace(counted, values=canonical_forms(normal, notation))


def _exact(texts: pa.Array) -> pa.Array:
    """Write texts so that those which differ also have different normal forms."""
    normal = normal_forms(texts)
    is_other = pc.and_(pc.not_equal(texts, normal), pc.not_equal(normal, ""))
    # Digits of bytes have no other normal form; the mark keeps them apart from numbers.
    digits = [f"={text.encode().hex()}" for text in texts.filter(is_other).to_pylist()]
    return pc.replace_with_mask(normal, is_other, pa.array(digits, pa.string()))


def form_sketches(
    normal: pa.Array,
    bounds: Indices,
    types: Sequence[AbstractSet[DataType]],
    size: int,
    value_hash: ValueHash = ValueHash.SIPHASH,
) -> list[dict[Notation, Hashes]]:
    """Sketch the canonical forms of concatenated columns, in each notation that may fit.

    `normal` has the normal forms of values that are not null, one column after the other. A sketch
    has at most `size` hashes, ascending. Nearly all columns have no notation.
    """
    common = [common_type(each) for each in types]
    columns_of: dict[Notation, list[int]] = defaultdict(list)
    suspects = [*_suspects(normal, bounds, common)]
    spread = [_spread(bounds[column], bounds[column + 1]) for column, _ in suspects]
    # Arrow takes the values of many short columns faster together, and converts them so, too.
    values = iter(normal.take(pa.array(itertools.chain(*spread), pa.int64())).to_pylist())
    for (column, notations), at in zip(suspects, spread, strict=True):
        for notation in _best_notations([*itertools.islice(values, len(at))], notations):
            columns_of[notation].append(column)
    sketches: list[dict[Notation, Hashes]] = [{} for _ in types]
    for notation, columns in columns_of.items():
        parts = [normal[bounds[column] : bounds[column + 1]] for column in columns]
        hashes = hash_values(canonical_forms(pa.concat_arrays(parts), notation), value_hash)
        ends = np.cumsum([*map(len, parts)])[:-1]
        for column, own in zip(columns, np.split(hashes, ends), strict=True):
            sketches[column][notation] = distinct(own)[:size]
    return sketches


def column_notations(
    samples: Sequence[DistinctValues], sketched: Sequence[Iterable[Notation]]
) -> list[Notation | None]:
    """Decide in which notation, such as decimal comma, each column is written; None for nearly all.

    A sample has all values if there are at most two. `sketched` are the notations in which each
    column was sketched.
    """
    asked = [
        (*among, Notation.TRUTH_WORDS) if len(values) <= TRUTHS else (*among,)
        for values, among in zip(samples, sketched, strict=True)
    ]
    # The texts of all columns that may have a notation are normalised in one call.
    among_samples = zip(samples, asked, strict=True)
    texts = [(values if among else NO_VALUES).texts for values, among in among_samples]
    bounds = bounds_of([*map(len, texts)]).tolist()
    normal = normal_forms(pa.concat_arrays(texts)).to_pylist()
    parts = zip(itertools.pairwise(bounds), asked, strict=True)
    return [
        notation_of(normal[begin:end], among) if among else None for (begin, end), among in parts
    ]


def may_have_notation(sample: DistinctValues, types: AbstractSet[DataType]) -> bool:
    """Return whether `column_notations` may find a notation for a column with this sample."""
    normal = normal_forms(sample.texts).to_pylist()
    # Only the names of columns tell days of spreadsheets.
    known = _NOTATIONS.get(common_type(types).value, ())
    among = [each for each in known if each is not Notation.SERIAL_DAY]
    return any(notation_of(normal, [notation]) for notation in _best_notations(normal, among))


def _suspects(
    normal: pa.Array, bounds: Indices, types: Sequence[DataType]
) -> Iterator[tuple[int, tuple[Notation, ...]]]:
    """For each column that may use a special notation, yield its index and the notations to try."""
    is_first = index_within(bounds) < _FIRST_VALUES
    rows_bounds = filtered_bounds(is_first, bounds)
    strings = StringBytes.of(normal.filter(pa.array(is_first)))
    counts = np.maximum(np.diff(rows_bounds), 1)
    has_edges = _IS_EDGE[strings.at(0)] & _IS_EDGE[strings.at(-1)]
    # The marks tell more than the edges of values in a text: `AB-12`, `=12`, `http://a.b`.
    # So does a zero behind a letter, as in `AB0012`.
    is_padding = strings.data == _ZERO
    is_padding[1:] &= _IS_LETTER[strings.data[:-1]]
    is_marked = strings.containing(_IS_MARK[strings.data] | is_padding)
    shares = {}
    for type_, lengths in _NOTATIONS.items():
        fits = np.isin(strings.lengths, [*itertools.chain(*lengths.values())])
        if type_ == DataType.DECIMAL:
            # As in `1.5e+06` and `12.`.
            fits = (strings.at(-4) == _EXPONENT) | (strings.at(-1) == _POINT)
        elif () in lengths.values():
            fits |= has_edges | is_marked
        shares[type_] = reduce_each(np.add, fits, rows_bounds) / counts
    for column, type_ in enumerate(types):
        least = _MIN_SHARE if type_ is DataType.INTEGER else _SUSPECT_SHARE
        if type_.value in shares and shares[type_.value][column] >= least:
            yield column, tuple(_NOTATIONS[type_.value])


def _spread(begin: int, end: int) -> range:
    """Return the positions of at most `_FIRST_VALUES` evenly spaced values of a column.

    A column may be sorted, so that its first values are not typical.
    """
    return range(begin, end, max(-((begin - end) // _FIRST_VALUES), 1))


def _best_notations(values: Sequence[str], among: Iterable[Notation]) -> list[Notation]:
    """Return the notations that fit the most values; several if the values do not decide.

    There are none if even the best fits less than `_MIN_SHARE` of the values.
    """
    characters = frozenset().union(*values)
    # Without a separator or a plus, numbers differ from their normal forms in zeros only.
    has_separators = not characters.isdisjoint(", ") or (
        not characters.isdisjoint("+.")
        and any(value[:1] == "+" or value.count(".") > 1 for value in values)
    )
    # A plain uuid is no code with separators, though nothing marks it.
    among = [
        each for each in among if each is Notation.WRAPPED_UUID or _is_marked(each, characters)
    ]
    shares = {
        notation: share
        for notation, share in best_shares(values, among, most=_MIN_SHARE).items()
        if has_separators or notation not in _SEPARATED_NUMBERS
    }
    best = max(shares.values(), default=0.0)
    return [
        notation
        for notation, share in shares.items()
        if share == best and _is_marked(notation, characters)
    ]


def _is_marked(notation: Notation, characters: frozenset[str]) -> bool:
    return not notation.rules.marks or not characters.isdisjoint(notation.rules.marks)


def _write(normal: pa.Array, notation: Notation) -> pa.Array:
    """Convert values that are valid in a notation to the canonical form: `1,5` to `1.5`."""
    rules = notation.rules
    if notation is Notation.OFFSET:
        return _write_instants(normal)
    if notation is Notation.SEPARATED:
        # Many columns hold codes, and a regular expression for separators takes ten times as long.
        _, *others = CODE_REWRITES
        return rewrite(_without_separators(normal), *others)
    if not rules.rewrites:
        return _write_each(normal, notation)
    written = rewrite(normal, *rules.rewrites)
    if not rules.one_by_one:
        return written
    is_slow = pc.match_substring(normal, rules.one_by_one)
    return pc.replace_with_mask(written, is_slow, _write_each(normal.filter(is_slow), notation))


def _without_separators(normal: pa.Array) -> pa.Array:
    strings = StringBytes.of(normal)
    is_kept = ~_IS_SEPARATOR[strings.data]
    offsets = bounds_of(strings.count(is_kept)).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(normal), pa.py_buffer(offsets), pa.py_buffer(strings.data[is_kept])
    )


def _write_instants(normal: pa.Array) -> pa.Array:
    spaced = rewrite(normal, ("t", " "), (" ([+-])", r"\1"))
    try:
        instants = spaced.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # such as the 30th of February
        return _write_each(normal, Notation.OFFSET)
    return rewrite(instants.cast(pa.string()), *LAST_ZEROS, (" 00:00:00$", ""))


def _write_each(normal: pa.Array, notation: Notation) -> pa.Array:
    texts = [canonical_form(value, notation) for value in normal.to_pylist()]
    return pa.array(texts, pa.string())
