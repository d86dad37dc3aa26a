"""Test how the keys of a database are changed."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.school.database import Database, Reference
from benchmarks.school.keys import name_after_tables, name_alike, recode
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

LOANS = Database(
    "a/b",
    {
        "loans": pd.DataFrame({"id": ["1", "2", "3"], "member": ["7", "8", ""]}),
        "members": pd.DataFrame({"ID": ["7", "8", "9"], "member_id": ["a", "b", "c"]}),
    },
    (Reference(ColumnName("loans", "member"), ColumnName("members", "ID")),),
)


@pytest.mark.parametrize("seed", range(9))
def test_keys_are_named_after_their_tables(seed: int) -> None:
    named = name_after_tables(LOANS, np.random.default_rng(seed))
    loan, _ = map(str, named.tables["loans"])
    assert loan in {"loans_id", "loan_id", "loanid", "l_id"}
    [reference] = named.references
    assert named.has(reference.origin)
    assert named.has(reference.target)
    assert named.containment(reference) == 1
    # A name that the table has already stays with its column.
    assert [*named.tables["members"]].count("member_id") == 1


def test_columns_are_called_like_the_renamed_keys_to_which_they_refer() -> None:
    tables = {"users": ["id"], "posts": ["id", "user_id", "last_user_id", "by"]}
    ends = [ColumnName("posts", name) for name in tables["posts"][1:]]
    posts = Database(
        "a/b",
        {name: pd.DataFrame(columns=columns) for name, columns in tables.items()},
        tuple(Reference(end, ColumnName("users", "id")) for end in ends),
    )
    seen = set()
    for seed in range(40):
        named = name_alike(posts, np.random.default_rng(seed))
        [key] = named.tables["users"]
        own, plain, role, other = named.tables["posts"]
        assert own == "id"
        assert other == "by"
        assert plain in {key, "user_id"}
        assert role in {f"last_{key}", "last_user_id"}
        assert {one.origin.column for one in named.references} == {plain, role, "by"}
        seen.add(key)
    assert {"user_id", "userid", "uid", "user_key"} <= seen


def test_some_keys_become_codes_or_words_everywhere() -> None:
    changed = 0
    for seed in range(40):
        recoded = recode(LOANS, np.random.default_rng(seed))
        key = recoded.tables["members"]["ID"]
        changed += not key.str.isdecimal().all()
        assert key.is_unique
        assert recoded.tables["loans"]["member"].tolist() == [*key[:2], ""]
        assert recoded.tables["loans"]["id"].tolist() == ["1", "2", "3"]
    assert 0 < changed < 40
