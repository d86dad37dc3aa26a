"""Set up a server that has the tables of a shop."""

from collections.abc import Iterator

import pytest

from lakes.shop import Shop, open_shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop() as opened:
        yield opened
