"""Test that arrays are computed once and kept in the user's cache folder."""

from pathlib import Path

import numpy as np
import pytest

from datahub_hyperjoin.model.array_cache import cached_arrays


def test_arrays_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = []

    def build() -> dict[str, np.ndarray]:
        built.append("built")
        return {"a": np.array([1, 2], np.uint64), "b": np.zeros(0, np.float32)}

    def read() -> list[tuple[list[int], str]]:
        arrays = cached_arrays("test-1", build, packages=("numpy",))
        return [(arrays[name].tolist(), str(arrays[name].dtype)) for name in ("a", "b")]

    first = read()
    assert first == [([1, 2], "uint64"), ([], "float32")]
    assert read() == first
    assert len(built) == 1
    [file] = (tmp_path / "datahub-hyperjoin").iterdir()
    assert file.name.startswith("test-1-")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"damaged")
    assert read() == first
    assert len(built) == 2
    assert read() == first
    assert len(built) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    arrays = cached_arrays("test-1", lambda: {"a": np.arange(2)}, packages=("numpy",))
    assert arrays["a"].tolist() == [0, 1]
