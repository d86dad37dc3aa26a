import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Suggestion,
    Verdict,
)
from datahub_hyperjoin.locations import File, FileFormat
from datahub_hyperjoin.page import write_page
from datahub_hyperjoin.page.contents import MOST_JOINS, list_contents
from datahub_hyperjoin.page.layout import place_nodes
from datahub_hyperjoin.page.picture import MOST_LINES, MOST_TABLES, draw_tables
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
    TableProfile,
)

EVIDENCE = Evidence(
    shared=3322,
    left_containment=1.0,
    right_containment=0.25,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=101.4,
    right_fan_out=0.99,
)


def column(name: str) -> ColumnId:
    """A column as `publisher/table.column`."""
    table, _, path = name.rpartition(".")
    return ColumnId(TableId("file", f"{table}.csv"), path)


def profiled(id_: ColumnId) -> ColumnProfile:
    return ColumnProfile(
        id=id_,
        position=0,
        type=DataType.TEXT,
        rows=10,
        nulls=0,
        distinct=10,
        sketch=b"",
        sample=("N14228",),
        counts=(1,),
        lengths=Lengths(shortest=6, mean=6.0, longest=6),
        patterns=(),
    )


def profile(id_: TableId, columns: Sequence[ColumnId] = (), fault: str = "") -> TableProfile:
    table = Table(
        id=id_, title=Path(id_.name).stem, location=File(uri="", format=FileFormat.CSV), size=1
    )
    return TableProfile(table=table, columns=tuple(map(profiled, columns)), rows=10, fault=fault)


def profiles(*columns: ColumnId) -> list[TableProfile]:
    tables = groupby(sorted(columns), key=attrgetter("table"))
    return [profile(id_, tuple(group)) for id_, group in tables]


CATALOG_EVIDENCE = CatalogEvidence(declared="fk_plane", verdict=Verdict.ACCEPTED)


def join(first: ColumnId, second: ColumnId, score: float = 0.9) -> Join:
    left, right = sorted((first, second))
    return Join(
        left=left, right=right, joinability=score, evidence=EVIDENCE, catalog=CATALOG_EVIDENCE
    )


def suggestion(query: ColumnId, candidate: ColumnId, score: float = 0.9) -> Suggestion:
    return Suggestion(query=query, candidate=candidate, rank=1, joinability=score)


FLIGHTS = column("nycflights13/flights.tailnum")
PLANES = column("nycflights13/planes.tailnum")
TEAMS = column("lahman/Teams.teamID")


def write(
    path: Path,
    columns: Sequence[ColumnId],
    joins: Sequence[Join] = (),
    suggestions: Sequence[Suggestion] = (),
    extra: Sequence[TableProfile] = (),
) -> str:
    write_page(
        path,
        title="Suggested joins",
        profiles=[*profiles(*columns), *extra],
        keys=columns,
        suggestions=suggestions,
        joins=joins,
    )
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, list[Any]]:
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data
    return json.loads(data[1])


def lake(tables: int, keys: int) -> list[ColumnId]:
    return [
        column(f"publisher{t % 12}/table{t:05}.key{k}") for t in range(tables) for k in range(keys)
    ]


@pytest.fixture
def page(tmp_path: Path) -> str:
    return write(
        tmp_path / "new" / "page.html",
        [FLIGHTS, PLANES, TEAMS],
        [join(FLIGHTS, PLANES)],
        [suggestion(PLANES, FLIGHTS, 0.8)],
    )


def test_the_header_shows_counts(page: str) -> None:
    counts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert counts == {"tables": "3", "columns": "3", "key columns": "3", "joins": "1"}


def test_a_join_has_its_evidence_and_both_directions(page: str) -> None:
    data = data_of(page)
    notes = "declared as the foreign key fk_plane; accepted by people"
    assert data["joins"] == [[1, 2, 0, 0.9, 1, 0.8, 3322, 1.0, 0.25, "ONE_N", 101.0, 0.99, notes]]
    assert data["columns"][2] == [2, "tailnum", True, "text", 10]
    assert data["tables"][2] == ["nycflights13/planes.csv", "planes", 0, 10, 1]
    assert data["publishers"] == ["nycflights13", "lahman"]


def test_the_notes_of_a_join_name_the_entity_kind(tmp_path: Path) -> None:
    coded = replace(join(FLIGHTS, PLANES), evidence=replace(EVIDENCE, compared_as="airports"))
    data = data_of(write(tmp_path / "page.html", [FLIGHTS, PLANES], [coded], []))
    notes = "compared as airports; declared as the foreign key fk_plane; accepted by people"
    assert data["joins"][0][-1] == notes


def test_the_picture_shows_the_tables_that_join(page: str) -> None:
    assert re.findall(r"<text .*?>(.*?)</text>", page) == ["flights", "planes"]
    assert 'data-tooltip="flights – planes\ntailnum = tailnum · 0.90"' in page


def test_no_cell_value_reaches_the_page(page: str) -> None:
    assert "N14228" not in page


