"""Test that regular expressions keep their meaning in databases with fewer kinds of groups."""

import re
from dataclasses import replace

import pytest

from datahub_hyperjoin.normal_form import NEEDS_REWRITE, REWRITES
from datahub_hyperjoin.spark.counting.texts import TYPE_PATTERNS
from datahub_hyperjoin.spark.databases.sql_forms import SqlSyntax

PLAIN = SqlSyntax(
    quote_text=str,
    exact="{0}",
    matches="{1}",
    replaced="{1}\n{2}",
    has_silent_groups=False,
    joined_bytes="",
)
TEXTS = (
    *("12.00", "-0", "0.0", "12.5", "2024-01-31t09:30", "2024-01-31 09:30:00.2500z", "-0.0", "x"),
    *("2024-01-31 09:30+00", "2024-01-31t09:30:01.000+00:00", "2024-01-31 00:00:00", "1e5", "inf"),
    *("2024-01-31", "true", ".5", "-inf", "2024-13-31 09:30", "2024-01-31 09:30:00 -05"),
)


@pytest.mark.parametrize(("pattern", "replacement"), REWRITES)
def test_replacements_are_the_same_with_numbered_groups(pattern: str, replacement: str) -> None:
    plain, renumbered = PLAIN.replacing("f", pattern, replacement).split("\n")
    assert "(?:" not in plain
    for text in TEXTS:
        assert re.sub(plain, renumbered, text) == re.sub(pattern, replacement, text)


@pytest.mark.parametrize("pattern", [NEEDS_REWRITE, *TYPE_PATTERNS.values()])
def test_matches_are_the_same_with_numbered_groups(pattern: str) -> None:
    plain = PLAIN.matching("f", pattern)
    assert "(?:" not in plain
    assert [bool(re.search(plain, each)) for each in TEXTS] == [
        bool(re.search(pattern, each)) for each in TEXTS
    ]


def test_only_the_starts_of_groups_are_changed() -> None:
    assert PLAIN.replacing("f", r"\((?:a|[(?:])(b)", r"\1") == "\\((a|[(?:])(b)\n\\2"


def test_other_databases_get_patterns_unchanged() -> None:
    syntax = replace(PLAIN, has_silent_groups=True)
    assert syntax.replacing("f", "(?:a)(b)", r"\1") == "(?:a)(b)\n\\1"
    assert syntax.matching("f", "(?:a)") == "(?:a)"
