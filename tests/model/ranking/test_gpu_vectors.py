"""Test the search on a GPU; PyTorch's CPU device stands in where there is none."""

import numpy as np
import pytest
import torch

from datahub_hyperjoin.model.ranking import nearest
from datahub_hyperjoin.model.ranking.nearest import ColumnIndex, GpuVectors
from datahub_hyperjoin.model.signals.cells import StoredVectors

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def unit_vectors(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("at_once", [1 << 28, 1_000])
def test_each_query_is_compared_with_all_vectors(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_AT_ONCE", at_once)
    monkeypatch.setattr(nearest, "_VECTORS", 64)
    vectors, queries = unit_vectors(300), unit_vectors(50, seed=1)
    found = GpuVectors(StoredVectors.of(vectors), DEVICE).search(queries, 20)
    expected = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :20]
    assert np.array_equal(found, expected)


def test_vectors_of_integers_are_scaled() -> None:
    vectors = unit_vectors(40)
    scale = np.abs(vectors).max(axis=1) / 32_767
    numbers = np.rint(vectors / scale[:, None]).astype(np.int16)
    stored = StoredVectors(numbers, scale, np.arange(40)[::-1].copy())
    found = GpuVectors(stored, DEVICE).search(vectors, 1)
    assert np.array_equal(found[:, 0], np.arange(40)[::-1])


def test_a_gpu_is_used_if_its_memory_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = StoredVectors.of(unit_vectors(1_000))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert nearest.find_gpu(vectors) is None
    needed = 3 * 4 * (1 << 28) + 1_000 * 16 * 4
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (needed, needed))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 2)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 2)
    assert nearest.find_gpu(vectors) == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (needed - 1, needed))
    assert nearest.find_gpu(vectors) is None
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 3)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 2)
    assert nearest.find_gpu(vectors) == torch.device("cuda")


def test_large_lakes_are_searched_exactly_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, columns, table = unit_vectors(500), np.arange(0, 500, 3), np.arange(500) // 4
    expected = ColumnIndex(StoredVectors.of(vectors), table).neighbours(columns, 10)
    asked: list[int] = []

    def find_gpu(stored: StoredVectors) -> torch.device:
        asked.append(len(stored))
        return DEVICE

    monkeypatch.setattr(nearest, "find_gpu", find_gpu)
    assert np.array_equal(
        ColumnIndex(StoredVectors.of(vectors), table).neighbours(columns, 10), expected
    )
    assert not asked  # so few vectors do not need one
    monkeypatch.setattr(nearest, "_MANY", 499)
    monkeypatch.setattr(nearest, "most_exact", lambda _: 499)
    index = ColumnIndex(StoredVectors.of(vectors), table)
    assert index.is_exact
    assert np.array_equal(index.neighbours(columns, 10), expected)
    assert asked == [500]
