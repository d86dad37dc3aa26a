"""The optimizers of the network.

Sparse Adam updates the vector of each table, and plain Adam updates all other weights.

A lake may have a hundred thousand tables, each with a vector. Plain Adam computes a gradient for
all of them and moves all of them in every step. Sparse Adam touches only the rows of the batch's
tables, so a step costs the same in a lake of any size.
"""

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer, SparseAdam

Optimizers = tuple[Optimizer, ...]


def build_optimizers(network: nn.Module) -> Optimizers:
    """Build the optimizers for dense and for sparse gradients.

    Their step size is set by `set_rate`.

    Returns:
        One optimizer for dense gradients, and one for sparse gradients if there are any.
    """
    sparse = [
        part.weight
        for part in network.modules()
        if isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse
    ]
    rows = {id(weight) for weight in sparse}
    dense = [weight for weight in network.parameters() if id(weight) not in rows]
    adam = Adam(dense, fused=True)
    return (adam, SparseAdam(sparse)) if sparse else (adam,)


def set_rate(optimizers: Optimizers, rate: float) -> None:
    """Set the learning rate of all optimizers."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def take_step(network: nn.Module, optimizers: Optimizers, loss: Tensor, clip: float) -> None:
    """Take one gradient step."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    _clip([weight for weight in network.parameters() if weight.grad is not None], clip)
    for optimizer in optimizers:
        optimizer.step()


def _clip(weights: list[nn.Parameter], greatest: float) -> None:
    """Scale all gradients down if their global norm exceeds `greatest`.

    Unlike torch's `clip_grad_norm_`, this accepts sparse gradients.
    """
    norms = []
    for weight in weights:
        if weight.grad is not None and weight.grad.is_sparse:
            # A row may occur several times; its parts have to be added before the norm is taken.
            weight.grad = weight.grad.coalesce()
        norms.append(_norm(weight.grad))
    # With the same constant as torch's own clipping.
    scale = (greatest / (torch.stack(norms).norm() + 1e-6)).clamp(max=1.0)
    for weight in weights:
        if weight.grad is not None:
            weight.grad.mul_(scale)


def _norm(gradient: Tensor | None) -> Tensor:
    if gradient is None:
        return torch.zeros(())
    return torch.linalg.vector_norm(gradient.values() if gradient.is_sparse else gradient)
