"""A small benchmark: the flights of the other tests, with what joins written down."""

from pathlib import Path

import pytest

from lake import write_flights

QUERIES = "table,column,class\nflights,carrier,code\nairlines,carrier,code\nplanes,tailnum,code\n"
TRUTH = """\
query_table,query_column,candidate_table,candidate_column,kind
flights,carrier,airlines,carrier,fk
flights,carrier,delays,carrier,fk
airlines,carrier,flights,carrier,fk
airlines,carrier,delays,carrier,fk
planes,tailnum,flights,tailnum,fk
"""


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    write_flights(folder / "tables")
    folder.joinpath("queries.csv").write_text(QUERIES)
    folder.joinpath("ground_truth.csv").write_text(TRUTH)
    return folder
