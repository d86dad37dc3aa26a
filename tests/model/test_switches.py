"""Test that each departure from the paper can be switched off completely."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pytest
import torch

from datahub_hyperjoin.model.config import (
    OURS,
    Edges,
    EpochSelection,
    ModelConfig,
    Positions,
    RankingConfig,
    Scoring,
)
from datahub_hyperjoin.model.config.sections import paper
from datahub_hyperjoin.model.encode import encode
from datahub_hyperjoin.model.hypergraph.hyperedges import build_hypergraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network import encoding
from datahub_hyperjoin.model.network.hin import HIN, Batch, NetworkSizes
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import build_scorer
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.saved.checkpoint import fingerprint
from lakes.switching import BLEND, SMALL, build, draw, report, run, switched, training_data

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]


@pytest.fixture
def lake(make_lake: MakeLake, airline_tables: Tables) -> Lake:
    return make_lake(airline_tables)


@pytest.fixture
def renamed(make_lake: MakeLake, airline_tables: Tables) -> Lake:
    """Make the airline tables with other table and column names."""
    return make_lake(
        {
            f"sheet{t}": {f"field{c}": cells for c, cells in enumerate(columns.values())}
            for t, columns in enumerate(airline_tables.values())
        }
    )


@pytest.fixture
def revalued(make_lake: MakeLake, airline_tables: Tables) -> Lake:
    """Make the airline tables, but replace each text by another with the same statistics.

    Numbers stay, because their range and their lengths are statistics.
    """
    characters = (ascii_lowercase, ascii_uppercase)

    def other(table: int, cells: Sequence[str]) -> list[str]:
        rotated = "".join(kind[table:] + kind[:table] for kind in characters)
        replacement = str.maketrans("".join(characters), rotated)
        return [cell.translate(replacement) for cell in cells]

    return make_lake(
        {
            name: {path: other(table, cells) for path, cells in columns.items()}
            for table, (name, columns) in enumerate(airline_tables.items(), start=1)
        }
    )


def ranked(lake: Lake, config: ModelConfig) -> list[tuple[int, int, float]]:
    index = build(lake, config)
    found = encode(index, config, lambda _: None)
    places = {column: place for place, column in enumerate(lake.ids)}
    return [
        (places[one.query], places[one.candidate], one.joinability)
        for one in rank(index, found.embeddings, config)
    ]


def test_names_that_are_not_read_make_no_difference(lake: Lake, renamed: Lake) -> None:
    config = switched(SMALL, features__names=False, ranking__min_joinability=0.0)
    config = switched(config, setting__name_variants=False, setting__name_vectors=True)
    same = build(lake, config).keys
    assert set(build(renamed, config).keys) <= set(same)
    one, other = (find(index, config) for index in (build(lake, config), build(renamed, config)))
    np.testing.assert_allclose(one, other)


def find(index: LakeIndex, config: ModelConfig) -> np.ndarray:
    """Return the scores of all pairs, with embeddings that contain no information."""
    places = np.arange(len(index.lake))[None, :]
    nothing = np.eye(len(index.lake), dtype=np.float32)
    return build_scorer(index, nothing, config.ranking.scoring).score(places, places)[0]


def test_the_network_reads_no_names(lake: Lake, renamed: Lake, tmp_path: Path) -> None:
    config = switched(SMALL, features__names=False)
    one, other = (training_data(of, config, tmp_path).whole() for of in (lake, renamed))
    for side in (one, other):
        assert not side.names.tokens.any()
        assert not side.names.vectors.any()
        assert not side.tables.tokens.any()
        assert not side.tables.vectors.any()
    torch.testing.assert_close(one.content, other.content)


def test_views_of_unread_names_hold_none(lake: Lake, tmp_path: Path) -> None:
    features = draw(lake, switched(SMALL, features__names=False), tmp_path).batch.features
    assert not features.names.tokens.any()
    assert not features.names.vectors.any()
    assert features.content.any()


def test_values_that_are_not_read_make_no_difference(
    lake: Lake, revalued: Lake, tmp_path: Path
) -> None:
    config = switched(SMALL, features__values=False, ranking__min_joinability=0.0)
    one, other = (training_data(of, config, tmp_path).whole() for of in (lake, revalued))
    assert not one.content.any()
    torch.testing.assert_close(one.names.vectors, other.names.vectors)
    before, after = ranked(lake, config), ranked(revalued, config)
    assert [pair for *pair, _ in before] == [pair for *pair, _ in after]
    # The share of the most frequent value is that in a sample, which the values' hashes draw.
    assert [score for *_, score in before] == pytest.approx(
        [score for *_, score in after], abs=0.01
    )


def test_the_blend_is_silent_of_values_that_are_not_read(lake: Lake) -> None:
    config = switched(SMALL, features__values=False)
    index = build(lake, config)
    weights = find(index, config)
    names = [str(column) for column in lake.ids]
    assert weights[names.index("flights.carrier"), names.index("airlines.name")] == 0
    assert index.joins.components == ()
    assert weights[names.index("flights.tailnum"), names.index("planes.tailnum")] > 0.2


def batch_of(lake: Lake, config: ModelConfig, folder: Path) -> tuple[HIN, Batch]:
    made = training_data(lake, config, folder)
    torch.manual_seed(0)
    sizes = NetworkSizes(
        vocabulary=100,
        dimension=16,
        content=4 * made.featurizer.cell_width,
        tables=len(lake.titles),
        steps=config.setting.walk_length,
    )
    network = HIN(config, sizes).eval()
    return network, Batch(
        features=made.whole(),
        graph=build_hypergraph(made.lake, made.index.joins, config.setting),
        tables=torch.from_numpy(lake.table_of + 1),
        positions=torch.from_numpy(made.positions),
    )


@pytest.mark.parametrize("kind", list(Positions))
@torch.no_grad()
def test_without_positions_neither_tables_nor_places_are_heard(
    lake: Lake, tmp_path: Path, kind: Positions
) -> None:
    config = switched(SMALL, setting__positions=kind)
    network, batch = batch_of(lake, config, tmp_path)
    heard = kind is not Positions.NONE
    elsewhere = replace(batch, tables=torch.zeros_like(batch.tables))
    moved = replace(batch, positions=torch.ones_like(batch.positions))
    for other in (elsewhere, moved):
        assert torch.equal(network(batch), network(other)) is not heard


@pytest.mark.parametrize("kind", list(Positions))
def test_every_kind_of_position_trains(lake: Lake, kind: Positions) -> None:
    embeddings, epochs = run(lake, switched(SMALL, setting__positions=kind))
    assert len(epochs) == 3
    assert np.isfinite(embeddings).all()


def test_positions_are_computed_once_in_a_run(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ModelConfig] = []

    def count(index: LakeIndex, config: ModelConfig) -> np.ndarray:
        asked.append(config)
        return find_positions(index, config)

    monkeypatch.setattr(encoding, "find_positions", count)
    run(lake, SMALL)
    assert len(asked) == 1


@torch.no_grad()
def test_without_name_vectors_tokens_alone_are_read(lake: Lake, tmp_path: Path) -> None:
    for heard in (True, False):
        config = switched(SMALL, setting__name_vectors=heard)
        network, batch = batch_of(lake, config, tmp_path)
        names = replace(batch.features.names, vectors=batch.features.names.vectors + 1)
        other = replace(batch, features=replace(batch.features, names=names))
        assert torch.equal(network(batch), network(other)) is not heard
        tokens = replace(batch.features.names, tokens=batch.features.names.tokens.flip(0))
        other = replace(batch, features=replace(batch.features, names=tokens))
        assert not torch.equal(network(batch), network(other))


@pytest.mark.parametrize("selection", list(EpochSelection))
def test_the_best_epoch_is_the_one_selected(
    lake: Lake, selection: EpochSelection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use a run with the best recall after its first epoch and the best loss after its last one."""
    said = [(3.0, 0.9), (2.0, 0.5), (1.0, 0.1)]
    report(said, monkeypatch)
    chosen, _ = run(lake, switched(SMALL, setting__selection=selection))
    monkeypatch.undo()
    report(said, monkeypatch)
    longest, _ = run(lake, switched(SMALL, setting__selection=EpochSelection.LOSS))
    assert np.array_equal(chosen, longest) is (selection is EpochSelection.LOSS)


