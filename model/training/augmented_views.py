"""Two views of the same tables: the pairs that training learns from (paper, section 4.2).

Each table is split into two overlapping subsets of its rows and columns. The left view keeps its
names; the right view is what another publisher would have made of it, and some of its key columns
stand in other tables, as joinable columns do. A key column on one side
and the same column on the other, or a partner that people confirmed, are a positive pair, and they
never share a hyperedge: else the network would read the answer off the graph, which no such pair
offers at inference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from datahub_hyperjoin.model.signals.variants import rename
from datahub_hyperjoin.model.training.corruption import corrupt
from datahub_hyperjoin.model.training.pair_sampling import (
    find_negatives,
    sample_rejected,
    sample_targets,
)
from datahub_hyperjoin.model.training.table_split import split_columns, split_values, swap_tables

Held = Mapping[int, tuple[Bool[np.ndarray, " _"], Bool[np.ndarray, " _"]]]
"""The sampled values of each column that the left view holds, and those of the right."""

_RENAMED, _OPAQUE, _CORRUPTED = 0.6, 0.15, 0.5
_ASKED = 0.5
"""Share of the renamed columns whose new name is a language model's, where it gave one."""


@dataclass(frozen=True)
class PairBatch:
    """Both views of some tables in one batch, and what is a pair in it."""

    batch: Batch
    """All columns of both views over one hypergraph."""

    queries: Int[Tensor, " pair"]
    """Places of the key columns in the left view."""

    candidates: Int[Tensor, " candidate"]
    """Places of all columns of the right view."""

    positive: Int[Tensor, " pair"]
    """Each query's own column, or a confirmed partner's, among the candidates."""

    negative: Bool[Tensor, "pair candidate"]
    """Which candidates are surely not joinable with each query."""


@dataclass(frozen=True)
class _View:
    columns: Int[np.ndarray, " column"]
    homes: Int[np.ndarray, " column"]
    names: list[str]
    titles: list[str]
    cells: list[Float32[np.ndarray, "_ feature"]]
    numbers: Int[np.ndarray, " column"]


@dataclass(frozen=True)
class TrainingData:
    """Everything about a lake that views are cut from."""

    structure: LakeIndex
    featurizer: Featurizer
    walks: Float32[np.ndarray, "column step"]
    cells: tuple[Float32[np.ndarray, "_ feature"], ...]
    """The sampled cells of each column."""

    config: ModelConfig = field(default_factory=ModelConfig)
    """What is read of the columns, and how views are cut."""

    @property
    def lake(self) -> Lake:
        """The columns."""
        return self.structure.lake

    def whole(self) -> Features:
        """The features of every column of the lake, from its whole sample."""
        return _features(
            self,
            titles=[self.lake.titles[table] for table in self.lake.table_of],
            names=[profile.id.path for profile in self.lake.profiles],
            cells=self.cells,
        )


def _features(
    material: TrainingData,
    *,
    titles: Sequence[str],
    names: Sequence[str],
    cells: Sequence[Float32[np.ndarray, "_ feature"]],
) -> Features:
    starts = np.cumsum([0, *(len(part) for part in cells)])[:-1]
    read, featurizer = material.config.features, material.featurizer
    return Features(
        tables=featurizer.names([title * read.names for title in titles]),
        names=featurizer.names([name * read.names for name in names]),
        content=pool(np.concatenate(list(cells)), starts) * read.values,
    )


def _left_view(
    material: TrainingData,
    columns: Int[np.ndarray, " column"],
    held: Held,
    random: np.random.Generator,
) -> _View:
    lake = material.lake
    homes = lake.table_of[columns]
    tables, table = np.unique(homes, return_inverse=True)
    forgotten = random.random(len(tables)) < material.config.setting.context_dropout_rate
    return _View(
        columns=columns,
        homes=homes,
        names=[lake.profiles[column].id.path for column in columns],
        titles=[lake.titles[home] for home in homes],
        cells=[material.cells[column][held[column][0]] for column in columns],
        numbers=np.where(forgotten[table], UNSEEN, tables[table] + 1),
    )


def _another_name(structure: LakeIndex, column: int, random: np.random.Generator) -> str:
    """A language model's name for a column every other time, if there is one; else the rules'."""
    variant = structure.naming.variants.get(column)
    if variant is not None and random.random() < _ASKED:
        return variant
    return rename(structure.lake.profiles[column].id.path, random)


