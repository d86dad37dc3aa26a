"""Measure the speed of the network (HIN) on synthetic lakes: `make bench-hin`.

Each size runs in its own process, so that peak memory is measured separately. Rates count the
floating-point operations of matrix products and attention, and are compared with the rate of one
large matrix product in the same process, just before and after.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from tabulate import tabulate
from torch import nn

from datahub_hyperjoin.evaluate.run import peak_memory
from datahub_hyperjoin.model.config import (
    OURS,
    ModelConfig,
    NetworkConfig,
    Precision,
    TrainingConfig,
)
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.hin import (
    HIN,
    Batch,
    NetworkSizes,
    StructureAwareAttention,
    build_optimizers,
    is_half,
    set_rate,
    take_step,
    to_device,
)
from datahub_hyperjoin.model.training.train import measure_loss

CONTENT, DIMENSION, VOCABULARY, STEPS = 1200, 300, 1500, 16
"""Input sizes in the paper: length of the pooled fastText content, length of a word vector, number
of name tokens, and length of the positional encoding."""
QUERIES = 1024
"""Number of key columns in the loss of a step over the full hypergraph."""
FORWARD, BACKWARD = (2, 4), (4, 10)
"""Operations of a pass: first those per weight and row, then those per pair of hyperedges and
channel of attention. The backward pass of attention computes the scores again (Dao et al., 2022).
"""

LONG = 1e11
"""Actions with at least this many operations are timed on a CPU without a warm-up run."""

STEPS_UP_TO = {"cpu": 300_000, "cuda": 1_000_000}
"""Greatest number of columns at which a training step over the full hypergraph is timed. Real
training steps cover a few tables only."""

HEADERS = [
    "columns N",
    "hyperedges M",
    "non-zeros of A",
    "forward",
    "of gemm",
    "training step",
    "of gemm",
    "peak, MiB",
    "attention, MiB",
]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """The seconds that one action took, and the machine's speed before and after it."""

    seconds: float
    work: float
    """Number of floating-point operations."""

    gemm: float
    """Operations per second of a large matrix product: the mean of its speed before and after the
    action."""

    def __str__(self) -> str:
        rate = self.work / self.seconds
        return f"{self.seconds:.3g} s, {rate / 1e9:,.0f} of {self.gemm / 1e9:,.0f} GFLOP/s"

    @property
    def share(self) -> float:
        """Speed of the action, divided by the speed of one large matrix product."""
        return self.work / self.seconds / self.gemm


@dataclass(frozen=True)
class Measured:
    """Measurements of one lake on one device."""

    columns: int
    hyperedges: int
    entries: int
    """Number of non-zeros of the adjacency matrix of hyperedges."""

    forward: Timing
    step: Timing | None
    """Timing of a training step, with Adam; None for more columns than `STEPS_UP_TO`."""

    memory: float
    """Peak memory of all timed actions, in bytes."""

    attention_memory: float
    """Memory that a forward and a backward pass of one attention layer add to the peak, in bytes.
    """


