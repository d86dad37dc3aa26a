"""Test the spellings of entity names."""

import pytest

from datahub_hyperjoin.model.reference.entities import spellings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("DE", ("DE",)),
        ("St. John's", ("St. John's", "St John s")),
        ("Åland Islands", ("Åland Islands", "Aland Islands")),
        ("The Gambia", ("The Gambia", "Gambia")),
        ("Falkland Islands (Malvinas)", ("Falkland Islands", "Falkland Islands Malvinas")),
        ("Korea, Republic of", ("Korea Republic of", "Republic of Korea")),
        ("Россия", ("Россия",)),
    ],
)
def test_a_name_is_written_in_many_ways(name: str, expected: tuple[str, ...]) -> None:
    found = spellings(name)
    assert found[0] == name
    assert set(expected) <= set(found)
    assert len(set(found)) == len(found)


def test_a_name_of_nothing_but_a_remark_is_no_name() -> None:
    assert spellings("(unknown)") == ("(unknown)", "unknown")
