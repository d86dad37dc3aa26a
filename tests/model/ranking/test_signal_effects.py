"""Test each signal on a small lake in which only this signal decides the ranking.

The trees that correct the noisy-or are left out: they weigh the evidence as a whole.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.config import OURS, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import pair_scoring
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, SignalStrengths
from datahub_hyperjoin.model.ranking.rank import rank

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Evidence = Mapping[tuple[str, str], CatalogEvidence]
Know = Callable[[Evidence], CatalogFacts]

WORDS = [f"w{number}" for number in range(1000)]
FEW = WORDS[:40]
NUMBERS = [str(number) for number in range(1000)]
TITLES = [f"The {number}th title" for number in range(40)]
TOWNS = ["Port Moresby", "San Marino", "Ulan Bator", "Vila Nova", "Den Haag", "Saint John"]
REVERSED = [", ".join(reversed(town.upper().split())) for town in TOWNS]
OTHERS = {f"f{n}/t": {"filler": [f"{n}{letter * 4}" for letter in "abcdef"]} for n in range(8)}


@dataclass(frozen=True)
class Case:
    """A lake in which the rank of the column `target` for `query` depends on a single signal."""

    signal: str
    tables: Tables
    target: str

    lost: bool = False
    """Whether `target` is no longer suggested without the signal. If false, `target` falls to rank
    2."""

    place: int = 1
    """The expected rank of `target` with the signal; it is 2 if a column of the crosswalk ranks
    first."""

    cells: bool = False
    """Whether cells are compared."""

    near: bool = False
    """Whether the embeddings of the two columns are equal."""

    evidence: Evidence = field(default_factory=dict)
    query: str = "x/a.patron"


CASES = (
    Case(
        "containment",
        {"x/a": {"patron": WORDS[:10]}, "y/b": {"vessel": WORDS}},
        "y/b.vessel",
        lost=True,
    ),
    Case(
        "ochiai",
        {"x/a": {"patron": FEW}, "y/large": {"vessel": WORDS}, "z/same": {"vessel": FEW}},
        "z/same.vessel",
    ),
    Case(
        "cells",
        {"x/a": {"patron": TOWNS}, "y/b": {"vessel": REVERSED}, **OTHERS},
        "y/b.vessel",
        lost=True,
        cells=True,
    ),
    Case(
        "names",
        {"x/a": {"patron": FEW}, "y/b": {"vessel": FEW}, "z/c": {"patrons": FEW}},
        "z/c.patrons",
    ),
    Case(
        "cosine",
        {"x/a": {"patron": FEW}, "y/b": {"vessel": FEW}, "z/c": {"vessel": FEW}},
        "z/c.vessel",
        near=True,
    ),
    Case(
        "lookup",
        {"x/a": {"patron": FEW}, "y/b": {"vessel": FEW * 3}, "z/c": {"vessel": FEW}},
        "z/c.vessel",
    ),
    Case(
        "location",
        {"x/a": {"patron": FEW}, "y/b": {"vessel": FEW}, "x/c": {"vessel": FEW}},
        "x/c.vessel",
    ),
    Case(
        "same_form",
        {
            "x/a": {"patron": ["de", "fr", "it", "pl", "es", "pt", "nl", "be"]},
            "y/b": {"vessel": ["de", "at", "ch", "lu", "se", "no", "fi", "dk"]},
        },
        "y/b.vessel",
        lost=True,
    ),
    Case(
        "other_form",
        {
            "x/a": {"patron": ["de", "fr", "it", "pl", "es", "pt"]},
            "y/b": {"vessel": ["spanien", "polen", "italien", "deutschland", "portugal"]},
        },
        "y/b.vessel",
        lost=True,
    ),
    Case(
        "crosswalk",
        {
            "x/a": {"patron": FEW},
            "y/b": {"vessel": TITLES},
            "z/crosswalk": {"word": FEW, "title": TITLES},
            "z/filler": {"one": WORDS[100:140], "other": [f"o{n}" for n in range(40)]},
        },
        "y/b.vessel",
        lost=True,
        place=2,
    ),
    Case(
        "related",
        {
            "x/a": {"entry": NUMBERS[:300], "patron_id": NUMBERS[500:540] * 7 + NUMBERS[500:520]},
            "x/vessels": {"id": NUMBERS[500:540]},
        },
        "x/vessels.id",
        lost=True,
        cells=True,
        query="x/a.patron_id",
    ),
    Case(
        "catalog",
        {"x/a": {"patron": WORDS[:9]}, "y/b": {"vessel": WORDS[20:29]}},
        "y/b.vessel",
        lost=True,
        evidence={("x/a.patron", "y/b.vessel"): CatalogEvidence(declared="fk")},
    ),
)


def build(case: Case, make_lake: MakeLake, know: Know) -> tuple[LakeIndex, np.ndarray]:
    lake = make_lake(case.tables)
    if not case.cells:
        profiles = tuple(replace(profile, sample=(), counts=()) for profile in lake.profiles)
        lake = replace(lake, profiles=profiles)
    names = [str(column) for column in lake.ids]
    embeddings = np.eye(len(lake), dtype=np.float32)
    if case.near:
        embeddings[names.index(case.target)] = embeddings[names.index(case.query)]
    return build_lake_index(lake, ModelConfig(), know(case.evidence)), embeddings


def find_rank(case: Case, index: LakeIndex, embeddings: np.ndarray) -> int | None:
    least = 0.5 if case.lost else 0.0
    config = ModelConfig(
        setting=replace(OURS, tree_correction=False),
        ranking=RankingConfig(scoring=Scoring.BLEND, coherence=0.0, min_joinability=least),
    )
    ranks = {
        str(suggestion.candidate): suggestion.rank
        for suggestion in rank(index, embeddings, config)
        if str(suggestion.query) == case.query
    }
    return ranks.get(case.target)


def test_every_signal_has_a_case() -> None:
    assert {case.signal for case in CASES} == {entry.name for entry in fields(SignalStrengths)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.signal)
def test_a_pair_loses_its_place_without_its_signal(
    case: Case, make_lake: MakeLake, know: Know, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, embeddings = build(case, make_lake, know)
    assert find_rank(case, index, embeddings) == case.place
    without = replace(STRENGTHS, **{case.signal: 0.0})
    monkeypatch.setattr(pair_scoring, "STRENGTHS", without)
    assert find_rank(case, index, embeddings) == (None if case.lost else 2)
