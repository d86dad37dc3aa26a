"""Test where whole runs store personal values, and who receives them."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin.recipe import HyperJoinConfig
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.storage import read_checked
from lakes.lake import codes, write_table
from services.endpoint import Endpoint

pytestmark = [
    pytest.mark.usefixtures("without_spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
LETTERS = "abcdefghij"
PEOPLE = [f"canary{a}{b}" for a in LETTERS for b in LETTERS[:6]]
"""Words that only e-mail addresses contain."""
MAILS = [f"{name}@example.org" for name in PEOPLE]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint().open() as served:
        yield served


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    """Make new files readable by everyone, unless the code restricts them."""
    before = os.umask(0)
    yield
    os.umask(before)


def write_lake(folder: Path) -> None:
    towns = codes("Town", 60)
    write_table(folder, "customers.csv", {"contact": MAILS, "town": towns})
    write_table(folder, "orders.csv", {"number": codes("N", 120), "buyer": MAILS * 2})
    write_table(folder, "towns.csv", {"town": towns, "mayor": codes("Mayor", 60)})


def run(folder: Path, **more: Any) -> HyperJoinReport:  # noqa: ANN401
    config = {"catalog": {"folder": str(folder / "lake")}, **more}
    sink = {"type": "file", "config": {"filename": str(folder / "joins.json")}}
    pipeline = Pipeline.create({"source": {"type": "hyperjoin", "config": config}, "sink": sink})
    pipeline.run()
    pipeline.raise_from_status()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    assert list(report.failures) == []
    return report


def keeping(folder: Path, endpoint: Endpoint) -> dict[str, Any]:
    """Return settings with which a run keeps and sends as much as possible."""
    llm = {"model": "small", "base_url": endpoint.url, "send_values": True}
    return {
        "profile": {"store": str(folder / "kept" / "store")},
        "page": str(folder / "joins.html"),
        "model": {
            "path": str(folder / "kept" / "model"),
            "network": {"width": 32},
            "training": {"epochs": 2},
            "ranking": {"scoring": "blend"},
            "llm": {**llm, "cache": str(folder / "kept" / "cache")},
        },
    }


def content(folder: Path) -> bytes:
    """Return everything that a run has written, uncompressed."""
    texts = [file.read_bytes() for file in folder.glob("joins.*")]
    for file in (folder / "kept").rglob("*"):
        if file.suffix == ".parquet":
            rows = pq.read_table(pa.BufferReader(read_checked(file))).to_pylist()
            texts.append(repr(rows).encode())
        elif file.is_file():
            texts.append(file.read_bytes())
    return b"\n".join(texts)


def joins(folder: Path) -> set[str]:
    proposals = json.loads(folder.joinpath("joins.json").read_text())
    return {
        proposal["aspect"]["json"]["name"]
        for proposal in proposals
        if proposal["aspectName"] == "erModelRelationshipProperties"
    }


def test_personal_values_join_but_are_neither_kept_nor_shown_nor_sent(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    write_lake(tmp_path / "lake")
    report = run(tmp_path, **keeping(tmp_path, endpoint))
    assert report.personal_columns == 2
    assert "customers.csv.contact" in "".join(joins(tmp_path))
    kept, sent = content(tmp_path), json.dumps(endpoint.requests).encode()
    # Values that are not personal show that the search would find some.
    assert b"Town001" in kept
    assert b"Town0" in sent
    assert b"canary" not in kept
    assert b"canary" not in sent
    words = tmp_path.joinpath("kept", "model", "vectors.bin").read_bytes()
    assert b"town001" in words
    assert not [name for name in PEOPLE if name.encode() in words]


def test_a_value_that_stands_for_no_key_is_not_told(tmp_path: Path, endpoint: Endpoint) -> None:
    lake, rooms = tmp_path / "lake", codes("R", 60)
    write_table(lake, "people.csv", {"mail": [*MAILS, *[MAILS[0]] * 6], "x": codes("X", 66)})
    write_table(lake, "letters.csv", {"mail": MAILS * 2, "y": codes("Y", 120)})
    write_table(lake, "rooms.csv", {"room": [*rooms, *["hushed"] * 6], "z": codes("Z", 66)})
    write_table(lake, "visits.csv", {"room": [*rooms, *rooms, *["hushed"] * 9]})
    write_table(lake, "desks.csv", {"desk": [*codes("D", 60), *["N/A"] * 6], "v": codes("V", 66)})
    write_table(lake, "seats.csv", {"desk": [*codes("D", 60) * 2, *["N/A"] * 9]})
    run(tmp_path, **keeping(tmp_path, endpoint))
    assert b"canary" not in content(tmp_path)
    written = tmp_path.joinpath("joins.json").read_text()
    assert "hushed" not in written
    assert "hushed" not in tmp_path.joinpath("joins.html").read_text()
    assert "a value that repeats" in written
    assert '"placeholders": "N/A"' in written


def test_without_detection_the_same_values_are_kept(tmp_path: Path, endpoint: Endpoint) -> None:
    write_lake(tmp_path / "lake")
    settings = keeping(tmp_path, endpoint)
    settings["profile"]["detect_personal"] = False
    assert run(tmp_path, **settings).personal_columns == 0
    assert b"canary" in content(tmp_path)
    assert b"canary" in json.dumps(endpoint.requests).encode()


def test_what_a_run_keeps_is_for_its_user_alone(tmp_path: Path, endpoint: Endpoint) -> None:
    write_lake(tmp_path / "lake")
    run(tmp_path, **keeping(tmp_path, endpoint))
    entries = [*tmp_path.joinpath("kept").rglob("*")]
    names = {entry.name for entry in entries}
    assert names > {"profiles.parquet", "evidence.parquet", "vectors.bin", "weights.safetensors"}
    assert {
        str(entry): oct(mode)
        for entry in entries
        if (mode := stat.S_IMODE(entry.stat().st_mode)) != (0o700 if entry.is_dir() else 0o600)
    } == {}


def test_a_run_that_keeps_no_values_discards_those_of_earlier_runs(tmp_path: Path) -> None:
    write_lake(tmp_path / "lake")
    store = {"store": str(tmp_path / "kept" / "store"), "detect_personal": False}
    run(tmp_path, profile=store)
    assert b"canary" in content(tmp_path)
    report = run(tmp_path, profile={**store, "keep_values": False})
    assert report.tables_from_profile_store == 0
    kept = content(tmp_path)
    assert b"canary" not in kept
    assert b"Town001" not in kept
    assert tmp_path.joinpath("kept", "store", "evidence.parquet").exists()


def test_a_page_that_may_show_values_shows_no_personal_ones(tmp_path: Path) -> None:
    write_lake(tmp_path / "lake")
    page = tmp_path / "joins.html"
    run(tmp_path, page=str(page))
    assert "Town0" not in page.read_text()
    run(tmp_path, page=str(page), page_values=True)
    assert "Town0" in page.read_text()
    assert "canary" not in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_a_page_with_values_is_refused_if_none_may_be_kept() -> None:
    recipe = {"catalog": {"folder": "lake"}, "profile": {"keep_values": False}}
    shown = {**recipe, "page": "joins.html", "page_values": True}
    with pytest.raises(ValueError, match=r"`page_values` would keep values on the page, which"):
        HyperJoinConfig.model_validate(shown)
    HyperJoinConfig.model_validate({**shown, "page_values": False})


@pytest.mark.parametrize("features", [{}, {"values": True}])
def test_a_model_with_words_of_values_is_refused_if_none_may_be_kept(
    features: dict[str, Any], tmp_path: Path
) -> None:
    recipe = {
        "catalog": {"folder": "lake"},
        "profile": {"keep_values": False},
        "model": {"path": str(tmp_path / "model"), "features": features},
    }
    with pytest.raises(ValueError, match=r"`model.path` would keep words of values, which `prof"):
        HyperJoinConfig.model_validate(recipe)
    recipe["model"] = {"path": str(tmp_path / "model"), "features": {"values": False}}
    HyperJoinConfig.model_validate(recipe)
