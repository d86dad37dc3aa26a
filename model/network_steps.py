"""The steps from a lake index to trained weights and embeddings.

They need torch, which takes seconds to import.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float32

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.hyperedges import build_hypergraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import Batch, to_device
from datahub_hyperjoin.model.saved.checkpoint import Model
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.saved.fingerprints import fingerprint_architecture
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.training.augmented_views import ViewSource
from datahub_hyperjoin.model.training.train import fit


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sees_gpu() -> bool:
    """Return whether PyTorch sees a CUDA device in this process."""
    return _device().type == "cuda"


def prepare_data(index: LakeIndex, featurizer: Featurizer, config: ModelConfig) -> ViewSource:
    """Compute what training and encoding read of a lake: features of cells, and positions."""
    return ViewSource(
        index=index,
        featurizer=featurizer,
        positions=find_positions(index, config),
        cells=tuple(featurizer.cells(profile.sample) for profile in index.lake.profiles),
        config=config,
    )


@torch.inference_mode()
def embed_columns(model: Model, data: ViewSource) -> Float32[np.ndarray, "column width"]:
    """Compute an embedding for every column of a lake."""
    batch = Batch(
        features=data.whole(),
        graph=build_hypergraph(data.index.groups, len(data.lake)),
        tables=torch.from_numpy(model.number_tables(data.lake)),
        positions=torch.from_numpy(data.positions),
    )
    device = _device()
    embeddings = model.network.to(device).eval()(to_device(batch, device))
    return embeddings.cpu().numpy()


def train(model: Model, data: ViewSource, watch: Callable[[Epoch], None]) -> None:
    """Train the network of a model, with a journal if `model.path` is set.

    The journal belongs to one training: the same data and settings, architecture and kind of
    device.
    """
    device, config = _device(), data.config
    architecture = fingerprint_architecture(model.describe_architecture(config))
    journal = Journal(config.path, f"{model.fingerprint}-{architecture}-{device.type}")
    network, random = model.network.to(device), np.random.default_rng(config.seed)
    for epoch in fit(network, data, data.index.keys, random, journal):
        watch(epoch)
    network.cpu().eval()