def test_signals_need_no_network(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "build_initial_model", None)
    config = switched(SMALL, ranking__scoring=Scoring.SIGNALS)
    index = build(lake, config)
    found = encode(index, config, lambda _: None)
    assert not found.trained
    names = [str(column) for column in lake.ids]
    best = {
        str(one.query): str(one.candidate)
        for one in rank(index, found.embeddings, config)
        if one.rank == 1
    }
    assert best["flights.carrier"] == "airlines.carrier_code"
    assert best["herbarium.genus"] == "trees.genus"
    assert set(best) < set(names)


def test_signals_weigh_what_the_blend_weighs_without_a_cosine(lake: Lake) -> None:
    index = build(lake, SMALL)
    places, apart = np.arange(len(lake))[None, :], ~np.eye(len(lake), dtype=bool)
    alike = np.ones((len(lake), 1), dtype=np.float32)
    signals = build_scorer(index, alike, Scoring.SIGNALS).score(places, places)[0]
    np.testing.assert_allclose(signals[apart], find(index, SMALL)[apart])
    blend = build_scorer(index, alike, Scoring.BLEND).score(places, places)[0]
    assert (blend[apart] > signals[apart]).all()


def test_candidates_of_signals_are_of_names_and_values(make_lake: MakeLake) -> None:
    words = [f"w{n}" for n in range(9)]
    others = {f"t{n}": {f"{'xyzuvqjkbf'[n] * 5}": [f"{n}v{m}" for m in range(9)]} for n in range(9)}
    tables = {"a": {"customer": words}, "b": {"Customer": ["p", "q", "r"]}, "c": {"k": words}}
    lake = make_lake({**tables, **others})
    config = switched(SMALL, ranking__scoring=Scoring.SIGNALS, setting__candidates=2)
    index = build(lake, config)
    found = find_candidates(index, encode(index, config, lambda _: None).embeddings, config)
    row = found[index.keys.tolist().index(0)]
    assert {1, 2} <= set(row[row != NO_CANDIDATE].tolist())


