"""Test how a column's name indicates the key that the column refers to."""

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.roles.name_clues import NameClues, NameComparison
from datahub_hyperjoin.model.signals import sketches
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, name_words, noun_stem, trigrams
from lakes.handmade import Tables, column, lake_of

VALUES = ["1", "2"]
Names = tuple[str, str]
"""A table and one of its columns."""


def compare(names: Sequence[Names], pairs: Sequence[tuple[int, int]]) -> NameClues:
    """Compare the names of columns, each in a table of its own.

    `pairs` holds positions in `names`.
    """
    tables: Tables = {table: {name: VALUES} for table, name in names}
    lake = lake_of(tables)
    position = [lake.ids.index(column(f"{table}.{name}")) for table, name in names]
    ends = np.array([[position[one], position[other]] for one, other in pairs], dtype=np.int64)
    return NameComparison(lake).of(*ends.reshape(-1, 2).T)


def clue(what: str, referring: Names, referenced: Names, others: Sequence[Names] = ()) -> float:
    clues = compare([referring, referenced, *others], [(0, 1)])
    [value] = getattr(clues, what)
    return float(value)


@pytest.mark.parametrize(
    ("plural", "noun"),
    [
        ("users", "user"),
        ("countries", "country"),
        ("movies", "movie"),
        ("warehouses", "warehouse"),
        ("statuses", "status"),
        ("campuses", "campus"),
        ("menus", "menu"),
        ("addresses", "address"),
        ("classes", "class"),
        ("branches", "branch"),
        ("caches", "cache"),
        ("dishes", "dish"),
        ("taxes", "tax"),
        ("analyses", "analysis"),
        ("databases", "database"),
        ("days", "day"),
        ("ties", "tie"),
    ],
)
def test_a_noun_and_its_plural_have_one_stem(plural: str, noun: str) -> None:
    assert noun_stem(plural) == noun_stem(noun)


@pytest.mark.parametrize("word", ["class", "business", "gas", "as", "is", "ids", "2024", "user"])
def test_other_words_keep_their_form(word: str) -> None:
    assert noun_stem(word) == word


def test_no_marker_of_identifiers_is_taken_for_a_plural() -> None:
    assert {noun_stem(word) for word in IDENTIFIER_WORDS} <= IDENTIFIER_WORDS


ID = ("customers", "id")


@pytest.mark.parametrize(
    ("name", "table", "expected"),
    [
        ("customer_id", "customers", 1),
        ("CustomerID", "Customer", 1),
        ("customer", "customers", 1),
        ("order_line_no", "order_lines", 1),
        ("orderLine", "order_lines", 1),
        ("customer_id", "customers_2", 1),
        ("id", "ids", 0),
        ("customer_id", "customer_types", 0),
        ("paying_customer_id", "customers", 0),
    ],
)
def test_a_column_is_named_after_the_table_of_its_key(
    name: str, table: str, expected: float
) -> None:
    assert clue("names_table", ("orders", name), (table, "id")) == expected


@pytest.mark.parametrize(("tables", "expected"), [(2, 0), (3, 1)])
def test_a_first_word_of_three_tables_names_no_table(tables: int, expected: float) -> None:
    others = [(f"dim_x{'abc'[number]}", "id") for number in range(tables - 1)]
    names = ("sales", "product_key"), ("dim_product", "id")
    assert clue("names_table", *names, others) == expected
    assert clue("names_table", ("sales", "dim_product"), ("product", "id"), others) == 0


