"""Provide one run over a small lake, which all tests of this folder share."""

import pytest

from lakes.explained import Run, run_on


@pytest.fixture(scope="package")
def shop() -> Run:
    return run_on()
