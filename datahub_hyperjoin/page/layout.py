"""Compute where the page's picture shows each table.

Joined tables are close together.
"""

from collections.abc import Iterator, Mapping, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

WIDTH = 1160
_GAP = 26
_SPACE = np.array([160.0, 86.0])
_FIT = np.array([0.86 * WIDTH, np.inf])
_FLAT = 0.25
_ROUNDS = 400

NodePositions = NDArray[np.float64]
NodeSizes = Mapping[int, tuple[float, float]]


def place_nodes(
    graph: nx.Graph, sizes: NodeSizes
) -> tuple[dict[int, tuple[float, float]], int, int]:
    """Compute the position of each node in the picture.

    Equal graphs get equal positions.

    Each connected part is laid out on its own. The parts are then set in rows, largest first, as
    words are in a paragraph; the free space of a row is distributed evenly.

    Args:
        graph: The tables and the joins between them.
        sizes: Width and height of each node with its label.

    Returns:
        The centre of each node, and the width and height of the picture.
    """
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=_by_size)
    boxes = [_arrange(graph.subgraph(part), part, sizes) for part in parts]
    width = max([WIDTH, *(int(np.ceil(extent[0])) for _, extent in boxes)])
    centres: dict[int, tuple[float, float]] = {}
    top = 0.0
    for row in _rows([extent for _, extent in boxes], width):
        height = max(boxes[part][1][1] for part in row)
        free = width - sum(boxes[part][1][0] for part in row)
        gap = free / (len(row) + 1)
        left = gap
        for part in row:
            points, extent = boxes[part]
            upper = top + (height - extent[1]) / 2
            centres |= {
                node: (left + x, upper + y)
                for node, (x, y) in zip(parts[part], points, strict=True)
            }
            left += extent[0] + gap
        top += height + _GAP
    return centres, width, int(np.ceil(max(top - _GAP, 0)))


def _by_size(part: Sequence[int]) -> tuple[int, Sequence[int]]:
    return -len(part), part


def _arrange(
    graph: nx.Graph, part: Sequence[int], sizes: NodeSizes
) -> tuple[NodePositions, NodePositions]:
    """Place the nodes of one connected part of the graph.

    The part's upper left corner is at the origin.

    Returns:
        The centres of the nodes, and the width and height of the part.
    """
    # The layout depends on the order of nodes and edges.
    ordered = nx.Graph()
    ordered.add_nodes_from(part)
    ordered.add_edges_from(sorted(graph.edges))
    layout = nx.kamada_kawai_layout(ordered, weight=None)
    points = np.array([layout[node] for node in part])
    # Landscape parts leave less space empty.
    if np.ptp(points[:, 1]) > np.ptp(points[:, 0]):
        points = points[:, ::-1]
    boxes = np.array([sizes[node] for node in part])
    points *= np.minimum(np.sqrt(len(part)) * _SPACE, _FIT) / np.maximum(
        np.ptp(points, axis=0), _FLAT
    )
    points = _push_apart(points, boxes)
    points -= (points - boxes / 2).min(axis=0)
    return points, (points + boxes / 2).max(axis=0)


def _push_apart(points: NodePositions, boxes: NodePositions) -> NodePositions:
    """Move overlapping boxes apart.

    Two boxes overlap if their centres are closer than the mean of their sizes on both axes. Both
    move along the axis on which they overlap less, each by 35 % of the overlap. That is less than
    half, to damp groups of boxes that push one another.
    """
    reach = (boxes[:, None] + boxes[None]) / 2
    order = np.sign(np.arange(len(points))[:, None] - np.arange(len(points))[None])
    for _ in range(_ROUNDS):
        distance = points[:, None] - points[None]
        overlap = reach - np.abs(distance)
        collides = (overlap > 0).all(axis=2) & (order != 0)
        if not collides.any():
            break
        is_horizontal = overlap[..., 0] < overlap[..., 1]
        axes = np.stack([is_horizontal, ~is_horizontal], axis=2) & collides[..., None]
        # Boxes at the same place move apart in the order of their numbers.
        direction = np.where(distance == 0, order[..., None], np.sign(distance))
        step = np.where(axes, overlap * direction, 0)
        points = points + step.sum(axis=1) * 0.35
    return points


def _rows(extents: Sequence[NodePositions], width: int) -> Iterator[list[int]]:
    row: list[int] = []
    used = 0.0
    for number, extent in enumerate(extents):
        if row and used + extent[0] + _GAP > width:
            yield row
            row, used = [], 0.0
        row.append(number)
        used += extent[0] + _GAP
    if row:
        yield row
