"""Test that counts, measures, positions and labels refer to nothing."""

from lakes.handmade import Tables, draw, numbers, things
from lakes.referring import probability


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
