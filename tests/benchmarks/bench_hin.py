"""How fast HIN is on lakes made up of numbers: `make bench-hin`.

Every size runs in a process of its own, so that its peak memory is its own. Rates are those of the
floating-point operations in matrix products and attention, beside the rate that one large matrix
product reaches in the same process, just before and after.
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

from datahub_hyperjoin.evaluate.cost import peak_memory
from datahub_hyperjoin.model.config import NetworkConfig, Precision, TrainingConfig
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.attention import StructureAwareAttention
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.hin import HIN, Batch, NetworkSizes, is_half, to_device
from datahub_hyperjoin.model.network.optimizers import build_optimizers, set_rate, take_step
from datahub_hyperjoin.model.training.losses import measure_loss

CONTENT, DIMENSION, VOCABULARY, STEPS = 1200, 300, 1500, 16
"""NetworkSizes of the paper: pooled fastText cells, a word vector, name tokens, a position."""
QUERIES = 1024
"""Key columns in the loss of a step over the full hypergraph."""
FORWARD, BACKWARD = (2, 4), (4, 10)
"""Operations of a pass: for each weight and row; for each two hyperedges and channel of attention,
whose backward pass computes the scores once more (Dao et al., 2022)."""

LONG = 1e11
"""Operations from which an action is timed without a run to warm up."""

STEPS_UP_TO = {"cpu": 300_000, "cuda": 1_000_000}
"""Columns of a step over a full hypergraph. Training takes steps over a few tables instead."""

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
    """One action, and the machine's own rate around it."""

    seconds: float
    work: float
    """Floating-point operations."""

    gemm: float
    """Operations a second of one large matrix product, before and after."""

    def __str__(self) -> str:
        rate = self.work / self.seconds
        return f"{self.seconds:.3g} s, {rate / 1e9:,.0f} of {self.gemm / 1e9:,.0f} GFLOP/s"

    @property
    def share(self) -> float:
        """The part of the machine's own rate that was reached."""
        return self.work / self.seconds / self.gemm


@dataclass(frozen=True)
class Measured:
    """One size of lake, on one device."""

    columns: int
    hyperedges: int
    entries: int
    """Non-zeros of A."""

    forward: Timing
    step: Timing | None
    """Forward, backward and Adam; None beyond `STEPS_UP_TO`."""

    memory: float
    """Peak of all that was timed, bytes."""

    attention_memory: float
    """What one attention layer, forward and backward, adds to the peak, bytes."""


def make_graph(
    columns: int, random: np.random.Generator
) -> tuple[Int[np.ndarray, " column"], Hypergraph]:
    """Tables of about 9 columns; two sevenths of the columns in value domains of about 5."""
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
    """A whole lake of random columns."""
    tables, graph = make_graph(columns, random)
    return Batch(
        features=Features(
            tables=_make_names(columns, random),
            names=_make_names(columns, random),
            content=torch.from_numpy(random.standard_normal((columns, CONTENT), np.float32)),
        ),
        graph=graph,
        tables=torch.from_numpy(tables + 1),
        walks=torch.from_numpy(random.random((columns, STEPS), np.float32)),
    )


def count_work(network: HIN, batch: Batch, operations: tuple[int, int]) -> float:
    """Floating-point operations of all matrix products of a pass."""
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
    one = torch.randn(size, size, device=device, dtype=dtype)
    return 2 * size**3 / min(_seconds(lambda: one @ one, device) for _ in range(4))


def _seconds(action: Callable[[], object], device: torch.device) -> float:
    _wait(device)
    started = perf_counter()
    action()
    _wait(device)
    return perf_counter() - started


def _time(
    action: Callable[[], object], work: float, device: torch.device, dtype: torch.dtype
) -> Timing:
    """Runs a small action once to warm up; the machine is shared, so its rate is taken twice."""
    if work < LONG:
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
    """The memory that one attention layer adds to an otherwise empty process."""
    device = _device()
    graph = to_device(make_graph(columns, np.random.default_rng(0))[1], device)
    layer = StructureAwareAttention(width=width, heads=8, structure_weight=0.5).to(device)
    hyperedges = torch.randn(len(graph.across), width, device=device, requires_grad=True)
    adjacency = graph.adjacency
    before = _peak(device)
    layer(hyperedges, adjacency).sum().backward()
    return _peak(device) - before


def _make_step(network: HIN, batch: Batch) -> Callable[[], None]:
    config = TrainingConfig()
    optimizers = build_optimizers(network)
    set_rate(optimizers, config.learning_rate)
    queries = min(QUERIES, batch.graph.columns // 2)
    positive = torch.arange(queries, device=batch.tables.device)
    negative = ~torch.eye(queries, dtype=torch.bool, device=batch.tables.device)

    def step() -> None:
        embeddings = network.train()(batch)
        cosines = embeddings[:queries] @ embeddings[-queries:].T
        loss = measure_loss(cosines, positive, negative, config)
        take_step(network, optimizers, loss, config.gradient_clip)

    return step


def measure_network(columns: int, precision: Precision) -> Measured:
    """Times a forward pass and a training step over a full hypergraph."""
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
    config = NetworkConfig(precision=precision)
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
        attention_memory=alone(measure_attention, columns, config.width),
    )


def alone(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Calls a function in a fresh process, whose peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments, **options).result()


def _exponent(points: list[tuple[int, float]]) -> str:
    """The slope of the line through points of size and value, both logarithmic."""
    if len(points) < 2:
        return "-"
    sizes, values = np.log(points).T
    return f"{np.polyfit(sizes, values, 1)[0]:.2f}"


def _print(found: list[Measured]) -> None:
    rows = [
        [
            f"{one.columns:,}",
            f"{one.hyperedges:,}",
            f"{one.entries:,}",
            one.forward,
            f"{one.forward.share:.0%}",
            one.step or "-",
            f"{one.step.share:.0%}" if one.step else "-",
            f"{one.memory / 2**20:,.0f}",
            f"{one.attention_memory / 2**20:,.0f}",
        ]
        for one in found
    ]
    print(tabulate(rows, HEADERS, colalign=("right",) * len(HEADERS)))
    forward = _exponent([(one.columns, one.forward.seconds) for one in found])
    step = _exponent([(one.columns, one.step.seconds) for one in found if one.step])
    memory = _exponent([(one.hyperedges, one.attention_memory) for one in found])
    print(f"They grow as: forward N^{forward}, step N^{step}, memory of attention M^{memory}")


def main() -> None:
    """Measures each size and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[5_000, 20_000, 70_000, 300_000])
    parser.add_argument("--precision", type=Precision, default=Precision.AUTO)
    arguments = parser.parse_args()
    found: list[Measured] = []
    for columns in arguments.columns:
        print(f"Measuring {columns:,} columns", file=sys.stderr)
        found.append(alone(measure_network, columns, arguments.precision))
    _print(found)


if __name__ == "__main__":
    main()
