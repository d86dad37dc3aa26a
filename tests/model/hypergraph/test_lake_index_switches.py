"""Test that recipe settings decide which columns are connected, and how the network is trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datahub_hyperjoin.model.config import (
    Edges,
    ModelConfig,
)
from datahub_hyperjoin.model.hypergraph.hyperedges import build_hypergraph
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.hin import UNSEEN
from datahub_hyperjoin.model.saved.checkpoint import fingerprint
from lakes.switching import SMALL, build, draw, run, switched, training_data

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]


@pytest.fixture
def lake(make_lake: MakeLake, airline_tables: Tables) -> Lake:
    return make_lake(airline_tables)


@pytest.mark.parametrize(
    ("keys", "kinds"),
    [
        ({}, {True, False}),
        ({"setting__within_tables": False}, {True}),
        ({"setting__across_tables": False}, {False}),
        ({"setting__within_tables": False, "setting__across_tables": False}, set()),
    ],
)
def test_only_the_hyperedges_named_are_there(
    lake: Lake, tmp_path: Path, keys: dict[str, bool], kinds: set[bool]
) -> None:
    config = switched(SMALL, **keys)
    graph = build_hypergraph(lake, build(lake, config).joins, config.setting)
    assert set(graph.across.tolist()) == kinds
    assert set(draw(lake, config, tmp_path).batch.graph.across.tolist()) == kinds
    embeddings, epochs = run(lake, config)
    assert len(epochs) == 3
    assert np.isfinite(embeddings).all()


def test_inference_without_hyperedges_is_of_the_same_network(lake: Lake, tmp_path: Path) -> None:
    whole = replace(SMALL, path=tmp_path / "model")
    bare = switched(whole, setting__hyperedges_at_inference=False)
    assert fingerprint(build(lake, whole), whole) == fingerprint(build(lake, bare), bare)
    assert draw(lake, bare, tmp_path).batch.graph.across.any()
    one, epochs = run(lake, whole)
    other, none = run(lake, bare)
    assert (len(epochs), none) == (3, [])
    assert not np.allclose(one, other, atol=1e-3)
    assert len(build_hypergraph(lake, build(lake, bare).joins, bare.setting).across) == 0


@pytest.fixture
def accounts(make_lake: MakeLake) -> Lake:
    """Make two columns with similar names and one shared value, and two with equal values."""
    words = [f"w{n}" for n in range(20)]
    return make_lake(
        {
            "a": {"customer_id": ["w0", *(f"a{n}" for n in range(19))]},
            "b": {"custNo": ["w0", *(f"b{n}" for n in range(19))]},
            "c": {"item": words},
            "d": {"town": words},
        }
    )


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (Edges.CONTAINMENT, [{"c.item", "d.town"}]),
        (Edges.VARIANTS, [{"a.customer_id", "b.custNo"}]),
    ],
)
def test_edges_are_of_values_or_of_names(
    accounts: Lake, edges: Edges, expected: list[set[str]]
) -> None:
    index = build(accounts, switched(SMALL, setting__edges=edges))
    found = [{str(accounts.ids[c]) for c in part} for part in index.joins.components]
    assert found == expected


def test_without_variants_names_make_no_edge(accounts: Lake) -> None:
    config = switched(SMALL, setting__edges=Edges.VARIANTS, setting__name_variants=False)
    assert build(accounts, config).joins.components == ()


def test_names_alike_need_half_the_containment_unless_variants_do_not_count(
    make_lake: MakeLake,
) -> None:
    words = [f"w{n}" for n in range(20)]
    half = [*words[:12], *(f"v{n}" for n in range(8))]
    lake = make_lake({"a": {"customer_id": words}, "b": {"custNo": half}})
    assert len(build(lake, SMALL).joins.components) == 1
    assert build(lake, switched(SMALL, setting__name_variants=False)).joins.components == ()
    assert build(lake, switched(SMALL, features__names=False)).joins.components == ()


def right_names(lake: Lake, config: ModelConfig, folder: Path) -> set[bytes]:
    """Return the name vectors of all candidates in five training batches."""
    found: set[bytes] = set()
    for seed in range(5):
        pairs = draw(lake, config, folder, seed)
        vectors = pairs.batch.features.names.vectors[pairs.candidates]
        found |= {vector.numpy().tobytes() for vector in vectors}
    return found


def own_names(lake: Lake, config: ModelConfig, folder: Path) -> set[bytes]:
    vectors = training_data(lake, config, folder).whole().names.vectors
    return {vector.numpy().tobytes() for vector in vectors}


def test_the_right_view_has_other_names_only_by_variants_and_corruption(
    lake: Lake, tmp_path: Path
) -> None:
    still = switched(SMALL, setting__name_variants=False, setting__corruption=False)
    assert right_names(lake, still, tmp_path) <= own_names(lake, still, tmp_path)
    for key in ("setting__name_variants", "setting__corruption"):
        config = switched(still, **{key: True})
        assert not right_names(lake, config, tmp_path) <= own_names(lake, config, tmp_path)


def test_the_right_view_writes_values_otherwise_only_if_they_are_corrupted(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def corrupt(values: list[str], _: np.random.Generator) -> list[str]:
        seen.extend(values)
        return values

    monkeypatch.setattr("datahub_hyperjoin.model.training.augmented_views.corrupt", corrupt)
    draw(lake, switched(SMALL, setting__corruption=False), tmp_path)
    assert not seen
    draw(lake, SMALL, tmp_path)
    assert seen


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_forgetting_hides_tables_domains_and_positions(
    lake: Lake, tmp_path: Path, share: float
) -> None:
    config = switched(SMALL, setting__context_dropout_rate=share)
    pairs = draw(lake, config, tmp_path)
    left = pairs.batch.tables[: int(pairs.candidates[0])]
    linked = build(lake, config).joins.component >= 0
    assert (left == UNSEEN).all().item() is bool(share)
    assert (left != UNSEEN).all().item() is not bool(share)
    assert pairs.batch.graph.across.any().item() is not bool(share)
    assert pairs.batch.positions.any(dim=1).sum().item() == (0 if share else 2 * linked.sum())


def test_columns_that_may_be_joinable_are_negatives_only_if_not_spared(
    lake: Lake, tmp_path: Path
) -> None:
    spared = draw(lake, SMALL, tmp_path)
    hard = draw(lake, switched(SMALL, setting__exclude_similar_negatives=False), tmp_path)
    assert int(hard.negative.sum()) > int(spared.negative.sum())
    assert (spared.negative <= hard.negative).all()
    assert not hard.negative.gather(1, hard.positive[:, None]).any()
