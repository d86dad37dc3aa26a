"""Turn labelled lakes into examples of references, and of pairs that are none."""

import csv
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.named_references import find_named_references
from datahub_hyperjoin.model.roles.reference_trees import DescribedCandidates
from datahub_hyperjoin.model.roles.references import find_references
from datahub_hyperjoin.model.signals.pairs import PairFloats, number_distinct
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.stages.named_joins import describe_unread, index_by_names

RIGHT, WRONG, DOUBT = 1, 0, -1
"""Labels of a pair. A pair in doubt is neither taught nor judged."""

_OBVIOUS = 0.9
"""Least containment and share of a name at which an undeclared reference within one database is in
doubt: databases do not declare all of their keys."""

_SPEAKING = 0.5
"""Least containment at which texts that a key of another database holds are in doubt."""

_FEW = 0.5
"""A database that declares a smaller share of the references that names tell declares too few."""

_IN_HEADERS = "guessed_of_b"
"""A feature of pairs without values: whether the key is one by its own name."""

Name = tuple[str, str]
"""The table and the name of a column."""

_Column = TypeVar("_Column", bound=Hashable)
_Pairs = Int[np.ndarray, " pair"]


@dataclass(frozen=True)
class Examples:
    """The best candidates of each column of a lake, with their labels."""

    name: str
    features: tuple[str, ...]
    rows: Float32[np.ndarray, "pair feature"]
    scores: Float[np.ndarray, " pair"]
    """Log-odds that the rows correct."""

    column: _Pairs
    key: _Pairs
    columns: int
    """Number of columns of the lake."""

    labels: Int[np.ndarray, " pair"]
    within: Bool[np.ndarray, " pair"]
    """Whether both columns are of one database."""

    judged: Bool[np.ndarray, " column"]
    """Whether it is known of a column to which key it refers, if any."""

    asked: frozenset[frozenset[int]]
    """The references that are to be found."""

    true: frozenset[frozenset[int]]
    """All references, also those that are right but not asked for."""

    weight: Float[np.ndarray, " column"] | None = None
    """How much the pairs of each column weigh; equally if None."""

    @property
    def is_judged(self) -> Bool[np.ndarray, " pair"]:
        """Whether the truth is known of a pair: that of one of its columns is."""
        return self.judged[self.column] | self.judged[self.key]


@dataclass(frozen=True)
class Truth:
    """What the files of a labelled lake say about its columns."""

    folder: Path

    def _rows(self, name: str) -> list[dict[str, str]]:
        path = self.folder / f"{name}.csv"
        if not path.is_file():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return [*csv.DictReader(file)]

    def _references(self, name: str) -> set[tuple[Name, Name]]:
        return {
            ((row["from_table"], row["from_column"]), (row["to_table"], row["to_column"]))
            for row in self._rows(name)
            if row.get("kind", "fk") == "fk"
        }

    @cached_property
    def asked(self) -> set[tuple[Name, Name]]:
        """The declared references that share values; all of them if there are no values."""
        return self._references("references") or self._references("declared")

    @cached_property
    def right(self) -> set[tuple[Name, Name]]:
        """All references, also undeclared ones that are known."""
        files = ("references", "declared", "declared_all", "undeclared")
        return set().union(*map(self._references, files))

    @cached_property
    def queries(self) -> set[Name] | None:
        """The columns of which all partners are known; None if they are known of all."""
        if self.is_incomplete or self._rows("declared_all"):
            return None
        return {(row["table"], row["column"]) for row in self._rows("queries")}

    @cached_property
    def is_incomplete(self) -> bool:
        """Whether the databases may have references that nobody declared: those of the school."""
        return bool(self._rows("declared"))

    @cached_property
    def groups(self) -> Mapping[Name, set[str]]:
        """The groups of each column in which an undeclared reference is in doubt."""
        groups: defaultdict[Name, set[str]] = defaultdict(set)
        for row in self._rows("neutral"):
            groups[row["table"], row["column"]].add(row["group"])
        return groups

    @cached_property
    def _joined(self) -> set[frozenset[Name]]:
        return {
            frozenset(
                (
                    (row["query_table"], row["query_column"]),
                    (row["candidate_table"], row["candidate_column"]),
                )
            )
            for row in self._rows("ground_truth")
        }

    @cached_property
    def _keys(self) -> Mapping[Name, set[Name]]:
        return follow(self.right)

    def label_domain(self, left: Name, right: Name) -> int:
        """Return whether two columns hold the same: RIGHT, WRONG or DOUBT.

        They do if they lead to one key, or if the lake says so.
        """
        keys = [{name, *self._keys.get(name, ())} for name in (left, right)]
        if frozenset((left, right)) in self._joined or keys[0] & keys[1]:
            return RIGHT
        is_judged = self.queries is None or left in self.queries or right in self.queries
        return DOUBT if self.are_neutral(left, right) or not is_judged else WRONG

    def are_neutral(self, left: Name, right: Name) -> bool:
        """Return whether an undeclared reference between two columns is neither right nor wrong."""
        return bool(self.groups.get(left, set()) & self.groups.get(right, set()))

    @cached_property
    def databases(self) -> Mapping[str, str]:
        """The database of each table."""
        return {row["table"]: row.get("database", "") for row in self._rows("provenance")}


