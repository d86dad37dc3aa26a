"""Define the fixtures `shop`, a catalog with two users, and `browser`, the browser of one user."""

from collections.abc import Iterator

import pytest

from browsers import PEOPLE, Browser
from shop import Shop, open_shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop(PEOPLE) as opened:
        yield opened


@pytest.fixture
def browser(shop: Shop) -> Browser:
    return Browser(shop)
