import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import CheckpointMismatchError, DamagedModelError
from datahub_hyperjoin.model.config import (
    OURS,
    FeatureConfig,
    ModelConfig,
    NetworkConfig,
    Reuse,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Encoding, encode
from datahub_hyperjoin.model.errors import NothingToLearnError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.hin import UNSEEN
from datahub_hyperjoin.model.saved.checkpoint import Model, load_model
from datahub_hyperjoin.model.saved.files import describe_model, digest, write_description
from lakes.switching import BLEND

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
BASE = ModelConfig(
    setting=replace(OURS, dimension=16, heads=4, dropout=0.0),
    network=NetworkConfig(width=32),
    training=TrainingConfig(epochs=3, learning_rate=2e-3),
    ranking=BLEND,
)


def connect(lake: Lake) -> LakeIndex:
    return build_lake_index(lake, ModelConfig(), CatalogFacts())


@pytest.fixture
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return connect(make_lake(airline_tables))


@pytest.fixture
def changed(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    """Index a changed lake: one table is new, one is missing, and one has other values."""
    airports = {"iata": [f"{a}{b}X" for a in "ABCDE" for b in "FGHIJ"], "runways": ["1", "2"] * 12}
    kept = {name: airline_tables[name] for name in ("planes", "flights", "trees")}
    return connect(make_lake({"airports": airports, **kept, "trees": {"genus": ["oak", "ash"]}}))


def run(index: LakeIndex, **settings: object) -> Encoding:
    return encode(index, replace(BASE, **settings), lambda _: None)  # type: ignore[arg-type]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit(folder: Path, key: str, value: object) -> None:
    description = dict(describe_model(folder))
    part, _, name = key.rpartition("/")
    (description[part] if part else description)[name] = value
    files = {name: folder / name for name in description["files"]}
    write_description(folder / "model.json", description, files)


def table_rows(model: Model) -> dict[str, torch.Tensor]:
    rows = model.network.table_position.weight.detach()
    return {of.name: rows[at] for at, of in enumerate(model.tables, start=1) if of}


@pytest.mark.parametrize("key", ["path", "start"])
def test_a_saved_model_encodes_other_tables_without_training(
    index: LakeIndex, changed: LakeIndex, tmp_path: Path, key: str
) -> None:
    first = run(index, path=tmp_path / "model")
    before = content(tmp_path / "model")
    other = run(changed, **{key: tmp_path / "model"}, reuse=Reuse.ALWAYS)
    assert (other.trained, other.fingerprint) == (False, first.fingerprint)
    assert other.embeddings.shape == (len(changed.lake), 32)
    assert content(tmp_path / "model") == before


def test_always_trains_where_there_is_no_model_yet(index: LakeIndex, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert run(index, path=tmp_path / "model", reuse=Reuse.ALWAYS).trained
    assert not run(index, path=tmp_path / "model", reuse=Reuse.ALWAYS).trained


def test_never_trains_even_on_the_same_tables(index: LakeIndex, tmp_path: Path) -> None:
    first = run(index, path=tmp_path / "model")
    before = content(tmp_path / "model")
    again = run(index, path=tmp_path / "model", reuse=Reuse.NEVER)
    assert again.trained
    np.testing.assert_array_equal(first.embeddings, again.embeddings)
    assert content(tmp_path / "model") == before


def test_one_new_table_can_be_encoded_and_not_learnt_from(
    index: LakeIndex, make_lake: MakeLake, tmp_path: Path
) -> None:
    run(index, path=tmp_path / "model")
    alone = connect(make_lake({"airlines": {"code": ["AA", "UA", "DL"]}}))
    assert not run(alone, path=tmp_path / "model", reuse=Reuse.ALWAYS).trained
    with pytest.raises(NothingToLearnError, match="too few to learn from"):
        run(alone, path=tmp_path / "model")


def test_a_table_keeps_its_own_row_and_never_gets_that_of_another(
    index: LakeIndex, changed: LakeIndex, tmp_path: Path
) -> None:
    run(index, path=tmp_path / "model")
    model = load_model(tmp_path / "model", BASE)
    assert [table and table.name for table in model.tables] == list(index.lake.titles)
    for of in (index, changed):
        rows = model.number_tables(of.lake)
        for row, profile in zip(rows, of.lake.profiles, strict=True):
            table = profile.id.table
            assert row == (model.tables.index(table) + 1 if table in model.tables else UNSEEN)
    assert (model.number_tables(changed.lake) == UNSEEN).any()


def test_the_order_of_tables_changes_no_embedding(
    index: LakeIndex, make_lake: MakeLake, airline_tables: Tables, tmp_path: Path
) -> None:
    one = run(index, path=tmp_path / "model")
    turned = connect(
        make_lake({name: airline_tables[name] for name in sorted(airline_tables, reverse=True)})
    )
    other = run(turned, path=tmp_path / "model", reuse=Reuse.ALWAYS)
    place = {column: at for at, column in enumerate(index.lake.ids)}
    moved = one.embeddings[[place[column] for column in turned.lake.ids]]
    np.testing.assert_allclose(other.embeddings, moved, atol=1e-5)


def test_training_goes_on_from_a_saved_model(
    index: LakeIndex, changed: LakeIndex, tmp_path: Path
) -> None:
    first = run(index, path=tmp_path / "first")
    still = replace(BASE.training, learning_rate=1e-30)
    second = run(changed, start=tmp_path / "first", path=tmp_path / "second", training=still)
    assert second.trained
    assert second.fingerprint != first.fingerprint
    old, new = (load_model(tmp_path / name, BASE) for name in ("first", "second"))
    assert (new.vocabulary, new.start) == (old.vocabulary, first.fingerprint)
    assert digest(new.vectors.path) == digest(old.vectors.path)
    mine, theirs = old.network.state_dict(), new.network.state_dict()
    for name in mine.keys() - {"table_position.weight"}:
        assert mine[name].equal(theirs[name]), name
    before, after = table_rows(old), table_rows(new)
    assert list(after) == ["airports", "planes", "flights", "trees"]
    assert all(after[name].equal(before[name]) for name in ("planes", "flights", "trees"))
    assert after["airports"].abs().max() < 1e-20


def test_a_good_start_is_better_than_none(index: LakeIndex, tmp_path: Path) -> None:
    long = replace(BASE.training, epochs=20)
    run(index, path=tmp_path / "first", training=long)
    losses: list[float] = []
    for start in (None, tmp_path / "first"):
        encode(index, replace(BASE, start=start), lambda epoch: losses.append(epoch.loss))
    assert losses[3] < 0.7 * losses[0]


def test_what_started_from_a_model_is_used_again_only_for_that_start(
    index: LakeIndex, tmp_path: Path
) -> None:
    for seed in (0, 1):
        run(index, path=tmp_path / f"{seed}", seed=seed)
    settings = {"path": tmp_path / "model", "start": tmp_path / "0"}
    assert [run(index, **settings).trained for _ in range(2)] == [True, False]
    assert run(index, path=tmp_path / "model", start=tmp_path / "1").trained
    assert run(index, path=tmp_path / "model").trained


def test_a_model_that_goes_on_in_its_own_folder_learns_the_same_tables_once(
    index: LakeIndex, changed: LakeIndex, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    run(index, path=folder)
    trained = [run(of, path=folder, start=folder).trained for of in (changed, changed, index)]
    assert trained == [True, False, True]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"network": NetworkConfig(width=16)}, r"network.width \(32, here 16\)"),
        (
            {"setting": replace(BASE.setting, walk_length=4)},
            r"hypergraph.walk_length \(16, here 4\)",
        ),
    ],
)
@pytest.mark.parametrize("key", ["path", "start"])
def test_another_architecture_is_refused(
    index: LakeIndex, tmp_path: Path, settings: dict[str, Any], message: str, key: str
) -> None:
    run(index, path=tmp_path / "m")
    expected = rf"the model in `model.{key}` '.*/m' has architecture \w{{16}}, this run needs \w"
    with pytest.raises(CheckpointMismatchError, match=expected) as caught:
        run(index, **{key: tmp_path / "m"}, reuse=Reuse.ALWAYS, **settings)
    assert caught.match(rf"they differ in .*{message}.*\. Set `model` as it was")
    saved, needed = re.findall(r"(?:architecture|needs) (\w{16})", str(caught.value))
    assert saved != needed


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("architecture/format", 1, r"they differ in format \(1, here \d+\)\. Set"),
        ("architecture", {}, r"they differ in format \(absent, here \d+\)\. Set"),
        ("vocabulary", ["other", "words"], r"vocabulary \(\w{16}, here \w{16}\)"),
    ],
)
def test_another_version_or_vocabulary_is_refused(
    index: LakeIndex, tmp_path: Path, key: str, value: object, message: str
) -> None:
    run(index, path=tmp_path / "m")
    edit(tmp_path / "m", key, value)
    with pytest.raises(CheckpointMismatchError, match=message):
        run(index, start=tmp_path / "m")
    assert run(index, path=tmp_path / "m").trained


