"""Sample training pairs from two altered copies of the same tables (paper, section 4.2).

Each table is split into two overlapping subsets of its rows and columns. The first view keeps the
names. The second view is the table as another publisher might have written it, and some of its key
columns move into other tables, as joinable columns are in practice. A key column in the first view
and the same column in the second view, or a partner that people confirmed, form a positive pair.

The two columns of a pair never share a hyperedge. Otherwise the network would read the answer from
the graph, which offers no such answer at inference.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int
from torch import Tensor

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Features, Featurizer, pool
from datahub_hyperjoin.model.network.hin import UNSEEN, Batch
from datahub_hyperjoin.model.signals.names import vary_name
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    ColumnMask,
    KeyInts,
    PairInts,
    PairValues,
    SomeInts,
    group_equal,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_Random = np.random.Generator
_Halves = tuple[Bool[np.ndarray, " value"], Bool[np.ndarray, " value"]]

_COMPANIONS = 16
"""Maximum number of columns of a table that the two halves get besides the `needed` ones."""
_ALONE = 0.4
"""Share of a table's randomly chosen columns that go to the left half only. The same share goes to
the right half only, and the rest go to both halves."""


def split_columns(
    lake: Lake, needed: Int[np.ndarray, " needed"], random: _Random
) -> tuple[Int[np.ndarray, " left"], Int[np.ndarray, " right"]]:
    """Choose two overlapping subsets of each table's columns; both contain the `needed` columns."""
    # With equal subsets, the network could recognise a table by its other columns, and would learn
    # to find tables instead of columns.
    halves: tuple[list[SomeInts], ...] = [needed], [needed]
    for table in np.unique(lake.table_of[needed]):
        others = np.setdiff1d(lake.columns_of[table], needed)
        count = min(len(others), int(random.integers(_COMPANIONS + 1)))
        companions = random.choice(others, size=count, replace=False)
        draws = random.random(count)
        halves[0].append(companions[draws < 1 - _ALONE])
        halves[1].append(companions[draws >= _ALONE])
    left, right = (np.unique(np.concatenate(half)) for half in halves)
    return left, right


def split_values(counts: Sequence[int], random: _Random) -> _Halves:
    """Split a column's values as if its rows were split into two overlapping parts."""
    # Each of the two masks contains at least one value.
    # A value that r rows have is in a random share s of the rows with probability 1 - (1 - s)^r.
    repeats = np.asarray(counts)
    sides = []
    for _ in range(2):
        rows = random.uniform(0.3, 0.8)
        held = random.random(len(repeats)) < 1 - (1 - rows) ** repeats
        held[random.integers(len(repeats))] = True
        sides.append(held)
    left, right = sides
    # Two lists of unique values may overlap little, so the right half drops a random share of the
    # unique values that both halves hold.
    shared_rows = random.random()
    dropped = left & (repeats == 1) & (random.random(len(repeats)) > shared_rows)
    kept = right & ~dropped
    return left, kept if kept.any() else right


def move_columns(
    tables: ColumnInts, movable: ColumnMask, share: float, random: _Random
) -> ColumnInts:
    """Move a random share of the movable columns into other tables."""
    # Joinable columns are seldom in the same table, but both halves of a column are. A column that
    # moves among the columns of another table, under its title, can only be recognised by its own
    # name and values.
    moved = movable & (random.random(len(tables)) < share)
    return np.where(moved, random.permutation(tables), tables)


_ACCEPTED = 0.5
"""Share of training steps in which the positive of a key column is a partner that people accepted.
In all other steps, the positive is the column itself, so that names and values still count."""
_SIMILAR = 0.3
"""Containment above which two columns may be joinable, and therefore form no negative pair."""


def _draw(pairs: PairValues, column: int, random: _Random) -> SomeInts:
    """Draw one random partner of a column; return an empty array if the column has none."""
    partners = pairs.partners(column)
    return random.choice(partners, size=1) if len(partners) else partners


def _sample_targets(priors: CatalogPriors, keys: KeyInts, random: _Random) -> KeyInts:
    """For each key column, choose a positive example: the column itself or an accepted partner."""
    # KeyInts without an accepted partner draw nothing.
    targets = keys.copy()
    for row, key in enumerate(keys):
        partner = _draw(priors.accepted, int(key), random)
        if len(partner) and random.random() < _ACCEPTED:
            targets[row] = partner[0]
    return targets


