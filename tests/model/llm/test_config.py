import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from datahub_hyperjoin.model.config import LanguageModelConfig, ModelConfig
from datahub_hyperjoin.recipe.config import HyperJoinConfig

KEY = "sk-topsecret-0123456789"


def recipe(**llm: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a recipe may give
    return {"catalog": {"folder": "lake"}, "model": {"variants": {"llm": llm}}}


def test_it_is_off_unless_a_recipe_names_a_model() -> None:
    assert ModelConfig().variants.llm is None
    assert HyperJoinConfig.model_validate({"catalog": {"folder": "lake"}}).model == ModelConfig()


def test_the_key_can_be_read_and_shows_nowhere() -> None:
    config = HyperJoinConfig.model_validate(recipe(model="small", api_key=KEY))
    llm = config.model.variants.llm
    assert llm is not None
    assert llm.api_key is not None
    assert llm.api_key.get_secret_value() == KEY
    shown = [
        repr(config),
        str(config),
        str(config.model),
        config.model_dump_json(),
        json.dumps(dataclasses.asdict(config.model), default=str),
        str(config.model_dump()),
    ]
    assert [text for text in shown if KEY in text] == []
    assert pickle.loads(pickle.dumps(llm)) == llm  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"llm.model\n  Field required"),
        ({"modell": "small"}, r"llm.modell\n  Unexpected keyword argument"),
        ({"base_url": "localhost:8000"}, r"`base_url` must begin with http:// or https://"),
        ({"base_url": "https://"}, r"`base_url` must begin with http:// or https:// and name"),
        ({"base_url": "http://host:port/v1"}, r"Port could not be cast"),
        ({"base_url": "http://a:b@host"}, r"`base_url` must not contain a user or password. Set"),
        ({"api_key": f"{KEY}\n"}, r"`api_key` contains spaces or other characters"),
        ({"api_key": f"{KEY}…"}, r"`api_key` contains spaces or other characters"),
        ({"max_cost": 1}, r"`max_cost` needs `input_price` and `output_price`"),
        ({"concurrency": 0}, r"llm.concurrency\n  Input should be greater than or equal to 1"),
        ({"timeout": 0}, r"llm.timeout\n  Input should be greater than 0"),
    ],
)
def test_a_wrong_key_is_named_without_the_secret(given: dict[str, Any], message: str) -> None:
    named = given if not given else {"model": "small", **given}
    with pytest.raises(ValidationError, match=message) as caught:
        HyperJoinConfig.model_validate(recipe(**{"api_key": KEY, **named}))
    assert KEY not in str(caught.value)
    assert "a:b@" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    for cache, reason in (("file", "it is not a folder"), ("file/names", "file is not a folder")):
        path = str(tmp_path / cache)
        with pytest.raises(ValidationError, match=rf"`model.variants.llm.cache` is .*{reason}"):
            HyperJoinConfig.model_validate(recipe(model="small", cache=path))
    for cache in (".", "new/folder"):
        HyperJoinConfig.model_validate(recipe(model="small", cache=str(tmp_path / cache)))


def test_prices_may_be_nothing() -> None:
    LanguageModelConfig(
        model="own", api_key=SecretStr("x"), max_cost=1.0, input_price=0.0, output_price=0.0
    )
