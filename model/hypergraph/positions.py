"""Positional encodings of columns on the join graph.

A join graph has thousands of components, so the smallest Laplacian eigenvectors of the whole graph
are an arbitrary basis of a null space, and their signs are arbitrary too. The probability that a
random walk of t steps returns to its start has neither defect, and it is equal for columns in the
same role (random-walk structural encoding; Dwivedi et al., 2022). The paper's eigenvectors are
computed for each component separately, where only one of them is trivial.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse
from scipy.sparse.linalg import eigsh
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import ModelConfig, Positions
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.signals.pairs import ColumnInts

_EQUAL = 1e-6  # difference below which two numbers are equal except for rounding
_DENSE = 512  # number of columns up to which all eigenvectors of a component are computed


def _split_components(
    joins: JoinGraph,
) -> Iterator[tuple[Int[np.ndarray, " member"], sparse.csr_array]]:
    """Yield the columns and the adjacency matrix of each connected component."""
    # Edges are sorted by component once, so each component is a slice of them: the cost of all
    # components together is that of one sort.
    edges_of = np.argsort(joins.component[joins.left], kind="stable")
    owner = joins.component[joins.left][edges_of]
    for number, members in enumerate(joins.components):
        edges = edges_of[slice(*np.searchsorted(owner, [number, number + 1]))]
        left = np.searchsorted(members, joins.left[edges])
        right = np.searchsorted(members, joins.right[edges])
        ends = np.concatenate([left, right]), np.concatenate([right, left])
        shape = len(members), len(members)
        linked = sparse.csr_array((np.ones(len(ends[0])), ends), shape=shape)
        yield members, linked.sign()  # an edge in both directions was counted twice


def return_probabilities(joins: JoinGraph, steps: int) -> Float32[np.ndarray, "column step"]:
    """For each walk length, compute the probability that a walk returns to its start column."""
    # The cost is cubic in the size of a component, which the join graph bounds.
    positions = np.zeros((len(joins.component), steps), dtype=np.float32)
    for members, linked in _split_components(joins):
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
    """Compute the smallest eigenvalues of a component's Laplacian, with their eigenvectors."""
    # Small components are solved densely, which also gives all equal eigenvalues. For large ones,
    # the iteration looks for the greatest eigenvalues of I - L instead, where it converges faster.
    scale = sparse.diags_array(1 / np.sqrt(linked.sum(axis=1)))
    similar = scale @ linked @ scale
    if linked.shape[0] <= max(_DENSE, count):
        values, vectors = np.linalg.eigh(np.eye(linked.shape[0]) - similar.toarray())
        return values, vectors
    # The default start is random, and so would be the signs and bases that are found.
    start = np.random.default_rng(0).normal(size=linked.shape[0])
    values, vectors = eigsh(similar, k=count, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    return 1 - values[order], vectors[:, order]


def canonical_basis(
    vectors: Float[np.ndarray, "member eigenvalue"],
) -> Iterator[Float[np.ndarray, " member"]]:
    """From any basis of an eigenspace, compute a basis that is the same in every run."""
    # Solvers return an arbitrary basis. Here, each vector is the projection onto the space of the
    # member that is closest to the space (of several, the first); the next vector comes from the
    # rest of the space. The greatest entry of a vector is therefore positive, which also settles
    # the sign.
    for _ in range(vectors.shape[1]):
        near = (vectors * vectors).sum(axis=1)
        pivot = int(np.argmax(near >= near.max() - _EQUAL))
        vector = vectors @ vectors[pivot] / np.sqrt(near[pivot])
        vectors = vectors - np.outer(vector, vector @ vectors)
        yield vector


def laplacian_eigenvectors(
    joins: JoinGraph, order: ColumnInts, count: int
) -> Float32[np.ndarray, "column eigenvector"]:
    """Compute the first Laplacian eigenvectors of each component (paper, section 4.2)."""
    # The eigenvector of eigenvalue 0 only counts neighbours and is skipped. Signs and the basis for
    # equal eigenvalues are arbitrary; `order` settles both. The cost is cubic in the size of a
    # component up to 512 columns, and about proportional to its edges beyond.
    positions = np.zeros((len(joins.component), count), dtype=np.float32)
    for members, linked in _split_components(joins):
        # In the order of names, so that the result does not depend on that of the tables.
        named = np.argsort(order[members])
        values, vectors = _smallest(linked[named][:, named], count + 1)
        cuts = np.flatnonzero(np.diff(values[1:]) > _EQUAL) + 1
        spaces = np.split(vectors[:, 1:], cuts, axis=1)
        pinned = [vector for space in spaces for vector in canonical_basis(space)][:count]
        positions[members[named], : len(pinned)] = np.stack(pinned, axis=1)
    return positions


def find_positions(index: LakeIndex, config: ModelConfig) -> Float32[np.ndarray, "column position"]:
    """Compute the positional encoding of each column."""
    joins, count = index.joins, config.setting.walk_length
    match config.setting.positions:
        case Positions.WALKS:
            return return_probabilities(joins, count)
        case Positions.LAPLACIAN:
            by_name = np.argsort([str(column) for column in index.lake.ids], kind="stable")
            return laplacian_eigenvectors(joins, np.argsort(by_name), count)
        case Positions.NONE:
            return np.zeros((len(joins.component), count), dtype=np.float32)
    assert_never(config.setting.positions)
