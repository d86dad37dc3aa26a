"""Test how the list of sources is checked, and from where repositories are read."""

import shutil
from pathlib import Path

import pytest

from benchmarks.school.errors import ForbiddenSourceError, SourceError
from benchmarks.school.forbidden import check_allowed
from benchmarks.school.repository import open_repository
from benchmarks.school.sources import Kind, Split, read_sources
from lakes.schooling import commit, sources


@pytest.mark.parametrize(
    "name",
    [
        "cldf-datasets/wals",
        "glottolog/glottolog-cldf",
        "grambank/grambank",
        "jpwhite3/northwind",
        "x/sakila",
        "lerocha/chinook-database",
        "x/y/database/world_1/world_1.sqlite",
    ],
)
def test_sources_that_judge_are_refused_by_name(name: str) -> None:
    with pytest.raises(ForbiddenSourceError, match=r"must not be trained on: its name holds"):
        check_allowed(name)


def test_a_word_within_a_word_is_no_name() -> None:
    check_allowed("walsh/languages")


def test_a_list_with_a_forbidden_source_is_refused(tmp_path: Path) -> None:
    path = sources(tmp_path, "x/wals,1,CC0,cldf,cldf/*.json,train")
    with pytest.raises(ForbiddenSourceError, match=r"^x/wals must not be trained on"):
        read_sources(path)


def test_an_author_in_both_splits_is_refused(tmp_path: Path) -> None:
    path = sources(tmp_path, "A/b,1,CC0,cldf,c/*,train", "a/c,1,CC0,cldf,c/*,validation")
    with pytest.raises(SourceError, match=r"^a is in both splits\. Give all sources of an author"):
        read_sources(path)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    path = sources(tmp_path, "a/b,1,CC0,excel,c/*,train")
    with pytest.raises(SourceError, match=r"^a/b: its kind or split is 'excel train'\. Use one of"):
        read_sources(path)


def test_the_list_has_licences_and_disjoint_splits() -> None:
    listed = read_sources()
    assert all(one.licence and len(one.commit) == 40 for one in listed)
    assert not [one.name for one in listed if "NC" in one.licence.split("-")]
    parts = {split: {one.database for one in listed if one.split == split} for split in Split}
    assert not parts[Split.TRAIN] & parts[Split.VALIDATION]
    assert min(map(len, parts.values())) >= 30
    assert sum(map(len, parts.values())) == len(listed)  # each name once
    copyleft = ("GPL", "MPL")
    assert {one.kind for one in listed if any(word in one.licence for word in copyleft)} == {
        Kind.HEADERS
    }


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Redirect git from GitHub to a local folder, and return this folder."""
    folder = tmp_path / "github"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{folder}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    return folder


def test_a_repository_is_cloned_once(github: Path, tmp_path: Path) -> None:
    made = commit(github / "owner" / "x", {"a.csv": "x\n1\n"})
    for _ in range(2):
        found = open_repository("owner/x", made, cache=tmp_path / "cache", mirror=None)
        assert found.folder == tmp_path / "cache" / "owner+x"
        assert found.read("a.csv") == b"x\n1\n"
        shutil.rmtree(github, ignore_errors=True)


@pytest.mark.usefixtures("github")
def test_a_repository_that_cannot_be_cloned_is_named(tmp_path: Path) -> None:
    for _ in range(2):  # what the first attempt left is no repository
        with pytest.raises(
            SourceError, match=r"(?s)^a/b could not be fetched at 12ab: .*give a folder that holds"
        ):
            open_repository("a/b", "12ab", cache=tmp_path, mirror=None)


def test_a_repository_comes_from_the_mirror_first(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / "owner+x"
    made = commit(folder / "work", {"a.csv": "x\n1\n"})
    (folder / "work" / ".git").rename(folder / "repo")
    found = open_repository("owner/x", made, cache=tmp_path / "c", mirror=tmp_path / "mirror")
    assert found.files == ("a.csv",)
    assert found.read("a.csv") == b"x\n1\n"
    assert found.read("b.csv") is None
    assert not (tmp_path / "c").exists()
