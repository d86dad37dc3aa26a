"""Test that each number in a recipe has limits, and that errors do not repeat long values."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from datahub_hyperjoin.recipe import HyperJoinConfig

Schema = dict[str, Any]
SCHEMA = HyperJoinConfig.model_json_schema()
LONG = "x" * 100_000
LONGEST_ERROR = 10_000


def leaves(schema: Schema, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Yield the path and the schema of each recipe value that is not a section."""
    for choice in [schema, *schema.get("anyOf", []), *schema.get("allOf", [])]:
        if "$ref" in choice:
            yield from leaves(SCHEMA["$defs"][choice["$ref"].rsplit("/", 1)[-1]], path)
        for name, value in choice.get("properties", {}).items():
            if name != "stateful_ingestion":  # DataHub's own
                yield from leaves(value, (*path, name))
        match choice.get("type"):
            case "array":
                yield from leaves(choice["items"], (*path, "0"))
            case "object" if "properties" not in choice:
                yield (*path, "key"), {"type": "string"}
            case "integer" | "number" | "string":
                yield path, choice
            case _:
                pass


NUMBERS = {
    ".".join(path): schema
    for path, schema in leaves(SCHEMA)
    if schema["type"] in {"integer", "number"}
}
TEXTS = sorted({".".join(path) for path, schema in leaves(SCHEMA) if schema["type"] == "string"})


def recipe(key: str, value: object) -> dict[str, Any]:
    """Return a valid recipe with one key set to a value."""
    written: dict[str, Any] = {"catalog": {"folder": "lake"}}
    if key.startswith("connections."):
        written["connections"] = [{"database": {"url": "sqlite://"}}]
    if ".llm." in key:
        written["model"] = {"llm": {"model": "small"}}
    node: Any = written
    *sections, last = key.split(".")
    for section, after in zip(sections, [*sections, last][1:], strict=True):
        if isinstance(node, list):
            node = node[0]
        else:
            node = node.setdefault(section, [{}] if after == "0" else {})
    if isinstance(node, list):
        node[0] = value
    else:
        node[last] = value
    return written


def test_the_numbers_are_found() -> None:
    assert {
        "model.training.learning_rate",
        "profile.max_rows",
        "emit.sql_timeout",
        "connections.0.database.timeout",
        "model.llm.max_cost",
        "catalog.queries",
    } <= NUMBERS.keys()
    assert len(NUMBERS) >= 30


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", [1e18, -1e18, float("nan"), float("inf"), -1, 10**400])
def test_a_number_beyond_its_limits_is_refused_by_its_key(key: str, value: float) -> None:
    with pytest.raises(ValidationError, match=rf"{key}\n  Input should be") as caught:
        HyperJoinConfig.model_validate(recipe(key, value))
    assert len(str(caught.value)) < LONGEST_ERROR


@pytest.mark.parametrize("key", NUMBERS)
def test_a_truth_value_is_no_number(key: str) -> None:
    with pytest.raises(ValidationError, match=rf"{key}\n.*Input should be a number, not true or"):
        HyperJoinConfig.model_validate(recipe(key, value=True))


@pytest.mark.parametrize("key", NUMBERS)
def test_the_limits_of_a_number_are_in_the_schema(key: str) -> None:
    assert {"minimum", "exclusiveMinimum"} & NUMBERS[key].keys()
    assert {"maximum", "exclusiveMaximum"} & NUMBERS[key].keys()


@pytest.mark.parametrize(
    "key", [*NUMBERS, *(text for text in TEXTS if text != "spark.settings.key")]
)
def test_an_error_does_not_repeat_a_long_value(key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HyperJoinConfig.model_validate(recipe(key, LONG))
    assert f"`{key}` has a text of 100000 characters; at most 4096 are allowed" in str(caught.value)
    assert len(str(caught.value)) < LONGEST_ERROR


@pytest.mark.parametrize("key", [*NUMBERS, *TEXTS])
def test_an_error_repeats_at_most_a_text_that_is_allowed(key: str) -> None:
    try:
        HyperJoinConfig.model_validate(recipe(key, "\0" * 4_096))
    except ValidationError as error:
        assert len(str(error)) < 2 * LONGEST_ERROR  # noqa: PT017 - some keys take any text


def test_a_recipe_that_contains_itself_is_refused() -> None:
    written = recipe("spark.settings.key", "value")
    written["spark"]["more"] = written
    with pytest.raises(ValidationError, match=r"spark.more\n"):
        HyperJoinConfig.model_validate(written)


def test_a_long_setting_of_spark_is_taken() -> None:
    config = HyperJoinConfig.model_validate(recipe("spark.settings", {"spark.jars": LONG}))
    assert config.spark.settings["spark.jars"] == LONG


@pytest.mark.parametrize("section", ["", "model.", "model.training.", "connections.0.", "spark."])
def test_an_error_does_not_repeat_a_long_key(section: str) -> None:
    with pytest.raises(ValidationError, match="key") as caught:
        HyperJoinConfig.model_validate(recipe(section + LONG, 1))
    assert len(str(caught.value)) < LONGEST_ERROR
