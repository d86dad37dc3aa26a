"""Test the hash of many strings against a plain loop, and against PostgreSQL."""

from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from lookup3 import hash_text
from servers import serving
from sqlalchemy import text

from datahub_hyperjoin.arrow_bytes import StringBytes
from datahub_hyperjoin.lookup3 import hash_strings

LENGTHS = [*range(40), 255, 256, 5000]


def hashes_of(texts: list[str]) -> list[int]:
    return hash_strings(StringBytes.of(pa.array(texts, pa.string()))).tolist()


@given(st.lists(st.text(max_size=60), max_size=20))
def test_hashes_are_those_of_a_plain_loop(texts: list[str]) -> None:
    assert hashes_of(texts) == [hash_text(one) for one in texts]


def test_a_slice_of_an_array_is_hashed_like_a_copy() -> None:
    whole = pa.array([f"value {at}" for at in range(9000)])
    part = hash_strings(StringBytes.of(whole[7:8999]))
    assert part.tolist() == hashes_of(whole[7:8999].to_pylist())


def test_postgresql_computes_the_same_hashes(tmp_path: Path) -> None:
    texts = [*("köln" + "x" * length for length in LENGTHS), "", "a", "名前"]
    with serving("postgresql", tmp_path) as server, server.engine.connect() as connection:
        statement = text("SELECT hashtextextended(v, 0) FROM unnest(:texts) AS v")
        found = [hash_ % 2**64 for (hash_,) in connection.execute(statement, {"texts": texts})]
    assert found == hashes_of(texts)