def test_other_word_vectors_are_refused(index: LakeIndex, tmp_path: Path) -> None:
    run(index, path=tmp_path / "m")
    given = FeatureConfig(vectors=tmp_path / "wiki.bin")
    run(index, path=tmp_path / "other", seed=1)
    (tmp_path / "other" / "vectors.bin").rename(tmp_path / "wiki.bin")
    with pytest.raises(CheckpointMismatchError, match=r"differ in word vectors \(\w+, here \w+\)"):
        run(index, start=tmp_path / "m", features=given)


def test_what_says_how_training_goes_is_no_architecture(index: LakeIndex, tmp_path: Path) -> None:
    run(index, path=tmp_path / "m")
    gentler = replace(BASE.setting, dropout=0.3)
    assert not run(index, path=tmp_path / "m", reuse=Reuse.ALWAYS, setting=gentler).trained
    assert run(index, start=tmp_path / "m", setting=gentler).trained


def damage(file: Path, random: Random) -> None:
    """Change a bit of a file, delete a part of it or cut off its end."""
    content = file.read_bytes()
    start, stop = sorted(random.sample(range(len(content)), 2))
    changed = bytes([content[start] ^ 1 << random.randrange(8)])
    cut = [content[:start] + content[stop:], content[:start]]
    file.write_bytes(random.choice([content[:start] + changed + content[start + 1 :], *cut]))


