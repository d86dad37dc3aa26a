"""The bound of what decisions teach about relatives of the decided pairs."""

from pathlib import Path

from benchmarks.decision_bound import find_relatives, rank_first, read_equal
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

CODES, MORE_CODES, NAMES, MORE_NAMES, OTHER = (
    ColumnName(table, "x") for table in ("codes", "more_codes", "names", "more_names", "other")
)
KINDS = {
    (CODES, MORE_CODES): "exact",
    (NAMES, MORE_NAMES): "exact",
    (CODES, NAMES): "code-name",
    (OTHER, NAMES): "fuzzy",
}


def _write(folder: Path) -> Path:
    header = "query_table,query_column,candidate_table,candidate_column,kind"
    rows = [",".join([*query, *candidate, kind]) for (query, candidate), kind in KINDS.items()]
    (folder / "ground_truth.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    return folder


def test_only_answers_with_equal_values_are_equal_columns(tmp_path: Path) -> None:
    assert read_equal(_write(tmp_path)) == {
        CODES: {CODES, MORE_CODES},
        MORE_CODES: {CODES, MORE_CODES},
        NAMES: {NAMES, MORE_NAMES},
        MORE_NAMES: {NAMES, MORE_NAMES},
        OTHER: {OTHER},
    }


def test_a_decision_about_a_code_and_a_name_teaches_all_equal_columns(tmp_path: Path) -> None:
    following = find_relatives([(CODES, NAMES)], read_equal(_write(tmp_path)))

    there = {(code, name) for code in (CODES, MORE_CODES) for name in (NAMES, MORE_NAMES)}
    assert following == there | {(name, code) for code, name in there}


def test_only_right_relatives_are_ranked_first() -> None:
    ranked = {CODES: [OTHER, MORE_CODES, MORE_NAMES], OTHER: [CODES]}
    truth = {CODES: frozenset({NAMES, MORE_CODES}), OTHER: frozenset[ColumnName]()}
    relatives = find_relatives([(CODES, NAMES), (CODES, OTHER)], {})

    assert rank_first(ranked, truth, relatives, 3) == {
        CODES: [NAMES, OTHER, MORE_CODES],
        OTHER: [CODES],
    }