@pytest.mark.parametrize(
    ("referring", "table", "expected"),
    [
        (("rack", "role_id"), "rack_roles", 1),
        (("rack", "role_id"), "rackroles", 1),
        (("rack", "id"), "racks", 0),
        (("rack", "role_id"), "roles", 0),
    ],
)
def test_table_and_column_together_are_the_name_of_the_key_s_table(
    referring: Names, table: str, expected: float
) -> None:
    key = (table, "id")
    assert clue("continues_table", referring, key) == expected
    for share, explained in (
        ("column_in_key", "column_explained"),
        ("table_in_column", "table_explained"),
    ):
        assert clue(explained, referring, key) == max(expected, clue(share, referring, key))
    assert clue("table_in_column", referring, key) < 1 or not expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("iata", "IATA", 1),
        ("airport_code", "AirportCode", 1),
        ("airport_code", "airport_codes", 1),
        ("airport_code", "airport_id", 0),
        ("id", "id", 0),
        ("key_id", "key_id", 0),
    ],
)
def test_equal_names_count_unless_they_only_mark_identifiers(
    one: str, other: str, expected: float
) -> None:
    assert clue("same_name", ("a", one), ("b", other)) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("user_key", "id", 1),
        ("user_id", "user_id", 0),
        ("user_id", "user", 0),
        ("user", "id", 0),
        ("key_no", "no_key", 0),
        ("key_no", "no", 1),
    ],
)
def test_identifiers_are_marked_by_different_words(one: str, other: str, expected: float) -> None:
    assert clue("other_word", ("a", one), ("b", other)) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("heart_rate", "patient_id", 1),
        ("heart_rate", "id", 1),
        ("wonBy", "PlayerNo", 1),
        ("patient_code", "patient_id", 0),
        ("PID", "patient_id", 0),
        ("custno", "patient_id", 0),
        ("heart_rate", "pid", 0),
        ("heart_rate", "patient", 0),
        ("patient_id", "patient", 0),
    ],
)
def test_the_key_alone_is_marked_as_an_identifier(one: str, other: str, expected: float) -> None:
    assert clue("unmarked", ("a", one), ("b", other)) == expected


def test_a_role_before_the_table_s_name_leaves_part_of_it_unexplained() -> None:
    users, others = ("users", "id"), [("cities", "name"), ("lakes", "depth"), ("trees", "leaf")]
    plain = ("visits", "user_id"), users, others
    role = ("visits", "approving_user_id"), users, others
    other = ("visits", "city"), users, others
    assert clue("column_in_key", *plain) == pytest.approx(1.0)
    assert 0.2 < clue("column_in_key", *role) < 0.8
    assert clue("table_in_column", *role) == pytest.approx(1.0)
    assert clue("column_in_key", *other) == clue("table_in_column", *other) == 0


words = st.sampled_from(["user", "users", "id", "role", "city", "no", "boss", "staff"])
names = st.lists(words, min_size=1, max_size=3).map("_".join)


@given(st.dictionaries(names, names, min_size=2, max_size=5))
def test_shares_of_names_are_sums_of_rare_trigrams(named: dict[str, str]) -> None:
    owned = list(named.items())
    pairs = [(one, other) for one in range(len(owned)) for other in range(len(owned))]
    clues = compare(owned, pairs)

    def words_of(name: str, without: frozenset[str] = frozenset()) -> str:
        stems = map(noun_stem, name_words(name))
        return " ".join(word for word in stems if word not in without)

    tables = [words_of(table) for table, _ in owned]
    columns = [words_of(name, IDENTIFIER_WORDS) for _, name in owned]
    spelled = {*tables, *columns}
    counts = Counter(window for name in spelled for window in trigrams(name))

    def weigh(windows: frozenset[str]) -> float:
        return sum(log((len(spelled) + 1) / (counts[window] + 1)) for window in windows)

    def share(what: frozenset[str], by: frozenset[str]) -> float:
        return weigh(what & by) / weigh(what) if weigh(what) else 0.0

    both = [trigrams(one) | trigrams(other) for one, other in zip(tables, columns, strict=True)]
    of_tables, of_columns = list(map(trigrams, tables)), list(map(trigrams, columns))
    expected = {
        "column_in_key": [share(of_columns[one], both[other]) for one, other in pairs],
        "key_in_column": [share(both[other], both[one]) for one, other in pairs],
        "table_in_column": [share(of_tables[other], of_columns[one]) for one, other in pairs],
    }
    for what, shares in expected.items():
        assert getattr(clues, what).tolist() == pytest.approx(shares), what


STYLES = [
    [("orders", "customer_id"), ("customers", "id")],
    [("Orders", "CustomerId"), ("Customers", "ID")],
    [("ORDERS", "CUSTOMER_ID"), ("CUSTOMERS", "ID")],
    [("order", "customer id"), ("customer", "Id")],
]


