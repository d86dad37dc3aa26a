"""Define fixtures: a shop whose server knows two people, and a browser."""

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
