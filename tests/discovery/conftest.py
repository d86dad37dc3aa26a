"""Provide the tables of a small shop as data frames and files."""

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def frames() -> dict[str, pd.DataFrame]:
    """Return the tables of a shop: orders refer to customers, and customers refer to regions."""
    return {
        "orders": pd.DataFrame(
            {"order_id": range(1, 61), "customer": [f"C{at % 20:03}" for at in range(60)]}
        ),
        "customers": pd.DataFrame(
            {
                "id": [f"C{at:03}" for at in range(20)],
                "name": [f"Customer {at}" for at in range(20)],
                "region": [f"R-{at % 4}" for at in range(20)],
            }
        ),
        "regions": pd.DataFrame({"code": [f"R-{at}" for at in range(4)], "title": list("NESW")}),
    }


@pytest.fixture
def folder(tmp_path: Path, frames: dict[str, pd.DataFrame]) -> Path:
    """Write the frames into a folder of CSV files."""
    lake = tmp_path / "shop"
    lake.mkdir()
    for name, frame in frames.items():
        frame.to_csv(lake / f"{name}.csv", index=False)
    return lake
