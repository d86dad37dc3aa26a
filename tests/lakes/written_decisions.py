"""Draw decisions with any names, people and reasons that a file may hold, and write them."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import assume
from hypothesis import strategies as st

from datahub_hyperjoin.decision_file import WrittenDecision, editing_decision_file
from datahub_hyperjoin.joins import Verdict

_PIECES = st.sampled_from(
    [
        *"a \"',;\t\r\n[]\\\0\x85\xa0\x1b",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\ud800",
        "é",
        "🔑",
        '["',
        "\r\n",
    ]
)


def _has_no_split_character(text: str) -> bool:
    # JSON reads two surrogates that form a pair as one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") == text


TEXTS = (
    st.lists(st.one_of(_PIECES, st.characters()), max_size=6)
    .map("".join)
    .filter(_has_no_split_character)
)
_NAMES = TEXTS.filter(bool)
_SIDES = st.integers(1, 3).flatmap(lambda count: st.lists(_NAMES, min_size=count, max_size=count))


@st.composite
def decisions(draw: st.DrawFn) -> WrittenDecision:
    """Draw a decision that the file accepts."""
    left = tuple(draw(_SIDES))
    right = tuple(draw(st.lists(_NAMES, min_size=len(left), max_size=len(left))))
    tables = draw(_NAMES), draw(_NAMES)
    assume((tables[0], left) != (tables[1], right))
    return WrittenDecision(
        left_table=tables[0],
        left_columns=left,
        right_table=tables[1],
        right_columns=right,
        verdict=draw(st.sampled_from(Verdict)),
        by=draw(TEXTS),
        reason=draw(TEXTS),
        when=draw(TEXTS),
    )


def write_decision_file(path: Path, decisions: Iterable[WrittenDecision]) -> None:
    """Replace all decisions of a file."""
    with editing_decision_file(path) as written:
        written[:] = decisions
