"""Draw a picture of the tables and the joins between them, for the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.page.contents import Contents, Record
from datahub_hyperjoin.page.layout import place_nodes
from datahub_hyperjoin.wording import count_others

MOST_TABLES = 120
MOST_LINES = 300
COLOURS = 8
_MOST_TOOLTIP_JOINS = 6
_LONGEST_LABEL = 20
_ARROWS = {1: "→", -1: "←", 0: "="}

_Drawn = tuple[int, float, int, int, int]
"""The place of a join's role, its negative score, its left and right column, and its direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A table in the picture, drawn as a disc."""

    table: int
    """Its index in the page's tables."""

    x: float
    """Horizontal position of the centre, from the left."""

    y: float
    """Vertical position of the centre, from the top."""

    radius: float
    """Radius, which grows with the number of tables that it joins with."""

    colour: int
    """Index of its publisher; `COLOURS` for all publishers without a colour of their own."""

    label: str
    """Its title, shortened."""

    tooltip: str
    """Text shown when the pointer is over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line in the picture, for all joins between two tables."""

    tables: tuple[int, int]
    """Indices of both tables in the page's tables."""

    ends: tuple[float, float, float, float]
    """Coordinates of both ends: x, y, x, y."""

    weight: float
    """The best joinability among them, in [0, 1]."""

    is_reference: bool
    """Whether one of them is a reference or one-to-one."""

    tooltip: str
    """Text shown when the pointer is over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The drawn tables and the lines between them."""

    width: int
    """Its width."""

    height: int
    """Its height; 0 without joins."""

    nodes: tuple[Node, ...]
    """The tables with the most neighbours."""

    lines: tuple[Line, ...]
    """Joins between them, the weakest first."""

    tables_left_out: int
    """Number of tables with joins that are not drawn."""

    lines_left_out: int
    """Number of lines between drawn tables that are not drawn."""


def draw_tables(contents: Contents) -> Picture:
    """Draw the tables that have joins, with lines between joined tables.

    Args:
        contents: Tables, columns and joins.

    Returns:
        At most `MOST_TABLES` tables and about `MOST_LINES` lines.
    """
    graph = _join_tables(contents)
    most_joined = sorted(graph, key=lambda table: (-graph.degree[table], table))[:MOST_TABLES]
    drawn = graph.subgraph(sorted(most_joined))
    kept = _thin_out(drawn)
    # The logarithm keeps a table with hundreds of neighbours from covering the others.
    radii = {table: 5 + 3.6 * math.log1p(graph.degree[table]) for table in drawn}
    labels = {table: _shorten(str(contents.tables[table][1])) for table in drawn}
    sizes = {
        # A box holds the disc and the label below it, at 6.9 units for each character.
        table: (max(2 * radii[table], 6.9 * len(labels[table])) + 14, 2 * radii[table] + 30)
        for table in drawn
    }
    positions, width, height = place_nodes(kept, sizes)
    # The label is below the disc, so the disc is above the centre of both.
    centres = {table: (round(x, 1), round(y - 8, 1)) for table, (x, y) in positions.items()}
    nodes = (
        Node(
            table=table,
            x=centres[table][0],
            y=centres[table][1],
            radius=round(radii[table], 1),
            colour=min(int(contents.tables[table][2]), COLOURS),
            label=labels[table],
            tooltip=_table_tooltip(contents, table, graph.degree[table]),
        )
        for table in sorted(drawn)
    )
    return Picture(
        width=width,
        height=height,
        nodes=tuple(nodes),
        lines=tuple(_lines(contents, kept, centres)),
        tables_left_out=len(graph) - len(drawn),
        lines_left_out=drawn.number_of_edges() - kept.number_of_edges(),
    )


def _join_tables(contents: Contents) -> nx.Graph:
    """Build a graph of tables, with edges between joined tables.

    Each edge lists the joins of its tables.

    The best joins of an edge come first.

    A value domain is drawn as a star, since all pairs of its columns say the same.
    """
    graph = nx.Graph()
    for number, join in enumerate(contents.joins):
        if number in contents.skeleton:
            _add_join(graph, contents, join)
    for _, _, edge in graph.edges(data=True):
        edge["joins"].sort()
        edge["is_reference"] = edge["joins"][0][0] < Role.SIBLING.place
        edge["weight"] = max(-other[1] for other in edge["joins"])
        edge["use"] = edge["weight"] + edge["is_reference"]
    return graph


def _add_join(graph: nx.Graph, contents: Contents, join: Record) -> None:
    left, right = int(join[0]), int(join[1])
    ends = int(contents.columns[left][0]), int(contents.columns[right][0])
    # The line of a table to itself would have no length.
    if ends[0] == ends[1]:
        return
    if not graph.has_edge(*ends):
        graph.add_edge(*ends, joins=[])
    score, place, direction = max(float(join[3]), float(join[5])), int(join[13]), int(join[14])
    graph.edges[ends]["joins"].append((place, -score, left, right, direction))


def _thin_out(graph: nx.Graph) -> nx.Graph:
    """Keep the best edges, without separating connected tables.

    An edge with a reference is better than all edges without one.

    The tree ensures that every connected part stays connected.
    """
    ranked = sorted(graph.edges(data=True), key=lambda edge: (-edge[2]["use"], *sorted(edge[:2])))
    # Sorted, so that of equal edges the same ones are kept in every run.
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(ranked)
    kept = nx.maximum_spanning_tree(ordered, weight="use")
    kept.add_edges_from(ranked[:MOST_LINES])
    return kept


def _lines(
    contents: Contents, graph: nx.Graph, centres: dict[int, tuple[float, float]]
) -> Iterator[Line]:
    edges = ((*sorted((a, b)), edge) for a, b, edge in graph.edges(data=True))
    # Strong joins are drawn last, so that they lie over weak ones.
    for a, b, edge in sorted(edges, key=lambda each: (each[2]["weight"], each[0], each[1])):
        yield Line(
            tables=(a, b),
            ends=(*centres[a], *centres[b]),
            weight=edge["weight"],
            is_reference=edge["is_reference"],
            tooltip=_joins_tooltip(contents, (a, b), edge["joins"]),
        )


def _table_tooltip(contents: Contents, table: int, neighbours: int) -> str:
    _, title, publisher, *_ = contents.tables[table]
    tables = "1 table" if neighbours == 1 else f"{neighbours} tables"
    return f"{title}\n{contents.publishers[int(publisher)]} · joins with {tables}"


def _joins_tooltip(contents: Contents, tables: tuple[int, int], joins: Sequence[_Drawn]) -> str:
    titles = [str(contents.tables[table][1]) for table in tables]
    lines = [_join_tooltip(contents, tables, join) for join in joins[:_MOST_TOOLTIP_JOINS]]
    more = count_others(len(joins), _MOST_TOOLTIP_JOINS)
    return "\n".join([" – ".join(titles), *lines, *more])


def _join_tooltip(contents: Contents, tables: tuple[int, int], join: _Drawn) -> str:
    _, score, left, right, direction = join
    path = {contents.columns[column][0]: contents.columns[column][1] for column in (left, right)}
    first, second = (path[table] for table in tables)
    if contents.columns[left][0] != tables[0]:
        direction = -direction
    return f"{first} {_ARROWS[direction]} {second} · {-score:.2f}"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
