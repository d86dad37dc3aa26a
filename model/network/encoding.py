"""Train the network, here or in another process, and compute an embedding for every column.

This needs torch, which takes seconds to import.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.encode import Elsewhere, Encoding, Epoch, NetworkResult, NetworkTask
from datahub_hyperjoin.model.errors import NoGpuError, NothingToLearnError
from datahub_hyperjoin.model.hypergraph.hyperedges import build_hypergraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import Batch, to_device
from datahub_hyperjoin.model.saved.checkpoint import (
    Model,
    build_initial_model,
    find_trained,
    fingerprint_architecture,
    load_model,
    save,
)
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.signals.pairs import Vectors
from datahub_hyperjoin.model.training.augmented_views import ViewSource, select_similar
from datahub_hyperjoin.model.training.train import fit, repeatable
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_LARGEST = 1 << 27
"""Maximum number of bytes of embeddings to send back. Larger results may not fit into Java's
memory, which would cost the training, and one processor encodes that many columns in seconds."""


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sees_gpu() -> bool:
    """Return whether PyTorch sees a CUDA device in this process."""
    return _device().type == "cuda"


def _prepare_data(index: LakeIndex, featurizer: Featurizer, config: ModelConfig) -> ViewSource:
    """Compute what training and encoding read of a lake: features of cells, and positions."""
    return ViewSource(
        index=index,
        featurizer=featurizer,
        positions=find_positions(index, config),
        cells=tuple(featurizer.cells(profile.sample) for profile in index.lake.profiles),
        config=config,
    )


@torch.inference_mode()
def embed_columns(model: Model, data: ViewSource) -> Vectors:
    """Compute an embedding for every column of a lake."""
    batch = Batch(
        features=data.whole(),
        graph=build_hypergraph(data.lake, data.index.joins, data.config.setting),
        tables=torch.from_numpy(model.number_tables(data.lake)),
        positions=torch.from_numpy(data.positions),
    )
    device = _device()
    embeddings = model.network.to(device).eval()(to_device(batch, device))
    return embeddings.cpu().numpy()


def train(model: Model, data: ViewSource, watch: Callable[[Epoch], None]) -> None:
    """Train the network of a model, with a journal if `model.path` is set."""
    # The journal belongs to one training: the same data and settings, architecture and kind of
    # device.
    device, config = _device(), data.config
    architecture = fingerprint_architecture(model.describe_architecture(config))
    journal = Journal(config.path, f"{model.fingerprint}-{architecture}-{device.type}")
    network, random = model.network.to(device), np.random.default_rng(config.seed)
    for epoch in fit(network, data, data.index.keys, random, journal):
        watch(epoch)
    network.cpu().eval()


def _pare(index: LakeIndex) -> LakeIndex:
    """Return a copy of a lake index with only what training and encoding read."""
    profiles = (
        replace(profile, sketch=b"", form_sketch=b"", patterns=())
        for profile in index.lake.profiles
    )
    # New objects also leave behind what the old ones have computed and kept.
    return replace(
        index,
        lake=replace(index.lake, profiles=tuple(profiles)),
        overlap=select_similar(index.overlap),
        joins=replace(index.joins),
    )


def _write_task(model: Model, index: LakeIndex, config: ModelConfig) -> NetworkTask:
    """Write the task of training a network."""
    # The task does not hold the key of a language model.
    vectors = config.features.vectors
    features = replace(config.features, vectors=vectors and vectors.resolve())
    sent = replace(config, path=None, start=None, llm=None, features=features)
    with temporary_folder() as folder:
        save(model, folder, sent)
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
    size = len(index.lake) * config.network.width * np.dtype(np.float32).itemsize
    return NetworkTask(
        index=_pare(index),
        config=sent,
        model=files,
        random=torch.get_rng_state().numpy().tobytes(),
        encodes=size <= _LARGEST,
    )


def perform_task(task: NetworkTask, *, on_gpu: bool = True) -> NetworkResult:
    """Train a network and encode columns in a process that has only the task."""
    if on_gpu and not sees_gpu():
        raise NoGpuError.on_executor()
    epochs: list[Epoch] = []
    with temporary_folder() as folder, repeatable(task.config.seed):
        for name, content in task.model.items():
            folder.joinpath(name).write_bytes(content)
        model = load_model(folder, task.config)
        torch.set_rng_state(torch.frombuffer(bytearray(task.random), dtype=torch.uint8))
        data = _prepare_data(task.index, model.featurizer, task.config)
        train(model, data, epochs.append)
        embeddings = embed_columns(model, data) if task.encodes else None
    weights = safetensors.torch.save(model.network.cpu().state_dict())
    return NetworkResult(weights, tuple(epochs), embeddings)


def _keep(model: Model, config: ModelConfig) -> None:
    """Save a trained model if `model.path` is set, and delete the journal of its training."""
    # The journal is deleted only after the model is saved, so a run that is killed between the two
    # resumes after the last epoch.
    if config.path is None:
        return
    try:
        save(model, config.path, config)
    except (OSError, SafetensorError) as error:
        message = "Cannot save the model in `model.path` %s, so the next run trains again: %s"
        logger.warning(message, config.path, error)
        return  # the next run resumes from the journal
    Journal(config.path).discard()


def encode_by_network(
    index: LakeIndex,
    config: ModelConfig,
    watch: Callable[[Epoch], None],
    elsewhere: Elsewhere | None,
) -> Encoding:
    """Compute an embedding for every column, with a saved network or one trained in this run."""
    with repeatable(config.seed):
        trained = find_trained(index, config)
    with temporary_folder() as folder, repeatable(config.seed):
        if trained:
            found = embed_columns(trained, _prepare_data(index, trained.featurizer, config))
            return Encoding(found, trained.fingerprint, trained=False)
        tables = len(np.unique(index.lake.table_of[index.keys]))
        if len(index.keys) < 2 or tables < 2:  # noqa: PLR2004 - a pair and a negative
            raise NothingToLearnError.from_counts(tables=tables, keys=len(index.keys))
        model = build_initial_model(index, config, folder)
        prepare = cache(partial(_prepare_data, index, model.featurizer, config))
        result = elsewhere(_write_task(model, index, config)) if elsewhere else None
        if result:
            model.network.load_state_dict(safetensors.torch.load(result.weights))
            model.network.eval()
            for epoch in result.epochs:
                watch(epoch)
        else:
            train(model, prepare(), watch)
        _keep(model, config)
        embeddings = result.embeddings if result else None
        if embeddings is None:
            embeddings = embed_columns(model, prepare())
    return Encoding(embeddings, model.fingerprint, trained=True)
