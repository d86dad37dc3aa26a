"""Test that answers begin with the joins that agents may use, and say why others are unsafe."""

from datahub_hyperjoin.agents.answers import (
    answer_none_safe,
    assess_join,
    list_joins_of,
    sql_of,
    suggest_safe_joins,
)
from datahub_hyperjoin.joins import MIN_SCORE, Verdict
from lakes.chains import N_N, domain, join

CREATED = join("orders", "users", 0.97, key="created_by")
APPROVED = join("orders", "users", 0.95, key="approved_by")
REGION = join("orders", "regions", 0.8, key="region")
NOTES = domain("orders", "notes", 0.9, N_N)
WEAK = join("orders", "parts", 0.5, key="part")
ONE_KIND = "the columns hold values of one kind, but neither is a key of the other"
LOW = "nobody confirmed it, and its joinability 0.50 is below 0.65"


def test_all_joins_are_listed_the_safe_ones_first() -> None:
    found = list_joins_of("orders", [NOTES, CREATED, WEAK], min_score=MIN_SCORE)
    assert found == {
        "answer": "1 safe join",
        "of": "orders",
        "unsafe": 2,
        "joins": [
            {
                "join": "orders.created_by → users.key",
                "means": "many-to-one; suggested with joinability 0.97; nobody decided",
            },
            {
                "join": "orders.key = notes.key",
                "means": "many-to-many; suggested with joinability 0.90; nobody decided",
                "unsafe": ONE_KIND,
            },
            {
                "join": "orders.part → parts.key",
                "means": "many-to-one; suggested with joinability 0.50; nobody decided",
                "unsafe": LOW,
            },
        ],
    }
    assert list_joins_of("orders", [NOTES], min_score=MIN_SCORE)["answer"] == "no safe join known"
    rest = list_joins_of("orders", [NOTES, CREATED, WEAK], min_score=MIN_SCORE, skip=1)
    assert [each["join"] for each in rest["joins"]] == [
        "orders.key = notes.key",
        "orders.part → parts.key",
    ]
    assert list_joins_of("orders", [WEAK], min_score=0.4)["answer"] == "1 safe join"


def test_a_safe_join_comes_with_its_grain_and_tested_sql() -> None:
    found = suggest_safe_joins("orders", [REGION], {REGION.urn: "SELECT 1"})
    (entry,) = found.pop("joins")
    assert found == {"answer": "1 safe join", "of": "orders"}
    assert entry["grain"] == "one row for each row of orders that matches"
    assert (entry["sql"], entry["sql_is"]) == (
        ["SELECT 1"],
        "tested: it returned the expected rows when a run wrote it",
    )


def test_several_joins_of_the_same_datasets_are_a_choice() -> None:
    found = suggest_safe_joins("orders", [CREATED, APPROVED], {})
    assert found["answer"] == "choose one"
    assert found["next"] == (
        "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
    )
    assert [each["choose"] for each in found["joins"]] == ["2 safe joins with this dataset"] * 2
    mixed = suggest_safe_joins("orders", [CREATED, REGION, APPROVED], {})
    assert mixed["answer"] == "3 safe joins"
    assert ["choose" in each for each in mixed["joins"]] == [True, False, True]
    # A reference from users to orders is another question than one from orders to users.
    back = join("users", "orders", 0.9, key="last_order").reversed
    assert suggest_safe_joins("orders", [CREATED, back], {})["answer"] == "2 safe joins"


def test_without_a_safe_join_the_answer_says_why() -> None:
    assert answer_none_safe("orders", [NOTES], min_score=MIN_SCORE) == {
        "answer": "no safe join known",
        "of": "orders",
        "next": "Do not join them on a guess: ask the user, or a person who may accept a join",
        "unsafe": [
            {
                "join": "orders.key = notes.key",
                "means": "many-to-many; suggested with joinability 0.90; nobody decided",
                "unsafe": ONE_KIND,
            }
        ],
    }


def test_a_join_is_explained_with_its_urn() -> None:
    safe = assess_join(REGION, {}, min_score=MIN_SCORE)
    assert (safe["answer"], safe["urn"]) == ("safe", REGION.urn)
    assert safe["sql"] == ('SELECT * FROM orders AS t1 JOIN regions AS t2 ON t1.region = t2."key"')
    unsafe = assess_join(WEAK, {WEAK.urn: "SELECT 1"}, min_score=MIN_SCORE)
    assert (unsafe["answer"], unsafe["unsafe"]) == ("not safe", LOW)
    assert unsafe["next"].startswith("Do not join them on a guess")
    assert "sql" not in unsafe
    rejected = assess_join(join("a", "b", 1.0, Verdict.REJECTED), {}, min_score=MIN_SCORE)
    assert rejected["unsafe"] == "a person rejected it"


def test_sql_is_tested_only_if_all_of_it_is() -> None:
    path = [CREATED, REGION]
    tested = sql_of(path, {each.urn: each.left.path for each in path})
    assert tested["sql"] == ["created_by", "region"]
    partly = sql_of([REGION, join("regions", "zones", 0.9)], {REGION.urn: "SELECT 1"})
    assert partly["sql"].startswith("SELECT * FROM orders AS t1 JOIN regions AS t2")
    assert partly["sql_is"] == (
        "not run: check its number of rows, because values may differ in case, spaces or type"
    )
    none = sql_of([join("a", "b", 0.9, key="struct.member")], {})
    assert none == {
        "sql_is": "none: the values must be converted, or the datasets are in several systems"
    }
