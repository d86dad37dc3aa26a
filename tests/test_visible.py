"""Test that names cannot be commands where people read them."""

import json
import logging
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import datahub_hyperjoin
from datahub_hyperjoin.visible import logger_of, visible, visible_json, visible_lines

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
HIDDEN = "\x00\x07\x08\x1b\x7f\x9b\xad\u200b\u200c\u200d\u2060\ufeff\u180e\u3164\U000e0041\udcff"


@pytest.mark.parametrize("character", BREAKS + DIRECTIONS + HIDDEN, ids=ascii)
def test_a_character_that_is_not_seen_becomes_an_escape(character: str) -> None:
    shown = visible(f"a{character}b")
    assert re.fullmatch(r"a\\(n|r|u[0-9a-f]{4}|U[0-9a-f]{8})b", shown)
    # Python and YAML read the escape as the character, as JSON reads its own.
    assert yaml.safe_load(f'"{shown}"') == f"a{character}b"
    assert json.loads(visible_json(character)) == character
    assert visible_json(character).isascii()


@pytest.mark.parametrize("name", ["Größe", "קוד", "رقم", "名前", "🚀", "a\\nb", "a b ", "é'\"`;--"])
def test_letters_and_signs_stay_as_they_are(name: str) -> None:
    assert visible(name) == name


@given(st.text())
def test_shown_text_has_one_line_and_no_control_characters(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert json.loads(visible_json([text, {"a": text}])) == [text, {"a": text}]


def test_the_lines_of_a_text_stay() -> None:
    assert visible_lines("SELECT\n  1\t\r") == "SELECT\n  1\\t\\r"


def test_a_log_shows_names_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    logger = logger_of("datahub_hyperjoin.of_a_test")
    logger.warning("%s is skipped: %s", "a\nERROR forged", ValueError("\x1b[2J"))
    [record] = caplog.records
    assert record.getMessage() == r"a\nERROR forged is skipped: \u001b[2J"
    assert len(logger_of("datahub_hyperjoin.of_a_test").filters) == 1
    assert logging.getLogger("datahub_hyperjoin.of_a_test") is logger


def test_every_module_logs_so() -> None:
    package = Path(datahub_hyperjoin.__file__).parent
    modules = [*package.rglob("*.py"), *package.joinpath("model").resolve().rglob("*.py")]
    modules += package.joinpath("spark").resolve().rglob("*.py")
    own = [each for each in modules if "getLogger(__name__)" in each.read_text("utf-8")]
    assert own == []