def _sample_rejected(
    priors: CatalogPriors, keys: KeyInts, random: _Random
) -> Int[np.ndarray, " stranger"]:
    """For each key column with rejected partners, choose one such partner at random."""
    drawn = [_draw(priors.rejected, int(key), random) for key in keys]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *drawn]))


def find_negatives(
    keys: PairInts,
    candidates: Int[np.ndarray, " candidate"],
    index: LakeIndex,
    *,
    exclude_similar: bool,
) -> Bool[np.ndarray, "pair candidate"]:
    """For each key column, mark the candidates that serve as negatives."""
    # Candidates in the same value domain or with similar values may be joinable, and connected ones
    # are. A rejected candidate is always a negative, whatever its values.
    query, candidate = np.broadcast_arrays(keys[:, None], candidates[None, :])
    overlap, priors, component = index.overlap, index.priors, index.joins.component
    similar = (component[query] == component[candidate]) & (component[query] >= 0)
    there = overlap.locate(query, candidate)
    similar |= overlap.either_way_at(there, overlap.reverse_at(there)) > _SIMILAR
    similar &= exclude_similar
    joinable = similar | (query == candidate) | priors.connected.holds(query, candidate)
    return ~joinable | priors.rejected.holds(query, candidate)


def select_similar(overlap: ValueOverlap) -> ValueOverlap:
    """Return a copy of the overlap with only the pairs that `find_negatives` takes for similar."""
    # Training reads no other pairs, and there are many of them.
    similar = overlap.either_way(slice(None)) > _SIMILAR  # the same for both orders of a pair
    of_pairs = ("left", "right", "shared", "containment", "beyond_chance")
    return replace(overlap, **{name: getattr(overlap, name)[similar] for name in of_pairs})


# The changed values are those of the positive in a training pair. The network learns to match the
# differences that it sees here.

_Values = list[str]
Corruption = Callable[[_Values, _Random], _Values]

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CASES = (str.upper, str.lower, str.title)


def _change_case(values: _Values, random: _Random) -> _Values:
    case = _CASES[int(random.integers(len(_CASES)))]
    return [case(value) for value in values]


def _change_separator(values: _Values, random: _Random) -> _Values:
    separator = str(random.choice(["", " ", "-", "_", "/"]))
    return [re.sub(r"[\s\-_/.,]+", separator, value) for value in values]


def _pad(values: _Values, random: _Random) -> _Values:
    width = int(random.integers(4, 9))
    return [value.zfill(width) if value.isdigit() else value for value in values]


def _prefix(values: _Values, random: _Random) -> _Values:
    letters = "".join(random.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), size=2))
    return [f"{letters}-{value}" for value in values]


def _clip(values: _Values, random: _Random) -> _Values:
    length = int(random.integers(3, 7))
    return [" ".join(word[:length] for word in value.split(" ")) for value in values]


def _misspell(values: _Values, random: _Random) -> _Values:
    misspelt = []
    for value in values:
        letter = int(random.integers(max(len(value), 1)))
        before, after = value[:letter], value[letter + 2 :]
        swapped = before + value[letter + 1 : letter + 2] + value[letter : letter + 1] + after
        misspelt.append(str(random.choice([value, swapped, before + value[letter + 1 :]])))
    return misspelt


def _reformat(values: _Values, random: _Random) -> _Values:
    date = str(random.choice([r"\3/\2/\1", r"\2/\3/\1", r"\1\2\3"]))
    return [
        # Programs such as pandas write integers like this in columns with nulls.
        f"{value}.0" if value.isdecimal() else _DATE.sub(date, value, count=1)
        for value in values
    ]


_CORRUPTIONS: tuple[Corruption, ...] = (
    _change_case,
    _change_separator,
    _pad,
    _prefix,
    _clip,
    _misspell,
    _reformat,
)


def corrupt(values: Sequence[str], random: _Random) -> _Values:
    """Change all values of a column in one or two random ways."""
    changed = list(values)
    for choice in random.choice(len(_CORRUPTIONS), size=int(random.integers(1, 3)), replace=False):
        changed = _CORRUPTIONS[int(choice)](changed, random)
    return changed


