"""Test the effect of name variants on the join graph, on training and on fingerprints."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import (
    OURS,
    LanguageModelConfig,
    ModelConfig,
    RankingConfig,
    Scoring,
)
from datahub_hyperjoin.model.encode import encode
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import Naming
from datahub_hyperjoin.model.saved.checkpoint import fingerprint
from datahub_hyperjoin.model.training.augmented_views import sample_pairs
from lakes.switching import SHORT, data_from
from services.endpoint import Endpoint, naming, refusing

MakeLake = Callable[..., Lake]
Configure = Callable[..., LanguageModelConfig]
NOTHING = CatalogFacts()


@pytest.fixture
def partly_alike(make_lake: MakeLake) -> Lake:
    """Make two keys that share three fifths of their values.

    That is too little to connect columns with unlike names.
    """
    words = [f"w{at}" for at in range(80)]
    return make_lake({"a": {"patron": words[:50]}, "b": {"borrower": words[20:70]}})


def asking(config: LanguageModelConfig) -> ModelConfig:
    return ModelConfig(llm=config, ranking=RankingConfig(scoring=Scoring.BLEND))


@pytest.mark.parametrize(
    ("names", "edges"),
    [
        ({}, 0),
        ({"patron": "borrower"}, 1),
        ({"borrower": "Patron"}, 1),
        ({"patron": "client_no", "borrower": "CustomerId"}, 1),
        ({"patron": "client_no", "borrower": "staff_no"}, 0),
    ],
)
def test_names_for_the_same_thing_connect_columns_that_overlap(
    partly_alike: Lake,
    endpoint: Endpoint,
    configure: Configure,
    names: dict[str, str],
    edges: int,
) -> None:
    endpoint.usual = naming(**names)
    index = build_lake_index(partly_alike, asking(configure()), NOTHING)
    assert len(index.joins.left) == edges
    assert build_lake_index(partly_alike, ModelConfig(), NOTHING).naming == Naming()


def test_columns_with_variants_of_the_same_words_have_similar_names(
    partly_alike: Lake, endpoint: Endpoint, configure: Configure
) -> None:
    endpoint.usual = naming(patron="client_no", borrower="ClientNo")
    index = build_lake_index(partly_alike, asking(configure()), NOTHING)
    patron, borrower = np.array([0]), np.array([1])
    assert index.names.of(patron, borrower) == 1
    plain = build_lake_index(partly_alike, ModelConfig(), NOTHING)
    assert plain.names.of(patron, borrower) == 0


def test_nothing_is_asked_where_name_variants_do_not_count(
    partly_alike: Lake, endpoint: Endpoint, configure: Configure
) -> None:
    settings = replace(asking(configure()), setting=replace(OURS, name_variants=False))
    assert build_lake_index(partly_alike, settings, NOTHING).naming == Naming()
    assert endpoint.requests == []


def test_names_alone_connect_nothing(
    make_lake: MakeLake, endpoint: Endpoint, configure: Configure
) -> None:
    endpoint.usual = naming(x="shared_name", y="shared_name")
    lake = make_lake({"a": {"x": ["1a", "2a", "3a"]}, "b": {"y": ["4b", "5b", "6b"]}})
    index = build_lake_index(lake, asking(configure()), NOTHING)
    assert index.naming.variants == {0: "shared_name", 1: "shared_name"}
    assert len(index.joins.left) == 0


@pytest.fixture
def plain(make_lake: MakeLake, airline_tables: object) -> LakeIndex:
    return build_lake_index(make_lake(airline_tables), ModelConfig(), NOTHING)


def named(index: LakeIndex, variants: dict[int, str]) -> LakeIndex:
    return replace(index, naming=Naming(variants=variants))


def test_training_sees_the_other_name_in_part_of_the_right_views(
    plain: LakeIndex, tmp_path: Path
) -> None:
    data = data_from(named(plain, {1: "aircraft_registration"}), SHORT, tmp_path)
    [vector] = data.featurizer.names(["aircraft_registration"]).vectors.numpy()
    left, right = 0, 0
    for seed in range(300):
        batch = sample_pairs(data, np.array([1]), np.random.default_rng(seed))
        alike = (batch.batch.features.names.vectors.numpy() == vector).all(axis=1)
        left += int(alike[: int(batch.candidates[0])].sum())
        right += int(alike[int(batch.candidates[0]) :].sum())
    assert left == 0
    # 0.6 renamed, half of those by the model, 0.85 not made opaque: 0.255 of 300, within 3 sigma.
    assert 54 <= right <= 99


def test_columns_without_another_name_are_cut_as_ever(plain: LakeIndex, tmp_path: Path) -> None:
    data = data_from(plain, SHORT, tmp_path)
    other = replace(data, index=named(plain, {8: "unused"}))
    keys = np.array([0])
    one, two = (sample_pairs(of, keys, np.random.default_rng(5)).batch for of in (data, other))
    np.testing.assert_array_equal(one.features.names.vectors, two.features.names.vectors)


def test_a_fingerprint_depends_on_the_names_and_not_on_who_gave_them(plain: LakeIndex) -> None:
    settings = [
        ModelConfig(),
        asking(LanguageModelConfig(model="small", api_key=SecretStr("one"))),
        asking(LanguageModelConfig(model="large", api_key=SecretStr("two"), concurrency=9)),
    ]
    given = [{}, {0: "airline"}, {0: "carrier_id"}, {1: "airline"}]
    prints = {
        (place, fingerprint(named(plain, variants), config))
        for config in settings
        for place, variants in enumerate(given)
    }
    assert len(prints) == len({value for _, value in prints}) == 4


def test_a_kept_model_serves_while_the_names_stay(
    make_lake: MakeLake,
    airline_tables: object,
    endpoint: Endpoint,
    configure: Configure,
    tmp_path: Path,
) -> None:
    lake = make_lake(airline_tables)
    quick = replace(SHORT, path=tmp_path / "model", setting=replace(OURS, dimension=8, heads=2))
    quick = replace(
        quick,
        network=replace(quick.network, width=16),
        training=replace(quick.training, epochs=1),
        llm=configure(cache=tmp_path / "names"),
    )

    def trained() -> bool:
        return encode(build_lake_index(lake, quick, NOTHING), quick, lambda _: None).trained

    assert [trained(), trained()] == [True, False]
    assert len(endpoint.requests) == 1
    endpoint.usual = refusing(500)
    for file in tmp_path.joinpath("names").rglob("*.json"):
        file.unlink()
    assert trained()
