"""The picture on top of the page: which tables join with which."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from datahub_hyperjoin.page.contents import Contents
from datahub_hyperjoin.page.layout import place_nodes

MOST_TABLES = 120
MOST_LINES = 300
COLOURS = 8
_TOLD = 6
_LABEL = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A table as a disc."""

    table: int
    """Its place among the page's tables."""

    x: float
    """Middle of the disc, from the left."""

    y: float
    """Middle of the disc, from the top."""

    radius: float
    """Grows with the number of tables it joins with."""

    colour: int
    """Its publisher's place among the publishers; one beyond the colours for all the rest."""

    label: str
    """Its title, shortened."""

    told: str
    """What is said of it when it is pointed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All joins between two tables."""

    tables: tuple[int, int]
    """The tables' places among the page's tables."""

    ends: tuple[float, float, float, float]
    """From where to where: x, y, x, y."""

    weight: float
    """The best joinability among them, in [0, 1]."""

    told: str
    """What is said of it when it is pointed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Discs and lines in one coordinate system."""

    width: int
    """Its width."""

    height: int
    """Its height; 0 when nothing joins."""

    nodes: tuple[Node, ...]
    """The tables with the most neighbours."""

    lines: tuple[Line, ...]
    """Joins between them, the weakest first."""

    tables_left_out: int
    """Tables that join and are not drawn."""

    lines_left_out: int
    """Pairs of drawn tables whose line is not drawn."""


def draw_tables(contents: Contents) -> Picture:
    """Draws the tables that join.

    Args:
        contents: Tables, columns and joins.

    Returns:
        At most `MOST_TABLES` tables and about `MOST_LINES` lines.
    """
    whole = _join_tables(contents)
    busiest = sorted(whole, key=lambda table: (-whole.degree[table], table))[:MOST_TABLES]
    drawn = whole.subgraph(sorted(busiest))
    kept = _thin_out(drawn)
    radii = {table: 5 + 3.6 * math.log1p(whole.degree[table]) for table in drawn}
    labels = {table: _shorten(str(contents.tables[table][1])) for table in drawn}
    sizes = {
        table: (max(2 * radii[table], 6.9 * len(labels[table])) + 14, 2 * radii[table] + 30)
        for table in drawn
    }
    places, width, height = place_nodes(kept, sizes)
    spots = {table: (round(x, 1), round(y - 8, 1)) for table, (x, y) in places.items()}
    nodes = (
        Node(
            table=table,
            x=spots[table][0],
            y=spots[table][1],
            radius=round(radii[table], 1),
            colour=min(int(contents.tables[table][2]), COLOURS),
            label=labels[table],
            told=_tell_table(contents, table, whole.degree[table]),
        )
        for table in sorted(drawn)
    )
    return Picture(
        width=width,
        height=height,
        nodes=tuple(nodes),
        lines=tuple(_lines(contents, kept, spots)),
        tables_left_out=len(whole) - len(drawn),
        lines_left_out=drawn.number_of_edges() - kept.number_of_edges(),
    )


def _join_tables(contents: Contents) -> nx.Graph:
    """Tables as nodes; an edge keeps its joins, best first."""
    graph = nx.Graph()
    for join in contents.joins:
        left, right = int(join[0]), int(join[1])
        ends = int(contents.columns[left][0]), int(contents.columns[right][0])
        if ends[0] == ends[1]:
            continue
        if not graph.has_edge(*ends):
            graph.add_edge(*ends, joins=[])
        score = max(float(join[3]), float(join[5]))
        graph.edges[ends]["joins"].append((-score, left, right))
    for _, _, edge in graph.edges(data=True):
        edge["joins"].sort()
        edge["weight"] = -edge["joins"][0][0]
    return graph


def _thin_out(graph: nx.Graph) -> nx.Graph:
    """The strongest lines, and those without which parts would fall apart."""
    ranked = sorted(
        graph.edges(data=True), key=lambda edge: (-edge[2]["weight"], *sorted(edge[:2]))
    )
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(ranked)
    kept = nx.maximum_spanning_tree(ordered)
    kept.add_edges_from(ranked[:MOST_LINES])
    return kept


def _lines(
    contents: Contents, graph: nx.Graph, spots: dict[int, tuple[float, float]]
) -> Iterator[Line]:
    edges = ((*sorted((a, b)), edge) for a, b, edge in graph.edges(data=True))
    for a, b, edge in sorted(edges, key=lambda each: (each[2]["weight"], each[0], each[1])):
        yield Line(
            tables=(a, b),
            ends=(*spots[a], *spots[b]),
            weight=edge["weight"],
            told=_tell_joins(contents, (a, b), edge["joins"]),
        )


def _tell_table(contents: Contents, table: int, neighbours: int) -> str:
    _, title, publisher, *_ = contents.tables[table]
    tables = "1 table" if neighbours == 1 else f"{neighbours} tables"
    return f"{title}\n{contents.publishers[int(publisher)]} · joins with {tables}"


def _tell_joins(
    contents: Contents, tables: tuple[int, int], joins: Sequence[tuple[float, int, int]]
) -> str:
    titles = [str(contents.tables[table][1]) for table in tables]
    told = [_tell_join(contents, tables, join) for join in joins[:_TOLD]]
    more = [f"and {len(joins) - _TOLD} more"] if len(joins) > _TOLD else []
    return "\n".join([" – ".join(titles), *told, *more])


def _tell_join(contents: Contents, tables: Iterable[int], join: tuple[float, int, int]) -> str:
    path = {contents.columns[column][0]: contents.columns[column][1] for column in join[1:]}
    left, right = (path[table] for table in tables)
    return f"{left} = {right} · {-join[0]:.2f}"


def _shorten(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
