"""Test which proposed composite references are accepted."""

from datahub_hyperjoin.joins import Cardinality, CompositeEvidence, Evidence
from datahub_hyperjoin.model.composite import (
    Proposal,
    bits_against_chance,
    decide,
    is_one_to_one,
    probability_of,
)
from datahub_hyperjoin.tables import ColumnId, TableId


def proposal(
    left: str, right: str, *parts: str, names: float = 1.0, declared: str = ""
) -> Proposal:
    """Make a proposed reference from column pairs.

    Each is written as `column=column`, or as `column` if both names are equal.
    """
    ends = [part.split("=") for part in parts]
    return Proposal(
        pairs=tuple(
            (ColumnId(TableId("file", left), end[0]), ColumnId(TableId("file", right), end[-1]))
            for end in ends
        ),
        names=names,
        declared=declared,
    )


def measured(
    contained: float = 1.0,
    *,
    chance: float = 0.2,
    tuples: int = 200,
    covered: float = 0.5,
    cardinality: Cardinality = Cardinality.MANY_ONE,
) -> CompositeEvidence:
    return CompositeEvidence(
        evidence=Evidence(
            shared=round(tuples * contained),
            left_containment=contained,
            right_containment=covered,
            cardinality=cardinality,
            left_fan_out=contained,
            right_fan_out=1.0,
        ),
        tuples=tuples,
        matched=contained,
        by_chance=(0.0, chance),
    )


LINES = proposal("shipments", "lines", "order", "line")


def test_equal_names_or_many_matches_against_chance_suffice() -> None:
    unlike = proposal("shipments", "lines", "a=order", "b=line", names=0.1)
    by_chance = measured(chance=1.0)
    assert probability_of(LINES, measured()) > 0.99
    assert probability_of(LINES, by_chance) > 0.6
    assert probability_of(unlike, measured()) > 0.7
    assert probability_of(unlike, by_chance) < 0.05
    assert probability_of(unlike, measured(tuples=5)) < 0.2


def test_a_reference_needs_a_unique_key_that_contains_it() -> None:
    many = measured(cardinality=Cardinality.MANY_MANY)
    assert probability_of(LINES, many) == 0
    assert probability_of(LINES, measured(contained=0.8)) == 0
    assert 0.5 < probability_of(LINES, measured(contained=0.95)) < probability_of(LINES, measured())


def test_a_declaration_raises_the_probability() -> None:
    declared = proposal("shipments", "lines", "order", "line", declared="fk_line")
    assert probability_of(declared, measured(contained=0.5)) == 0.9
    assert probability_of(declared, measured()) > probability_of(LINES, measured())


def test_the_column_that_matters_least_counts_against_chance() -> None:
    assert bits_against_chance(measured(chance=1.0)) < 2
    few, many = measured(tuples=10, chance=0.0), measured(tuples=1000, chance=0.0)
    # Ten tuples without a match by chance allow for a chance of one in twelve.
    assert round(bits_against_chance(few)) == 36
    assert bits_against_chance(many) > 9000
    assert bits_against_chance(measured(contained=0.9)) < bits_against_chance(measured())


def test_two_tables_refer_through_one_key_unless_more_are_declared() -> None:
    other = proposal("shipments", "lines", "order", "product", names=0.9)
    declared = proposal("shipments", "lines", "order", "product", declared="fk_product")
    evidence = {LINES.pairs: measured(), other.pairs: measured()}
    assert [found.pairs for found in decide([other, LINES], evidence)] == [LINES.pairs]
    third = proposal("shipments", "lines", "order", "line", declared="fk_line")
    assert [found.declared for found in decide([declared, LINES], evidence)] == ["fk_product"]
    assert len(decide([declared, third], evidence)) == 2


def test_several_references_may_lead_to_one_key() -> None:
    first = proposal("games", "teams", "year", "winner=team", names=0.5)
    second = proposal("games", "teams", "year", "loser=team", names=0.5)
    evidence = {first.pairs: measured(), second.pairs: measured()}
    assert {found.pairs for found in decide([first, second], evidence)} == {*evidence}


def test_columns_refer_to_the_key_that_most_others_refer_to() -> None:
    names = ("a", "b", "c")
    proposals = [
        proposal(left, right, "order", "line")
        for left, right in [*((name, "hub") for name in names), ("a", "b"), ("hub", "a")]
    ]
    evidence = {one.pairs: measured() for one in proposals}
    found = decide(proposals, evidence)
    assert sorted(str(one.tables[0]) for one in found if str(one.tables[1]) == "hub") == [*names]
    assert "b" not in [str(one.tables[1]) for one in found]


def test_a_reference_and_its_reverse_are_one_join() -> None:
    forth, back = (proposal(*ends, "order", "line") for ends in (("a", "b"), ("b", "a")))
    equal = measured(cardinality=Cardinality.ONE_ONE, covered=1.0)
    [found] = decide([forth, back], {forth.pairs: equal, back.pairs: equal})
    assert is_one_to_one(found)


def test_copies_of_a_table_join_in_one_direction_only() -> None:
    forth = proposal("orders", "orders_backup", "order", "line")
    back = proposal("orders_backup", "orders", "order", "product", "quantity", names=0.99)
    copy = measured(cardinality=Cardinality.ONE_ONE, covered=1.0)
    [found] = decide([back, forth], {forth.pairs: copy, back.pairs: copy})
    assert found.pairs == forth.pairs
    # Both references of a department to its head and of employees to their department hold.
    both = {forth.pairs: copy, back.pairs: measured()}
    assert {found.pairs for found in decide([back, forth], both)} == {*both}


def test_what_could_not_be_read_or_is_improbable_is_left_out() -> None:
    unlike = proposal("memos", "lines", "a=order", "b=line", names=0.1)
    assert decide([LINES, unlike], {unlike.pairs: measured(chance=1.0)}) == []


def test_a_declared_reference_without_any_match_is_left_out() -> None:
    declared = proposal("shipments", "lines", "order", "line", declared="fk_line")
    assert decide([declared], {declared.pairs: measured(contained=0.0)}) == []
    [found] = decide([declared], {declared.pairs: measured(contained=0.1)})
    assert found.declared == "fk_line"
