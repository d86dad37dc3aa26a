"""Test that answers begin with the joins that agents may use, and say why others are unsafe."""

from collections.abc import Mapping
from types import MappingProxyType

from datahub_hyperjoin.agents.answers import (
    Answer,
    Asked,
    ShortNames,
    answer_none_safe,
    assess_join,
    list_joins_of,
    sql_of,
    suggest_safe_joins,
)
from datahub_hyperjoin.joins import MIN_SCORE, Join, Statement, Verdict
from datahub_hyperjoin.joins.join import rename_columns
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import N_N, domain, join

ORDERS = Asked(TableId("file", "orders"))
CREATED = join("orders", "users", 0.97, key="created_by")
APPROVED = join("orders", "users", 0.95, key="approved_by")
REGION = join("orders", "regions", 0.8, key="region")
NOTES = domain("orders", "notes", 0.9, N_N)
WEAK = join("orders", "parts", 0.5, key="part")
ONE_KIND = "the columns hold values of one kind, but neither is a key of the other"
LOW = "nobody confirmed it, and its joinability 0.50 is below 0.65"


def suggest(*joins: Join, sql: Mapping[str, Statement] = MappingProxyType({})) -> Answer:
    return suggest_safe_joins(ORDERS, joins, sql, min_score=MIN_SCORE)


def test_all_joins_are_listed_the_safe_ones_first() -> None:
    found = list_joins_of(ORDERS, [NOTES, CREATED, WEAK], min_score=MIN_SCORE)
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
    assert list_joins_of(ORDERS, [NOTES], min_score=MIN_SCORE)["answer"] == "no safe join known"
    rest = list_joins_of(ORDERS, [NOTES, CREATED, WEAK], min_score=MIN_SCORE, skip=1)
    assert [each["join"] for each in rest["joins"]] == [
        "orders.key = notes.key",
        "orders.part → parts.key",
    ]
    assert list_joins_of(ORDERS, [WEAK], min_score=0.4)["answer"] == "1 safe join"


def test_a_safe_join_comes_with_its_grain_and_tested_sql() -> None:
    found = suggest(REGION, sql={REGION.urn: Statement(sql="SELECT 1")})
    (entry,) = found.pop("joins")
    assert found == {"answer": "1 safe join", "of": "orders"}
    assert entry["grain"] == "one row for each row of orders that matches"
    assert (entry["sql"], entry["sql_is"]) == (
        "SELECT 1",
        "tested: it returned the expected rows",
    )


def test_several_joins_of_the_same_datasets_are_a_choice() -> None:
    found = suggest(CREATED, APPROVED)
    assert found["answer"] == "choose one"
    assert found["next"] == (
        "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
    )
    assert [each["choose"] for each in found["joins"]] == ["2 safe joins with this dataset"] * 2
    mixed = suggest(CREATED, REGION, APPROVED)
    assert mixed["answer"] == "3 safe joins"
    assert ["choose" in each for each in mixed["joins"]] == [True, False, True]
    # A reference from users to orders is another question than one from orders to users.
    back = join("users", "orders", 0.9, key="last_order").reversed
    assert suggest(CREATED, back)["answer"] == "2 safe joins"


def test_without_a_safe_join_the_answer_says_why() -> None:
    assert answer_none_safe(ORDERS, [NOTES], min_score=MIN_SCORE) == {
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
    unsafe = assess_join(WEAK, {WEAK.urn: Statement(sql="SELECT 1")}, min_score=MIN_SCORE)
    assert (unsafe["answer"], unsafe["unsafe"]) == ("not safe", LOW)
    assert unsafe["next"].startswith("Do not join them on a guess")
    assert "sql" not in unsafe
    rejected = assess_join(join("a", "b", 1.0, Verdict.REJECTED), {}, min_score=MIN_SCORE)
    assert rejected["unsafe"] == "a person rejected it"


def test_an_undecided_rival_is_told_beside_a_safe_join() -> None:
    weak = join("orders", "users", 0.63, key="owned_by")
    domains = domain("orders", "users", 0.9, N_N)
    rejected = join("orders", "users", 0.9, Verdict.REJECTED, key="deleted_by")
    found = suggest(CREATED, weak, domains, rejected, REGION)
    assert (found["answer"], found["next"]) == (
        "2 safe joins",
        "A join in `also` may be meant instead. Ask the user",
    )
    created, region = found["joins"]
    assert created["also"] == ["orders.owned_by → users.key, 0.63, undecided"]
    assert "also" not in region


def test_long_names_of_tables_are_told_once() -> None:
    def inside(column: ColumnId) -> ColumnId:
        return ColumnId(TableId("file", f"lake/files/{column.table.name}.csv"), column.path)

    joins = [rename_columns(each, inside) for each in (REGION, join("orders", "towns", 0.9))]
    orders = Asked(TableId("file", "lake/files/orders.csv"))
    found = suggest_safe_joins(orders, joins, {}, min_score=MIN_SCORE)
    assert (found["of"], [each["join"] for each in found["joins"]]) == (
        "orders",
        ["orders.region → regions.key", "orders.key → towns.key"],
    )
    assert found["tables"] == {
        name: f"lake/files/{name}.csv" for name in ("orders", "regions", "towns")
    }
    # Tables that an answer does not show have no place in it.
    rest = suggest_safe_joins(orders, joins, {}, min_score=MIN_SCORE, skip=1)
    assert rest["tables"].keys() == {"orders", "towns"}


def test_tables_of_one_name_keep_what_tells_them_apart() -> None:
    one, other = (TableId("file", f"{place}/days.csv") for place in "ab")
    names = ShortNames((), one, other, TableId("file", "a/days.parquet"))
    assert (names[one], names[other]) == ("a/days.csv", "b/days")


def test_a_path_has_one_statement() -> None:
    path = [CREATED, join("users", "towns", 0.9)]
    tested = {
        each.urn: Statement(
            sql=f"SELECT a.*, b.* FROM {each.left.table} AS a JOIN {each.right.table} AS b "
            f"ON a.{each.left.path} = b.{each.right.path} LIMIT 100",
            dialect="duckdb",
        )
        for each in path
    }
    one = sql_of(path, tested)
    assert (one["sql"].count("SELECT"), one["sql"].count("JOIN")) == (1, 2)
    assert one["sql_is"] == "not run: check its number of rows"
    assert sql_of(path[:1], tested) == {
        "sql": tested[CREATED.urn].sql,
        "sql_is": "tested: it returned the expected rows",
    }
    none = sql_of([join("a", "b", 0.9, key="struct.member")], {})
    assert none == {
        "sql_is": "none: values must be converted, or the tables are in several systems"
    }