@pytest.mark.parametrize("name", ["model.json", "vectors.bin", "weights.safetensors"])
def test_a_damaged_model_is_refused_where_it_must_be_used(
    index: LakeIndex, tmp_path: Path, name: str
) -> None:
    run(index, path=tmp_path / "m")
    file, random = tmp_path / "m" / name, Random(0)  # noqa: S311 - repeatable damage
    whole = file.read_bytes()
    message = rf"the model in `model.start` '.*/m' cannot be used: {name} is damaged, or"
    for _ in range(30):
        file.write_bytes(whole)
        damage(file, random)
        with pytest.raises(DamagedModelError, match=message):
            load_model(tmp_path / "m", BASE, key="model.start")
    with pytest.raises(DamagedModelError, match=r"Restore the folder from a copy, or delete it"):
        run(index, start=tmp_path / "m", reuse=Reuse.ALWAYS)


def test_a_damaged_model_that_can_be_trained_again_is_named(
    index: LakeIndex, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(index, path=tmp_path / "m")
    before = content(tmp_path / "m")
    damage(tmp_path / "m" / "weights.safetensors", Random(0))  # noqa: S311 - repeatable damage
    assert run(index, path=tmp_path / "m").trained
    assert "Training again, because the model in `model.path`" in caplog.text
    assert "weights.safetensors is damaged" in caplog.text
    assert content(tmp_path / "m") == before


def test_a_large_file_is_told_apart_by_samples(tmp_path: Path) -> None:
    file, size = tmp_path / "wiki.bin", 5 << 20
    found = set()
    for place in (None, 0, size - 1):
        data = bytearray(size)
        if place is not None:
            data[place] = 1
        file.write_bytes(data)
        found.add(digest(file))
    file.write_bytes(bytes(size - 1))
    assert len(found | {digest(file)}) == 4
