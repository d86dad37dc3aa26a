"""Build column profiles from aggregates."""

import itertools
import math
import re
import string
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import (
    Bytes,
    Indices,
    Mask,
    StringBytes,
    bounds_of,
    chunks_of,
    index_within,
    reduce_each,
)
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate
from datahub_hyperjoin.spark.counting.notations import column_notations
from datahub_hyperjoin.spark.counting.placeholders import FEWEST_KEYS, leave_out_placeholders
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, estimate_distinct, to_bytes
from datahub_hyperjoin.spark.counting.texts import are_usual_markers
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths, Pattern
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import canonical_form

_ERRORS = 3
"""Number of standard errors by which the estimated distinct values of a key are at most too few."""
_LONGEST = 40
_DAY = re.compile(r"(?i:date|datum|fecha|(?<![a-z])(?:day|dt|on|at))$|[a-z](?:Day|On|At)$")
"""Names of columns whose numbers may be days."""
_CODE = re.compile(
    r"(?i:codes?|kode|código|(?<![a-z])(?:cd|icd[-_ ]?9?|sic|isic|nace|naics|ddc|udc|dewey))$"
)
"""Names of columns whose fractions are codes, such as those of diseases, trades and books."""
_CLASSES = {"Nd": "9", **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"), "A")}
_LETTER, _DIGIT, _BLANK, _PLUS = b"A9 +"
_LAST_ASCII = 0x7F
_SYMBOLS = bytes.maketrans(
    string.ascii_letters.encode() + string.digits.encode() + b"\t\n\f\r",
    b"A" * 52 + b"9" * 10 + b" " * 4,
)
"""The symbol for each byte of ASCII text."""


def shapes(values: pa.Array) -> pa.Array:
    """Replace letters with `A` and digits with `9`, and shorten repetitions.

    Two or more letters become `A+`, one letter `A`, a digit `9`, five or more digits `9+`. All
    other characters stay as they are. The shape covers the first 40 characters of a value.

    Examples:
        >>> import pyarrow as pa
        >>> shapes(pa.array(["B6 1234", "Köln", "+49 221 5551234"])).to_pylist()
        ['A9 9999', 'A+', '+99 999 9+']
    """
    texts = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, _LONGEST)
    strings = StringBytes.of(texts)
    is_foreign = strings.containing(strings.data > _LAST_ASCII)
    if is_foreign.any():
        # Arrow builds its Unicode tables anew in each call, which takes milliseconds.
        mask = pa.array(is_foreign)
        ascii_texts = [_in_ascii(value) for value in texts.filter(mask).to_pylist()]
        replacements = pa.array(ascii_texts, pa.string())
        strings = StringBytes.of(pc.replace_with_mask(texts, mask, replacements))
    symbols, is_kept = _collapse_runs(strings)
    offsets = bounds_of(strings.count(is_kept)).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(offsets), pa.py_buffer(symbols[is_kept])
    )


def patterns(values: pa.Array, bounds: Indices, most: int) -> list[tuple[Pattern, ...]]:
    """Find the most frequent value patterns in each of several concatenated columns.

    Equally frequent shapes are in alphabetical order.

    Examples:
        >>> import numpy as np, pyarrow as pa
        >>> [column] = patterns(pa.array(["N102", "N55", "N713"]), np.array([0, 3]), 2)
        >>> [str(pattern.shape) for pattern in column]
        ['A999', 'A99']
    """
    encoded = shapes(values).dictionary_encode()
    sizes, width = np.diff(bounds), max(len(encoded.dictionary), 1)
    columns = np.repeat(np.arange(len(sizes)), sizes)
    # Column and shape become one number, so that one call counts the shapes of all columns.
    counted = pc.value_counts(pa.array(columns * width + encoded.indices.to_numpy()))
    columns, codes = np.divmod(counted.field(0).to_numpy(), width)
    counts, alphabetical = counted.field(1).to_numpy(), pc.rank(encoded.dictionary).to_numpy()
    best = np.lexsort((alphabetical[codes], -counts, columns))
    shapes_per_column = np.bincount(columns, minlength=len(sizes))
    best = best[index_within(bounds_of(shapes_per_column)) < most]
    shares = (counts / sizes[columns])[best].tolist()
    names = encoded.dictionary.take(pa.array(codes[best])).to_pylist()
    kept = [Pattern(shape=shape, share=share) for shape, share in zip(names, shares, strict=True)]
    ends = bounds_of(np.minimum(shapes_per_column, most)).tolist()
    return [tuple(kept[begin:end]) for begin, end in itertools.pairwise(ends)]


