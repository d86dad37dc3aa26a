"""Merge people's decisions about the same join into one decision."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from datahub_hyperjoin.joins import JoinedColumns, Verdict
from datahub_hyperjoin.progress import Warn


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a join."""

    verdict: Verdict
    """Accepted or rejected."""

    by: str = ""
    """URN of the person; empty if the catalog does not record it."""


JoinDecision = tuple[JoinedColumns, Decision]
"""The columns of a join and one decision about it; decisions may contradict each other."""


def merge_decisions(decisions: Iterable[JoinDecision], warn: Warn) -> dict[JoinedColumns, Decision]:
    """Merge the decisions about each join into one decision.

    The result does not depend on the order of the decisions: a rejection overrides acceptances, and
    of several people with the same verdict, the greatest URN is named.
    """
    # Sets, since a person may state one decision in several places.
    by_join: defaultdict[JoinedColumns, set[Decision]] = defaultdict(set)
    for columns, decision in decisions:
        by_join[columns].add(decision)
    merged = {}
    for columns, made in by_join.items():
        verdicts = {decision.verdict for decision in made}
        if len(verdicts) > 1:
            warn(
                "Join accepted and rejected",
                "The rejection takes precedence. Remove the tag, the property value or the line of "
                "`decisions` that is wrong",
                " and ".join(f"{left} = {right}" for left, right in columns),
            )
        verdict = Verdict.REJECTED if Verdict.REJECTED in verdicts else Verdict.ACCEPTED
        # The empty URN is the smallest, so a recorded person precedes an unrecorded one.
        by = max(decision.by for decision in made if decision.verdict is verdict)
        merged[columns] = Decision(verdict, by)
    return merged
