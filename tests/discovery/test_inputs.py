"""Test how folders and databases are recognised, and which names their tables get."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.sources import Source, list_sources
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from engines.servers import KINDS, Server, serving


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as found:
        found.run("CREATE TABLE flights (carrier VARCHAR(2))")
        yield found


def names(*sources: Source, copies: Path) -> list[str]:
    return [str(table.id) for table in list_sources(sources, copies, RunProgress())]


def test_a_database_is_read_by_its_url(server: Server, tmp_path: Path) -> None:
    # A URL that names no driver, as other tools write it.
    system, _, rest = server.url.partition("://")
    url = f"{system.partition('+')[0]}://{rest}"
    tables = list_sources([url], tmp_path, RunProgress())
    prefix = f"{server.schema}." if server.kind == "postgresql" else ""
    [table] = [each for each in tables if str(each.id) == f"{prefix}flights"]
    assert isinstance(table.location, Relation)
    assert table.location.schema == server.schema
    assert table.chosen_by == ""


def test_several_sources_get_prefixes(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "{old}" / "shop"
    other.mkdir(parents=True)
    (other / "orders.csv").write_text("id\n1\n")
    frames = {"orders": pd.DataFrame({"id": [1]})}
    assert names(folder, str(other), frames, copies=tmp_path) == [
        "shop/customers.csv",
        "shop/orders.csv",
        "shop/regions.csv",
        "shop-2/orders.csv",
        "frames.orders",
    ]
    assert names(other.parent, folder, copies=tmp_path)[0] == "{old}/shop/orders.csv"


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    url = "postgresql://reader:secret@127.0.0.1:1/shop"
    with pytest.raises(UnreachableDatabaseError) as caught:
        list_sources([url], tmp_path, RunProgress())
    assert "postgresql://reader:***@127.0.0.1:1/shop" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["flights"], ["kept", "v_flights"]),
        (["*flights"], ["kept"]),
        (["v_*"], ["flights", "kept"]),
        (["flight"], ["flights", "kept", "v_flights"]),
    ],
)
def test_tables_of_a_database_can_be_excluded(
    server: Server, tmp_path: Path, patterns: list[str], expected: list[str]
) -> None:
    server.run("CREATE VIEW v_flights AS SELECT carrier FROM flights")
    progress = RunProgress()
    # Another table, without which nothing might be left.
    server.run("CREATE TABLE kept (id INTEGER)")
    tables = list_sources([server.url], tmp_path, progress, patterns)
    places = [table.location for table in tables if isinstance(table.location, Relation)]
    found = [place.name for place in places if place.schema == server.schema]
    assert found == expected
    unused = [each.context for each in progress.warnings if each.title == "Nothing excluded"]
    assert unused == ([] if patterns != ["flight"] else ["no table fits 'flight'"])


def test_files_and_frames_can_be_excluded(folder: Path, tmp_path: Path) -> None:
    frames = {"orders": pd.DataFrame({"id": [1]}), "odd": pd.DataFrame({"id": [1]})}

    def kept(*patterns: str) -> list[str]:
        found = list_sources([folder, frames], tmp_path, RunProgress(), patterns)
        return [str(table.id) for table in found]

    assert kept("shop/orders.csv", "odd") == [
        "shop/customers.csv",
        "shop/regions.csv",
        "frames.orders",
    ]
    assert kept("orders*") == ["shop/customers.csv", "shop/regions.csv", "frames.odd"]
    message = "all tables of 'the dict of data frames' are excluded. Exclude fewer with `--exclude`"
    with pytest.raises(UnusableSourceError, match=message):
        kept("frames.*")
    with pytest.raises(UnusableSourceError, match="are excluded"):
        kept("*.csv")