def collect(folder: Path) -> Examples | None:
    """Find and describe the candidates of a lake as a run does; None if there are none.

    Args:
        folder: The labelled lake. Its tables may lie in folders.
    """
    selection = TableSelection(platform="file", env="PROD")
    tables = scan_folder(folder / "tables", selection, warn=lambda *_: None)
    profiles = profile_local_batch(None, tables, ProfileConfig())
    facts, found = CatalogFacts(), list[DescribedCandidates]()

    def record(candidates: DescribedCandidates) -> PairFloats:
        found.append(candidates)
        return np.zeros(len(candidates.scores))

    if all(profile.fault for profile in profiles):
        index, _ = index_by_names(profiles, describe_unread(profiles, facts), ModelConfig(), facts)
        find_named_references(index.lake, index.priors, correct=record)
    else:
        index = build_lake_index(Lake.from_tables(profiles), ModelConfig(), facts)
        read = (index.lake, index.overlap, index.priors, index.beyond_overlap)
        find_references(*read, correct=record)
    names = [(column.table.name.removesuffix(".csv"), column.path) for column in index.lake.ids]
    return _label(Truth(folder), found[0], names) if found else None


def _label(truth: Truth, described: DescribedCandidates, names: Sequence[Name]) -> Examples:
    number = {name: at for at, name in enumerate(names)}
    right, asked = (
        {(number[a], number[b]) for a, b in some if a in number and b in number and a != b}
        for some in (truth.right, truth.asked)
    )
    column, key = described.pairs.referring.tolist(), described.pairs.referenced.tolist()
    pairs = [*zip(column, key, strict=True)]
    owners = [truth.databases.get(table, "") for table, _ in names]
    within = np.array([owners[a] == owners[b] for a, b in pairs], dtype=bool)
    doubt = _find_doubt(truth, names, pairs, right)
    if truth.is_incomplete:
        doubt |= _find_copies(names, pairs, right)
        if _IN_HEADERS in described.features:
            owner = np.array(number_distinct(owners)[1])
            doubt |= within & _find_obvious_by_names(described, owner, {a for a, _ in right})
        else:
            doubt |= np.where(within, _find_obvious(described), _find_speaking(described))
    labels = np.where(doubt, DOUBT, WRONG)
    labels[[pair in right for pair in pairs]] = RIGHT
    # A column whose key is no candidate has values that its key lacks; it does not refer to none.
    reachable = {*pairs} & right
    lost = {a for a, _ in right} - {a for a, _ in reachable}
    judged = np.array(
        [
            at not in lost and (truth.queries is None or name in truth.queries)
            for at, name in enumerate(names)
        ],
        dtype=bool,
    )
    return Examples(
        name=truth.folder.name,
        features=described.features,
        rows=described.rows,
        scores=described.scores,
        column=described.pairs.referring.astype(np.int64),
        key=described.pairs.referenced.astype(np.int64),
        columns=len(names),
        labels=labels,
        within=within,
        judged=judged,
        asked=frozenset(map(frozenset, asked)),
        true=frozenset(map(frozenset, right)),
    )


