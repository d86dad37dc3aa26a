import pytest

from datahub_hyperjoin.joins.lists import fit_lines, fit_table

HEADERS = ("joinability", "join", "role", "decision")
CONDITION = "payments.year → years.year and payments.shop_number → years.shop_number"
ROWS = [("0.93", CONDITION, "reference", ""), ("", "orders.id = refunds.order", "", "")]
NAMES = slice(1, 2)


def test_a_table_without_a_terminal_has_a_line_for_each_row() -> None:
    header, _, first, second = fit_table(HEADERS, ROWS, None, names=NAMES).splitlines()
    assert header.split() == ["joinability", "join", "role"]  # nobody decided
    assert CONDITION in first
    assert second.split() == ["orders.id", "=", "refunds.order"]


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (60, ["payments.year         0.93           reference", "→ years.year and"]),
        (44, ["payments.year", "→ years.year and"]),
    ],
)
def test_a_narrow_table_breaks_conditions(width: int, first: list[str]) -> None:
    lines = fit_table(HEADERS, ROWS, width, names=NAMES).splitlines()
    assert max(map(len, lines)) <= width
    assert [line.rstrip() for line in lines[2:4]] == first


def test_a_row_of_a_narrow_terminal_has_its_facts_below() -> None:
    lines = fit_table(HEADERS, ROWS, 40, names=NAMES).splitlines()
    assert lines[0] == "joinability · role"
    assert lines[6:8] == ["  0.93 · reference", ""]
    assert lines[8] == "orders.id = refunds.order"


def test_only_long_lines_are_broken() -> None:
    text = "orders.id = refunds.order\ndays"
    assert fit_lines(text, None) == fit_lines(text, 25) == text
    assert fit_lines(text, 20) == "orders.id =\n  refunds.order\ndays"
    assert fit_lines("back-orders", 5) == "back-orders"
