from collections.abc import Sequence

import numpy as np
import pytest
from jaxtyping import Int

from datahub_hyperjoin.model.signals import overlap, sketches
from datahub_hyperjoin.model.signals.overlap import SharedCounts, ValueOverlap, measure_overlap
from datahub_hyperjoin.model.signals.pairs import SparsePairs
from datahub_hyperjoin.model.signals.sketches import count_common_hashes
from handmade import MakeLake

Columns = Int[np.ndarray, " pair"]


def measure(make_lake: MakeLake) -> ValueOverlap:
    """Measure the overlaps of columns of one folder, of whose values many columns hold most."""
    draw = np.random.default_rng(5)
    words = [[f"w{word}" for word in draw.choice(60, 30, replace=False)] for _ in range(24)]
    tables = {f"t{at}": {"name": own, "other": own[::2]} for at, own in enumerate(words)}
    return measure_overlap(make_lake(tables))


@pytest.mark.parametrize(("partners", "is_known"), [(1 << 23, True), (8, False)])
def test_known_counts_save_work_and_change_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, partners: int, *, is_known: bool
) -> None:
    monkeypatch.setattr(sketches, "MAX_POSTINGS", 18)
    monkeypatch.setattr(partners, "_MOST_PAIRS", 0)
    monkeypatch.setattr(partners, "_LEAST_PARTNERS", partners)
    compared = list[int]()

    def count(sketches: Sequence[bytes], left: Columns, right: Columns) -> Columns:
        compared.append(sum(map(len, sketches)))
        return count_common_hashes(sketches, left, right)

    monkeypatch.setattr(overlap, "count_common_hashes", count)
    found = measure(make_lake)

    def know_nothing(_: object, sketches: Sequence[bytes], *__: object) -> SharedCounts:
        none = np.zeros(0, dtype=np.int64)
        return SharedCounts(SparsePairs(len(sketches), none, none), none, sketches)

    monkeypatch.setattr(SharedCounts, "of", know_nothing)
    expected = measure(make_lake)
    for name in ("left", "right", "shared", "containment", "beyond_chance", "least_chance"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert (compared[0] < compared[1]) == is_known
