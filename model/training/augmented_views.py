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
from dataclasses import dataclass, field
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
from datahub_hyperjoin.model.training.pair_sampling import (
    find_negatives,
    sample_rejected,
    sample_targets,
)
from datahub_hyperjoin.model.training.table_split import move_columns, split_columns, split_values

# The changed values are those of the positive in a training pair. The network learns to match the
# differences that it sees here.

_Values = list[str]
Corruption = Callable[[_Values, np.random.Generator], _Values]

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CASES = (str.upper, str.lower, str.title)


def _change_case(values: _Values, random: np.random.Generator) -> _Values:
    case = _CASES[int(random.integers(len(_CASES)))]
    return [case(value) for value in values]


def _change_separator(values: _Values, random: np.random.Generator) -> _Values:
    separator = str(random.choice(["", " ", "-", "_", "/"]))
    return [re.sub(r"[\s\-_/.,]+", separator, value) for value in values]


def _pad(values: _Values, random: np.random.Generator) -> _Values:
    width = int(random.integers(4, 9))
    return [value.zfill(width) if value.isdigit() else value for value in values]


def _prefix(values: _Values, random: np.random.Generator) -> _Values:
    letters = "".join(random.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), size=2))
    return [f"{letters}-{value}" for value in values]


def _clip(values: _Values, random: np.random.Generator) -> _Values:
    length = int(random.integers(3, 7))
    return [" ".join(word[:length] for word in value.split(" ")) for value in values]


def _misspell(values: _Values, random: np.random.Generator) -> _Values:
    misspelt = []
    for value in values:
        letter = int(random.integers(max(len(value), 1)))
        before, after = value[:letter], value[letter + 2 :]
        swapped = before + value[letter + 1 : letter + 2] + value[letter : letter + 1] + after
        misspelt.append(str(random.choice([value, swapped, before + value[letter + 1 :]])))
    return misspelt


def _reformat(values: _Values, random: np.random.Generator) -> _Values:
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


def corrupt(values: Sequence[str], random: np.random.Generator) -> _Values:
    """Change all values of a column in one or two random ways."""
    changed = list(values)
    for choice in random.choice(len(_CORRUPTIONS), size=int(random.integers(1, 3)), replace=False):
        changed = _CORRUPTIONS[int(choice)](changed, random)
    return changed


ValueSplit = Mapping[int, tuple[Bool[np.ndarray, " _"], Bool[np.ndarray, " _"]]]
"""For each column, masks of the sampled values in the first view and in the second view."""

_RENAMED = 0.6
"""Share of the second view's columns that get a name variant."""
_OPAQUE = 0.15
"""Share of the second view's columns and tables whose name carries no information."""
_CORRUPTED = 0.5
"""Share of the second view's columns whose values are rewritten."""
_FROM_LLM = 0.5
"""Share of the renamed columns that get the language model's name variant, if there is one."""


@dataclass(frozen=True)
class PairBatch:
    """A training batch: two views of some tables, with positive and negative pairs."""

    batch: Batch
    """All columns of both views over one hypergraph."""

    queries: Int[Tensor, " pair"]
    """The first view's key columns, by their index in the batch."""

    candidates: Int[Tensor, " candidate"]
    """All columns of the second view, by their index in the batch."""

    positive: Int[Tensor, " pair"]
    """For each query, the position of its positive example in `candidates`: the query column itself
    or a confirmed partner."""

    negative: Bool[Tensor, "pair candidate"]
    """Whether a candidate is a negative of a query."""


@dataclass(frozen=True)
class _View:
    columns: Int[np.ndarray, " column"]
    tables: Int[np.ndarray, " column"]
    """The table of each column in this view, after swaps."""

    names: list[str]
    titles: list[str]
    cells: list[Float32[np.ndarray, "_ feature"]]
    table_vectors: Int[np.ndarray, " column"]
    """The row of the network's table vectors; `UNSEEN` if the view hides it."""