def _find_doubt(
    truth: Truth,
    names: Sequence[Name],
    pairs: Iterable[tuple[int, int]],
    right: set[tuple[int, int]],
) -> Bool[np.ndarray, " pair"]:
    """Mark references the other way round or over other keys, and those of one neutral group."""
    above = follow(right)

    def is_doubtful(column: int, key: int) -> bool:
        is_neutral = truth.are_neutral(names[column], names[key])
        return key in above.get(column, ()) or column in above.get(key, ()) or is_neutral

    return np.array([is_doubtful(*pair) for pair in pairs], dtype=bool)


def _find_copies(
    names: Sequence[Name], pairs: Iterable[tuple[int, int]], right: set[tuple[int, int]]
) -> Bool[np.ndarray, " pair"]:
    """Mark references to the key's copy in another copy of the database, and copies of one column.

    Copies of a table end in a number.
    """
    plain = [(re.sub(r"_?\d+$", "", table.casefold()), name.casefold()) for table, name in names]
    copied = {(plain[a], plain[b]) for a, b in right}
    marks = [
        (plain[a], plain[b]) in copied or (plain[a] == plain[b] and names[a][0] != names[b][0])
        for a, b in pairs
    ]
    return np.array(marks, dtype=bool)


def follow(right: Iterable[tuple[_Column, _Column]]) -> Mapping[_Column, set[_Column]]:
    """Return the keys that each column leads to, directly or over other keys."""
    keys: defaultdict[_Column, set[_Column]] = defaultdict(set)
    for column, key in right:
        keys[column].add(key)
    above = {}
    for start in [*keys]:
        seen, left = set[_Column](), [start]
        while left:
            for key in keys.get(left.pop(), set()) - seen:
                seen.add(key)
                left.append(key)
        above[start] = seen
    return above


def _find_speaking(described: DescribedCandidates) -> Bool[np.ndarray, " pair"]:
    """Mark the texts that a key holds: codes of countries mean the same in every database."""
    is_text = described.rows[:, described.features.index("is_text_of_key")] > 0
    return is_text & (described.pairs.containment > _SPEAKING)


def _find_obvious_by_names(
    described: DescribedCandidates, owner: Int[np.ndarray, " column"], referring: set[int]
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs whose names alone speak for a reference, and all of databases without keys.

    Those are the databases that declare less than half of such references.
    """
    clue = dict(zip(described.features, described.rows.T, strict=True))
    column, key = described.pairs.referring, described.pairs.referenced
    is_obvious = np.maximum(clue["table_in_column"], clue["names_table"]) > _OBVIOUS
    is_obvious &= (clue["own_table"] == 0) & (clue[_IN_HEADERS] > 0)
    keys = {*key[clue[_IN_HEADERS] > 0].tolist()}
    speaking = np.array([*({*column[is_obvious].tolist()} - keys)], dtype=np.int64)
    declared = np.array([at in referring for at in speaking.tolist()], dtype=bool)
    count = int(owner.max(initial=0)) + 1
    known = np.bincount(owner[speaking[declared]], minlength=count) + 1
    share = known / (np.bincount(owner[speaking], minlength=count) + 2)
    return is_obvious | (share < _FEW)[owner[column]]


def _find_obvious(described: DescribedCandidates) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs whose names and values speak for a reference, declared or not."""
    clue = dict(zip(described.features, described.rows.T, strict=True))
    is_named = np.maximum(clue["table_in_column"], clue["names_table"]) > _OBVIOUS
    is_held = described.pairs.containment > _OBVIOUS
    return is_named & is_held & (clue["own_table"] == 0)
