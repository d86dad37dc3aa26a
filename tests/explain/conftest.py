"""Share one run over a small lake."""

import pytest

from explained import Run, run_on


@pytest.fixture(scope="package")
def shop() -> Run:
    return run_on()
