from collections.abc import Callable, Mapping, Sequence

import pytest

from datahub_hyperjoin.knowledge import Knowledge
from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.keys import find_keys
from datahub_hyperjoin.model.known import Known
from datahub_hyperjoin.model.lake import Lake

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]


@pytest.mark.parametrize(
    ("path", "cells", "expected"),
    [
        ("carrier", ["AA", "UA", "DL", "AA"], True),
        ("carrier", ["AA", "UA", "AA", "AA"], False),
        ("carrier", ["AA", "UA", "DL", "DL", *[""] * 20], False),
        ("carrier", ["AA", "UA", "DL", *[""] * 20], True),
        ("remarks", ["long " * 30 + letter for letter in "abcd"], False),
        ("seats", ["1", "2", "3", "1", "2", "3"], False),
        ("seats", ["1", "2", "3", "4", "5", "6"], True),
        ("order_id", ["1", "2", "3", "1", "2", "3"], True),
    ],
)
def test_keys_are_complete_identifiers(
    make_lake: MakeLake, path: str, cells: list[str], *, expected: bool
) -> None:
    lake = make_lake({"orders": {path: cells}})
    keys = find_keys(lake, KeyConfig(), Known.from_knowledge(lake, Knowledge()))
    assert list(keys) == ([0] if expected else [])


def test_thresholds_are_the_configuration_s(make_lake: MakeLake) -> None:
    lake = make_lake({"orders": {"carrier": ["AA", "UA", "AA"]}})
    known = Known.from_knowledge(lake, Knowledge())
    assert list(find_keys(lake, KeyConfig(min_distinct=2), known)) == [0]
