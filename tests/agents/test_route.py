"""Test that agents are offered only safe paths of joins.

A path is safe if each of its joins is safe and the rows of one table do not repeat.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.agents.answers import MOST_BYTES, Answer, to_text
from datahub_hyperjoin.agents.path_answers import (
    Ends,
    answer_path,
    choose_rival,
    explain_no_path,
    find_safe_path,
    meant_by,
)
from datahub_hyperjoin.joins import (
    MIN_SCORE,
    UNVERIFIED,
    Cardinality,
    Join,
    Role,
    Verdict,
    reasons_unsafe,
)
from datahub_hyperjoin.joins.path_search import reader_of
from datahub_hyperjoin.joins.paths import JoinPath
from datahub_hyperjoin.tables import TableId
from lakes.chains import N_N, ONE_1, changed, column_at, domain, join

NO_SAFE_JOIN = "no safe join known"
ENDS = TableId("file", "a"), TableId("file", "d")


def ask(
    *joins: Join, ends: str = "ad", most: int | None = None, min_score: float = MIN_SCORE
) -> Answer:
    tables = TableId("file", ends[0]), TableId("file", ends[1])
    return answer(joins, tables, most=most, min_score=min_score)


def answer(
    joins: Sequence[Join],
    ends: Ends,
    chosen: Sequence[Join] = (),
    *,
    most: int | None = None,
    min_score: float = MIN_SCORE,
) -> Answer:
    meant, read = meant_by(ends, chosen), reader_of(joins)
    path = find_safe_path(read, ends, meant, min_score=min_score, most=most)
    if path is None:
        return explain_no_path(read, ends, meant, min_score=min_score, most=most)
    return answer_path(path, filter(meant, joins), {}, min_score=min_score)


def names(entries: Any) -> list[str]:  # noqa: ANN401 - JSON
    return [entry["join"] for entry in entries]


def test_a_safe_path_is_told_with_its_grain_and_sql() -> None:
    found = ask(join("a", "b", 0.9, fan_outs=(0.5, 2.0)), join("b", "d", 0.8))
    assert found == {
        "answer": "safe path",
        "datasets": ["a", "b", "d"],
        "grain": "one row for each row of a that matches",
        "joinability": "0.72 for all joins together",
        "joins": [
            {
                "join": "a.key → b.key",
                "cardinality": "many-to-one",
                "rows": "50% of the rows of a with a value match; each row of b matches "
                "about 2 rows of a",
                "decided": "suggested with joinability 0.90; nobody decided",
            },
            {
                "join": "b.key → d.key",
                "cardinality": "many-to-one, as the catalog states it",
                "decided": "suggested with joinability 0.80; nobody decided",
            },
        ],
        "sql": 'SELECT * FROM a AS t1 JOIN b AS t2 ON t1."key" = t2."key" '
        'JOIN d AS t3 ON t2."key" = t3."key"',
        "sql_is": "not run: check its number of rows",
    }


def test_a_path_may_lead_over_keys_of_several_columns() -> None:
    pairs = tuple((column_at(f"a.{each}"), column_at(f"b.{each}")) for each in ("year", "team"))
    composite = changed(
        join("a", "b", 0.9),
        pairs=pairs,
        referenced=pairs[0][1],
        left_fan_out=1.0,
        right_fan_out=2.0,
    )
    found = ask(composite, join("b", "d", 0.9))
    assert names(found["joins"]) == ["a.year → b.year and a.team → b.team", "b.key → d.key"]
    assert found["sql"].startswith(
        "SELECT * FROM a AS t1 JOIN b AS t2 ON t1.year = t2.year AND t1.team = t2.team JOIN d"
    )


def test_references_in_several_roles_are_a_choice() -> None:
    created = join("a", "d", 0.97, key="created_by")
    approved = join("a", "d", 0.7, key="approved_by")
    found = ask(created, approved)
    assert (found["answer"], found["why"]) == (
        "choose one",
        "several joins of the same datasets give other rows than each other",
    )
    assert found["next"] == "Ask the user which one is meant; then repeat with `using`"
    assert names(found["choices"]) == ["a.created_by → d.key", "a.approved_by → d.key"]
    chosen = answer([created, approved, join("x", "y", 0.9)], ENDS, [approved])
    assert (chosen["answer"], names(chosen["joins"])) == ("safe path", ["a.approved_by → d.key"])


def test_paths_of_as_many_joins_are_a_choice() -> None:
    by_b, by_c = ((join("a", via, 0.95), join(via, "d", 0.9)) for via in "bc")
    found = ask(*by_b, *by_c)
    assert (found["answer"], found["why"]) == (
        "choose one",
        "several paths of as few joins give other rows than each other",
    )
    assert found["next"] == (
        "Ask the user which one is meant; then repeat with `using` and a join of this path"
    )
    rows = "One row for each row of a that matches"
    assert found["paths"] == [
        {"path": "a.key → b.key, then b.key → d.key", "rows": rows},
        {
            "path": "a.key → c.key, then c.key → d.key",
            "rows": f"{rows}, by way of c instead of b",
        },
    ]
    path = find_safe_path(reader_of([*by_b, *by_c]), ENDS, meant_by(ENDS, ()), min_score=MIN_SCORE)
    assert isinstance(path, JoinPath)
    for chosen in (by_b[0], by_c[1]):
        one = choose_rival(path, [chosen])
        assert chosen.urn in {each.urn for each in one.joins}
        assert answer_path(one, [*by_b, *by_c], {}, min_score=MIN_SCORE)["answer"] == "safe path"
    assert choose_rival(path, [join("x", "y", 0.9)]) == path
    # A rival that is not safe is no choice.
    weak = (join("a", "c", 0.6), join("c", "d", 0.9))
    assert ask(*by_b, *weak)["answer"] == "safe path"


def test_a_column_is_a_choice_that_the_user_made() -> None:
    created, approved = (join("a", "d", 0.9, key=key) for key in ("created_by", "approved_by"))
    weak = join("a", "d", 0.5, key="owner")
    end = TableId("file", "d")
    for joins, start, not_used in (
        ([created, approved], column_at("a.approved_by"), []),
        ([created, weak], column_at("a.created_by"), []),
        ([created, weak], created.left.table, ["a.owner → d.key"]),
    ):
        found = answer(joins, (start, end))
        assert (found["answer"], names(found.get("not_used", ()))) == ("safe path", not_used)


def test_a_column_without_a_path_is_named() -> None:
    found = answer([join("a", "d", 0.9)], (column_at("a.note"), ENDS[1]), most=2)
    assert found == {
        "answer": NO_SAFE_JOIN,
        "of": "a.note and d",
        "why": "no path of at most 2 joins over the named columns connects these datasets",
        "next": "Ask the user whether other columns are meant; then repeat without the column",
    }


def test_references_in_opposite_directions_are_a_choice() -> None:
    found = ask(join("a", "d", 0.97, key="department"), join("d", "a", 0.9, key="manager"))
    assert found["answer"] == "choose one"
    assert names(found["choices"]) == ["a.department → d.key", "a.key ← d.manager"]


def test_a_choice_marks_what_is_not_safe() -> None:
    dirty = join("a", "d", 0.9, key="dirty", cardinality=N_N)
    assert ask(join("a", "d", 0.97), changed(dirty, left_fan_out=1.0))["answer"] == "safe path"
    few = changed(dirty, left_fan_out=1.01, left_containment=1.0)
    marks = [entry.get("unsafe", "") for entry in ask(join("a", "d", 0.97), few)["choices"]]
    assert marks == ["", "the key has duplicates, so some rows of a repeat"]


def test_unsafe_rivals_of_a_path_are_named_and_not_used() -> None:
    weak = join("a", "d", 0.5, key="weak")
    detour = (join("a", "b", 0.9), join("b", "d", 0.9))
    found = ask(*detour, weak, changed(weak, verdicts=(Verdict.REJECTED,)), domain("a", "d", 0.9))
    assert found["datasets"] == ["a", "b", "d"]
    assert names(found["not_used"]) == ["a.weak → d.key"]
    (rival,) = found["not_used"]
    assert rival["unsafe"] == "nobody confirmed it, and its joinability 0.50 is below 0.65"
    assert names(ask(join("a", "d", 0.9), weak)["not_used"]) == ["a.weak → d.key"]


def test_without_joins_no_path_is_known() -> None:
    why = "no path connects these datasets"
    assert ask() == {"answer": NO_SAFE_JOIN, "of": "a and d", "why": why}
    rejected = join("a", "d", 0.9, Verdict.REJECTED)
    assert ask(rejected)["why"] == why
    detour = (join("a", "b", 0.9), join("b", "d", 0.9))
    assert ask(*detour, most=1)["why"] == "no path of at most 1 joins connects these datasets"


def test_a_path_is_not_made_of_unsafe_joins() -> None:
    for unsafe, reason in (
        (changed(join("b", "d", 0.9), band=UNVERIFIED), "not verified on data"),
        (domain("b", "d", 0.9, N_N), "the columns hold values of one kind"),
        (join("b", "d", 0.9, cardinality=N_N), "many-to-many"),
        (join("b", "d", 0.5), "nobody confirmed it"),
    ):
        found = ask(join("a", "b", 0.9), unsafe)
        assert (found["answer"], found["why"]) == (
            NO_SAFE_JOIN,
            "the best path needs joins that are not safe",
        )
        (entry,) = found["unsafe"]
        assert entry["join"].startswith("b.key")
        assert entry["unsafe"].startswith(reason)
        assert found["next"].startswith("Do not join them on a guess")


def test_a_key_with_duplicates_is_no_safe_path() -> None:
    dirty = changed(join("a", "d", 0.9, cardinality=N_N), left_fan_out=1.01, left_containment=1.0)
    found = ask(dirty)
    assert found["answer"] == NO_SAFE_JOIN
    reason = "the key has duplicates, so some rows of a repeat"
    assert found["unsafe"][0]["unsafe"] == reason
    detour = ask(dirty, join("a", "b", 0.9), join("b", "d", 0.9))
    assert (detour["answer"], detour["not_used"][0]["unsafe"]) == ("safe path", reason)


def test_many_probable_joins_are_no_safe_path() -> None:
    first, second, third = (join(one, other, 0.8) for one, other in ("ab", "bc", "cd"))
    found = ask(first, second, third)
    assert (found["answer"], found["why"]) == (
        NO_SAFE_JOIN,
        "the best path has 3 joins, and a joinability of only 0.51 for all of them together",
    )
    assert found["next"].startswith("Do not join them on a guess")
    assert names(found["joins"]) == ["a.key → b.key", "b.key → c.key", "c.key → d.key"]
    accepted = changed(second, verdicts=(Verdict.ACCEPTED,))
    assert names(ask(join("a", "b", 0.65), accepted, third)["joins"]) == [
        "a.key → b.key",
        "c.key → d.key",
    ]
    confirmed = ask(first, accepted, third, min_score=0.64)
    assert (confirmed["answer"], confirmed["joinability"]) == (
        "safe path",
        "0.64 for all joins together",
    )


def test_the_grain_at_which_two_datasets_meet_is_named() -> None:
    found = ask(join("a", "p", 0.9), join("d", "p", 0.9))
    assert found["answer"] == NO_SAFE_JOIN
    assert found["why"] == "all rows of both sides that share a row of p would be paired"
    assert found["next"] == "Aggregate a and d to one row for each row of p before joining them"
    assert names(found["joins"]) == ["a.key → p.key", "p.key ← d.key"]
    extended = join("p", "q", 0.9, role=Role.ONE_TO_ONE, cardinality=ONE_1)
    found = ask(join("a", "p", 0.9), extended, join("d", "q", 0.9))
    assert "share a row of q" in found["why"]


def test_only_datasets_that_refer_to_a_row_are_aggregated_to_it() -> None:
    # As payments → orders ← items → products: no product is of one order.
    found = ask(join("a", "p", 0.95), join("c", "p", 0.95), join("c", "d", 0.95))
    assert found["next"] == (
        "Aggregate a and c (joined with d) to one row for each row of p before joining them"
    )
    twice = [join(one, other, 0.95) for one, other in ("ap", "cp", "cq", "dq")]
    assert ask(*twice)["next"] == (
        "Ask the user for which of these datasets the result is to have a row each"
    )


TABLES = "abcd"
SOME_JOIN = st.builds(
    join,
    st.sampled_from(TABLES),
    st.sampled_from(TABLES),
    st.sampled_from([None, 0.2, 0.7, 1.0]),
    cardinality=st.sampled_from(Cardinality),
    role=st.sampled_from(Role),
    key=st.sampled_from("xyz"),
)


@settings(max_examples=30)
@given(st.lists(SOME_JOIN, max_size=8))
def test_every_offered_join_is_safe_and_every_refusal_has_a_reason(
    joins: list[Join],
) -> None:
    # Joins of the same columns with other properties have the same name.
    safe = {
        directed.arrows
        for one in joins
        for directed in (one, one.reversed)
        if not reasons_unsafe(directed, min_score=MIN_SCORE)
    }
    for ends in itertools.permutations(TABLES, 2):
        found = ask(*joins, ends="".join(ends))
        assert len(to_text(found).encode()) <= MOST_BYTES
        if found["answer"] == "safe path":
            assert safe.issuperset(names(found["joins"]))
        elif found["answer"] == NO_SAFE_JOIN:
            assert "row of  would" not in found["why"]
            assert all(entry["unsafe"] for entry in found.get("unsafe", ()))
