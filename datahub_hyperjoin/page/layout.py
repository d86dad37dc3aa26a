"""Where the tables of the picture stand: parts that join near each other, labels apart."""

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
    """Finds a place for every node; the same graph always gets the same places.

    Args:
        graph: What joins with what.
        sizes: Width and height that each node takes, its label included.

    Returns:
        The middle of each node, and the width and height of the whole.
    """
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=_by_size)
    boxes = [_arrange(graph.subgraph(part), part, sizes) for part in parts]
    width = max([WIDTH, *(int(np.ceil(extent[0])) for _, extent in boxes)])
    places: dict[int, tuple[float, float]] = {}
    top = 0.0
    for row in _rows([extent for _, extent in boxes], width):
        height = max(boxes[part][1][1] for part in row)
        spare = width - sum(boxes[part][1][0] for part in row)
        gap = spare / (len(row) + 1)
        left = gap
        for part in row:
            points, extent = boxes[part]
            down = top + (height - extent[1]) / 2
            places |= {
                node: (left + x, down + y) for node, (x, y) in zip(parts[part], points, strict=True)
            }
            left += extent[0] + gap
        top += height + _GAP
    return places, width, int(np.ceil(max(top - _GAP, 0)))


def _by_size(part: Sequence[int]) -> tuple[int, Sequence[int]]:
    return -len(part), part


def _arrange(
    graph: nx.Graph, part: Sequence[int], sizes: NodeSizes
) -> tuple[NodePositions, NodePositions]:
    """A connected part, with its upper left corner at the origin, and its extent."""
    ordered = nx.Graph()
    ordered.add_nodes_from(part)
    ordered.add_edges_from(sorted(graph.edges))
    found = nx.kamada_kawai_layout(ordered, weight=None)
    points = np.array([found[node] for node in part])
    if np.ptp(points[:, 1]) > np.ptp(points[:, 0]):
        points = points[:, ::-1]
    room = np.array([sizes[node] for node in part])
    points *= np.minimum(np.sqrt(len(part)) * _SPACE, _FIT) / np.maximum(
        np.ptp(points, axis=0), _FLAT
    )
    points = _push_apart(points, room)
    points -= (points - room / 2).min(axis=0)
    return points, (points + room / 2).max(axis=0)


def _push_apart(points: NodePositions, room: NodePositions) -> NodePositions:
    """Moves boxes that overlap along the shorter way out, until none does."""
    reach = (room[:, None] + room[None]) / 2
    order = np.sign(np.arange(len(points))[:, None] - np.arange(len(points))[None])
    for _ in range(_ROUNDS):
        apart = points[:, None] - points[None]
        over = reach - np.abs(apart)
        clash = (over > 0).all(axis=2) & (order != 0)
        if not clash.any():
            break
        sideways = over[..., 0] < over[..., 1]
        way = np.where(apart == 0, order[..., None], np.sign(apart))
        step = np.where(np.stack([sideways, ~sideways], axis=2) & clash[..., None], over * way, 0)
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
