"""Test that the page on values tells of each notation, and that its examples are equal."""

from pathlib import Path

import pytest

from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import canonical_form

PAGE = Path(__file__).parents[1] / "docs" / "values.md"
EXAMPLES = {
    Notation.PHONE: ("0049 (30) 123-4567", "49301234567"),
    Notation.LOCAL_PHONE: ("+1 (212) 555-0123", "2125550123"),
    Notation.BOOK: ("3-16-148410-X", "316148410"),
    Notation.PADDED: ("000123", "123"),
    Notation.POINT: ("1,234.50", "1234.5"),
    Notation.EXPONENT: ("1.55433E+06", "1554330"),
    Notation.BEFORE_POINT: ("12.", "12"),
    Notation.MONEY: ("$1,200.50", "1200.5"),
    Notation.COMMA: ("1.234,50", "1234.5"),
    Notation.DAY_FIRST: ("31.01.2024", "2024-01-31"),
    Notation.MONTH_FIRST: ("01/31/2024", "2024-01-31"),
    Notation.YEAR_FIRST: ("20240131", "2024-01-31"),
    Notation.DAY_IN_WORDS: ("January 31, 2024", "2024-01-31"),
    Notation.DAY_IN_OTHER_WORDS: ("3. März 2024", "2024-03-03"),
    Notation.SERIAL_DAY: ("45292", "2024-01-01"),
    Notation.MONTH: ("Jan 2024", "2024-01"),
    Notation.MONTH_IN_OTHER_WORDS: ("mai 2024", "2024-05"),
    Notation.QUARTER: ("Q1 2024", "2024-q1"),
    Notation.NETWORK: ("010.001.000.007", "10.1.0.7"),
    Notation.SIXTH_VERSION: ("2001:0db8::0001", "2001:db8::1"),
    Notation.NUMBERED: ("No. 12", "12"),
    Notation.TAX_NUMBER: ("DE123456789", "123456789"),
    Notation.BANK_CODE: ("MARKDEFFXXX", "markdeff"),
    Notation.TRUTH_WORDS: ("yes", "true"),
    Notation.OFFSET: ("2024-01-31T09:30+01:00", "2024-01-31 08:30:00"),
    Notation.BARE_UUID: (
        "6f9619ff8b86d011b42d00c04fc964ff",
        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
    ),
    Notation.WRAPPED_UUID: (
        "{6f9619ff-8b86-d011-b42d-00c04fc964ff}",
        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
    ),
    Notation.HEXADECIMAL: ("0x52908400098527886E0F", "52908400098527886e0f"),
    Notation.SHORT_TIME: ("9:30", "09:30:00"),
    Notation.CLOCK: ("9:30 PM", "21:30:00"),
    Notation.LINK: ("https://doi.org/10.1000/x1/", "10.1000/x1"),
    Notation.LETTERED: ("AB0042", "ab42"),
    Notation.SEPARATED: ("978-3-16-148410-0", "9783161484100"),
    Notation.MARKUP: ("R&amp;D", "r&d"),
    Notation.ACCENTS: ("Łódź", "lodz"),
}
"""A value in each notation, and what it equals."""


def table() -> str:
    lines = ["| form | values | an example | equals |", "|---|---|---|---|"]
    lines += [
        f"| {notation.form.value} | {notation.value} | `{written}` | `{same}` |"
        for notation, (written, same) in EXAMPLES.items()
    ]
    return "\n".join(lines)


def test_the_page_lists_every_notation() -> None:
    assert EXAMPLES.keys() == {*Notation} - {Notation.EXACT}
    assert table() in PAGE.read_text(), f"docs/values.md must have this table:\n\n{table()}"


@pytest.mark.parametrize("notation", EXAMPLES)
def test_an_example_equals_what_the_page_says(notation: Notation) -> None:
    written, same = EXAMPLES[notation]
    assert canonical_form(normal_form(written), notation) == same
