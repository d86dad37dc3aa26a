"""Test training without labels, and its losses."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import (
    OURS,
    FeatureConfig,
    Loss,
    Method,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Epoch, encode
from datahub_hyperjoin.model.errors import CollapsedError, NonFiniteLossError, NothingToLearnError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.saved.checkpoint import fingerprint
from datahub_hyperjoin.model.training import train as validation
from datahub_hyperjoin.model.training.train import (
    infonce_loss,
    measure_loss,
    triplet_loss,
)
from lakes.switching import BLEND

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
NOTHING = CatalogFacts()
ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED)
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)


METHOD = replace(OURS, dimension=16, heads=4, dropout=0.0)


def config(path: Path | None = None, method: Method = METHOD, **training: object) -> ModelConfig:
    return ModelConfig(
        path=path,
        setting=method,
        network=NetworkConfig(width=32),
        training=TrainingConfig(**{"epochs": 6, **training}),  # type: ignore[arg-type]
        ranking=BLEND,
    )


@pytest.fixture
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return connect(make_lake(airline_tables))


def connect(lake: Lake, knowledge: CatalogFacts = NOTHING) -> LakeIndex:
    return build_lake_index(lake, ModelConfig(), knowledge)


def run(index: LakeIndex, settings: ModelConfig) -> tuple[np.ndarray, list[Epoch]]:
    epochs: list[Epoch] = []
    return encode(index, settings, epochs.append).embeddings, epochs


@pytest.mark.parametrize("loss", list(Loss))
def test_training_learns_to_find_its_own_columns(index: LakeIndex, loss: Loss) -> None:
    method = replace(METHOD, patience=25, loss=loss)
    _, epochs = run(index, config(method=method, epochs=25, learning_rate=2e-3))
    losses = [epoch.loss for epoch in epochs]
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:3])
    assert max(epoch.recall for epoch in epochs) >= 0.8


def test_joinable_columns_end_up_closer_than_others(index: LakeIndex) -> None:
    embeddings, _ = run(index, config(epochs=20, learning_rate=2e-3))
    names = [str(column) for column in index.lake.ids]
    place = {name: embeddings[names.index(name)] for name in names}
    carrier = place["flights.carrier"]
    assert carrier @ place["airlines.carrier_code"] > carrier @ place["planes.tailnum"]
    assert carrier @ place["airlines.carrier_code"] > carrier @ place["herbarium.genus"]


def test_the_same_seed_gives_the_same_embeddings(index: LakeIndex) -> None:
    one, _ = run(index, config(epochs=3))
    state = torch.random.get_rng_state()
    other, _ = run(index, config(epochs=3))
    np.testing.assert_array_equal(one, other)
    assert torch.random.get_rng_state().equal(state)
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_saved_model_encodes_without_training(index: LakeIndex, tmp_path: Path) -> None:
    settings = config(tmp_path / "model", epochs=3)
    first, epochs = run(index, settings)
    again, none = run(index, settings)
    assert (len(epochs), none) == (3, [])
    np.testing.assert_array_equal(first, again)
    assert not list(tmp_path.glob("*.pkl"))
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "model.json",
        "vectors.bin",
        "weights.safetensors",
    ]


def test_pretrained_vectors_are_used_and_not_copied(index: LakeIndex, tmp_path: Path) -> None:
    run(index, config(tmp_path / "first", epochs=1))
    (tmp_path / "first" / "vectors.bin").rename(tmp_path / "wiki.bin")
    given = replace(
        config(tmp_path / "model", epochs=1), features=FeatureConfig(vectors=tmp_path / "wiki.bin")
    )
    first, epochs = run(index, given)
    again, none = run(index, given)
    assert (len(epochs), none) == (1, [])
    np.testing.assert_array_equal(first, again)
    assert not (tmp_path / "model" / "vectors.bin").exists()


def test_other_data_or_settings_train_again(
    index: LakeIndex, make_lake: MakeLake, airline_tables: Tables, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    run(index, config(path, epochs=2))
    assert len(run(index, config(path, epochs=1))[1]) == 1
    changed = {**airline_tables, "trees": {"genus": ["oak", "ash", "elm"]}}
    assert len(run(connect(make_lake(changed)), config(path, epochs=1))[1]) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["model.json", "vectors.bin", "weights.safetensors"])
def test_a_damaged_model_is_trained_again(index: LakeIndex, tmp_path: Path, name: str) -> None:
    settings = config(tmp_path / "model", epochs=1)
    first, _ = run(index, settings)
    (tmp_path / "model" / name).write_text("{")
    again, epochs = run(index, settings)
    assert len(epochs) == 1
    np.testing.assert_array_equal(first, again)


def test_ranking_does_not_touch_the_weights(index: LakeIndex) -> None:
    other = ModelConfig(ranking=RankingConfig(top_k=9), path=Path("elsewhere"))
    assert fingerprint(index, other) == fingerprint(index, ModelConfig())


def test_one_table_is_nothing_to_learn_from(make_lake: MakeLake) -> None:
    index = connect(make_lake({"airlines": {"code": ["AA", "UA", "DL"]}}))
    with pytest.raises(NothingToLearnError, match="1 key column in 1 table are too few"):
        run(index, config())


def test_a_loss_that_is_no_number_stops_training(index: LakeIndex) -> None:
    unclipped = replace(METHOD, gradient_clip=1e30)
    with pytest.raises(NonFiniteLossError, match=r"the loss became .* in epoch \d+. Lower"):
        run(index, config(method=unclipped, learning_rate=1e30))


def test_collapse_is_named(index: LakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_COLLAPSED", -1.0)
    with pytest.raises(CollapsedError, match=r"all embeddings are nearly identical .* Use"):
        run(index, config(epochs=1))


def test_training_stops_when_recall_stands_still(index: LakeIndex) -> None:
    impatient = replace(METHOD, patience=2)
    _, epochs = run(index, config(method=impatient, epochs=40, learning_rate=0.0))
    assert len(epochs) == 3


def test_knowing_nothing_of_these_columns_changes_nothing(
    index: LakeIndex, airline_tables: Tables, make_lake: MakeLake, know: Know
) -> None:
    elsewhere = know({("lost.x", "lost.y"): ACCEPTED, ("flights.carrier", "lost.y"): REJECTED})
    other = connect(make_lake(airline_tables), elsewhere)
    assert fingerprint(other, config()) == fingerprint(index, config())
    one, _ = run(index, config(epochs=3))
    again, _ = run(other, config(epochs=3))
    np.testing.assert_array_equal(one, again)


def cosine(index: LakeIndex, ends: tuple[str, str]) -> float:
    """Train for a few epochs, and return the cosine similarity of two columns."""
    embeddings, _ = run(index, config(epochs=30, learning_rate=2e-3))
    one, other = (embeddings[[str(c) for c in index.lake.ids].index(end)] for end in ends)
    return float(one @ other)


def test_what_people_confirm_comes_closer_than_a_shared_hyperedge_brings_it(
    index: LakeIndex, know: Know
) -> None:
    ends = ("airlines.name", "trees.family")
    declared = connect(index.lake, know({ends: CatalogEvidence(declared="fk")}))
    accepted = connect(index.lake, know({ends: ACCEPTED}))
    before, linked, taught = (cosine(of, ends) for of in (index, declared, accepted))
    assert taught > before + 0.3
    assert taught > linked + 0.3


def test_what_people_reject_drifts_apart(index: LakeIndex, know: Know) -> None:
    ends = ("flights.carrier", "airlines.carrier_code")
    denied = connect(index.lake, know({ends: REJECTED}))
    assert cosine(denied, ends) < cosine(index, ends) - 0.1


def test_training_with_decisions_is_repeatable(
    airline_tables: Tables, make_lake: MakeLake, know: Know
) -> None:
    knowledge = know(
        {
            ("airlines.name", "trees.family"): ACCEPTED,
            ("flights.tailnum", "planes.tailnum"): REJECTED,
        }
    )
    index = connect(make_lake(airline_tables), knowledge)
    one, _ = run(index, config(epochs=2))
    again, _ = run(index, config(epochs=2))
    np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        (ACCEPTED, True),
        (REJECTED, True),
        (CatalogEvidence(declared="fk"), True),
        (CatalogEvidence(related="urn"), True),
        (CatalogEvidence(queries=9), False),
    ],
)
def test_a_saved_model_is_of_the_decisions_it_learnt_from(
    index: LakeIndex,
    airline_tables: Tables,
    make_lake: MakeLake,
    know: Know,
    said: CatalogEvidence,
    *,
    changes: bool,
) -> None:
    knowledge = know({("flights.carrier", "airlines.carrier_code"): said})
    other = connect(make_lake(airline_tables), knowledge)
    assert (fingerprint(other, config()) != fingerprint(index, config())) is changes


def test_a_saved_model_is_of_the_keys_it_learnt_from(index: LakeIndex) -> None:
    ids = index.lake.ids
    other = ids[np.setdiff1d(np.arange(len(ids)), index.keys)[0]]
    more = connect(index.lake, CatalogFacts(keys=DeclaredKeys(unique=frozenset([other]))))
    same = connect(
        index.lake, CatalogFacts(keys=DeclaredKeys(unique=frozenset([ids[index.keys[0]]])))
    )
    assert fingerprint(more, config()) != fingerprint(index, config())
    assert fingerprint(same, config()) == fingerprint(index, config())


COSINES = torch.tensor([[0.9, 0.4, 0.8], [0.1, 0.2, 0.3]])
POSITIVE = torch.tensor([0, 1])
NEGATIVE = torch.tensor([[False, True, False], [True, False, True]])


def test_triplet_takes_the_hardest_candidate_that_is_a_negative() -> None:
    expected = ((1 + 0.4 - 0.9) + (1 + 0.3 - 0.2)) / 2
    assert triplet_loss(COSINES, POSITIVE, NEGATIVE, 1.0).item() == pytest.approx(expected)


def test_triplet_is_zero_beyond_the_margin() -> None:
    assert triplet_loss(COSINES[:1], POSITIVE[:1], NEGATIVE[:1], 0.5).item() == 0


def test_without_a_negative_the_triplet_loss_is_finite() -> None:
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    assert triplet_loss(COSINES[:1], POSITIVE[:1], nothing, 2.5).item() == pytest.approx(0.6)


def test_infonce_counts_the_positive_and_the_negatives_only() -> None:
    first = math.log(1 + math.exp((0.4 - 0.9) / 0.1))
    second = math.log(1 + math.exp(-1) + math.exp(1))
    found = infonce_loss(COSINES, POSITIVE, NEGATIVE, 0.1).item()
    assert found == pytest.approx((first + second) / 2, rel=1e-5)


@pytest.mark.parametrize(("loss", "expected"), [(Loss.TRIPLET, 0.8), (Loss.INFONCE, 0.7072)])
def test_the_configuration_names_the_loss(loss: Loss, expected: float) -> None:
    method = replace(OURS, loss=loss, margin=1.0, temperature=0.1)
    found = measure_loss(COSINES, POSITIVE, NEGATIVE, method).item()
    assert found == pytest.approx(expected, abs=1e-3)
