"""Set up the endpoint of a language model, and a lake whose columns the model names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import Naming, naming, requests
from datahub_hyperjoin.model.llm.naming import name_columns
from services.endpoint import Endpoint

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]
Configure = Callable[..., LanguageModelConfig]
Name = Callable[..., Naming]
KEY = "sk-topsecret-0123456789"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint().open() as served:
        yield served


@pytest.fixture
def configure(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Return a function that configures the endpoint, including limits that no recipe can set."""

    def make(
        *,
        retries: int = 0,
        columns_per_request: int = 25,
        **given: Any,  # noqa: ANN401 - whatever a recipe may give
    ) -> LanguageModelConfig:
        monkeypatch.setattr(requests, "_RETRIES", retries)
        monkeypatch.setattr(naming, "_COLUMNS_PER_REQUEST", columns_per_request)
        usual = {"model": "small", "base_url": endpoint.url, "api_key": SecretStr(KEY)}
        return LanguageModelConfig(**{**usual, "timeout": 5.0, **given})

    return make


@pytest.fixture
def shop(make_lake: MakeLake) -> Lake:
    """Make two tables of a shop, with three columns each."""
    words = [f"secretvalue{at}" for at in range(9)]
    return make_lake(
        {
            "orders": {"id": words, "customer_no": words, "article": words},
            "clients": {"client_id": words, "country": words, "note": words},
        }
    )


@pytest.fixture
def name(configure: Configure, shop: Lake) -> Name:
    """Return a function that asks the endpoint for names of the shop's columns."""

    def ask(**given: Any) -> Naming:  # noqa: ANN401 - whatever a recipe may give
        keys = np.arange(len(shop))
        return name_columns(shop, keys, configure(**given), lambda _: None)

    return ask