def _right_view(
    material: TrainingData,
    columns: Int[np.ndarray, " column"],
    homes: Int[np.ndarray, " column"],
    held: Held,
    random: np.random.Generator,
) -> _View:
    lake, disturb = material.lake, material.config.setting.corruption
    renamed = _RENAMED * material.config.setting.name_variants
    titles = {
        table: f"t{random.integers(10**5)}"
        if random.random() < _OPAQUE * disturb
        else (rename(lake.titles[table], random) if renamed else lake.titles[table])
        for table in np.unique(homes)
    }
    names, cells = [], []
    for column in columns:
        profile, side = lake.profiles[column], held[column][1]
        name = (
            _another_name(material.structure, int(column), random)
            if random.random() < renamed
            else profile.id.path
        )
        names.append(f"col_{profile.position}" if random.random() < _OPAQUE * disturb else name)
        if random.random() < _CORRUPTED * disturb:
            values = [profile.sample[place] for place in np.flatnonzero(side)]
            # How much is drawn depends on the values; what comes after it must not.
            own = np.random.default_rng(random.integers(2**63))
            cells.append(material.featurizer.cells(corrupt(values, own)))
        else:
            cells.append(material.cells[column][side])
    return _View(
        columns=columns,
        homes=homes,
        names=names,
        titles=[titles[home] for home in homes],
        cells=cells,
        numbers=np.full(len(columns), UNSEEN),
    )


def _groups(labels: Int[np.ndarray, " column"]) -> list[Int[np.ndarray, " _"]]:
    """Places with the same label; labels below 0 belong to no group."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return [group for group in np.split(order, cuts) if len(group)]


def _join(material: TrainingData, left: _View, right: _View, random: np.random.Generator) -> Batch:
    """Both views in one batch; hyperedges never reach from one view to the other."""
    within: list[Int[np.ndarray, " _"]] = []
    across: list[Int[np.ndarray, " _"]] = []
    walks = []
    method = material.config.setting
    for view, start in ((left, 0), (right, len(left.columns))):
        within += [start + group for group in _groups(view.homes) if method.within_tables]
        domains = _groups(material.structure.joins.component[view.columns])
        known = random.random(len(domains)) >= method.context_dropout_rate
        across += [
            start + group
            for group, there in zip(domains, known, strict=True)
            if there and len(group) > 1 and method.across_tables
        ]
        remembered = random.random(len(view.columns)) >= method.context_dropout_rate
        walks.append(np.where(remembered[:, None], material.walks[view.columns], 0))
    count = len(left.columns) + len(right.columns)
    return Batch(
        features=_features(
            material,
            titles=[*left.titles, *right.titles],
            names=[*left.names, *right.names],
            cells=[*left.cells, *right.cells],
        ),
        graph=Hypergraph.from_groups(count, within=within, across=across),
        tables=torch.from_numpy(np.concatenate([left.numbers, right.numbers]).astype(np.int64)),
        walks=torch.from_numpy(np.concatenate(walks).astype(np.float32)),
    )


def sample_pairs(
    material: TrainingData, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> PairBatch:
    """Cuts two views of the tables of some key columns.

    Args:
        material: The lake.
        keys: Key columns that become pairs.
        random: Where choices come from.

    Returns:
        A batch with one positive pair a key.
    """
    lake, known = material.lake, material.structure.known
    keys = np.sort(keys)
    targets = sample_targets(known, keys, random)
    needed = np.concatenate([keys, targets, sample_rejected(known, keys, random)])
    left_columns, columns = split_columns(lake, np.unique(needed), random)
    held = {
        column: split_values(lake.profiles[column].counts, random)
        for column in np.union1d(left_columns, columns).tolist()
    }
    left = _left_view(material, left_columns, held, random)
    movable, share = np.isin(columns, targets), material.config.setting.table_swap_rate
    homes = swap_tables(lake.table_of[columns], movable, share, random)
    right = _right_view(material, columns, homes, held, random)
    negative = find_negatives(
        keys,
        columns,
        overlap=material.structure.overlap,
        joins=material.structure.joins,
        known=known,
        spare_alike=material.config.setting.exclude_similar_negatives,
    )
    return PairBatch(
        batch=_join(material, left, right, random),
        queries=torch.from_numpy(np.searchsorted(left_columns, keys)),
        candidates=torch.arange(len(columns)) + len(left_columns),
        positive=torch.from_numpy(np.searchsorted(columns, targets)),
        negative=torch.from_numpy(negative),
    )
