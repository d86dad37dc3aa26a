"""Train the network on a GPU of the Spark cluster, where the run's own process has none."""

from functools import partial

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.model.encode import Elsewhere, NetworkResult, NetworkTask
from datahub_hyperjoin.model.errors import CollapsedError, NonFiniteLossError
from datahub_hyperjoin.model.network.encoding import perform_task, sees_gpu
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.gpu_executors import has_gpu_executors, run_on_executor
from datahub_hyperjoin.spark.session import LazySession, OptionalSession


def find_executor(session: OptionalSession, progress: Progress) -> Elsewhere | None:
    """Find out whether the network is trained on an executor."""
    if not has_gpu_executors(session) or sees_gpu():
        return None
    return partial(_train, session, progress)


def _train(session: LazySession, progress: Progress, task: NetworkTask) -> NetworkResult | None:
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
