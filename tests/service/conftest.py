"""Define the fixtures `shop`, a catalog with two users, and `browser`, the browser of one user."""

from collections.abc import Iterator

import pytest

from browser.browsers import PEOPLE, Browser
from lakes.shop import Shop, open_shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop(PEOPLE) as opened:
        yield opened


@pytest.fixture
def browser(shop: Shop) -> Browser:
    return Browser(shop)
