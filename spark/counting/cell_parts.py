"""Take the cells of columns apart, as `CellParts` says."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.cell_parts import BRACKETS, QUOTES, CellParts, PartKind
from datahub_hyperjoin.normal_form import normal_forms
from datahub_hyperjoin.spark.counting.texts import TextCounts


def in_parts(counted: TextCounts, parts: CellParts) -> TextCounts:
    """Convert a column's distinct texts to their parts, which may repeat.

    A row counts once for each element of its list. A text without a part becomes empty.

    Examples:
        >>> lists = TextCounts(5, pa.array(["a;b", "b", None]), np.array([2, 2, 1]))
        >>> elements = in_parts(lists, CellParts(PartKind.ELEMENTS, "posts.tags", ";"))
        >>> elements.values.to_pylist(), elements.counts.tolist()
        (['a', 'b', 'b'], [2, 2, 2])
    """
    normal = normal_forms(pc.fill_null(counted.values, ""))
    match parts.kind:
        case PartKind.ELEMENTS:
            values, row = _elements(normal, parts.mark)
            return TextCounts(counted.rows, values, counted.counts[row])
        case PartKind.NUMBER:
            return TextCounts(counted.rows, _numbers(normal, parts.mark), counted.counts)
        case PartKind.TEXT:
            rest = pc.utf8_slice_codeunits(normal, len(parts.mark))
            is_behind = pc.starts_with(normal, parts.mark)
            return TextCounts(counted.rows, pc.if_else(is_behind, rest, ""), counted.counts)
        case PartKind.JOINED | PartKind.OF_TYPE | PartKind.NUMBERS:
            return TextCounts(counted.rows, normal, counted.counts)


def _elements(normal: pa.Array, mark: str) -> tuple[pa.Array, np.ndarray]:
    """Do what `elements_of` does, and return also the text from which each element comes."""
    is_bracketed = pc.match_substring_regex(normal, r"^[\[({\])}]")
    inner = pc.if_else(is_bracketed, pc.utf8_trim(normal, BRACKETS), normal)
    lists = pc.split_pattern(inner, mark)
    elements = pc.utf8_trim(pc.list_flatten(lists), QUOTES + " ").dictionary_encode()
    row = pc.list_parent_indices(lists).to_numpy()
    code = elements.indices.to_numpy().astype(np.int64)
    _, first = np.unique(row * max(len(elements.dictionary), 1) + code, return_index=True)
    is_filled = pc.not_equal(elements.dictionary, "").to_numpy(zero_copy_only=False)
    first = np.sort(first[is_filled[code[first]]])
    return elements.dictionary.take(pa.array(code[first])), row[first]


def _numbers(normal: pa.Array, prefix: str) -> pa.Array:
    """Do what `number_behind` does."""
    rest = pc.utf8_slice_codeunits(normal, len(prefix))
    rest = pc.if_else(pc.starts_with(normal, prefix), rest, normal)
    is_number = pc.match_substring_regex(rest, "^[0-9]+$")
    return pc.if_else(is_number, pc.replace_substring_regex(rest, "^0+([0-9])", r"\1"), "")
