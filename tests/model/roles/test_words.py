"""Test how the words of names are read: measures, labels, and abbreviations of tables."""

import pytest

from lakes.handmade import Tables, draw, lake_of, numbers, things
from lakes.referring import find, probability


def test_a_count_of_rooms_refers_less_probably_than_the_number_of_a_room() -> None:
    """Both hold the same small whole numbers."""

    def likely(name: str) -> float:
        hotels = {"id": numbers(1, 201), name: draw(numbers(1, 41), 200)}
        tables: Tables = {"rooms": {"id": numbers(1, 41)}, "hotels": hotels, **things(9)}
        return probability(tables, (f"hotels.{name}", "rooms.id"))

    assert likely("room_num") > 0.99
    assert max(likely("num_rooms"), likely("room_count")) < 0.7


def test_positions_and_measures_refer_to_no_key() -> None:
    def likely(name: str) -> float:
        lines = {"id": numbers(1, 201), name: draw(numbers(1, 41), 200)}
        tables: Tables = {"products": {"id": numbers(1, 41)}, "lines": lines, **things(9)}
        return probability(tables, (f"lines.{name}", "products.id"))

    assert likely("article") > 10 * max(likely("quantity"), likely("SortOrder"))
    assert likely("product_order") > likely("delivery_order")


def test_labels_refer_to_no_labels_beside_a_key() -> None:
    kinds, hats = ["red", "blue", "old", "new", "wet"], ["cap", "hat", "hood"]
    words = [f"{kind} {hat}" for kind in kinds for hat in hats]

    def likely(name: str, *, has_id: bool) -> float:
        ids = {"id": numbers(1, 16)} if has_id else {}
        tables: Tables = {"hats": {**ids, name: words}, "sales": {name: draw(words, 200)}}
        return probability({**tables, **things(9)}, (f"sales.{name}", f"hats.{name}"))

    assert likely("label", has_id=True) < 0.1
    assert min(likely("label", has_id=False), likely("code", has_id=True)) > 0.8


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SALESORDERID", ("sale", "order", "id")),
        ("salesorderid", ("sale", "order", "id")),
        ("zoneid", ("zone", "id")),
        ("ZoneNo", ("zone", "no")),
        ("tozoneid", ("tozoneid",)),
        ("gridid", ("gridid",)),
        ("zone", ("zone",)),
        ("paid", ("paid",)),
    ],
)
def test_an_identifier_word_is_found_after_titles_and_their_words(
    name: str, words: tuple[str, ...]
) -> None:
    titles = ("SalesOrders", "zone_settings", "pa")
    lake = lake_of({title: {name: numbers(1, 9)} for title in titles})
    assert lake.column_words == [words] * 3


CLUB: Tables = {
    "members": {"mem_id_a": numbers(1, 201), "mem_born": draw(numbers(1950, 1990), 200)},
    "halls": {"hal_id": numbers(1, 91), "hal_seats": draw(numbers(10, 40), 90)},
    **things(9),
}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("boo_mem_id_a", ("member", "id", "a")),
        ("boo_id_mem", ("id", "member")),
        ("id_hal_boo", ("id", "hall")),
        ("boo_by_mem_id_a", ("by", "member", "id", "a")),
        ("mem_id_a", ("member", "id", "a")),
        ("boo_days", ("day",)),
        ("boo_id", ("booking", "id")),
        ("book_id", ("book", "id")),
    ],
)
def test_abbreviations_are_written_as_titles(name: str, words: tuple[str, ...]) -> None:
    bookings = {"boo_id": numbers(1, 61), name: draw(numbers(1, 41), 60)}
    lake = lake_of({**CLUB, "bookings": bookings if name != "boo_id" else {name: bookings[name]}})
    read = dict(zip(map(str, lake.ids), lake.column_words, strict=True))
    assert read[f"bookings.{name}"] == words
    assert read["members.mem_id_a"] == ("member", "id", "a")


def test_an_abbreviation_of_two_tables_stays() -> None:
    lake = lake_of({**CLUB, "memos": {"mem_id": numbers(1, 9)}, "bookings": {"mem_id": ["1", "1"]}})
    read = dict(zip(map(str, lake.ids), lake.column_words, strict=True))
    assert read["bookings.mem_id"] == ("mem", "id")


@pytest.mark.parametrize("name", ["boo_mem_id_a", "boo_id_mem", "id_mem_boo", "boo_by_mem_id_a"])
def test_a_column_refers_to_the_table_that_it_abbreviates(name: str) -> None:
    """Other keys hold these few numbers as well."""
    bookings = {"boo_id": numbers(1, 61), name: draw(numbers(1, 41), 60)}
    assert find({**CLUB, "bookings": bookings}) == {(f"bookings.{name}", "members.mem_id_a")}