ValueSplit = Mapping[int, tuple[Bool[np.ndarray, " _"], Bool[np.ndarray, " _"]]]
"""For each column, masks of the sampled values in the first view and in the second view."""

_RENAMED = 0.6  # share of the second view's columns that get a name variant
_OPAQUE = 0.15  # share of the second view's columns and tables whose name carries no information
_CORRUPTED = 0.5  # share of the second view's columns whose values are rewritten
_FROM_LLM = 0.5
"""Share of the renamed columns that get the language model's name variant, if there is one."""


@dataclass(frozen=True)
class PairBatch:
    """A training batch: two views of some tables, with positive and negative pairs."""

    batch: Batch
    queries: Int[Tensor, " pair"]
    candidates: Int[Tensor, " candidate"]
    # For each query, the position of its positive example in `candidates`: the query column itself
    # or a confirmed partner.
    positive: Int[Tensor, " pair"]
    negative: Bool[Tensor, "pair candidate"]


@dataclass(frozen=True)
class _View:
    columns: ColumnInts
    tables: ColumnInts
    names: list[str]
    titles: list[str]
    cells: list[Float32[np.ndarray, "_ feature"]]
    # The row of the network's table vectors; `UNSEEN` if the view hides it.
    table_vectors: ColumnInts


@dataclass(frozen=True)
class ViewSource:
    """The lake index, features and settings from which augmented views are drawn."""

    index: LakeIndex
    featurizer: Featurizer
    positions: Float32[np.ndarray, "column step"]
    cells: tuple[Float32[np.ndarray, "_ feature"], ...]
    config: ModelConfig = field(default_factory=ModelConfig)

    @property
    def lake(self) -> Lake:
        """The lake to train on."""
        return self.index.lake

    def whole(self) -> Features:
        """Compute the features of all columns of the lake from all their sampled values."""
        return _features(
            self,
            titles=[self.lake.titles[table] for table in self.lake.table_of],
            names=self.lake.paths,
            cells=self.cells,
        )


def _features(
    data: ViewSource,
    *,
    titles: Sequence[str],
    names: Sequence[str],
    cells: Sequence[Float32[np.ndarray, "_ feature"]],
) -> Features:
    # Names and values that are not read become empty texts and zeros, so the network's shape and
    # its random draws stay the same.
    starts = np.cumsum([0, *(len(part) for part in cells)])[:-1]
    read, featurizer = data.config.features, data.featurizer
    return Features(
        tables=featurizer.names([title * read.names for title in titles]),
        names=featurizer.names([name * read.names for name in names]),
        content=pool(np.concatenate(list(cells)), starts) * read.values,
    )


def _left_view(data: ViewSource, columns: ColumnInts, held: ValueSplit, random: _Random) -> _View:
    """Create the first augmented view, which keeps all names."""
    lake = data.lake
    table_of = lake.table_of[columns]
    tables, table = np.unique(table_of, return_inverse=True)
    hidden = random.random(len(tables)) < data.config.setting.context_dropout_rate
    return _View(
        columns=columns,
        tables=table_of,
        names=[lake.paths[column] for column in columns],
        titles=[lake.titles[table] for table in table_of],
        cells=[data.cells[column][held[column][0]] for column in columns],
        table_vectors=np.where(hidden[table], UNSEEN, tables[table] + 1),
    )


def _rename_tables(data: ViewSource, tables: ColumnInts, random: _Random) -> dict[int, str]:
    """Choose titles for the tables of the second view, as another publisher might write them."""
    method, titles = data.config.setting, dict[int, str]()
    for table in np.unique(tables).tolist():
        title = data.lake.titles[table]
        if random.random() < _OPAQUE * method.corruption:
            title = f"t{random.integers(10**5)}"
        elif method.name_variants:
            title = vary_name(title, random)
        titles[table] = title
    return titles


def _rename_column(data: ViewSource, column: int, random: _Random) -> str:
    """Choose a column's name for the second view, as another publisher might write it."""
    lake, method = data.lake, data.config.setting
    name = lake.paths[column]
    # Drawn even if the method renames nothing, so that later draws stay the same.
    if random.random() < _RENAMED * method.name_variants:
        variant = data.index.naming.variants.get(column)
        if variant is not None and random.random() < _FROM_LLM:
            name = variant
        else:
            name = vary_name(name, random)
    return f"col_{lake.standing[column]}" if random.random() < _OPAQUE * method.corruption else name