@dataclass(frozen=True)
class ViewSource:
    """The lake index, features and settings from which augmented views are drawn."""

    index: LakeIndex
    featurizer: Featurizer
    positions: Float32[np.ndarray, "column step"]
    """The positional encoding of each column."""

    cells: tuple[Float32[np.ndarray, "_ feature"], ...]
    """The features of each column's sampled cells."""

    config: ModelConfig = field(default_factory=ModelConfig)
    """Which facts about columns are read, and how views are drawn."""

    @property
    def lake(self) -> Lake:
        """The lake to train on."""
        return self.index.lake

    def whole(self) -> Features:
        """Compute the features of all columns of the lake from all their sampled values."""
        return _features(
            self,
            titles=[self.lake.titles[table] for table in self.lake.table_of],
            names=[profile.id.path for profile in self.lake.profiles],
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


def _left_view(
    data: ViewSource,
    columns: Int[np.ndarray, " column"],
    held: ValueSplit,
    random: np.random.Generator,
) -> _View:
    """Create the first augmented view, which keeps all names.

    It hides the vectors of some random tables.
    """
    lake = data.lake
    table_of = lake.table_of[columns]
    tables, table = np.unique(table_of, return_inverse=True)
    hidden = random.random(len(tables)) < data.config.setting.context_dropout_rate
    return _View(
        columns=columns,
        tables=table_of,
        names=[lake.profiles[column].id.path for column in columns],
        titles=[lake.titles[table] for table in table_of],
        cells=[data.cells[column][held[column][0]] for column in columns],
        table_vectors=np.where(hidden[table], UNSEEN, tables[table] + 1),
    )


def _choose_variant(index: LakeIndex, column: int, random: np.random.Generator) -> str:
    """For a column, choose another name that has the same meaning.

    It is the name variant or a name made by rules.

    A column without a name variant always gets a name made by rule.
    """
    variant = index.naming.variants.get(column)
    if variant is not None and random.random() < _FROM_LLM:
        return variant
    return vary_name(index.lake.profiles[column].id.path, random)


def _rename_tables(
    data: ViewSource, tables: Int[np.ndarray, " column"], random: np.random.Generator
) -> dict[int, str]:
    """Choose titles for the tables of the second view, as another publisher might write them.

    A title is meaningless, varied or unchanged.
    """
    titles, method = data.lake.titles, data.config.setting

    def rewrite(title: str) -> str:
        if random.random() < _OPAQUE * method.corruption:
            return f"t{random.integers(10**5)}"
        return vary_name(title, random) if method.name_variants else title

    return {table: rewrite(titles[table]) for table in np.unique(tables).tolist()}


def _rename_column(data: ViewSource, column: int, random: np.random.Generator) -> str:
    """Choose a column's name for the second view, as another publisher might write it.

    The name is meaningless, varied or unchanged.
    """
    lake, method = data.lake, data.config.setting
    name = lake.profiles[column].id.path
    # Drawn even if the method renames nothing, so that later draws stay the same.
    if random.random() < _RENAMED * method.name_variants:
        name = _choose_variant(data.index, column, random)
    return f"col_{lake.standing[column]}" if random.random() < _OPAQUE * method.corruption else name


def _rewrite_cells(
    data: ViewSource,
    column: int,
    side: Bool[np.ndarray, " value"],
    random: np.random.Generator,
) -> Float32[np.ndarray, "_ feature"]:
    """With some probability, corrupt a column's values; return the features of the result.

    `side` marks the values of the column's sample to use.
    """
    if random.random() >= _CORRUPTED * data.config.setting.corruption:
        return data.cells[column][side]
    values = [*compress(data.lake.profiles[column].sample, side.tolist())]
    # The number of draws depends on the values. A generator of its own keeps later draws the same
    # whatever the values are.
    own = np.random.default_rng(random.integers(2**63))
    return data.featurizer.cells(corrupt(values, own))


def _right_view(
    data: ViewSource,
    columns: Int[np.ndarray, " column"],
    tables: Int[np.ndarray, " column"],
    held: ValueSplit,
    random: np.random.Generator,
) -> _View:
    """Create the second augmented view, which imitates another publisher's tables.

    Its columns never have a table vector. A table of another publisher is new to the network, and
    this is how training covers that case.
    """
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


def _groups(labels: Int[np.ndarray, " column"]) -> list[Int[np.ndarray, " _"]]:
    """Group columns that have the same label.

    A label is the number of a table or domain; columns with a negative label belong to none.
    """
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return [group for group in np.split(order, cuts) if len(group)]


def _join(data: ViewSource, left: _View, right: _View, random: np.random.Generator) -> Batch:
    """Combine two views into one batch, which needs only one forward pass.

    Groups are formed view by view and shifted by the start of the view, so that no hyperedge ever
    contains columns of both. A view drops value domains and positions at random
    (`context_dropout_rate`); a domain with a single column in the view is no hyperedge.
    """
    within: list[Int[np.ndarray, " _"]] = []
    across: list[Int[np.ndarray, " _"]] = []
    positions = []
    method = data.config.setting
    for view, start in ((left, 0), (right, len(left.columns))):
        within += [start + group for group in _groups(view.tables) if method.within_tables]
        domains = _groups(data.index.joins.component[view.columns])
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


def sample_pairs(
    data: ViewSource, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> PairBatch:
    """Sample a training batch with one positive pair for each key column.

    The batch consists of two augmented views of the tables that contain these columns.
    """
    lake, index, method = data.lake, data.index, data.config.setting
    keys = np.sort(keys)
    targets = sample_targets(index.priors, keys, random)
    needed = np.concatenate([keys, targets, sample_rejected(index.priors, keys, random)])
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
    negative = find_negatives(
        keys,
        columns,
        overlap=index.overlap,
        joins=index.joins,
        priors=index.priors,
        exclude_similar=method.exclude_similar_negatives,
    )
    return PairBatch(
        batch=_join(data, left, right, random),
        queries=torch.from_numpy(np.searchsorted(left_columns, keys)),
        candidates=torch.arange(len(columns)) + len(left_columns),
        positive=torch.from_numpy(np.searchsorted(columns, targets)),
        negative=torch.from_numpy(negative),
    )
