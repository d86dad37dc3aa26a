"""Test that the page chooses the same joins for dbt and Mermaid as `hyperjoin export`."""

from collections import Counter
from dataclasses import replace

from browser.pages import EVIDENCE, FLIGHTS, PLANES, TEAMS, column, join, refers, undeclared
from datahub_hyperjoin.export import ExportFormat, LeftOut, export_joins
from datahub_hyperjoin.graphql import catalog_join
from datahub_hyperjoin.joins import UNVERIFIED, Cardinality, Join, Role, Verdict
from datahub_hyperjoin.page.contents import choose_exports
from lakes.chains import changed

TO_ONE = replace(EVIDENCE, cardinality=Cardinality.MANY_ONE)
PARKS, GAMES = column("lahman/Parks.key"), column("lahman/HomeGames.park")
SAFE = replace(refers(FLIGHTS, PLANES), evidence=TO_ONE)
BACK = refers(PARKS, GAMES)
COMPOSITE = replace(
    SAFE, further=((column("nycflights13/flights.year"), column("nycflights13/planes.built")),)
)
FAN_OUT = replace(
    refers(TEAMS, PARKS), evidence=replace(EVIDENCE, cardinality=Cardinality.MANY_MANY)
)
SIBLING = replace(join(TEAMS, PLANES), role=Role.SIBLING)
DOMAIN = undeclared(TEAMS, FLIGHTS)


def shown(join: Join) -> Join:
    return catalog_join(join).seen_from(join.left.table)


def test_the_choice_is_that_of_the_command() -> None:
    joins = [shown(each) for each in (SAFE, BACK, COMPOSITE, FAN_OUT, SIBLING, DOMAIN)]
    choices = choose_exports(joins)
    for name, export_format in (("dbt", ExportFormat.DBT_TESTS), ("mermaid", ExportFormat.MERMAID)):
        reasons = [choices.undecided[name][number] for number in range(len(joins))]
        exported = export_joins(joins, export_format)
        assert reasons.count(-1) == exported.joins
        left_out = Counter(choices.reasons[reason] for reason in reasons if reason >= 0)
        assert left_out == {reason.value: count for reason, count in exported.left_out.items()}


def test_a_safe_join_leads_from_the_referring_side() -> None:
    assert choose_exports([shown(SAFE), shown(BACK), shown(SIBLING)]).ways == (1, -1, 0)


def test_a_rejection_is_left_to_the_page_and_comes_first() -> None:
    rejected = changed(shown(SAFE), verdicts=(Verdict.REJECTED,), removed=True)
    choices = choose_exports([rejected])
    assert choices.undecided["dbt"] == (-1,)
    assert choices.reasons[0] == LeftOut.REJECTED.value


def test_a_join_that_the_data_did_not_verify_needs_an_acceptance() -> None:
    named = changed(shown(SAFE), band=UNVERIFIED, declared=False, verdicts=())
    many = changed(named, cardinality=Cardinality.MANY_MANY)
    choices = choose_exports([shown(SAFE), named, many])
    unverified = choices.reasons.index(LeftOut.UNVERIFIED.value)
    assert choices.undecided["mermaid"] == (-1, unverified, unverified)
    assert choices.accepted == {"dbt": {1: -1}, "mermaid": {1: -1}}
    assert choices.ways == (1, 1, 0)


def test_an_improbable_join_needs_an_acceptance() -> None:
    weak = changed(shown(SAFE), joinability=0.5, declared=False)
    choices = choose_exports([shown(SAFE), weak])
    assert choices.undecided["dbt"] == (-1, choices.reasons.index(LeftOut.IMPROBABLE.value))
    assert choices.accepted["dbt"] == {1: -1}
    assert choices.ways == (1, 1)