def _collapse_runs(strings: StringBytes) -> tuple[Bytes, Mask]:
    """Convert text to symbols such as `A` and `9`, and shorten runs of equal symbols.

    The result has the symbols, and a mask that selects the symbols to keep. A run lies within one
    string. Runs are shortened in place, without a loop over values: the second letter of a run
    becomes `+` and later ones are dropped; blanks after the first are dropped; of five or more
    digits the second becomes `+` and later ones are dropped. Shorter runs of digits stay.
    """
    symbols = strings.translate(_SYMBOLS)
    continues = np.zeros(len(symbols), np.bool_)
    continues[1:] = symbols[1:] == symbols[:-1]
    continues[strings.bounds[:-1][strings.lengths > 0]] = False
    letters, digits, blanks = symbols == _LETTER, symbols == _DIGIT, symbols == _BLANK
    is_second = continues & _shifted(~continues, 1)
    from_fifth = digits & continues
    for distance in (1, 2, 3):
        from_fifth &= _shifted(continues, distance)
    is_fifth = from_fifth & _shifted(~continues, 4)
    is_dropped = from_fifth | _shifted(is_fifth, -1) | _shifted(is_fifth, -2)
    is_dropped |= (blanks | (letters & ~is_second)) & continues
    symbols[(letters & is_second) | _shifted(is_fifth, -3)] = _PLUS
    return symbols, ~is_dropped


def _shifted(marks: Mask, distance: int) -> Mask:
    """Shift a mask to the right by a distance, or to the left by a negative one."""
    shifted = np.zeros_like(marks)
    if distance > 0:
        shifted[distance:] = marks[:-distance]
    else:
        shifted[:distance] = marks[-distance:]
    return shifted


def _in_ascii(value: str) -> str:
    return "".join(_CLASSES.get(unicodedata.category(char), char) for char in value)


class CountedColumn(NamedTuple):
    """A column, with the aggregate of its values in all rows."""

    id: ColumnId
    """The column."""

    position: int
    """Position of the column in the table, from 0."""

    aggregate: ColumnAggregate
    """Aggregate of the column's values. It holds one more hash than the sketch will keep."""


def profile_columns(columns: Sequence[CountedColumn], config: ProfileConfig) -> list[ColumnProfile]:
    """Build the profiles of several columns.

    The mean length covers the values in the sketch, each cut to its first 1000 characters; the
    patterns cover the sample.
    """
    resolved = [
        column._replace(aggregate=leave_out_placeholders(column.aggregate, config.sketch_size))
        for column in columns
    ]
    sizes = [len(column.aggregate.values) * column.aggregate.lengths[1] for column in resolved]
    # Columns are processed in chunks so that their texts fit in memory together.
    return [
        profile for chunk in chunks_of(sizes) for profile in _profile_chunk(resolved[chunk], config)
    ]


def opaque_profile(id_: ColumnId, column: Column, *, rows: int) -> ColumnProfile:
    """Build a profile without values for a column whose values cannot be compared."""
    return ColumnProfile(id_, column.position, column.opaque or DataType.NESTED, rows)


