import numpy as np
import pytest

from datahub_hyperjoin.model.training import augmented_views as corruption
from datahub_hyperjoin.model.training.augmented_views import corrupt

VALUES = ["Newark Liberty", "JFK", "00123", "2013-01-31", "42", ""]


@pytest.mark.parametrize("seed", range(30))
def test_every_cell_stays_a_cell(seed: int) -> None:
    changed = corrupt(VALUES, np.random.default_rng(seed))
    assert len(changed) == len(VALUES)


def test_every_corruption_changes_some_cell() -> None:
    random = np.random.default_rng(1)
    for corruption_ in corruption._CORRUPTIONS:  # noqa: SLF001 - each one must do something
        changed = [corruption_(VALUES * 5, random) for _ in range(5)]
        assert any(cells != VALUES * 5 for cells in changed), corruption_


def test_dates_and_numbers_are_written_otherwise() -> None:
    written = {
        cell
        for seed in range(200)
        for cell in corrupt(["2013-01-31", "42"], np.random.default_rng(seed))
    }
    assert {"31/01/2013", "01/31/2013", "20130131", "42.0", "00042"} <= written
