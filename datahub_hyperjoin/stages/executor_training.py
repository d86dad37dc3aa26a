"""Train the network on a GPU of the Spark cluster, where the run's own process has none."""

from functools import partial

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.encode import Elsewhere, NetworkResult, NetworkTask
from datahub_hyperjoin.model.errors import CollapsedError, NonFiniteLossError
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.session import LazySession, OptionalSession


def find_executor(
    session: OptionalSession, config: ModelConfig, progress: Progress
) -> Elsewhere | None:
    """Find out whether the network is trained on an executor."""
    if config.ranking.scoring is Scoring.SIGNALS:
        return None
    # torch takes seconds to import and Spark a tenth of one, and most runs train no network.
    from datahub_hyperjoin.model.network.encoding import sees_gpu  # noqa: PLC0415
    from datahub_hyperjoin.spark.gpu_executors import has_gpu_executors  # noqa: PLC0415

    if not has_gpu_executors(session) or sees_gpu():
        return None
    return partial(_train, session, progress)


def _train(session: LazySession, progress: Progress, task: NetworkTask) -> NetworkResult | None:
    from datahub_hyperjoin.model.network.encoding import perform_task  # noqa: PLC0415 (as above)
    from datahub_hyperjoin.spark.gpu_executors import run_on_executor  # noqa: PLC0415

    progress.say("Training the network on a GPU of the Spark cluster")
    try:
        return run_on_executor(session(), perform_task, task)
    except (CollapsedError, NonFiniteLossError):
        raise
    except HyperJoinError as error:
        progress.warn(
            "Network not trained on the cluster",
            "It is trained in the run's own process, which takes longer. Install this package and "
            "PyTorch with CUDA where the executors run, or remove the setting "
            "`spark.executor.resource.gpu.amount`",
            str(error),
        )
        return None