@pytest.mark.parametrize("written", STYLES)
def test_the_way_names_are_written_does_not_matter(written: list[Names]) -> None:
    clues, others = compare(written, [(0, 1), (1, 0)]), compare(STYLES[0], [(0, 1), (1, 0)])
    for what in vars(others):
        assert getattr(clues, what).tolist() == pytest.approx(getattr(others, what).tolist())


def test_many_pairs_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    owned = [("orders", "user_id"), ("users", "id"), ("roles", "role"), ("staff", "boss")]
    pairs = [(one, other) for one in range(4) for other in range(4)]
    whole = compare(owned, pairs)
    monkeypatch.setattr(sketches, "_CHUNK", 3)
    parts = compare(owned, pairs)
    for what in ("column_in_key", "key_in_column", "table_in_column"):
        assert getattr(parts, what).tolist() == getattr(whole, what).tolist()


@pytest.mark.parametrize("owned", [[], [("", ""), ("2", "__")]])
def test_nothing_is_said_without_names(owned: list[Names]) -> None:
    clues = compare(owned, [(0, 1)] if owned else [])
    for values in vars(clues).values():
        assert not values.any()


@pytest.mark.parametrize(
    ("name", "tables", "expected"),
    [
        ("customerid", ["customers"], ("customer", "id")),
        ("CUSTOMERNO", ["customer"], ("customer", "no")),
        ("homefacilityid", ["facilities"], ("home", "facility", "id")),
        ("categoriesids", ["categories"], ("category", "id")),
        ("ordercodeid", ["order_codes"], ("ordercode", "id")),
        ("buyer_customerid", ["customers"], ("buyer", "customer", "id")),
        ("customer_id", ["customers"], ("customer", "id")),
        ("customerid", ["orders"], ("customerid",)),
        ("customers", ["customers"], ("customer",)),
        ("paid", ["pa"], ("paid",)),
        ("postcode", ["posts", "postcodes"], ("postcode",)),
        ("typeid", ["dim_type", "dim_day", "dim_shop"], ("type", "id")),
        ("id", ["customers"], ("id",)),
    ],
)
def test_identifier_words_are_split_off_names_of_tables(
    name: str, tables: Sequence[str], expected: Sequence[str]
) -> None:
    lake = lake_of({"visits": {name: VALUES}, **{table: {"x": VALUES} for table in tables}})
    words = dict(zip(map(str, lake.ids), lake.column_words, strict=True))
    assert words[f"visits.{name}"] == expected


@pytest.mark.parametrize("name", ["customerid", "CUSTOMERID", "fk_customer", "customer_ptr_id"])
def test_other_ways_to_mark_a_foreign_key_name_the_table_as_well(name: str) -> None:
    assert clue("names_table", ("orders", name), ("customers", "rowid")) == 1
    assert clue("column_in_key", ("orders", name), ("customers", "pk_id")) == pytest.approx(1)


def test_a_count_of_rows_is_not_named_after_their_table() -> None:
    rooms = "rooms", "id"
    assert clue("names_table", ("hotels", "num_rooms"), rooms) == 0
    assert clue("unmarked", ("hotels", "num_rooms"), rooms) == 1
    for reference in ("room_num", "num_room"):
        assert clue("names_table", ("bookings", reference), rooms) == 1
        assert clue("unmarked", ("bookings", reference), rooms) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("num_rooms", 1), ("room_count", 1), ("count_id", 0), ("room_num", 0), ("country", 0)],
)
def test_a_count_is_named_as_one(name: str, expected: float) -> None:
    assert clue("measures", ("hotels", name), ("guests", "id")) == expected


def test_a_measure_may_be_named_after_a_table() -> None:
    assert clue("measures", ("lines", "sort_order"), ("cities", "id")) == 1
    assert clue("measures", ("lines", "sort_order"), ("orders", "id")) == pytest.approx(0)
    assert clue("measures", ("lines", "order_id"), ("cities", "id")) == 0


def test_a_label_may_be_named_after_a_table() -> None:
    assert clue("labels", ("doctors", "first_name"), ("nurses", "first_name")) == 1
    assert clue("labels", ("orders", "city_name"), ("cities", "name")) == pytest.approx(0)
    assert clue("labels", ("doctors", "name_id"), ("nurses", "name")) == 0
