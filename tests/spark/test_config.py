"""Test the limits of the settings."""

from typing import Any

import pytest

from datahub_hyperjoin.spark.config import ProfileConfig


@pytest.mark.parametrize(
    "name", ["max_rows", "max_bytes", "sketch_size", "sample_size", "pattern_count"]
)
def test_a_size_of_zero_is_rejected(name: str) -> None:
    zero: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=f"`{name}` is 0; it must be at least 1"):
        ProfileConfig(**zero)
