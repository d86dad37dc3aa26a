"""Where a column stands in the join graph, told by random walks or by its Laplacian.

A join graph has thousands of components, so the smallest Laplacian eigenvectors of the whole are an
arbitrary basis of a null space, and their signs are arbitrary too. The chance that a walk of t
steps is back where it began has neither fault and is the same for columns in the same role
(random-walk structural encoding; Dwivedi et al., 2022). The paper's eigenvectors are taken
component by component, where only one of them is trivial.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse
from scipy.sparse.linalg import eigsh
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import ModelConfig, Positions
from datahub_hyperjoin.model.hypergraph.hyperedges import JoinGraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex

_EQUAL = 1e-6
"""Numbers closer than this are the same but for rounding."""
_DENSE = 512
"""Columns of a component up to which all its eigenvectors are computed."""


def _linked(
    joins: JoinGraph,
) -> Iterator[tuple[Int[np.ndarray, " member"], sparse.csr_array]]:
    """The columns of each component, and 1 for each two that are neighbours."""
    edges_of = np.argsort(joins.component[joins.left], kind="stable")
    owner = joins.component[joins.left][edges_of]
    for number, members in enumerate(joins.components):
        chosen = edges_of[slice(*np.searchsorted(owner, [number, number + 1]))]
        one = np.searchsorted(members, joins.left[chosen])
        other = np.searchsorted(members, joins.right[chosen])
        ends = np.concatenate([one, other]), np.concatenate([other, one])
        shape = len(members), len(members)
        linked = sparse.csr_array((np.ones(len(ends[0])), ends), shape=shape)
        yield members, linked.sign()


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
    for members, linked in _linked(joins):
        dense = linked.toarray()
        step = dense / dense.sum(axis=1, keepdims=True)
        walk = np.eye(len(members))
        for length in range(steps):
            walk = walk @ step
            positions[members, length] = np.diagonal(walk)
    return positions


def _smallest(
    linked: sparse.csr_array, count: int
) -> tuple[Float[np.ndarray, " eigenvalue"], Float[np.ndarray, "member eigenvalue"]]:
    """The smallest eigenvalues of a component's normalised Laplacian, and their eigenvectors."""
    scale = sparse.diags_array(1 / np.sqrt(linked.sum(axis=1)))
    similar = scale @ linked @ scale
    if linked.shape[0] <= max(_DENSE, count):
        values, vectors = np.linalg.eigh(np.eye(linked.shape[0]) - similar.toarray())
        return values, vectors
    start = np.random.default_rng(0).normal(size=linked.shape[0])
    values, vectors = eigsh(similar, k=count, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    return 1 - values[order], vectors[:, order]


def pin_basis(
    vectors: Float[np.ndarray, "member eigenvalue"],
) -> Iterator[Float[np.ndarray, " member"]]:
    """The one basis of a space of eigenvectors that their computation has no part in.

    Each vector is the projection on the space of the member that the space is closest to, the
    first of several; the next is taken from what is left of the space. Its greatest entry, that
    member's, is therefore positive.

    Args:
        vectors: Any orthonormal basis of the space.

    Yields:
        The vectors of the other.
    """
    for _ in range(vectors.shape[1]):
        near = (vectors * vectors).sum(axis=1)
        pivot = int(np.argmax(near >= near.max() - _EQUAL))
        vector = vectors @ vectors[pivot] / np.sqrt(near[pivot])
        vectors = vectors - np.outer(vector, vector @ vectors)
        yield vector


def laplacian_eigenvectors(
    joins: JoinGraph, order: Int[np.ndarray, " column"], count: int
) -> Float32[np.ndarray, "column eigenvector"]:
    r"""Smallest eigenvectors of $I - D^{-1/2} A D^{-1/2}$ by component (paper, section 4.2).

    The eigenvector of eigenvalue 0 says only how many neighbours a column has and is left out. A
    sign is arbitrary, and so is a basis where eigenvalues are equal, as they are in every symmetric
    component: both are settled by `order`. Cost is cubic in a component's size up to 512 columns,
    and about proportional to its edges beyond, where a fixed start of the iteration settles what
    `count` cuts off in the midst of equal eigenvalues.

    Args:
        joins: The join graph.
        order: A number for each column that does not depend on its place.
        count: How many eigenvectors, k.

    Returns:
        One row a column; zeros for a column without an edge, and where its component has fewer
        eigenvectors.
    """
    positions = np.zeros((len(joins.component), count), dtype=np.float32)
    for members, linked in _linked(joins):
        named = np.argsort(order[members])
        values, vectors = _smallest(linked[named][:, named], count + 1)
        cuts = np.flatnonzero(np.diff(values[1:]) > _EQUAL) + 1
        spaces = np.split(vectors[:, 1:], cuts, axis=1)
        pinned = [vector for space in spaces for vector in pin_basis(space)][:count]
        positions[members[named], : len(pinned)] = np.stack(pinned, axis=1)
    return positions


def find_positions(
    structure: LakeIndex, config: ModelConfig
) -> Float32[np.ndarray, "column position"]:
    """Positions as the configuration names them.

    Args:
        structure: The lake and its join graph.
        config: Which positions, and how long they are.

    Returns:
        One row a column.
    """
    joins, count = structure.joins, config.setting.walk_length
    match config.setting.positions:
        case Positions.WALKS:
            return return_probabilities(joins, count)
        case Positions.LAPLACIAN:
            by_name = np.argsort([str(column) for column in structure.lake.ids], kind="stable")
            return laplacian_eigenvectors(joins, np.argsort(by_name), count)
        case Positions.NONE:
            return np.zeros((len(joins.component), count), dtype=np.float32)
    assert_never(config.setting.positions)