def _profile_chunk(columns: Sequence[CountedColumn], config: ProfileConfig) -> list[ColumnProfile]:
    """Profile several columns together, because this takes fewer calls to Arrow.

    Sketch, sample and patterns nest: the sample is the beginning of the sketch, and the patterns
    are those of the sample. All samples are converted to Python in one call, because the calls
    take longer than the conversion.
    """
    size = config.sketch_size
    sketches = [column.aggregate.values.smallest(size) for column in columns]
    samples = [values.smallest(config.sample_size) for values in sketches]
    texts, bounds = _concatenate_texts(samples)
    all_texts = texts.to_pylist()
    ends = itertools.pairwise(bounds.tolist())
    sample_texts = [tuple(all_texts[begin:end]) for begin, end in ends]
    column_patterns = patterns(texts, bounds, config.pattern_count)
    written = column_notations(samples, [*map(_sketched_notations, columns)])
    notations = [
        Notation.EXACT if _has_keys_in_one_form(column.aggregate) else notation
        for column, notation in zip(columns, written, strict=True)
    ]
    markers = _usual_markers(samples, texts, bounds)
    means = _means(sketches)
    facts = columns, sketches, samples, sample_texts, means, column_patterns, notations, markers
    parts = zip(*facts, strict=True)
    return [
        ColumnProfile(
            id=id_,
            position=position,
            type=_type_of(id_.path, aggregate, notation, sample_text),
            rows=aggregate.rows,
            nulls=aggregate.nulls,
            distinct=aggregate.rows - aggregate.nulls
            if notation is Notation.EXACT
            else _count_distinct(aggregate, sample, size),
            sketch=to_bytes(sketch.hashes),
            sample=sample_text,
            counts=tuple(sample.counts.tolist()),
            # The shortest length of no values is greater than any length.
            lengths=Lengths(min(aggregate.lengths), mean, aggregate.lengths[1]),
            patterns=shapes,
            notation=notation,
            form_sketch=to_bytes(aggregate.forms[notation][:size])
            if notation in aggregate.forms
            else b"",
            placeholders=tuple(aggregate.placeholders.texts.to_pylist()),
            markers=tuple(usual),
            marker_counts=tuple(usual.values()),
        )
        for (
            (id_, position, aggregate),
            *(sketch, sample, sample_text, mean, shapes, notation, usual),
        ) in parts
    ]


def _sketched_notations(column: CountedColumn) -> list[Notation]:
    """Return the notations in which a column was sketched, and may be written."""
    # Numbers of five digits are days only where they are called so.
    is_day = _DAY.search(column.id.path) is not None
    return [each for each in column.aggregate.forms if is_day or each is not Notation.SERIAL_DAY]


def _type_of(
    path: str, aggregate: ColumnAggregate, notation: Notation | None, sample: Sequence[str]
) -> DataType:
    """Return the type of a column, whatever its values look like one by one."""
    if notation is Notation.EXACT or _holds_codes(path, aggregate, sample):
        return DataType.TEXT
    if notation is Notation.EXPONENT or notation is Notation.BEFORE_POINT:
        numbers = [canonical_form(normal_form(value), notation) for value in sample]
        if not any("." in number for number in numbers):
            return DataType.INTEGER
    return aggregate.type


def _usual_markers(
    samples: Sequence[DistinctValues], texts: pa.Array, bounds: Indices
) -> list[dict[str, int]]:
    """For each column, count the rows of the usual markers that rows repeat."""
    counts = np.concatenate([sample.counts for sample in samples])
    repeated = np.flatnonzero(counts > 1)
    found = repeated[are_usual_markers(texts.take(pa.array(repeated)))]
    markers: list[dict[str, int]] = [{} for _ in samples]
    columns = np.searchsorted(bounds, found, side="right") - 1
    written = texts.take(pa.array(found)).to_pylist()
    for column, text, count in zip(columns, written, counts[found].tolist(), strict=True):
        markers[column][text] = count
    return markers


