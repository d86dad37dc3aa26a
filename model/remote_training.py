"""Train a network in another process, and bring it back.

Weights are sent as safetensors in both directions. This needs torch, which takes seconds to import.
"""

from dataclasses import replace

import numpy as np
import safetensors.torch
import torch

from datahub_hyperjoin.model.config import ModelConfig, VariantConfig
from datahub_hyperjoin.model.errors import NoGpuError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network_steps import embed_columns, prepare_data, sees_gpu, train
from datahub_hyperjoin.model.network_task import NetworkResult, NetworkTask, pare
from datahub_hyperjoin.model.saved.checkpoint import Model, load_model, save
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.training.train import repeatable
from datahub_hyperjoin.storage import temporary_folder

_LARGEST = 1 << 27
"""Maximum number of bytes of embeddings to send back. Larger results may not fit into Java's
memory, which would cost the training, and one processor encodes that many columns in seconds."""


def write_task(model: Model, index: LakeIndex, config: ModelConfig) -> NetworkTask:
    """Write the task of training a network.

    Args:
        config: The settings. The task does not hold the key of a language model.

    Returns:
        A task that any process with this package can perform.
    """
    vectors = config.features.vectors
    features = replace(config.features, vectors=vectors and vectors.resolve())
    sent = replace(config, path=None, start=None, variants=VariantConfig(), features=features)
    with temporary_folder() as folder:
        save(model, folder, sent)
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
    size = len(index.lake) * config.network.width * np.dtype(np.float32).itemsize
    return NetworkTask(
        index=pare(index),
        config=sent,
        model=files,
        random=torch.get_rng_state().numpy().tobytes(),
        encodes=size <= _LARGEST,
    )


def perform_task(task: NetworkTask, *, on_gpu: bool = True) -> NetworkResult:
    """Train a network and encode columns in a process that has only the task.

    Nothing is kept meanwhile: an interrupted training begins anew.
    """
    if on_gpu and not sees_gpu():
        raise NoGpuError.on_executor()
    epochs: list[Epoch] = []
    with temporary_folder() as folder, repeatable(task.config.seed):
        for name, content in task.model.items():
            folder.joinpath(name).write_bytes(content)
        model = load_model(folder, task.config)
        torch.set_rng_state(torch.frombuffer(bytearray(task.random), dtype=torch.uint8))
        data = prepare_data(task.index, model.featurizer, task.config)
        train(model, data, epochs.append)
        embeddings = embed_columns(model, data) if task.encodes else None
    weights = safetensors.torch.save(model.network.cpu().state_dict())
    return NetworkResult(weights, tuple(epochs), embeddings)


def take_weights(model: Model, result: NetworkResult) -> None:
    """Replace the weights of an untrained model with those of its training elsewhere."""
    model.network.load_state_dict(safetensors.torch.load(result.weights))
    model.network.eval()