def test_candidates_of_the_blend_are_of_names_too(make_lake: MakeLake) -> None:
    others = {f"t{n}": {"xyzuvqjkbf"[n] * 5: [f"{n}v{m}" for m in range(9)]} for n in range(9)}
    named = {"a": {"customer": ["d", "e", "f"]}, "b": {"Customer": ["p", "q", "r"]}}
    lake = make_lake({**others, **named})
    key, alike = 9, 10
    config = ModelConfig(setting=replace(OURS, candidates=1), ranking=BLEND)
    strangers = np.eye(len(lake), dtype=np.float32)[[key, *range(key), key]]
    index = replace(build(lake, SMALL), keys=np.array([key]))
    assert alike in find_candidates(index, strangers, config)
    cosine = switched(config, ranking__scoring=Scoring.HIN)
    assert alike not in find_candidates(index, strangers, cosine)


def test_copies_fill_the_answer_unless_they_are_held(
    make_lake: MakeLake, airline_tables: Tables
) -> None:
    copies = {f"airlines_{n}": airline_tables["airlines"] for n in range(6)}
    lake = make_lake({**airline_tables, **copies})
    same = np.ones((len(lake), 1), dtype=np.float32)
    for held, expected in ((True, 1), (False, 3)):
        config = ModelConfig(
            setting=replace(OURS, defer_duplicates=held),
            ranking=RankingConfig(top_k=3, min_joinability=0.0),
        )
        found = [
            str(one.candidate)
            for one in rank(build(lake, SMALL), same, config)
            if str(one.query) == "flights.carrier"
        ]
        assert len([name for name in found if name.endswith(".carrier_code")]) == expected


def test_the_paper_s_setting_runs_from_tables_to_suggestions(lake: Lake) -> None:
    config = switched(paper(), training__epochs=3, network__width=64, setting__dimension=16)
    found = ranked(lake, config)
    assert {query for query, _, _ in found} == set(build(lake, config).keys.tolist())


KEYS = [
    {"features__names": False},
    {"features__values": False},
    {"setting__within_tables": False},
    {"setting__across_tables": False},
    {"setting__edges": Edges.VARIANTS},
    {"setting__name_variants": False},
    {"setting__positions": Positions.LAPLACIAN},
    {"setting__name_vectors": False},
    {"setting__selection": EpochSelection.LOSS},
    {"setting__corruption": False},
    {"setting__context_dropout_rate": 0.0},
    {"setting__exclude_similar_negatives": False},
]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: next(iter(keys)))
def test_a_model_trained_otherwise_is_another(lake: Lake, keys: dict[str, object]) -> None:
    index = build(lake, SMALL)
    assert fingerprint(index, switched(SMALL, **keys)) != fingerprint(index, SMALL)


@pytest.mark.parametrize(
    "keys",
    [
        {"ranking__scoring": Scoring.HIN},
        {"ranking__coherence": 0.0},
        {"setting__defer_duplicates": False},
        {"setting__hyperedges_at_inference": False},
    ],
    ids=lambda keys: next(iter(keys)),
)
def test_a_model_used_otherwise_is_the_same(lake: Lake, keys: dict[str, object]) -> None:
    index = build(lake, SMALL)
    assert fingerprint(index, switched(SMALL, **keys)) == fingerprint(index, SMALL)
