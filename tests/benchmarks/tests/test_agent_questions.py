"""Test which joins are found in the answers that agents get, and which questions are drawn."""

from pathlib import Path

from datahub.metadata.schema_classes import MetadataChangeProposalClass

from benchmarks.agent_questions import Outcome, describe_outcomes
from benchmarks.agents.answers import named_in_guide, named_in_property, named_in_sql
from benchmarks.agents.questions import draw_questions, read_known_joins, read_references
from datahub_hyperjoin.emit.documents import write_guide
from datahub_hyperjoin.emit.patches import read_changes
from datahub_hyperjoin.emit.properties import emit_dataset
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import join, made
from lakes.lake import column
from lakes.quick_runs import CARRIER, join_of

ORDERS = TableId("file", "orders.csv")
CUSTOMER = frozenset({column("orders.csv.customer"), column("customers.csv.key")})
REFERENCE = join("orders.csv", "customers.csv", 0.9, key="customer")


def test_a_line_of_a_document_names_its_join() -> None:
    safe, unsafe = REFERENCE, join("orders.csv", "cities.csv", 0.2, key="city")
    named = named_in_guide(write_guide(ORDERS, [safe, unsafe], {}), ORDERS)
    city = frozenset({column("orders.csv.city"), column("cities.csv.key")})
    assert named == {CUSTOMER, city}


def test_an_excerpt_that_cuts_a_line_off_names_only_whole_joins() -> None:
    text = write_guide(ORDERS, [REFERENCE], {})
    start = text.index("- `")
    assert named_in_guide(text[start:], ORDERS) == {CUSTOMER}
    assert named_in_guide(text[start + 4 :], ORDERS) == set()
    assert named_in_guide(text[: text.index("customers.csv.key") + 5], ORDERS) == set()


def test_every_column_of_a_key_is_named() -> None:
    year = (ColumnId(ORDERS, "year"), column("customers.csv.since"))
    both = made(
        urn="",
        name="",
        pairs=(*REFERENCE.pairs, year),
        cardinality=REFERENCE.cardinality,
        role=REFERENCE.role,
        joinability=0.9,
        referenced=REFERENCE.right,
    )
    named = named_in_guide(write_guide(ORDERS, [both], {}), ORDERS)
    assert named == {CUSTOMER, frozenset(year)}


def test_an_entry_of_the_property_names_its_join() -> None:
    found = join_of(CARRIER)
    flights = column("flights.csv.carrier").table
    names = {found.left.table: "airlines", flights: "flights"}
    proposal = emit_dataset(flights, [found], names, "ns").metadata
    assert isinstance(proposal, MetadataChangeProposalClass)
    [change] = read_changes(proposal) or [{}]
    [value] = change["value"]["values"]
    assert named_in_property(value["string"], flights) == {frozenset(CARRIER)}


def test_sql_names_the_columns_that_it_compares() -> None:
    sql = """SELECT a.*, b.* FROM 'orders.csv' AS a JOIN 'customers.csv' AS b
        ON LOWER(TRIM(a.customer)) = LOWER(TRIM(b."key")) LIMIT 100"""
    assert named_in_sql(sql) == {CUSTOMER}
    assert named_in_sql("orders joined with customers on customer = key") == set()


def test_questions_are_drawn_by_pairs_of_tables(tmp_path: Path) -> None:
    file = tmp_path / "references.csv"
    file.write_text(
        "from_table,from_column,to_table,to_column,direction\n"
        "orders,customer,customers,key,unique\n"
        "orders,payer,customers,key,unique\n"
        "orders,parent,orders,id,unique\n"
        "items,order,orders,id,unique\n"
    )
    questions = draw_questions(read_references(file), count=9, seed=0)
    assert questions == draw_questions(read_references(file), count=9, seed=0)
    assert sorted(len(question.needed) for question in questions) == [1, 2]
    assert all(
        (one.table, other.table) == (question.first, question.second)
        for question in questions
        for one, other in question.needed
    )
    assert len(draw_questions(read_references(file), count=1, seed=0)) == 1


def test_known_joins_are_read_once_in_both_directions() -> None:
    file = Path(__file__).parents[2] / "known_joins.csv"
    questions = draw_questions(read_known_joins(file), count=1_000, seed=0)
    tables = {frozenset((question.first, question.second)) for question in questions}
    assert len(tables) == len(questions) > 20


def test_only_answers_within_the_limits_count() -> None:
    [question] = draw_questions([next(iter(REFERENCE.pairs))], count=1, seed=0)

    def outcome(calls: int, tokens: int, *, arrived: bool = True) -> Outcome:
        return Outcome(question, "document", calls, tokens, arrived=arrived, published=True)

    outcomes = [outcome(2, 4_000), outcome(3, 10), outcome(1, 4_001), outcome(1, 1, arrived=False)]
    assert [each.is_counted for each in outcomes] == [True, False, False, False]
    row = describe_outcomes(outcomes).splitlines()[-1].split("  ")
    assert [cell.strip() for cell in row if cell.strip()][:4] == [
        "document",
        "1 of 4",
        "1 of 4",
        "2",
    ]
