"""Test that single expressions are changed, and that failing tests notice."""

import ast
from pathlib import Path

import pytest

from benchmarks.mutants import choose_tests, draw, is_noticed, mutants

CODE = '''"""Add."""


def more(one: int, é: str = "3") -> int:
    """Return more than 1."""
    return one + 1 if one > 0 and é != f"{2}" else 0
'''


def test_each_expression_is_changed_once() -> None:
    found = [*mutants("add.py", CODE)]
    assert sorted((each.before, each.after) for each in found) == [
        ("0", "1"),
        ("0", "1"),
        ("1", "2"),
        ("one + 1", "one - 1"),
        ("one + 1 if one > 0 and é != f'{2}' else 0", "0 if one > 0 and é != f'{2}' else one + 1"),
        ("one > 0", "one >= 0"),
        ("one > 0 and é != f'{2}'", "one > 0 or é != f'{2}'"),
        ("é != f'{2}'", "é == f'{2}'"),
    ]
    assert all(ast.parse(each.text) for each in found)
    assert len({each.text for each in found}) == len(found)


@pytest.mark.parametrize("expected", ["more(1) == 2", "more(-1) == 0"])
def test_a_failing_test_notices_a_change(tmp_path: Path, expected: str) -> None:
    code, tests = tmp_path / "model" / "add.py", tmp_path / "tests" / "model"
    for folder in (code.parent, tests):
        folder.mkdir(parents=True)
    code.write_text(CODE, "utf-8")
    test = f"from model.add import more\n\ndef test_more() -> None:\n    assert {expected}\n"
    (tests / "test_add.py").write_text(test)
    [change] = [each for each in mutants("model/add.py", CODE) if each.after == "one - 1"]
    assert is_noticed(tmp_path, change) is (expected == "more(1) == 2")
    assert code.read_text("utf-8") == CODE
    assert len(draw(tmp_path, 3, seed=1)) == 3


def test_tests_that_do_not_run_notice_nothing(tmp_path: Path) -> None:
    code, tests = tmp_path / "model" / "add.py", tmp_path / "tests" / "model"
    for folder in (code.parent, tests):
        folder.mkdir(parents=True)
    code.write_text(CODE, "utf-8")
    (tests / "test_add.py").write_text("import nothing_at_all\n")
    with pytest.raises(RuntimeError, match="the tests did not run"):
        is_noticed(tmp_path, next(mutants("model/add.py", CODE)))


def test_the_tests_of_a_file_are_those_of_its_folder(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    for folder in ("emit", "spark/run", "model"):
        (tests / folder).mkdir(parents=True)
    own, other = tests / "test_find.py", tests / "model" / "test_lake.py"
    own.touch()
    other.touch()
    assert choose_tests(tmp_path, "datahub_hyperjoin/emit/terms.py") == [tests / "emit"]
    assert choose_tests(tmp_path, "datahub_hyperjoin/find.py") == [own]
    assert choose_tests(tmp_path, "datahub_hyperjoin/source.py") == [own]
    assert choose_tests(tmp_path, "spark/run/executor.py") == [tests / "spark" / "run"]
    assert choose_tests(tmp_path, "model/lake.py") == [other]
