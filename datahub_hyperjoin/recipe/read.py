"""Validate a recipe, and explain its faults in sentences."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe.errors import RefusedRecipeError
from datahub_hyperjoin.recipe.keys import keys_of, name_key, nearest_key
from datahub_hyperjoin.wording import join_with_and

_UNKNOWN_KEYS = {"extra_forbidden", "unexpected_keyword_argument"}
"""Pydantic's types of errors about keys that a model or a dataclass does not have."""
_NO_SECTION = {"model_type", "dataclass_type"}
"""Pydantic's error types for a section that is empty or a single value."""
_MISSING = "missing"
"""Pydantic's error type for a required key that is absent."""
_NO_LIST = "list_type"
"""Pydantic's error type for a single value where a list is expected."""
_RAISED = "Value error, "
"""Start of the messages of errors that validators raise."""


def read_recipe(written: object) -> HyperJoinConfig:
    """Validate the section `source.config` of a recipe.

    Args:
        written: The section as the recipe has it.

    Returns:
        The configuration.

    Raises:
        RefusedRecipeError: The section is missing, or has unknown keys or invalid values. The
            message lists them all, and contains no values.
    """
    if not isinstance(written, Mapping):
        raise RefusedRecipeError.without_settings()
    with in_sentences():
        return HyperJoinConfig.model_validate(written)


@contextmanager
def in_sentences() -> Iterator[None]:
    """Convert errors in a `with` block to one `RefusedRecipeError` in plain sentences.

    No traceback is shown.

    Raises:
        RefusedRecipeError: The block found the recipe invalid.
    """
    try:
        yield
    except RefusedRecipeError:
        raise
    except ValidationError as error:
        raise RefusedRecipeError.because(list_faults(error)) from error
    except HyperJoinError as error:
        raise RefusedRecipeError.because([str(error)]) from error


def list_faults(
    error: ValidationError, model: type[BaseModel] = HyperJoinConfig, section: str = ""
) -> list[str]:
    """Write a sentence for each fault that a Pydantic model found, without the recipe's values.

    Args:
        error: The error that the model raised.
        model: The model; that of `source.config` by default.
        section: Name of the model's section, for the message that lists its keys.
    """
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return [_sentence(fault, model, section or "source.config") for fault in faults]


def _sentence(fault: ErrorDetails, model: type[BaseModel], top: str) -> str:
    path = fault["loc"]
    if fault["type"] in _UNKNOWN_KEYS:
        return f"`{name_key(path)}` is not a key. {_advice(path, model, top)}"
    if fault["type"] == _MISSING:
        return f"`{name_key(path)}` is missing. Add it"
    if fault["type"] in _NO_SECTION:
        return f"`{name_key(path)}` is a section. Write its keys below it, indented by two spaces"
    if fault["type"] == _NO_LIST:
        return f"`{name_key(path)}` is a list. Begin each of its entries with `- `"
    message = fault["msg"].removeprefix(_RAISED)
    return f"`{name_key(path)}`: {message}" if path else message


def _advice(path: tuple[str | int, ...], model: type[BaseModel], top: str) -> str:
    if near := nearest_key(path, model):
        return f"Did you mean `{near}`?"
    section = path[:-1]
    names = join_with_and([f"`{name}`" for name in keys_of(section, model)])
    return f"The keys of `{name_key(section) or top}` are {names}"
