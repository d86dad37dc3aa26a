"""Test the error classes of all packages."""

import inspect
import pickle
from types import ModuleType

import pytest

from datahub_hyperjoin import errors
from datahub_hyperjoin.catalog import errors as catalog_errors
from datahub_hyperjoin.emit import errors as emit_errors
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.evaluate import errors as evaluate_errors
from datahub_hyperjoin.explain import errors as explain_errors
from datahub_hyperjoin.export import errors as export_errors
from datahub_hyperjoin.graphql import errors as graphql_errors
from datahub_hyperjoin.joins import errors as path_errors
from datahub_hyperjoin.model import errors as model_errors
from datahub_hyperjoin.model.llm import errors as llm_errors
from datahub_hyperjoin.page import errors as page_errors
from datahub_hyperjoin.recipe import errors as recipe_errors
from datahub_hyperjoin.service import errors as service_errors
from datahub_hyperjoin.spark import errors as spark_errors
from datahub_hyperjoin.spark.files import errors as file_errors

MODULES = [
    errors,
    catalog_errors,
    emit_errors,
    evaluate_errors,
    explain_errors,
    export_errors,
    file_errors,
    graphql_errors,
    llm_errors,
    model_errors,
    page_errors,
    path_errors,
    recipe_errors,
    service_errors,
    spark_errors,
]


def classes_of(module: ModuleType) -> list[type[HyperJoinError]]:
    """Return the error classes that a module defines."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, HyperJoinError)
        and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize(
    "module", [errors, file_errors, model_errors, service_errors, spark_errors]
)
def test_every_error_is_in_the_tree_that_the_module_draws(module: ModuleType) -> None:
    assert module.__doc__ is not None
    missing = [
        error.__name__ for error in classes_of(module) if error.__name__ not in module.__doc__
    ]
    assert missing == []


@pytest.mark.parametrize(
    "error",
    [error for module in MODULES for error in classes_of(module) if not error.__subclasses__()],
)
def test_every_error_has_a_constructor_that_writes_its_message(
    error: type[HyperJoinError],
) -> None:
    constructors = [value for value in vars(error).values() if isinstance(value, classmethod)]
    assert constructors


def test_a_mismatch_names_both_fingerprints_when_pickled() -> None:
    error = errors.CheckpointMismatchError.from_fingerprints(saved="aa", expected="bb")
    assert "has fingerprint aa, this run needs bb" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own bytes