def _count_distinct(aggregate: ColumnAggregate, sample: DistinctValues, size: int) -> int:
    filled = aggregate.rows - aggregate.nulls
    # The estimate may exceed the number of rows that have a value.
    estimate = min(estimate_distinct(aggregate.values.hashes, size), filled)
    if len(aggregate.values) <= size or (sample.counts > 1).any():
        return estimate
    # Half of all long keys would seem a little less than unique.
    return filled if estimate >= (1 - _ERRORS / math.sqrt(size)) * filled else estimate


def _has_keys_in_one_form(aggregate: ColumnAggregate) -> bool:
    """Return whether a column has another text in each row, of which some are equal otherwise."""
    if not aggregate.is_exact or aggregate.rows - aggregate.nulls < FEWEST_KEYS:
        return False
    values = aggregate.values
    repeated = values.hashes[values.counts > 1]
    return len(repeated) > 0 and not np.isin(repeated, aggregate.markers.hashes).all()


def _holds_codes(path: str, aggregate: ColumnAggregate, sample: Sequence[str]) -> bool:
    """Return whether texts that look like fractions are codes, such as the sections 3.1 and 3.10.

    Nothing but codes is called so and has no value below one, has the same number in two texts,
    unless people round some of them, or counts from 1 behind the point. What counts has no zero in
    front.
    """
    if aggregate.type is not DataType.DECIMAL:
        return False
    texts = aggregate.values.texts
    if _CODE.search(path) and pc.all(pc.match_substring_regex(texts, "^[1-9][0-9.]*$")).as_py():
        return True
    # The sample nearly always decides it.
    if (
        not any(map(_ZERO_IN_FRONT.search, sample))
        and not pc.any(pc.match_substring_regex(texts, _ZERO_IN_FRONT.pattern), min_count=0).as_py()
    ):
        padded = texts.filter(pc.match_substring_regex(texts, r"^[0-9]{1,3}\.[0-9]*[1-9]0+$"))
        numbers = pc.replace_substring_regex(padded, "0+$", "")
        if pc.any(pc.is_in(numbers, value_set=texts), min_count=0).as_py():
            return True
    return _count_up(texts, sample)


_ZERO_IN_FRONT = re.compile(r"\.0[0-9]")
_FEWEST_PARTS, _MANY_CODES, _MOST_PARTS = 20, 60, 0.6
"""Minimum number of codes that tell how they count, and of those with one digit, and the maximum
share of the numbers of so many digits to which they count; fractions have all of them."""


def _count_up(texts: pa.Array, sample: Sequence[str]) -> bool:
    """Return whether all texts are whole numbers with others behind the point, none of them 0."""
    if len(texts) < _FEWEST_PARTS or len({len(text.partition(".")[2]) for text in sample}) > 1:
        return False
    parts = pc.extract_regex(texts, r"^[0-9]{1,4}\.(?P<part>[0-9]{1,3})$")
    if parts.null_count:
        return False
    digits = parts.field("part")
    widths, numbers = pc.utf8_length(digits).unique(), digits.cast(pa.int64())
    if len(widths) > 1 or pc.min(numbers).as_py() == 0:
        return False
    # One digit in ten is 0 by chance.
    are_few = pc.max(numbers).as_py() <= _MOST_PARTS * 10 ** widths[0].as_py()
    return are_few or (widths[0].as_py() == 1 and len(texts) > _MANY_CODES)


def _concatenate_texts(columns: Sequence[DistinctValues]) -> tuple[pa.Array, Indices]:
    texts = pa.concat_arrays([values.texts for values in columns])
    return texts, bounds_of([len(values) for values in columns])


def _means(columns: Sequence[DistinctValues]) -> list[float]:
    """For each column, return the mean length of its texts; 0 for one without values."""
    texts, bounds = _concatenate_texts(columns)
    sums = reduce_each(np.add, pc.utf8_length(texts).to_numpy(), bounds)
    return (sums / np.maximum(np.diff(bounds), 1)).tolist()
