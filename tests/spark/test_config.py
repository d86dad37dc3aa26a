"""Test the limits of the settings for profiles."""

import pytest
from pydantic import TypeAdapter, ValidationError

from datahub_hyperjoin.spark.config import ProfileConfig


@pytest.mark.parametrize(
    "name", ["max_rows", "max_bytes", "sketch_size", "sample_size", "pattern_count"]
)
def test_a_size_of_zero_is_rejected(name: str) -> None:
    with pytest.raises(ValidationError, match=rf"{name}\n  Input should be greater than or equal"):
        TypeAdapter(ProfileConfig).validate_python({name: 0})
