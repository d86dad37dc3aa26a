"""A local page of joins, which writes each decision to the file of decisions immediately.

A run wrote the page as a file. People open it from a server of their own machine.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2.utils import htmlsafe_json_dumps

from datahub_hyperjoin.decision_file import (
    WrittenDecision,
    editing_decision_file,
    read_decision_file,
)
from datahub_hyperjoin.page.errors import NoPageError, StaleDecisionError

_DECIDED = re.compile(r'(?<=<script type="application/json" id="decided">).*?(?=</script>)')
_NO_REQUESTS = "default-src 'none';"
"""The start of the Content-Security-Policy of a page that is a file: it allows no requests."""

_Sides = frozenset[frozenset[tuple[str, str]]]
"""The column pairs of a join, in no order; tables have the names that the page shows."""


@dataclass(frozen=True)
class LocalPage:
    """A page of joins, and the file of the decisions that people make on it."""

    text: str
    """The page, as a run wrote it."""

    decided: Mapping[str, Any]
    """The decisions that are stored in the page, as JSON."""

    file: Path
    """The file of decisions."""

    by: str = ""
    """Name of the person who decides, to be written to the file; empty to write no name."""

    _shown: list[dict[_Sides, str]] = field(default_factory=list)
    """The decisions that the page showed last; empty before it is shown."""

    @classmethod
    def read(cls, path: Path, file: Path | None = None, *, by: str = "") -> "LocalPage":
        """Read a page of joins, and determine the file that holds its decisions.

        Args:
            file: The file of decisions; None for the one that the page names, in the current
                folder.
            by: Who decides, for the file; empty if it should not say.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise NoPageError.unread(str(path), error.strerror or "") from error
        except UnicodeDecodeError:
            text = ""
        found = _DECIDED.search(text)
        if not found or _NO_REQUESTS not in text:
            raise NoPageError.without_joins(str(path))
        decided = json.loads(found[0])
        return cls(text, decided, file or Path(decided["file"]), by)

    def render(self, token: str) -> str:
        """Return the page with the decisions that the file holds now.

        Args:
            token: The secret that the page repeats with each decision.
        """
        filed = read_decision_file(self.file)
        self._shown[:] = [self._verdicts(filed)]
        rows = [
            (
                *(each.left_table, each.left_columns, each.right_table, each.right_columns),
                *(each.verdict.value, each.by, each.reason),
                *(self._names.get(name, name) for name in (each.left_table, each.right_table)),
            )
            for each in filed
        ]
        decided = {
            **self.decided,
            "file": self.file.name,
            "rows": rows,
            "token": token,
            "by": self.by,
        }
        text = _DECIDED.sub(lambda _: str(htmlsafe_json_dumps(decided)), self.text, count=1)
        return text.replace(_NO_REQUESTS, f"{_NO_REQUESTS} connect-src 'self';", 1)

    def decide(self, decision: WrittenDecision, seen: str | None = None) -> None:
        """Write a decision to the file, in place of all others about the same join.

        Args:
            seen: The decision that the page showed, empty for none; None for what it showed last.
        """
        with editing_decision_file(self.file) as decisions:
            self._refuse_stale(decision, decisions, decision.verdict.value, seen)
            same = self._about_the_join_of(decision, decisions)
            if same and all(each.verdict is decision.verdict for each in same):
                return  # who decided, and why, stays
            start = decisions.index(same[0]) if same else len(decisions)
            decisions[:] = [each for each in decisions if each not in same]
            decisions.insert(start, replace(decision, by=self.by))

    def undo(self, decision: WrittenDecision, seen: str | None = None) -> Sequence[WrittenDecision]:
        """Remove all decisions about a join from the file.

        Args:
            decision: A decision about the join, with the page's names of tables.
            seen: The decision that the page showed, empty for none; None for what it showed last.

        Returns:
            The decisions that were removed.

        Raises:
            FaultyDecisionsError: The file cannot be read.
            StaleDecisionError: Another decision was made since the page was loaded.
            UnwritablePathError: The file cannot be written.
        """
        with editing_decision_file(self.file) as decisions:
            self._refuse_stale(decision, decisions, "", seen)
            undone = self._about_the_join_of(decision, decisions)
            decisions[:] = [each for each in decisions if each not in undone]
        return undone

    def _about_the_join_of(
        self, decision: WrittenDecision, decisions: Sequence[WrittenDecision]
    ) -> Sequence[WrittenDecision]:
        sides = self._sides(decision)
        return [each for each in decisions if self._sides(each) == sides]

    def _refuse_stale(
        self,
        decision: WrittenDecision,
        filed: Sequence[WrittenDecision],
        wanted: str,
        seen: str | None,
    ) -> None:
        """Refuse a decision if another one was made since the page was loaded.

        What the page shows from now on is noted.
        """
        sides = self._sides(decision)
        current = self._verdicts(filed).get(sides, "")
        shown = self._shown[-1] if self._shown else {sides: current}
        if seen is None:
            seen = shown.get(sides, "")
        is_stale = current not in {seen, wanted}
        shown[sides] = current if is_stale else wanted
        if is_stale:
            same = self._about_the_join_of(decision, filed)
            by = next((each.by for each in same if each.verdict.value == current), "")
            raise StaleDecisionError.about(str(decision), current, by)

    def _verdicts(self, filed: Sequence[WrittenDecision]) -> dict[_Sides, str]:
        """Return the decision of a file about each join."""
        # Of contradictory lines, the rejection counts, which is last in alphabetical order.
        ordered = sorted(filed, key=lambda each: each.verdict.value)
        return {self._sides(each): each.verdict.value for each in ordered}

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """A mapping from table names in the run's file of decisions to table names on the page."""
        rows = self.decided["rows"]
        return {row[at]: row[at // 2 + 7] for row in rows for at in (0, 2)}

    def _sides(self, decision: WrittenDecision) -> _Sides:
        tables = decision.left_table, decision.right_table
        left, right = (self._names.get(name, name) for name in tables)
        pairs = zip(decision.left_columns, decision.right_columns, strict=True)
        return frozenset(frozenset({(left, own), (right, other)}) for own, other in pairs)
