"""Test that each source adds a fixed number of candidates, even if no other source finds them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import (
    OURS,
    FeatureConfig,
    ModelConfig,
    RankingConfig,
    Scoring,
)
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import candidates
from datahub_hyperjoin.model.ranking.candidates import candidate_sources, find_candidates
from datahub_hyperjoin.model.roles.references import NO_KEY, Relations
from datahub_hyperjoin.tables import ColumnProfile, DataType

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]

COUNT = 6
CODES = ["de", "fr", "it", "pl", "es", "pt"]
COUNTRIES = ["spanien", "polen", "italien", "deutschland", "portugal", "frankreich"]
CELLS = ("alpha", "beta", "gamma")
CATALOG = {
    "declared": CatalogEvidence(declared="fk"),
    "queried": CatalogEvidence(queries=3),
    "accepted": CatalogEvidence(verdict=Verdict.ACCEPTED),
}
TAKEN = {
    "embeddings": COUNT,
    "names": COUNT,
    "cells": COUNT,
    "overlap": COUNT // 2,
    "entities": COUNT,
    "declared": COUNT,
    "queried": COUNT,
    "accepted": COUNT,
}
"""Number of candidates that each source adds."""
NEAREST = ("embeddings", "names", "cells")
"""Sources that always add their full number of candidates, even dissimilar candidates."""


@dataclass(frozen=True)
class Column:
    """A column that is similar to the query column according to the given sources only."""

    table: str
    similar: frozenset[str]

    @property
    def name(self) -> str:
        unlike = "".join(chr(ord("a") + int(digit)) for digit in str(hash_of(self.table)))
        return "patron" if "names" in self.similar else unlike

    @property
    def values(self) -> list[str]:
        if "entities" in self.similar:
            return COUNTRIES
        own = [f"{self.table}{number}" for number in range(20)]
        return ["shared", *own] if "overlap" in self.similar else own

    @property
    def cells(self) -> tuple[str, ...]:
        return CELLS if "cells" in self.similar else (f"{hash_of(self.table)}",)


def hash_of(table: str) -> int:
    """Compute a long number from the name of a table.

    Two such numbers share trigrams only by chance.
    """
    return int.from_bytes(table.encode(), "big") ** 5


def count_found_targets(source: str, targets: int, make_lake: MakeLake, know: Know) -> int:
    """Count the targets among the query column's candidates.

    Targets are similar to the query according to one source alone.

    Decoys are more similar than the targets by all other sources in `NEAREST`, and use up the
    candidates that these sources add.
    """
    decoys = frozenset(NEAREST) - {source}
    others = [Column(f"decoy{n}", decoys) for n in range(COUNT)]
    others += [Column(f"target{n}", frozenset({source})) for n in range(targets)]
    query = {"patron": ["shared", *CODES] if source != "entities" else CODES}
    lake = make_lake(
        {"query": query, **{column.table: {column.name: column.values} for column in others}}
    )
    cells = [CELLS, *(column.cells for column in others)]
    profiles = zip(lake.profiles, cells, strict=True)
    lake = replace(lake, profiles=tuple(replace(p, sample=sample) for p, sample in profiles))
    pairs = {
        ("query.patron", f"{column.table}.{column.name}"): CATALOG[source]
        for column in others
        if source in CATALOG and source in column.similar
    }
    index = replace(build_lake_index(lake, ModelConfig(), know(pairs)), keys=np.array([0]))
    near = [True, *("embeddings" in column.similar for column in others)]
    embeddings = np.array([[1, 0] if like else [0, 1] for like in near], dtype=np.float32)
    config = ModelConfig(
        setting=replace(OURS, candidates=COUNT), ranking=RankingConfig(scoring=Scoring.BLEND)
    )
    candidates = set(find_candidates(index, embeddings, config)[0].tolist())
    return sum(lake.ids[c].table.name.startswith("target") for c in candidates if c >= 0)


@pytest.mark.parametrize(("targets", "taken"), [(1, 1), (COUNT + 2, COUNT)])
def test_crosswalks_add_candidates_that_share_no_value(
    make_lake: MakeLake, targets: int, taken: int
) -> None:
    codes, names = [f"c{n}" for n in range(40)], [f"name {n}" for n in range(40)]
    tables = {
        "query": {"patron": codes},
        "crosswalk": {"code": codes, "title": names},
        **{f"decoy{n}": {"patron": [f"d{n} {m}" for m in range(9)]} for n in range(COUNT)},
        **{f"target{n}": {f"{n}z": names[n : n + 30]} for n in range(targets)},
    }
    lake = make_lake(tables)
    index = replace(
        build_lake_index(lake, ModelConfig(), CatalogFacts()),
        keys=np.array([0]),
        features=FeatureConfig(names=False),
    )
    near = np.array([[not column.table.name.startswith("t"), 0.1] for column in lake.ids])
    config = ModelConfig(setting=replace(OURS, candidates=COUNT))
    # The decoys are the nearest columns, by embeddings and by cells.
    with_cells = replace(lake, profiles=tuple(map(_with_cells, lake.profiles)))
    index = replace(index, lake=with_cells)
    found = set(find_candidates(index, near.astype(np.float32), config)[0].tolist())
    assert sum(lake.ids[at].table.name.startswith("target") for at in found if at >= 0) == taken


def _with_cells(profile: ColumnProfile) -> ColumnProfile:
    cells = (profile.id.table.name,) if profile.id.table.name.startswith("target") else CELLS
    return replace(profile, sample=cells)


@pytest.mark.parametrize(
    ("own", "other"), [(DataType.TEXT, DataType.DATE), (DataType.DATE, DataType.TEXT)]
)
def test_similar_cells_are_those_of_texts_for_a_text_in_a_large_lake(
    make_lake: MakeLake, own: DataType, other: DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {"query": CODES, "target": COUNTRIES, **{f"decoy{n}": CODES for n in range(COUNT)}}
    lake = make_lake({name: {"patron": values} for name, values in tables.items()})
    # The decoys have more similar cells than the target.
    cells = [CELLS, CELLS[:1], *([CELLS] * COUNT)]
    types = [own, own, *([other] * COUNT)]
    profiles = zip(lake.profiles, cells, types, strict=True)
    lake = replace(
        lake, profiles=tuple(replace(p, sample=sample, type=kind) for p, sample, kind in profiles)
    )
    index = replace(build_lake_index(lake, ModelConfig(), CatalogFacts()), keys=np.array([0]))
    config = ModelConfig(setting=replace(OURS, candidates=COUNT))
    near = np.ones((len(lake), 1), dtype=np.float32)

    def search() -> list[int]:
        [found] = dict(candidate_sources(index, near, config))["cells"].tolist()
        return [at for at in found if at >= 0]

    assert 1 not in search()
    monkeypatch.setattr(candidates, "_MANY", len(lake) - 1)
    assert search() == [1]


@pytest.mark.parametrize("role", ["key", "referring", "sibling"])
@pytest.mark.parametrize("targets", [1, COUNT + 2])
def test_the_columns_that_a_column_is_related_to_are_candidates(
    make_lake: MakeLake, role: str, targets: int
) -> None:
    """Use targets that are all related to the query, but share no names or values with it."""
    decoys = [Column(f"decoy{n}", frozenset(NEAREST)) for n in range(COUNT)]
    others = [*decoys, *(Column(f"target{n}", frozenset()) for n in range(targets))]
    lake = make_lake(
        {"query": {"patron": CODES}, **{one.table: {one.name: one.values} for one in others}}
    )
    cells = [CELLS, *(one.cells for one in others)]
    profiles = zip(lake.profiles, cells, strict=True)
    lake = replace(lake, profiles=tuple(replace(p, sample=sample) for p, sample in profiles))
    first = 1 + len(decoys)
    key = np.full(len(lake), NO_KEY)
    if role == "referring":
        key[first:] = 0
    else:
        key[0] = first
    if role == "sibling":
        key[first + 1 :] = first
    related = range(first, first + 1 if role == "key" else len(lake))
    index = replace(build_lake_index(lake, ModelConfig(), CatalogFacts()), keys=np.array([0]))
    vars(index)["relations"] = Relations(key, np.linspace(0.9, 0.5, len(lake)) * (key != NO_KEY))
    near = np.array([[1, 0]] * first + [[0, 1]] * targets, dtype=np.float32)
    config = ModelConfig(setting=replace(OURS, candidates=COUNT))
    found = {at for at in find_candidates(index, near, config)[0].tolist() if at >= first}
    assert found == {*related[:COUNT]}


@pytest.mark.parametrize("source", TAKEN)
def test_a_pair_is_a_candidate_by_one_source_alone(
    source: str, make_lake: MakeLake, know: Know
) -> None:
    assert count_found_targets(source, 1, make_lake, know) == 1
    assert count_found_targets("none", 1, make_lake, know) == 0


@pytest.mark.parametrize(("source", "taken"), TAKEN.items())
def test_a_source_adds_a_fixed_number_of_candidates(
    source: str, taken: int, make_lake: MakeLake, know: Know
) -> None:
    assert count_found_targets(source, COUNT + 2, make_lake, know) == taken


@pytest.mark.parametrize("at_once", [1, 2, 8192])
def test_keys_in_blocks_of_any_size_have_the_same_candidates(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    tables = {
        f"t{number}": {"code": [f"c{row}" for row in range(number, number + 20)]}
        for number in range(12)
    }
    index = build_lake_index(make_lake(tables), ModelConfig(), CatalogFacts())
    embeddings = index.names.vectors()
    config = ModelConfig(setting=replace(OURS, candidates=4))
    whole = find_candidates(index, embeddings, config)
    assert len(whole) == 12
    monkeypatch.setattr(candidates, "_KEYS", at_once)
    assert np.array_equal(find_candidates(index, embeddings, config), whole)
