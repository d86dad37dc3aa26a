"""Test how listed joins are compared with what a person wrote about a lake."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.read_lakes import __main__ as command
from benchmarks.read_lakes.errors import ChangedLakeError
from benchmarks.read_lakes.lists import (
    TRAP,
    ExpectedJoin,
    ReadJoin,
    Verdict,
    read_expected,
    read_verdicts,
)
from benchmarks.read_lakes.make import PublicLake, make_lake, read_public_lakes
from benchmarks.read_lakes.measure import ListedJoin, judge, read_lake
from benchmarks.school.errors import ForbiddenSourceError
from benchmarks.school.sources import read_sources
from datahub_hyperjoin.joins import Role
from lakes.handmade import draw, numbers

LAKES = [lake.lake for lake in read_public_lakes()]


def on(*pairs: str) -> ReadJoin:
    """Return the join of pairs of columns, as in `orders.customer = customers.id`."""
    sides = (pair.split(" = ") for pair in pairs)
    return frozenset(frozenset(_end(text) for text in pair) for pair in sides)


def _end(text: str) -> tuple[str, str]:
    table, _, column = text.rpartition(".")
    return table, column


def listed(*joins: ReadJoin) -> list[ListedJoin]:
    return [ListedJoin(join, Role.REFERENCE, sisters=False) for join in joins]


ORDERED = on("orders.customer = customers.id")
PAID = on("bills.customer = customers.id")
COUNTED = on("orders.pieces = bills.pieces")


def test_every_listed_lake_has_joins_traps_and_verdicts() -> None:
    assert len(LAKES) == len({*LAKES}) == 8
    for lake in LAKES:
        kinds = Counter(one.kind for one in read_expected(lake))
        assert kinds.pop(TRAP) >= 5
        assert kinds.total() >= 10
        assert {*kinds} <= {"reference", "one-to-one", "composite", "same-domain"}
        assert Verdict.USEFUL in read_verdicts(lake).values()


def test_lists_name_lakes_of_the_list_only() -> None:
    folder = Path(command.__file__).parent
    for name in ("expected.csv", "read.csv"):
        lines = folder.joinpath(name).read_text("utf-8").splitlines()
        assert {line.partition(",")[0] for line in lines[1:]} == {*LAKES}


def test_no_lake_teaches() -> None:
    judging, teaching = (
        {name.partition("/")[0].lower() for name in names}
        for names in (
            [lake.source for lake in read_public_lakes()],
            [source.name for source in read_sources()],
        )
    )
    assert judging.isdisjoint(teaching)


def test_a_lake_that_may_not_judge_is_refused(tmp_path: Path) -> None:
    lakes = tmp_path / "lakes.csv"
    lakes.write_text(
        "lake,source,commit,licence,form,path,sha256\nshop,someone/northwind,a,b,c,d,e\n"
    )
    with pytest.raises(ForbiddenSourceError, match="northwind"):
        read_public_lakes(lakes)


@pytest.mark.parametrize(
    ("joins", "recall"),
    [((), 0), ((PAID,), 0), ((ORDERED,), 0.5), ((on("customers.id = orders.customer"), PAID), 0.5)],
)
def test_one_of_several_forms_is_enough(joins: Sequence[ReadJoin], recall: float) -> None:
    expected = [
        ExpectedJoin("reference", (ORDERED, on("orders.mail = customers.mail"))),
        ExpectedJoin("reference", (on("orders.shop = shops.id"),)),
    ]
    tables = ["orders", "customers", "shops"]
    reading = judge("shop", tables, listed(*joins), expected=expected, verdicts={}, seed=1)
    assert reading.recall == recall
    assert len(reading.missing) == (1 if recall else 2)


def test_a_star_counts_each_table_for_its_share() -> None:
    expected = [ExpectedJoin("reference", (on("sales_*.shop = shops.id"),))]
    tables = ["sales_north", "sales_south", "shops"]
    joins = listed(on("sales_south.shop = shops.id"))
    reading = judge("shop", tables, joins, expected=expected, verdicts={}, seed=1)
    assert reading.recall == 0.5
    assert reading.missing == (expected[0],)
    without = judge("shop", ["shops"], joins, expected=expected, verdicts={}, seed=1)
    assert without.recall == 0


def test_a_join_of_several_columns_is_not_a_join_of_one() -> None:
    both = on("a.year = b.year", "a.round = b.round")
    expected = [ExpectedJoin("composite", (both,))]
    one = listed(on("a.year = b.year"))
    assert judge("l", ["a", "b"], one, expected=expected, verdicts={}, seed=1).recall == 0
    assert judge("l", ["a", "b"], listed(both), expected=expected, verdicts={}, seed=1).recall == 1


def test_a_join_behind_five_others_of_both_columns_is_not_among_the_first() -> None:
    others = [f"orders.customer = t{at}.id" for at in range(5)]
    others += [f"customers.id = t{at}.id" for at in range(5)]
    joins = listed(*map(on, others), ORDERED)
    expected = [ExpectedJoin("reference", (ORDERED,))]
    reading = judge("shop", [], joins, expected=expected, verdicts={}, seed=1)
    assert (reading.recall, reading.first) == (1, 0)
    nearer = judge("shop", [], joins[1:], expected=expected, verdicts={}, seed=1)
    assert (nearer.recall, nearer.first) == (1, 1)


def test_traps_count_and_are_not_expected() -> None:
    expected = [ExpectedJoin("reference", (ORDERED,)), ExpectedJoin(TRAP, (COUNTED,))]
    reading = judge("shop", [], listed(COUNTED), expected=expected, verdicts={}, seed=1)
    assert (reading.recall, reading.traps) == (0, 1)


def test_verdicts_count_at_the_top_and_at_random() -> None:
    later = [on(f"a{at}.x = b{at}.x") for at in range(60)]
    verdicts = {ORDERED: Verdict.USEFUL, COUNTED: Verdict.WRONG, later[-1]: Verdict.WRONG}
    joins = listed(ORDERED, COUNTED, *later)
    reading = judge("shop", [], joins, expected=[], verdicts=verdicts, seed=1)
    assert reading.top == {Verdict.USEFUL: 1, Verdict.WRONG: 1, Verdict.UNLABELLED: 38}
    assert reading.drawn.total() == 40
    again = judge("shop", [], joins, expected=[], verdicts=verdicts, seed=1)
    draws = [judge("shop", [], joins, expected=[], verdicts=verdicts, seed=at) for at in range(9)]
    assert reading.drawn == again.drawn
    assert len({tuple(sorted(draw.drawn.items(), key=str)) for draw in draws}) > 1


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    customers = numbers(101, 161)
    for year in ("north", "south"):
        rows = zip(numbers(5000, 5100), draw(customers, 100), strict=True)
        lines = ["code,customer_id", *map(",".join, rows)]
        _write(tmp_path / f"repository/orders/{year}.csv", lines)
    _write(tmp_path / "repository/customer.csv", ["customer_id", *customers])
    _write(tmp_path / "repository/notes.txt", ["no table"])
    _write(
        tmp_path / "repository/shop.sql",
        [
            "CREATE TABLE shop (id int, name text);",
            "CREATE TABLE empty (id int);",
            "INSERT INTO shop VALUES (1, 'North'), (2, 'South');",
        ],
    )
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add tables"]):
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *arguments], cwd=tmp_path / "repository", check=True)
    return tmp_path


def _write(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", "utf-8")


def public(shop: Path, form: str, path: str) -> PublicLake:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=shop / "repository", check=True, capture_output=True
    )
    mirror = shop / "mirror" / "someone+shop"
    mirror.parent.mkdir(exist_ok=True)
    if not mirror.exists():
        mirror.symlink_to(shop / "repository/.git")
    name = commit.stdout.decode().strip()
    return PublicLake("shop", "someone/shop", name, "MIT", form, path, "")


def made(shop: Path, lake: PublicLake) -> Path:
    """Make a lake after its hash was told."""
    where = {"cache": shop / "cache", "mirror": shop / "mirror"}
    with pytest.raises(
        ChangedLakeError, match=r"^shop: the hash of its tables is \w+, not \."
    ) as told:
        make_lake(lake, shop / "lakes", **where)
    assert str(told.value).endswith("Correct its commit or path in lakes.csv")
    right = str(told.value).split()[7].rstrip(",")
    return make_lake(replace(lake, sha256=right), shop / "lakes", **where)


def test_files_of_a_repository_are_copied(shop: Path) -> None:
    folder = made(shop, public(shop, "files", "*.csv"))
    names = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert names == {"customer.csv", "orders/north.csv", "orders/south.csv"}


def test_rows_of_sql_are_written_as_csv(shop: Path) -> None:
    folder = made(shop, public(shop, "sql", "*.sql"))
    assert [file.name for file in folder.iterdir()] == ["shop.csv"]
    assert folder.joinpath("shop.csv").read_text("utf-8") == "id,name\n1,North\n2,South\n"


def test_the_command_prints_a_line_for_each_lake(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = public(shop, "files", "*.csv")
    made(shop, lake)
    monkeypatch.setattr(command, "read_public_lakes", lambda: [lake, replace(lake, lake="other")])
    command.main([str(shop / "lakes"), "--only", "shop", "--list"])
    head, line, *below = capsys.readouterr().out.splitlines()
    figures = dict(zip(head.split(" | "), line.split(" | "), strict=True))
    assert (figures["lake"], figures["tables"]) == ("shop", "3")
    assert int(figures["joins"]) == len(below)
    assert all(text.startswith("  unlabelled: ") for text in below)
    reading = read_lake(shop / "lakes" / "shop")
    assert str(reading.joins[0]) in below[0]
    assert [join.sisters for join in reading.joins].count(True) == int(figures["sisters"])


def test_the_command_names_a_lake_that_changed(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = public(shop, "files", "*.csv")
    monkeypatch.setattr(command, "read_public_lakes", lambda: [lake])
    where = ["--cache", str(shop / "cache"), "--mirror", str(shop / "mirror")]
    with pytest.raises(SystemExit, match="shop: the hash of its tables"):
        command.main([str(shop / "lakes"), *where])