def make_graph(
    columns: int, random: np.random.Generator
) -> tuple[Int[np.ndarray, " column"], Hypergraph]:
    """Draw a hypergraph of tables with about nine columns each.

    Two sevenths of all columns are also in value domains.
    """
    tables = np.sort(random.integers(max(columns * 8 // 70, 1), size=columns))
    within = np.split(np.arange(columns), np.flatnonzero(np.diff(tables)) + 1)
    domain = random.permutation(columns)[: columns * 2 // 7]
    across = np.array_split(domain, max(len(domain) // 5, 1))
    return tables, Hypergraph.from_groups(columns, within=within, across=across)


def _make_names(columns: int, random: np.random.Generator) -> Names:
    return Names(
        tokens=torch.from_numpy(random.integers(VOCABULARY, size=2 * columns)),
        starts=torch.arange(0, 2 * columns, 2),
        vectors=torch.from_numpy(random.standard_normal((columns, DIMENSION), np.float32)),
    )


def make_batch(columns: int, random: np.random.Generator) -> Batch:
    """Make a batch from a lake of random columns."""
    tables, graph = make_graph(columns, random)
    return Batch(
        features=Features(
            tables=_make_names(columns, random),
            names=_make_names(columns, random),
            content=torch.from_numpy(random.standard_normal((columns, CONTENT), np.float32)),
        ),
        graph=graph,
        tables=torch.from_numpy(tables + 1),
        positions=torch.from_numpy(random.random((columns, STEPS), np.float32)),
    )


def count_work(network: HIN, batch: Batch, operations: tuple[int, int]) -> float:
    """Count the floating-point operations of one pass through the network."""
    columns, hyperedges = batch.graph.columns, len(batch.graph.across)
    work = 0
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear):
            mixes = name.startswith(("mixers", "within", "across", "back"))
            work += operations[0] * module.weight.numel() * (hyperedges if mixes else columns)
        if isinstance(module, StructureAwareAttention):
            work += operations[1] * hyperedges**2 * module.output.in_features
    return float(work)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _gemm(device: torch.device, dtype: torch.dtype) -> float:
    size = 16384 if device.type == "cuda" else 3072
    matrix = torch.randn(size, size, device=device, dtype=dtype)
    return 2 * size**3 / min(_seconds(lambda: matrix @ matrix, device) for _ in range(4))


def _seconds(action: Callable[[], object], device: torch.device) -> float:
    _wait(device)
    started = perf_counter()
    action()
    _wait(device)
    return perf_counter() - started


def _time(
    action: Callable[[], object], work: float, device: torch.device, dtype: torch.dtype
) -> Timing:
    """Measure the time of an action.

    A short action runs once before, as a warm-up. So does any action on a GPU, whose first run
    loads kernels.

    The machine's rate is measured before and after, since other processes may share it.
    """
    if work < LONG or device.type == "cuda":
        action()
    before = _gemm(device, dtype)
    seconds = _seconds(action, device)
    return Timing(seconds, work, (before + _gemm(device, dtype)) / 2)


def _peak(device: torch.device) -> float:
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated())
    return peak_memory()


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def measure_attention(columns: int, width: int) -> float:
    """Measure how much peak memory one attention layer needs."""
    device = _device()
    graph = to_device(make_graph(columns, np.random.default_rng(0))[1], device)
    layer = StructureAwareAttention(width=width, heads=8, structure_weight=0.5).to(device)
    hyperedges = torch.randn(len(graph.across), width, device=device, requires_grad=True)
    adjacency = graph.adjacency
    before = _peak(device)
    layer(hyperedges, adjacency).sum().backward()
    return _peak(device) - before


def _make_step(network: HIN, batch: Batch) -> Callable[[], None]:
    optimizers = build_optimizers(network)
    set_rate(optimizers, TrainingConfig().learning_rate)
    queries = min(QUERIES, batch.graph.columns // 2)
    positive = torch.arange(queries, device=batch.tables.device)
    negative = ~torch.eye(queries, dtype=torch.bool, device=batch.tables.device)

    def step() -> None:
        embeddings = network.train()(batch)
        cosines = embeddings[:queries] @ embeddings[-queries:].T
        loss = measure_loss(cosines, positive, negative, OURS)
        take_step(network, optimizers, loss, OURS.gradient_clip)

    return step


def measure_network(columns: int, precision: Precision) -> Measured:
    """Measure the time of a forward pass and of a training step over the full hypergraph."""
    device = _device()
    torch.manual_seed(0)
    batch = to_device(make_batch(columns, np.random.default_rng(0)), device)
    sizes = NetworkSizes(
        vocabulary=VOCABULARY,
        dimension=DIMENSION,
        content=CONTENT,
        tables=int(batch.tables.max()),
        steps=STEPS,
    )
    config = ModelConfig(network=NetworkConfig(precision=precision))
    network = HIN(config, sizes).to(device)
    dtype = torch.bfloat16 if is_half(precision, device) else torch.float32

    @torch.inference_mode()
    def forward() -> None:
        network.eval()(batch)

    once, again = count_work(network, batch, FORWARD), count_work(network, batch, BACKWARD)
    return Measured(
        columns=columns,
        hyperedges=len(batch.graph.across),
        entries=len(batch.graph.adjacency.row),
        forward=_time(forward, once, device, dtype),
        step=_time(_make_step(network, batch), once + again, device, dtype)
        if columns <= STEPS_UP_TO[device.type]
        else None,
        memory=_peak(device),
        attention_memory=alone(measure_attention, columns, config.network.width),
    )


def alone(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function in a new process, so that its peak memory is measured alone."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments, **options).result()


def _exponent(points: list[tuple[int, float]]) -> str:
    """Fit a power law to values at given sizes, and return its exponent as text.

    It is the slope of their logarithms.
    """
    if len(points) < 2:
        return "-"
    sizes, values = np.log(points).T
    return f"{np.polyfit(sizes, values, 1)[0]:.2f}"


def _print(sizes: list[Measured]) -> None:
    rows = [
        [
            f"{size.columns:,}",
            f"{size.hyperedges:,}",
            f"{size.entries:,}",
            size.forward,
            f"{size.forward.share:.0%}",
            size.step or "-",
            f"{size.step.share:.0%}" if size.step else "-",
            f"{size.memory / 2**20:,.0f}",
            f"{size.attention_memory / 2**20:,.0f}",
        ]
        for size in sizes
    ]
    print(tabulate(rows, HEADERS, colalign=("right",) * len(HEADERS)))
    forward = _exponent([(size.columns, size.forward.seconds) for size in sizes])
    step = _exponent([(size.columns, size.step.seconds) for size in sizes if size.step])
    memory = _exponent([(size.hyperedges, size.attention_memory) for size in sizes])
    print(f"Growth: forward N^{forward}, step N^{step}, memory of attention M^{memory}")


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[5_000, 20_000, 70_000, 300_000])
    parser.add_argument("--precision", type=Precision, default=Precision.AUTO)
    arguments = parser.parse_args()
    sizes: list[Measured] = []
    for columns in arguments.columns:
        print(f"Measuring {columns:,} columns", file=sys.stderr)
        sizes.append(alone(measure_network, columns, arguments.precision))
    _print(sizes)


if __name__ == "__main__":
    main()
