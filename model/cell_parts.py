"""Find columns whose cells have parts that other columns hold.

Samples of columns show which cells may be lists, prefixed numbers or several columns in one, and
sketches show which columns hold their parts. Small numbers are held by every counter, so that names
must agree if all parts are numbers of a dense key.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, permutations, product

import numpy as np
import pyarrow as pa
from jaxtyping import Int
from scipy import sparse

from datahub_hyperjoin.arrow_bytes import bounds_of, distinct
from datahub_hyperjoin.cell_parts import (
    AND,
    BRACKETS,
    CellParts,
    PartKind,
    common_prefix,
    common_start,
    elements_of,
    number_behind,
)
from datahub_hyperjoin.joins import ColumnPairs
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import holds_days
from datahub_hyperjoin.model.roles.words import is_form_of, names_label
from datahub_hyperjoin.model.signals.names import Words, meaningful_words, stems
from datahub_hyperjoin.model.signals.pairs import chunks, find_among
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches
from datahub_hyperjoin.normal_form import Hashes, hash_values, normal_form
from datahub_hyperjoin.tables import ColumnProfile, DataType

_LONGEST = 200
"""Greatest mean length of the values of a column that may hold parts; longer ones are prose."""
_HAS_PARTS = re.compile(r"[^\W_][^\w]|_|[^\W\d].*\d$")
"""Pattern of texts of which some part ends before the text does."""
_DAY = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b.*")
"""Pattern of days, in any order of their numbers, which are no list of numbers."""
_FIRST, _MOST_VALUES = 8, 100
"""How many cells are examined first, and how many parts are looked up."""
_COLUMNS = 8192
"""Number of columns whose sketches are searched at once, which bounds memory."""
_SLOTS = 1024
"""Number of slots that are compared with all columns at once, for the same reason."""
_SEPARATORS = ";|,/+: "
_LOOSE = "+: "
"""What also stands between the words and numbers of texts that are no lists."""
_GLUES = (
    *("=>", "::", "--", "__", "->"),
    *(f" {mark} " for mark in "-/|>:&"),
    ", ",
    *"-_|/:.,;#>~+@ ",
)
"""What may stand between elements, and between columns; longer marks before those they contain."""
_MIN_LISTS, _MIN_GLUED = 0.1, 0.9
"""Least share of a sample's cells with several elements, and of cells with the same parts."""
_MIN_HELD, _MIN_HELD_KEYS = 0.8, 0.3
"""Least share of the parts that the other column holds; of a key to which the other one refers."""
_FEWEST, _MANY = 3, 10
"""Fewest parts that must be compared, and how many tell without names if no counter holds them."""
_KEY = 0.98
"""Least uniqueness of a key."""
_MAX_DENSITY = 0.5
"""Density above which numbers are taken for a counter."""
_MOST_KEYS, _MOST_COLUMNS, _MOST_NUMBERED = 3, 4, 16
"""Most keys that are tried for one way to read a column, most columns in one cell, and most keys
whose numbers have the same prefix."""
_KEY_TYPES = frozenset({DataType.INTEGER, DataType.TEXT, DataType.DATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProposal:
    """A join by parts of cells that the samples suggest."""

    pairs: ColumnPairs
    """The column whose cells are taken apart, and that which has the parts; several pairs if the
    cells hold several columns."""

    parts: CellParts
    names: float
    """How far the names of columns, tables or prefixes agree, in [0, 1]."""


@dataclass(frozen=True)
class _Slot:
    """The parts of a column's sample that one other column may hold."""

    column: int
    parts: CellParts
    place: int
    """Which of several columns in one cell this is; 0 otherwise."""

    values: frozenset[str] = field(hash=False)

    @cached_property
    def are_numbers(self) -> bool:
        # Words among numbers tell nothing about the numbers.
        return 2 * len(self._numbers) >= len(self.values)

    @cached_property
    def density(self) -> float:
        """The share of the range of their numbers that the parts fill."""
        # A column of texts has no density, and may hold small numbers all the same.
        numbers = {*map(int, self._numbers)}
        return len(numbers) / (max(numbers) - min(numbers) + 1) if numbers else 0.0

    @property
    def _numbers(self) -> list[str]:
        return [value for value in self.values if value.isdecimal()]


def propose_parts(index: LakeIndex) -> list[PartProposal]:
    """Propose joins by parts of cells; none for nearly all lakes."""
    lake = index.lake
    slots = [
        slot
        for column in np.flatnonzero(lake.is_text).tolist()
        for slot in _slots(column, lake.profiles[column])
    ]
    if not slots:
        return []
    held = _find_holders(lake, slots)
    proposals = [*_single(index, held), *_numbered(lake, slots), *_glued(index, held)]
    return sorted(proposals, key=lambda each: (each.pairs, each.parts.words))


def _are_days(profile: ColumnProfile) -> bool:
    return holds_days(profile) or all(map(_DAY.fullmatch, profile.sample[:_FIRST]))


def _slots(column: int, profile: ColumnProfile) -> Iterator[_Slot]:
    """Yield the ways in which a column's cells may be taken apart."""
    is_prose = profile.lengths.mean > _LONGEST
    if profile.personal or profile.distinct < _FEWEST or is_prose or _are_days(profile):
        return
    # Most columns have no such cells, as a few show.
    if not any(map(_HAS_PARTS.search, islice(profile.sample, _FIRST))):
        return
    cells = [*filter(None, map(normal_form, profile.sample))]
    name = str(profile.id)
    start = common_start(cells)
    for mark, elements in _lists(cells, start):
        yield _Slot(column, CellParts(PartKind.ELEMENTS, name, mark), 0, _some(elements))
    prefix = common_prefix(cells)
    # `Person 17` is a name that happens to have a number.
    is_name = prefix != prefix.strip() and prefix.strip()[-1:].isalnum()
    if prefix.strip() and not is_name and not names_label(stems(profile.id.path)):
        numbers = filter(None, (number_behind(cell, prefix) for cell in cells))
        yield _Slot(column, CellParts(PartKind.NUMBER, name, prefix), 0, _some(numbers))
    if start and start != prefix:
        texts = filter(None, (cell.removeprefix(start) for cell in cells))
        yield _Slot(column, CellParts(PartKind.TEXT, name, start), 0, _some(texts))
    tried = ""
    for mark in _GLUES:
        split = [] if mark in tried else _split_alike(cells, mark)
        tried = mark if split else tried
        for place, values in enumerate(zip(*split, strict=True)):
            parts = CellParts(PartKind.JOINED, name, mark)
            yield _Slot(column, parts, place, _some(dict.fromkeys(values)))


def _some(values: Iterable[str]) -> frozenset[str]:
    return frozenset(islice(values, _MOST_VALUES))


def _split_alike(cells: Sequence[str], mark: str) -> list[list[str]]:
    """Split the cells that have as many parts as nearly all have; return none if they differ."""
    split = [cell.split(mark) for cell in cells if mark in cell]
    counts = [*map(len, split)]
    count = max(counts, key=counts.count, default=0)
    if count > _MOST_COLUMNS or counts.count(count) < _MIN_GLUED * len(cells):
        return []
    return [each for each in split if len(each) == count]


def _lists(cells: Sequence[str], start: str) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the characters that may separate the elements of lists, with the elements.

    What separates others may also be in the `start` of each cell, as in `https://`.
    """
    ends = [cell.removeprefix(start) for cell in cells]
    is_bracketed = all(end[:1] in BRACKETS and end[-1:] in BRACKETS for end in ends)
    in_brackets = "," if any("," in end for end in ends) else " "
    for mark in in_brackets if is_bracketed else _SEPARATORS:
        lists = sum(mark in end and len(elements_of(end, mark)) > 1 for end in ends)
        if not is_bracketed and lists < max(_MIN_LISTS * len(cells), 2):
            continue
        counts = Counter(chain.from_iterable(elements_of(cell, mark) for cell in cells))
        # `Airways` in each of `AA Airways`, `UA Airways` is a part of names.
        is_name = mark in _LOOSE and max(counts.values(), default=0) > len(cells) / 2
        if is_bracketed or not is_name:
            yield mark, counts


_Holders = Mapping[_Slot, Sequence[tuple[int, float]]]
"""The columns of other tables that may hold the parts of a slot, with the share that each holds."""


def _find_holders(lake: Lake, slots: Sequence[_Slot]) -> _Holders:
    """Find the columns that hold enough parts for any proposal, of those whose sketches tell."""
    texts = sorted({value for slot in slots for value in slot.values})
    hashes = hash_values(pa.array(texts, pa.string()), lake.value_hash)
    wanted = distinct(hashes)
    number = dict(zip(texts, np.searchsorted(wanted, hashes).tolist(), strict=True))
    parts = [sorted(number[value] for value in slot.values) for slot in slots]
    held, last = _holding(lake, wanted)
    holders: dict[_Slot, Sequence[tuple[int, float]]] = {}
    for block in chunks(len(slots), _SLOTS):
        shares = _shares(lake, slots[block], parts[block], held, last)
        holders.update(zip(slots[block], shares, strict=True))
    return holders


def _holding(lake: Lake, wanted: Hashes) -> tuple[sparse.csr_array, Int[np.ndarray, " column"]]:
    """Mark the columns that hold each value, and count the values that each sketch can tell of."""
    asked = np.flatnonzero(lake.mask(lambda profile: profile.type in _KEY_TYPES))
    values, owners = [], []
    last = np.full(len(lake), len(wanted))
    for block in chunks(len(asked), _COLUMNS):
        columns = asked[block]
        sketches = [lake.profiles[column].sketch for column in columns.tolist()]
        found, bounds = concatenate_sketches(sketches)
        place, is_wanted = find_among(wanted, found)
        at = np.flatnonzero(is_wanted)
        values.append(place[at])
        owners.append(columns[np.searchsorted(bounds, at, side="right") - 1])
        is_cut = [lake.profiles[column].distinct_is_estimated for column in columns.tolist()]
        ends = bounds[1:][is_cut] - 1
        # A part whose hash exceeds those of the sketch may be held or not.
        last[columns[is_cut]] = np.searchsorted(wanted, found[ends], side="right")
    rows, of = (np.concatenate([*each, np.zeros(0, np.int64)]) for each in (values, owners))
    shape = len(wanted), len(lake)
    return sparse.csr_array((np.ones(len(rows), np.int32), (rows, of)), shape=shape), last


def _shares(
    lake: Lake,
    slots: Sequence[_Slot],
    parts: Sequence[Sequence[int]],
    held: sparse.csr_array,
    last: Int[np.ndarray, " column"],
) -> list[list[tuple[int, float]]]:
    """For each slot, return the columns that hold enough of its parts, with their shares."""
    sizes = np.array([*map(len, parts)])
    bounds, values = bounds_of(sizes), np.fromiter(chain.from_iterable(parts), np.int64)
    shape = len(slots), held.shape[0]
    wanted = sparse.csr_array((np.ones(len(values), np.int32), values, bounds), shape=shape)
    counts = (wanted @ held).tocoo()
    slot, column = counts.coords
    # The numbers of a slot's parts are ascending, and so are slots.
    keys = np.repeat(np.arange(len(slots)) * shape[1], sizes) + values
    compared = np.searchsorted(keys, slot * shape[1] + last[column]) - bounds[slot]
    share = counts.data / np.maximum(compared, 1)
    tables = lake.table_of[[each.column for each in slots]]
    is_enough = (
        (share >= min(_MIN_HELD, _MIN_HELD_KEYS))
        & (compared >= np.minimum(_FEWEST, sizes[slot]))
        & (lake.table_of[column] != tables[slot])
    )
    holders: list[list[tuple[int, float]]] = [[] for _ in slots]
    chosen = (each[is_enough].tolist() for each in (slot, column, share))
    for at, other, its_share in zip(*chosen, strict=True):
        holders[at].append((other, its_share))
    return [sorted(each) for each in holders]


def _single(index: LakeIndex, held: _Holders) -> Iterator[PartProposal]:
    """Propose joins of lists and of prefixed numbers with keys."""
    lake = index.lake
    for slot, holders in held.items():
        if slot.parts.kind is PartKind.JOINED:
            continue
        found = []
        for column, share in holders:
            # Names take longest to compare, and most holders have too few of the parts.
            if not _holds_enough(lake, slot, column, share):
                continue
            names = _compare_names(lake, slot, column)
            if _is_single(lake, slot, column, share=share, has_names=names > 0):
                found.append((-names, -share, column))
        for names, _, column in sorted(found)[:_MOST_KEYS]:
            # Further keys are other tables' copies, unless one is named.
            if names == min(found)[0]:
                pair = lake.ids[slot.column], lake.ids[column]
                yield PartProposal(pairs=(pair,), parts=slot.parts, names=-names)


def _holds_enough(lake: Lake, slot: _Slot, column: int, share: float) -> bool:
    """Return whether a column holds so many parts of another one that it may be its key."""
    if lake.profiles[column].uniqueness >= _KEY:
        return share >= _MIN_HELD
    # The prefixed numbers may be the key.
    is_prefixed = slot.parts.kind is not PartKind.ELEMENTS
    is_key = is_prefixed and lake.profiles[slot.column].uniqueness >= _KEY
    return is_key and share >= _MIN_HELD_KEYS


def _is_single(lake: Lake, slot: _Slot, column: int, *, share: float, has_names: bool) -> bool:
    """Return whether a column that holds enough parts of another one is probably its key."""
    is_prefixed = slot.parts.kind is not PartKind.ELEMENTS
    if lake.profiles[column].uniqueness < _KEY:
        return has_names
    if slot.parts.mark in _LOOSE and not (has_names or lake.is_text[column]):
        return False
    is_sparse = not slot.are_numbers or bool(
        lake.density[column] <= _MAX_DENSITY and slot.density <= _MAX_DENSITY
    )
    return has_names or (
        is_sparse and len(slot.values) >= _MANY and (share == 1 or not is_prefixed)
    )


def _numbered(lake: Lake, slots: Sequence[_Slot]) -> Iterator[PartProposal]:
    """Propose joins of numbers behind different prefixes, such as `C42` and `CUST-42`."""
    by_prefix: dict[str, list[_Slot]] = defaultdict(list)
    for slot in slots:
        if slot.parts.kind is PartKind.NUMBER:
            by_prefix[slot.parts.mark].append(slot)
    words = {prefix: "".join(stems(prefix)[-1:]) for prefix in by_prefix if AND not in prefix}
    for (own, first), (its, second) in permutations(words.items(), 2):
        # Codes of the same letters are equal without their separators.
        if first == second or not (first.startswith(second) or second.startswith(first)):
            continue
        keys = [slot for slot in by_prefix[its] if lake.profiles[slot.column].uniqueness >= _KEY]
        for slot, key in product(by_prefix[own], keys[:_MOST_NUMBERED]):
            if lake.table_of[slot.column] != lake.table_of[key.column] and (
                # Numbers behind prefixes are as dense as those of any counter.
                names := _compare_names(lake, slot, key.column)
            ):
                parts = CellParts(PartKind.NUMBERS, slot.parts.column, f"{own}{AND}{its}")
                pair = lake.ids[slot.column], lake.ids[key.column]
                yield PartProposal(pairs=(pair,), parts=parts, names=names)


_SAME, _SIMILAR = 1.0, 0.7
"""How far the names of a reference agree with those of a key: if they are equal, or one is another
form or an abbreviation of the other."""


def _compare_names(lake: Lake, slot: _Slot, column: int) -> float:
    """Return how far a column, or its prefix, is named after the other column or its table."""
    is_prefixed = slot.parts.kind is not PartKind.ELEMENTS
    prefix = _last_word(slot.parts.mark) if is_prefixed else ""
    # Columns that refer are named after other tables than their own.
    forth = _meant(lake, slot.column, prefix)
    agree = _agree(forth, lake, column)
    if is_prefixed:
        back = _agree(_meant(lake, column), lake, slot.column, prefix)
        # Without a word in the prefix, only the same name tells.
        agree = max(agree, back if prefix or back == _SAME else 0.0)
    return agree


def _last_word(prefix: str) -> str:
    """Return the last word of a prefix, as of `https://host/customers/`; one letter is none."""
    words = stems(prefix)
    return words[-1] if words and len(words[-1]) > 1 else ""


def _meant(lake: Lake, column: int, prefix: str = "") -> Words:
    """Return the words of a column and its prefix that do not name its own table."""
    own = lake.title_words[lake.table_of[column]]
    return tuple(word for word in _words(lake, column, prefix) if not _agree_word(word, own))


def _agree(words: Words, lake: Lake, column: int, prefix: str = "") -> float:
    title = lake.title_words[lake.table_of[column]]
    names = title, _words(lake, column, prefix)
    return max((_agree_word(word, name) for word in words for name in names), default=0.0)


def _words(lake: Lake, column: int, prefix: str) -> Words:
    words = meaningful_words(stems(lake.paths[column]))
    return (*words, prefix) if prefix else words


def _agree_word(word: str, name: Words) -> float:
    if not name:
        return 0.0
    if word in {"".join(name), name[-1]}:
        return _SAME
    return _SIMILAR if is_form_of(word, name) else 0.0


def _glued(index: LakeIndex, held: _Holders) -> Iterator[PartProposal]:
    """Propose joins of cells that hold several columns of another table."""
    lake = index.lake
    by_way: dict[tuple[int, CellParts], list[_Slot]] = defaultdict(list)
    for slot in held:
        if slot.parts.kind is PartKind.JOINED:
            by_way[slot.column, slot.parts].append(slot)
    for (column, parts), slots in by_way.items():
        are_numbers = all(slot.are_numbers for slot in slots)
        for columns in _columns_in_one([held[slot] for slot in slots], lake):
            names = max(_agree(_meant(lake, column), lake, other) for other in columns)
            # Numbers of a few lines are in every table of such numbers.
            if names or not are_numbers:
                pairs = tuple((lake.ids[column], lake.ids[other]) for other in columns)
                yield PartProposal(pairs=pairs, parts=parts, names=names)


def _columns_in_one(
    holders: Sequence[Sequence[tuple[int, float]]], lake: Lake
) -> Iterator[tuple[int, ...]]:
    """Yield columns of one table that hold the first, the second and all further parts of cells."""
    tables: dict[int, list[list[int]]] = defaultdict(lambda: [[] for _ in holders])
    for place, found in enumerate(holders):
        for other, share in found:
            if share >= _MIN_HELD:
                tables[int(lake.table_of[other])][place].append(other)
    for choices in tables.values():
        tried = product(*(each[:_MOST_KEYS] for each in choices))
        different = (columns for columns in tried if len({*columns}) == len(columns))
        yield from islice(different, _MOST_KEYS)
