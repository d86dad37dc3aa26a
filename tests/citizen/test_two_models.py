"""Test that two pipelines with different models stop changing the catalog after a few runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gms import Gms
from lakes.lake import codes, describe_folder, write_table

LAYERS = {"queries": True, "lineage": True}
TOWNS = [f"town {letter}{number}" for letter in "abcdefgh" for number in range(5)]


def model(width: int) -> dict[str, object]:
    """Return the settings of a network of the given width."""
    return {
        "network": {"width": width},
        "training": {"epochs": width // 16},
        "ranking": {"scoring": "blend"},
    }


@pytest.mark.slow
def test_pipelines_with_different_networks_come_to_rest(
    gms: Gms, ingest: Callable[..., str], lake: Path
) -> None:
    for at in range(5):
        towns = [TOWNS[number * (at + 2) % 40] for number in range(60)]
        write_table(lake, f"visits{at}.csv", {"town": towns, "visit": codes(f"v{at}-", 60)})
    describe_folder(gms, lake)
    widths = {"first": 32, "second": 64}
    for pipeline, width in widths.items():
        ingest("--no-default-report", pipeline=pipeline, model=model(width), emit=LAYERS)
    before = len(gms.writes)
    for pipeline, width in widths.items():
        ingest("--no-default-report", pipeline=pipeline, model=model(width), emit=LAYERS)
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
