"""Test that two columns are related by a reference, or because both refer to one key."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.roles.references import NO_KEY, References, Relations

COLUMNS = 6
keys = st.lists(
    st.tuples(st.integers(NO_KEY, COLUMNS - 1), st.floats(0, 1)),
    min_size=COLUMNS,
    max_size=COLUMNS,
)


def relations_of(keyed: list[tuple[int, float]]) -> Relations:
    """Build relations from the key that each column refers to, and that reference's probability."""
    key = np.array([key for key, _ in keyed])
    likely = [0.0 if key == NO_KEY else likely for key, likely in keyed]
    return Relations(key, np.array(likely))


def relate(relations: Relations, one: int, other: int, *, shares: bool = True) -> float:
    key, likely = relations.key.tolist(), relations.probability.tolist()
    are_siblings = key[one] == key[other] != NO_KEY and shares
    siblings = likely[one] * likely[other] if are_siblings else 0.0
    forward = likely[one] if key[one] == other else 0.0
    backward = likely[other] if key[other] == one else 0.0
    return float(max(forward, backward, siblings))


@given(keys)
def test_a_pair_is_related_by_a_reference_or_by_a_common_key(
    keyed: list[tuple[int, float]],
) -> None:
    relations = relations_of(keyed)
    left, right = np.indices((COLUMNS, COLUMNS))
    expected = [
        [relate(relations, one, other) for other in range(COLUMNS)] for one in range(COLUMNS)
    ]
    assert relations.between(left, right).tolist() == expected
    shares = (left + right) % 3 > 0
    expected = [
        [relate(relations, *ends, shares=bool(shares[ends])) for ends in zip(*row, strict=True)]
        for row in zip(left.tolist(), right.tolist(), strict=True)
    ]
    assert relations.between(left, right, shares).tolist() == expected


@given(keys)
def test_the_columns_of_a_key_are_sorted_by_probability(keyed: list[tuple[int, float]]) -> None:
    relations = relations_of(keyed)
    for key in range(-1, COLUMNS + 1):
        referring = relations.referring_to(key).tolist()
        assert sorted(referring) == [
            column for column, (own, _) in enumerate(keyed) if own == key != NO_KEY
        ]
        likely = relations.probability[referring].tolist()
        assert likely == sorted(likely, reverse=True)


def test_each_column_gets_its_most_probable_key() -> None:
    references = References(
        referring=np.array([0, 0, 2]),
        referenced=np.array([1, 3, 3]),
        probability=np.array([0.25, 0.5, 0.75]),
    )
    relations = Relations.from_references(references, 4)
    assert relations.key.tolist() == [3, NO_KEY, 3, NO_KEY]
    assert relations.probability.tolist() == [0.5, 0, 0.75, 0]
    assert relations.referring_to(3).tolist() == [2, 0]


def test_no_column_has_a_key_without_references() -> None:
    relations = Relations.from_references(References.empty(), 3)
    assert relations.key.tolist() == [NO_KEY] * 3
    assert not relations.between(*np.indices((3, 3))).any()
    assert len(relations.referring_to(NO_KEY)) == 0
