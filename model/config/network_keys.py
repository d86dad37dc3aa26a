"""Find the recipe keys that a run ignores if it trains no network."""

from datahub_hyperjoin.model.config.sections import (
    ModelConfig,
    NetworkConfig,
    Scoring,
    TrainingConfig,
)


def find_unused_keys(config: ModelConfig) -> tuple[str, ...]:
    """Return the keys in the recipe that the run ignores because it trains no network.

    Returns:
        Keys such as `model.path`, in the order of the section; empty if a network is trained.
    """
    if config.ranking.scoring is not Scoring.SIGNALS:
        return ()
    is_set = {
        "model.path": config.path is not None,
        "model.start": config.start is not None,
        "model.features.vectors": config.features.vectors is not None,
        "model.network": config.network != NetworkConfig(),
        "model.training": config.training != TrainingConfig(),
    }
    return tuple(key for key, given in is_set.items() if given)