def _rewrite_cells(
    data: ViewSource, column: int, side: Bool[np.ndarray, " value"], random: _Random
) -> Float32[np.ndarray, "_ feature"]:
    """With some probability, corrupt a column's values; return the features of the result."""
    if random.random() >= _CORRUPTED * data.config.setting.corruption:
        return data.cells[column][side]
    values = [*compress(data.lake.profiles[column].sample, side.tolist())]
    # The number of draws depends on the values. A generator of its own keeps later draws the same
    # whatever the values are.
    own = np.random.default_rng(random.integers(2**63))
    return data.featurizer.cells(corrupt(values, own))


def _right_view(
    data: ViewSource, columns: ColumnInts, tables: ColumnInts, held: ValueSplit, random: _Random
) -> _View:
    """Create the second augmented view, which imitates another publisher's tables."""
    # Its columns never have a table vector: a table of another publisher is new to the network, and
    # this is how training covers that case.
    titles = _rename_tables(data, tables, random)
    names, cells = [], []
    for column in columns.tolist():
        names.append(_rename_column(data, column, random))
        cells.append(_rewrite_cells(data, column, held[column][1], random))
    return _View(
        columns=columns,
        tables=tables,
        names=names,
        titles=[titles[table] for table in tables.tolist()],
        cells=cells,
        table_vectors=np.full(len(columns), UNSEEN),
    )


def _join(data: ViewSource, left: _View, right: _View, random: _Random) -> Batch:
    """Combine two views into one batch, which needs only one forward pass."""
    # Groups are formed view by view and shifted by the start of the view, so that no hyperedge ever
    # contains columns of both. A domain with a single column in the view is no hyperedge.
    within: list[SomeInts] = []
    across: list[SomeInts] = []
    positions = []
    method = data.config.setting
    for view, start in ((left, 0), (right, len(left.columns))):
        within += [start + group for group in group_equal(view.tables) if method.within_tables]
        domains = group_equal(data.index.joins.component[view.columns])
        kept = random.random(len(domains)) >= method.context_dropout_rate
        across += [
            start + group
            for group, keep in zip(domains, kept, strict=True)
            if keep and len(group) > 1 and method.across_tables
        ]
        placed = random.random(len(view.columns)) >= method.context_dropout_rate
        positions.append(np.where(placed[:, None], data.positions[view.columns], 0))
    count = len(left.columns) + len(right.columns)
    tables = np.concatenate([left.table_vectors, right.table_vectors])
    return Batch(
        features=_features(
            data,
            titles=[*left.titles, *right.titles],
            names=[*left.names, *right.names],
            cells=[*left.cells, *right.cells],
        ),
        graph=Hypergraph.from_groups(count, within=within, across=across),
        tables=torch.from_numpy(tables.astype(np.int64)),
        positions=torch.from_numpy(np.concatenate(positions).astype(np.float32)),
    )


def sample_pairs(data: ViewSource, keys: KeyInts, random: _Random) -> PairBatch:
    """Sample a training batch with one positive pair for each key column."""
    lake, index, method = data.lake, data.index, data.config.setting
    keys = np.sort(keys)
    targets = _sample_targets(index.priors, keys, random)
    needed = np.concatenate([keys, targets, _sample_rejected(index.priors, keys, random)])
    left_columns, columns = split_columns(lake, np.unique(needed), random)
    held = {
        column: split_values(lake.profiles[column].counts, random)
        for column in np.union1d(left_columns, columns).tolist()
    }
    left = _left_view(data, left_columns, held, random)
    # In practice, joinable columns are seldom in the same table; other columns stay.
    movable = np.isin(columns, targets)
    tables = move_columns(lake.table_of[columns], movable, method.table_swap_rate, random)
    right = _right_view(data, columns, tables, held, random)
    exclude_similar = method.exclude_similar_negatives
    negative = find_negatives(keys, columns, index, exclude_similar=exclude_similar)
    return PairBatch(
        batch=_join(data, left, right, random),
        queries=torch.from_numpy(np.searchsorted(left_columns, keys)),
        candidates=torch.arange(len(columns)) + len(left_columns),
        positive=torch.from_numpy(np.searchsorted(columns, targets)),
        negative=torch.from_numpy(negative),
    )
