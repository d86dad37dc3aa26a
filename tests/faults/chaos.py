"""Run pipelines against a server with every kind of fault, and afterwards without faults."""

import logging
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

from datahub.configuration.common import ConfigurationError
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.emit import read_back
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Pair
from faults.bad_network import FAIR, PATIENCE, BadNetwork, Fault, Weather
from faults.outcome import Attack, Outcome
from faults.shared_catalog import (
    PAIRS,
    Roles,
    broken_decisions,
    decide,
    difference,
    others,
    prepare,
    reject_late,
    shown,
    visible,
)
from gms import Gms
from lakes.lake import write_flights
from lakes.quick_runs import GivenJoins, join_of

_TRIES, _MANY = 3, 20
"""Number of histories per kind of fault, in a short and in a long run."""
_RATES = (0.03, 0.1, 0.3)
_PARTS = ("", "", "", "ingest", "batchGet", "scroll", "erModelRelationship", "schemaField")
_METHODS = ("GET POST PATCH DELETE", "GET POST PATCH DELETE", "GET", "POST")
_ENTITIES = ("erModelRelationshipProperties", "queryProperties")
_STATEMENT = Statement(sql="SELECT 1", dialect="duckdb", rows=9)
_STEPS = ("first", "first again", "second", "second again", "third", "fourth")
_BEFORE_LATE = frozenset({"first", "first again", "second"})
_HEALED = frozenset({"first again", "third", "fourth"})
_STORMY = frozenset({"first", "second", "second again"})


class Stated(GivenJoins):
    """A source that returns the given joins, each with an SQL statement."""

    def _find(self, catalog: Catalog, session: Session) -> Findings:
        found = super()._find(catalog, session)
        sql = {join.pairs: _STATEMENT for join in found.joins}
        return replace(found, statements=sql)


@dataclass(frozen=True)
class Ran:
    """The result of one run."""

    named: tuple[str, ...]
    """Titles of the run's warnings and failures."""
    crash: str = ""
    """The exception that ended the run, if it is not one of DataHub's own refusals."""


@dataclass
class History:
    """A series of runs over one lake, with people's decisions between them."""

    gms: Gms
    network: BadNetwork
    folder: Path
    roles: Roles
    number: int = 0
    broken: list[str] = field(default_factory=list)
    seen: dict[str, dict[str, object]] = field(default_factory=dict)
    """What people see after each step."""
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    swallowed: set[str] = field(default_factory=set)
    """Steps in which the server confirmed a write that it never made."""

    def play(self, storms: Callable[[str], Weather]) -> None:
        """Carry out all steps of the history, some of them with faults."""
        prepare(self.gms, self.folder)
        before = others(self.gms)
        for step in _STEPS:
            is_first, late = step.startswith("first"), step not in _BEFORE_LATE
            pairs = self.roles.first if is_first else self.roles.second
            standing = [pair for pair in pairs if visible(self.gms, pair)]
            self.network.turn(storms(step))
            ran = self._run(pairs)
            if self.network.swallowed:
                self.swallowed.add(step)
            self.network.turn(FAIR)
            self.named[step], self.seen[step] = ran.named, shown(self.gms)
            refused = [self.roles.late] if late else []
            self._note(step, [ran.crash, difference(before, others(self.gms))])
            self._note(
                step,
                [
                    f"{pair[0]} = {pair[1]} is true and gone"
                    for pair in standing
                    if not visible(self.gms, pair) and pair not in refused
                ],
            )
            if not is_first:
                self._note(step, broken_decisions(self.gms, self.roles, late=late))
            self._decide(step)

    def _decide(self, step: str) -> None:
        if step == "first again":
            decide(self.gms, self.roles)
        if step == "second":
            reject_late(self.gms, self.roles)

    def _note(self, step: str, broken: Sequence[str]) -> None:
        self.broken += [f"{step} run: {what}" for what in broken if what]

    def _run(self, pairs: Sequence[Pair]) -> Ran:
        self.number += 1
        Stated.joins = [join_of(pair) for pair in pairs]
        patience = {} if self.network.weather == FAIR else {"timeout_sec": PATIENCE}
        recipe = {
            "pipeline_name": "joins",
            "run_id": f"run-{self.number}",
            "source": {
                "type": f"{Stated.__module__}.{Stated.__name__}",
                "config": {
                    "catalog": {"folder": str(self.folder)},
                    "emit": {"queries": True, "lineage": True},
                    "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
                },
            },
            "sink": {
                "type": "datahub-rest",
                "config": {
                    "server": self.network.url,
                    "retry_max_times": 1,
                    "max_threads": 1,
                    "max_per_batch": 8,
                    **patience,
                },
            },
        }
        try:
            pipeline = Pipeline.create(recipe, report_to=None, no_progress=True)
            pipeline.run()
        except (PipelineInitError, ConfigurationError) as error:
            return Ran((type(error).__name__,))
        except Exception as error:  # noqa: BLE001 - whatever comes out is a finding
            return Ran((type(error).__name__,), f"{type(error).__name__}: {error}")
        source, sink = pipeline.source.get_report(), pipeline.sink.get_report()
        titles = [one.title or one.message for one in (*source.failures, *source.warnings)]
        crash = [str(one) for one in source.failures if one.title == "Pipeline Error"]
        return Ran((*titles, *map(str, (*sink.failures, *sink.warnings))), "".join(crash))


