"""Test value forms against Python's own parsers of numbers and times."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.form_parts import FALSE_WORDS, TRUE_WORDS
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.value_forms import Notation, ValueForm
from datahub_hyperjoin.written_in import canonical_form, notation_of, readable_share

NUMBERS = st.decimals(-(10**12), 10**12, places=4)
DATES = st.dates(min_value=dt.date(1600, 1, 1), max_value=dt.date(2199, 12, 31))
INSTANTS = st.datetimes(dt.datetime(1600, 1, 2), dt.datetime(2900, 1, 1))  # noqa: DTZ001 (zones are added)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timedelta(minutes=minutes))


def written(number: Decimal, point: str, separator: str) -> str:
    return f"{number:,.4f}".replace(",", "_").replace(".", point).replace("_", separator)


@given(st.integers(0, 10**9), st.integers(0, 12))
def test_padded_digits_are_equal_to_the_number(number: int, width: int) -> None:
    assert canonical_form(f"{number:0{width}}", Notation.PADDED) == str(number)


@given(
    st.from_regex("[a-z]{1,4}", fullmatch=True),
    st.integers(1, 10**6),
    st.sampled_from(["", "-", " ", "_", "/0"]),
    st.integers(0, 9),
)
def test_codes_are_equal_however_their_number_is_padded(
    letters: str, number: int, separator: str, width: int
) -> None:
    code = canonical_form(f"{letters}{separator}{number:0{width}}", Notation.SEPARATED)
    assert code == f"{letters}{number}"
    assert canonical_form(f"{letters}{number:0{width}}", Notation.LETTERED) == code


@given(NUMBERS, st.sampled_from([("", ""), (",", "."), (",", " ")]))
def test_numbers_are_equal_however_they_are_punctuated(
    number: Decimal, separators: tuple[str, str]
) -> None:
    in_english = written(number, ".", separators[0])
    in_german = written(number, ",", separators[1])
    texts = [
        canonical_form(in_english, Notation.POINT),
        canonical_form(in_german, Notation.COMMA),
        canonical_form(normal_form(f"{number:.9e}"), Notation.POINT),
    ]
    assert len({*texts[:2]}) == 1
    assert [Decimal(text) for text in texts[:2]] == [number] * 2
    assert Decimal(texts[2]) == Decimal(f"{number:.9e}")
    assert not texts[0].startswith("-0") or "." in texts[0]
    assert "." not in texts[0] or not texts[0].endswith(("0", "."))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(number: float) -> None:
    text = canonical_form(normal_form(str(number)), Notation.POINT)
    assert float(text) == number


@given(DATES)
def test_dates_are_equal_in_every_order(date: dt.date) -> None:
    for notation, text in [
        (Notation.DAY_FIRST, f"{date.day}.{date.month}.{date.year}"),
        (Notation.DAY_FIRST, f"{date:%d/%m/%Y}"),
        (Notation.MONTH_FIRST, f"{date:%m/%d/%Y}"),
        (Notation.YEAR_FIRST, f"{date:%Y%m%d}"),
        (Notation.YEAR_FIRST, f"{date.year}/{date.month}/{date.day}"),
        (Notation.YEAR_FIRST, str(date)),
    ]:
        assert canonical_form(text, notation) == str(date)


MONTHS = {
    "{day}. {month} {year}": "januar februar märz april mai juni juli august september oktober "
    "november dezember jan feb mrz apr mai jun jul aug sept okt nov dez",
    "{day} {month} {year}": "janvier février mars avril mai juin juillet août septembre octobre "
    "novembre décembre janv févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "lunedì, {day} {month} {year}": "gennaio febbraio marzo aprile maggio giugno luglio agosto "
    "settembre ottobre novembre dicembre gen feb mar apr mag giu lug ago set ott nov dic",
    "{day} de {month} de {year}": "enero febrero marzo abril mayo junio julio agosto septiembre "
    "octubre noviembre diciembre janeiro fevereiro março abril maio junho julho agosto setembro "
    "outubro novembro dezembro",
    "{day} {month}, {year}": "januari februari maart april mei juni juli augustus september "
    "oktober november december",
}


@pytest.mark.parametrize("written", MONTHS)
@given(DATES)
def test_days_and_months_are_read_in_other_languages(written: str, date: dt.date) -> None:
    names = MONTHS[written].split()
    for month in names[date.month - 1 :: 12]:
        text = normal_form(written.format(day=date.day, month=month, year=date.year))
        assert canonical_form(text, Notation.DAY_IN_WORDS) == str(date)
        _, name, year = written.partition("{month}")
        text = normal_form(f"{name}{year}".format(month=month, year=date.year))
        assert canonical_form(text.replace(",", ""), Notation.MONTH) == str(date)[:7]


@given(INSTANTS, OFFSETS, st.sampled_from(["seconds", "microseconds"]))
def test_points_in_time_are_equal_in_every_zone(
    instant: dt.datetime, offset: dt.timedelta, precision: str
) -> None:
    zoned = instant.replace(tzinfo=dt.timezone(offset))
    text = normal_form(zoned.isoformat("T", precision))
    in_utc = zoned.astimezone(dt.timezone.utc).replace(tzinfo=None)
    assert canonical_form(text, Notation.OFFSET) == normal_form(in_utc.isoformat(" ", precision))


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("a007", Notation.PADDED),
        ("-007", Notation.PADDED),
        ("007a", Notation.SEPARATED),
        ("ab00x", Notation.SEPARATED),
        ("a1b007", Notation.LETTERED),
        ("007.50", Notation.POINT),
        ("1,23", Notation.POINT),
        ("12,345,6", Notation.POINT),
        ("1.23,5", Notation.COMMA),
        ("nan", Notation.POINT),
        ("1e100", Notation.POINT),
        ("31.13.2024", Notation.DAY_FIRST),
        ("13/31/2024", Notation.MONTH_FIRST),
        ("20241301", Notation.YEAR_FIRST),
        ("2024-02-30 10:00+01:00", Notation.OFFSET),
        ("maybe", Notation.TRUTH_WORDS),
        ("0x12", Notation.HEXADECIMAL),
        ("0x1234567g", Notation.HEXADECIMAL),
    ],
)
def test_a_value_that_a_notation_cannot_read_stays_as_it_is(text: str, notation: Notation) -> None:
    assert canonical_form(text, notation) == text


@pytest.mark.parametrize("word", TRUE_WORDS)
def test_words_for_true_are_true(word: str) -> None:
    assert canonical_form(word, Notation.TRUTH_WORDS) == "true"


@pytest.mark.parametrize("word", FALSE_WORDS)
def test_words_for_false_are_false(word: str) -> None:
    assert canonical_form(word, Notation.TRUTH_WORDS) == "false"


@pytest.mark.parametrize(
    ("values", "notation"),
    [
        (["000123", "004711", "123456"], Notation.PADDED),
        (["123", "4711"], None),
        (["0a1", "007"], None),
        (["12.50", "13.99"], Notation.POINT),
        (["12.5", "13.99"], None),
        (["1,234", "1,234,567"], Notation.POINT),
        (["1,234", "999", "12,345", "8,000"], Notation.POINT),
        (["0,125", "12,345", "8,000", "7"], Notation.COMMA),
        (["1.234", "1.234.567"], Notation.COMMA),
        (["12,5", "7"], Notation.COMMA),
        (["1,234", "5,678"], None),
        (["1.234", "0.500"], Notation.POINT),
        (["1e-05", "0.5"], Notation.POINT),
        (["31.01.2024", "01.02.2024"], Notation.DAY_FIRST),
        (["01/31/2024", "02/01/2024"], Notation.MONTH_FIRST),
        (["01/02/2024", "03/04/2024"], None),
        (["31/01/2024", "01/31/2024"], Notation.SEPARATED),
        (["2024/01/31", "2024/02/01"], Notation.YEAR_FIRST),
        (["20240131", "20240201"], Notation.YEAR_FIRST),
        (["2024-01-31", "2024-02-01"], None),
        (["20240131", "99999999"], None),
        (["t", "f"], Notation.TRUTH_WORDS),
        (["1", "0"], Notation.TRUTH_WORDS),
        (["true", "false"], None),
        (["t", "true"], None),
        (["1"], None),
        (["y", "n", "no"], None),
        (["31/01/2024", "2024-02-01", "3 mar 2024"], Notation.DAY_FIRST),
        (["31/01/24", "01/02/24"], Notation.DAY_FIRST),
        (["3. märz 2024", "1. mai 2024"], Notation.DAY_IN_OTHER_WORDS),
        (["3. märz 2024", "1. april 2024"], Notation.DAY_IN_WORDS),
        (["3 may 2024", "1 june 2024"], Notation.DAY_IN_WORDS),
        (["märz 2024", "mai 2024"], Notation.MONTH_IN_OTHER_WORDS),
        (["01/31/2024 12:00:00 am", "02/01/2024 12:00:00 am"], Notation.MONTH_FIRST),
        (["+12125550123", "+14155550124"], Notation.LOCAL_PHONE),
        (["+12125550123", "+49301234567"], Notation.PHONE),
        (["9783161484100", "0306406152"], Notation.BOOK),
        (["0000001234", "0000001236"], Notation.PADDED),
        (["9:30 pm", "21:45"], Notation.CLOCK),
        (["zoë", *map(str, range(8))], Notation.ACCENTS),
        (["r&amp;d", "r"], Notation.MARKUP),
        (["2024-01-31", "3 mar 2024"], Notation.YEAR_FIRST),
        ([*map(str, range(100, 140)), "no. 12", "no. 13"], Notation.SEPARATED),
        (["ab12", "ab-13"], Notation.SEPARATED),
        (["2024-01-31t09:30:00+01:00"], Notation.OFFSET),
        (["6ba7b8109dad11d180b400c04fd430c8"], Notation.BARE_UUID),
        (["0x6ba7b8109dad11d180b400c04fd430c8"], Notation.BARE_UUID),
        (["0xde709f21", "\\x52908400098527"], Notation.HEXADECIMAL),
        (["0x10", "0x11"], None),
        (["6ba7b810-9dad-11d1-80b4-00c04fd430c8"], None),
        ([], None),
    ],
)
def test_a_column_has_the_notation_that_its_values_prove(
    values: list[str], notation: Notation | None
) -> None:
    assert notation_of(values) is notation


def test_a_few_exceptions_do_not_hide_a_notation() -> None:
    padded = [f"{number:06}" for number in range(40)]
    assert notation_of([*padded, "unknown"]) is Notation.PADDED
    assert notation_of([*padded, *"abc"]) is None


def test_values_of_certain_notations_are_read_in_columns_of_others() -> None:
    written = ["31/01/2024", "20240131", "31 jan 2024", "2024-01-31", "?"]
    read = [canonical_form(value, Notation.DAY_FIRST) for value in written]
    assert read == [*["2024-01-31"] * 4, "?"]
    assert canonical_form("31/01/2024", Notation.YEAR_FIRST) == "31/01/2024"


def test_a_book_number_with_a_wrong_check_stays() -> None:
    assert canonical_form("0306406152", Notation.BOOK) == "030640615"
    assert canonical_form("0306406153", Notation.BOOK) == "0306406153"


def test_every_notation_has_a_form_of_its_own_words() -> None:
    assert {notation.form for notation in Notation} == {*ValueForm}


def test_no_values_are_readable_in_no_notation() -> None:
    assert readable_share([], Notation.POINT) == 0