def test_the_page_loads_nothing_from_the_network(page: str) -> None:
    assert re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?\s*(?:\w+:)?//""", page) == []
    assert re.findall(r"https?://", page) == []
    assert re.findall(r'href="(.*?)"', page) == ["#list"]
    assert "default-src 'none'" in page


def test_equal_results_give_equal_bytes(tmp_path: Path, page: str) -> None:
    again = write(
        tmp_path / "again.html",
        [TEAMS, PLANES, FLIGHTS],
        [join(PLANES, FLIGHTS)],
        [suggestion(PLANES, FLIGHTS, 0.8)],
    )
    assert again == page


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "\"'><img src=x>", "</script>"])
def test_names_are_escaped(tmp_path: Path, evil: str) -> None:
    table = TableId("file", f"{evil}/{evil}.csv")
    strange = ColumnId(table, evil)
    page = write(
        tmp_path / "page.html",
        [strange, TEAMS],
        [join(strange, TEAMS)],
        extra=[profile(TableId("file", "broken.csv"), fault=evil)],
    )
    assert evil not in page.replace("</script>\n", "")
    assert (page.count("<script"), page.count("</script>")) == (2, 2)
    assert "<img" not in page
    assert data_of(page)["columns"][1 if table > TEAMS.table else 0][1] == evil


def test_a_page_without_joins_explains_why(tmp_path: Path) -> None:
    page = write(tmp_path / "page.html", [FLIGHTS, TEAMS])
    assert "No joins found" in page
    assert "<svg" not in page
    assert len(data_of(page)["tables"]) == 2


def test_a_lake_without_tables_has_a_page(tmp_path: Path) -> None:
    assert "No joins found" in write(tmp_path / "page.html", [])


def test_a_skipped_table_is_named_with_its_error(tmp_path: Path) -> None:
    broken = profile(TableId("file", "vega/broken.csv"), fault="is an empty file")
    page = write(tmp_path / "page.html", [TEAMS], extra=[broken])
    assert "<b>vega/broken.csv</b> is an empty file" in page
    assert len(data_of(page)["tables"]) == 1


def test_the_page_of_a_large_lake_has_a_bounded_size(tmp_path: Path) -> None:
    columns = lake(tables=2000, keys=10)
    joins = [
        join(columns[i], columns[(i * 7 + 10 * k) % 20_000]) for i in range(20_000) for k in (1, 2)
    ]
    page = write(tmp_path / "page.html", columns, joins)
    assert len(page) < 4_000_000
    assert page.count('class="node"') == MOST_TABLES
    assert len(data_of(page)["joins"]) == MOST_JOINS
    assert "20,000 more are left out" in page


def test_each_key_keeps_its_best_suggestion_before_any_keeps_its_second() -> None:
    columns = lake(tables=3, keys=1)
    first, second, third = columns
    contents = list_contents(
        profiles(*columns),
        keys=columns,
        suggestions=[suggestion(third, first, 0.4)],
        joins=[join(first, second, 0.9), join(first, third, 0.4)],
    )
    assert [record[:2] for record in contents.joins] == [(0, 2), (0, 1)]


def test_a_disc_grows_with_its_joins_within_limits() -> None:
    columns = lake(tables=400, keys=1)
    joins = [join(columns[0], other) for other in columns[1:]]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    radii = [node.radius for node in draw_tables(contents).nodes]
    assert radii[0] == max(radii) < 30
    assert min(radii) > 5


def test_many_joins_of_two_tables_are_one_line() -> None:
    columns = lake(tables=2, keys=8)
    joins = [join(one, other, 0.5) for one, other in zip(columns[:8], columns[8:], strict=True)]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    (line,) = draw_tables(contents).lines
    assert line.tooltip.splitlines()[0] == "table00000 – table00001"
    assert line.tooltip.splitlines()[-1] == "and 2 more"


def test_thinning_a_dense_picture_keeps_it_connected() -> None:
    columns = lake(tables=60, keys=1)
    joins = [join(one, other) for one, other in combinations(columns, 2)]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    picture = draw_tables(contents)
    drawn = nx.Graph(line.tables for line in picture.lines)
    assert nx.is_connected(drawn)
    assert len(drawn) == 60
    assert len(picture.lines) <= MOST_LINES + 59
    assert len(picture.lines) + picture.lines_left_out == len(joins)


def clashes(places: dict[int, tuple[float, float]], size: tuple[float, float]) -> Iterator[object]:
    for one, other in combinations(places.values(), 2):
        if abs(one[0] - other[0]) < size[0] - 1 and abs(one[1] - other[1]) < size[1] - 1:
            yield one, other


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(2),
        nx.star_graph(30),
        nx.balanced_tree(3, 3),
        nx.Graph([(0, 1), (2, 3), (3, 4)]),
    ],
    ids=["pair", "star", "tree", "parts"],
)
def test_labels_do_not_overlap(graph: nx.Graph) -> None:
    size = (90.0, 40.0)
    places, width, height = place_nodes(graph, dict.fromkeys(graph, size))
    assert list(clashes(places, size)) == []
    assert all(44 < x < width - 44 and 19 < y < height - 19 for x, y in places.values())