@contextmanager
def _history(roles: Roles) -> Iterator[History]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "lake"
        write_flights(folder)
        gms = stack.enter_context(Gms())
        network = stack.enter_context(BadNetwork(gms.url))
        yield History(gms, network, folder, roles)


def _storms(kind: Fault, seed: str) -> Callable[[str], Weather]:
    """Return a function that draws the faults of each step.

    One kind always occurs, and others may be added.
    """

    def storm(step: str) -> Weather:
        if step not in _STORMY:
            return FAIR
        draw = random.Random(f"{seed} {step}")  # noqa: S311 - no secret
        more = draw.sample(list(Fault), draw.choice([0, 0, 1, 2]))
        return Weather(
            faults=frozenset({kind, *more}),
            rate=draw.choice(_RATES),
            methods=draw.choice(_METHODS),
            part=draw.choice(_PARTS),
            seed=f"{seed} {step}",
        )

    return storm


@cache
def _undisturbed(roles: Roles) -> dict[str, dict[str, object]]:
    """Return what people see after each step of a history that runs without faults."""
    with _history(roles) as calm:
        calm.play(lambda _: FAIR)
    assert not calm.broken, calm.broken
    return calm.seen


def _try(kind: Fault, roles: Roles, seed: str) -> list[str]:
    """Play a history with and without faults, and describe everything that went wrong."""
    storms = _storms(kind, seed)
    calm = _undisturbed(roles)
    with _history(roles) as stormy:
        stormy.play(storms)
    found = list(stormy.broken)
    # What an answer leaves out looks like something that is gone, and so is not withdrawn.
    hides = any(Fault.HALF in storms(step).faults for step in _STORMY)
    for at, step in enumerate(_STEPS):
        told = any(stormy.named[each] for each in _STEPS[at : at + 2])
        if step in _STORMY and not told:
            found += _untold(step, calm[step], stormy)
        lacking = difference(calm[step], stormy.seen[step], more=hides)
        if lacking and step in _HEALED:
            found.append(f"{step} run: the catalog differs after a run in health: {lacking}")
    plan = "; ".join(f"{step}: {storms(step)}" for step in sorted(_STORMY))
    return [f"{seed} ({plan})", *found] if found else []


def _untold(step: str, expected: dict[str, object], found: History) -> list[str]:
    """Report metadata that was lost without a warning.

    If the server confirmed a write and then lost it, only missing entities count, because later
    runs restore everything else without a warning.
    """
    lacking = difference(expected, found.seen[step], more=True)
    if step in found.swallowed:
        gone = expected.keys() - found.seen[step].keys()
        lacking = ", ".join(sorted(key for key in gone if key.endswith(_ENTITIES)))
    return [f"{step} run: no report names what is lost: {lacking}"] if lacking else []


def _attack(kind: Fault, seed: int, long: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    tries = _MANY if long else _TRIES
    failures: list[str] = []
    logging.disable(logging.CRITICAL)
    try:
        # The server is here: what has not arrived at once does not arrive.
        with patch.object(read_back, "_PATIENCE", 0.3):
            for at in range(tries):
                draw = random.Random(at)  # noqa: S311 - no secret
                roles = Roles(*draw.sample(PAIRS, len(PAIRS)))
                if broken := _try(kind, roles, f"seed {seed}, {kind.name} {at}"):
                    failures.append("; ".join(broken))
    finally:
        logging.disable(logging.NOTSET)
    return Outcome(tries, tuple(failures))


ATTACKS: Mapping[str, Attack] = {f"server: {kind.value}": partial(_attack, kind) for kind in Fault}
