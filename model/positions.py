"""Where a column stands in the join graph, told by random walks.

A join graph has thousands of components, so its smallest Laplacian eigenvectors are an arbitrary
basis of a null space and their signs are arbitrary too. The chance that a walk of t steps is back
where it began has neither fault and is the same for columns in the same role (random-walk
structural encoding; Dwivedi et al., 2022).
"""

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.hypergraph import JoinGraph


def return_probabilities(joins: JoinGraph, steps: int) -> Float32[np.ndarray, "column step"]:
    """Chances that a random walk is back after 1, 2, ... steps.

    Cost is cubic in a component's size, which the join graph bounds.

    Args:
        joins: The join graph.
        steps: Length of the longest walk.

    Returns:
        One row a column; zeros for a column without an edge.
    """
    positions = np.zeros((len(joins.component), steps), dtype=np.float32)
    edges_of = np.argsort(joins.component[joins.left], kind="stable")
    owner = joins.component[joins.left][edges_of]
    for number, members in enumerate(joins.components):
        chosen = edges_of[slice(*np.searchsorted(owner, [number, number + 1]))]
        one = np.searchsorted(members, joins.left[chosen])
        other = np.searchsorted(members, joins.right[chosen])
        linked = np.zeros((len(members), len(members)))
        linked[one, other] = linked[other, one] = 1
        step = linked / linked.sum(axis=1, keepdims=True)
        walk = np.eye(len(members))
        for length in range(steps):
            walk = walk @ step
            positions[members, length] = np.diagonal(walk)
    return positions
