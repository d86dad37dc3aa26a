"""Show the progress of a run, and collect its warnings."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from typing_extensions import LiteralString

from datahub_hyperjoin.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

_MINUTE = 60
_EARLY = 0.05
"""The finished share of a run below which no estimate of the time left is shown."""
_SQL = "Running the SQL"
STAGES: Mapping[str, float] = MappingProxyType(
    {
        "Listing tables": 1,
        "Profiling tables": 37,
        "Building the hypergraph": 2,
        "Encoding columns": 1,
        "Ranking candidates": 30,
        "Verifying on the data": 25,
        "Deciding roles": 1,
        "Finding keys of several columns": 23,
        _SQL: 100,
    }
)
"""The stages of a run in order, with the relative time that each takes, as measured on the quick
start's lake. Only the estimate of the time left depends on these times."""


@dataclass(frozen=True, slots=True)
class RunWarning:
    """A problem that did not stop the run."""

    title: str
    """The kind of problem."""

    context: str
    """The table or file concerned, and the reason."""


@dataclass
class RunProgress:
    """The counts and warnings of a run, which subclasses also show."""

    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[RunWarning] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Pass the name of a stage to `say` when the stage starts."""
        self.say(name)
        yield

    def count(self, name: str, by: float) -> None:
        """Add an amount to a counter."""
        self.counts[name] += int(by)

    def say(self, line: str) -> None:
        """Ignore a line of progress; subclasses may show it."""

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Record a problem that does not stop the run."""
        del message  # its effect and the fix are written for users of recipes
        self.warnings.append(RunWarning(title, visible(context)))


@dataclass
class LineProgress(RunProgress):
    """Writes each stage and line of progress to standard error."""

    def say(self, line: str) -> None:
        """Write one line to standard error."""
        import click  # noqa: PLC0415 (notebooks do without)

        click.echo(visible(line), err=True)


@dataclass
class BarProgress(RunProgress):
    """Shows the stage, the numbers of tables and joins, and the times on a terminal."""

    sql: bool = True
    """Whether the run includes the stage that runs the SQL of the joins."""
    _bar: "ProgressBar | None" = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage, and advance the progress bar at the end of the stage."""
        bar = self._bar
        if bar is None:
            yield
            return
        tables, joins = self.counts["tables_profiled"], self.counts["joins"]
        known = [f"{tables} tables"] * bool(tables) + [f"{joins} joins"] * bool(joins)
        # Drawn at once: the stages of a small lake end between two of the bar's own refreshes.
        bar.update(bar.task_ids[0], description=", ".join([name, *known]), refresh=True)
        yield
        [task] = bar.tasks
        bar.update(task.id, advance=STAGES.get(name, 0), stepped=task.elapsed)

    def say(self, line: str) -> None:
        """Show a line until the next stage or line."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=line, refresh=True)

    @contextmanager
    def shown(self) -> Iterator["ProgressBar"]:
        """Show the progress bar within a `with` block."""
        from rich.console import Console  # noqa: PLC0415 (other outputs need no bar)
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        stages = {name: time for name, time in STAGES.items() if self.sql or name != _SQL}
        text = TextColumn("{task.description}")
        columns = (text, BarColumn(), TimeElapsedColumn(), time_left_column())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task(next(iter(stages)), total=sum(stages.values()))
            self._bar = bar
            try:
                yield bar
            finally:
                self._bar = None


def time_left_column() -> "ProgressColumn":
    """Return a part of the progress bar that counts down the estimated time left.

    rich's own column divides by the speed of the last steps; the stages of a run are few and
    unequal, so this one compares the shares of a usual run with the elapsed time. The field
    `stepped` of the task is the elapsed time at the end of the last stage, in seconds.
    """
    from rich.progress import ProgressColumn  # noqa: PLC0415 (as above)
    from rich.text import Text  # noqa: PLC0415

    class TimeLeftColumn(ProgressColumn):
        def render(self, task: "Task") -> "Text":
            share = task.completed / task.total if task.total else 0.0
            seconds = _time_left(share, task.fields.get("stepped", 0.0), task.elapsed or 0.0)
            return Text(_describe_time_left(seconds), style="progress.remaining")

    return TimeLeftColumn()


def _time_left(share: float, stepped: float, elapsed: float) -> float:
    """Estimate how many more seconds a run takes, of which stages of this share end at `stepped`.

    The result is 0 if the run has hardly begun or takes longer than expected.

        >>> _time_left(0.25, 10, 10), _time_left(0.25, 10, 22), _time_left(0.25, 10, 99)
        (30.0, 18.0, 0.0)
        >>> _time_left(0.01, 10, 10)
        0.0
    """
    if share < _EARLY:
        return 0.0
    return max(0.0, stepped / share - elapsed)


def _describe_time_left(seconds: float) -> str:
    """Describe the estimated time left in words, rounded to whole seconds or minutes.

    >>> _describe_time_left(42.1), _describe_time_left(200), _describe_time_left(0)
    ('about 43 s left', 'about 4 min left', '')
    """
    if seconds <= 0:
        return ""
    if seconds < 2 * _MINUTE:
        return f"about {int(seconds) + 1} s left"
    return f"about {int(seconds // _MINUTE) + 1} min left"
