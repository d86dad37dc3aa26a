import inspect
import pickle

import pytest

from datahub_hyperjoin import errors
from datahub_hyperjoin.errors import HyperJoinError

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, HyperJoinError)
]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_stands_in_the_tree_that_the_module_draws(error: type[HyperJoinError]) -> None:
    assert errors.__doc__ is not None
    assert error.__name__ in errors.__doc__


@pytest.mark.parametrize("error", [one for one in CLASSES if not one.__subclasses__()])
def test_every_error_has_a_constructor_that_owns_its_sentence(error: type[HyperJoinError]) -> None:
    made = [value for value in vars(error).values() if isinstance(value, classmethod)]
    assert made


def test_a_mismatch_keeps_both_fingerprints_on_its_way() -> None:
    error = errors.CheckpointMismatchError.from_fingerprints(found="aa", expected="bb")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own bytes
    assert (error.found, error.expected) == ("aa", "bb")
