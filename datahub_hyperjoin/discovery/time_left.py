"""Estimate how much longer a run will take, for its progress bar."""

from rich.progress import ProgressColumn, Task
from rich.text import Text

_MINUTE = 60
_EARLY = 0.05
"""The finished share of a run below which no estimate of the time left is shown."""


class TimeLeftColumn(ProgressColumn):
    """A part of the progress bar that counts down the estimated time left.

    rich's own column divides by the speed of the last steps; the stages of a run are few and
    unequal, so this one compares the shares of a usual run with the elapsed time. The field
    `stepped` of the task is the elapsed time at the end of the last stage, in seconds.
    """

    def render(self, task: Task) -> Text:
        """Return the estimated time left as text; empty without an estimate."""
        share = task.completed / task.total if task.total else 0.0
        seconds = time_left(share, task.fields.get("stepped", 0.0), task.elapsed or 0.0)
        return Text(describe_time_left(seconds), style="progress.remaining")


def time_left(share: float, stepped: float, elapsed: float) -> float:
    """Estimate how many more seconds a run will take.

    Args:
        share: The share of a usual run that the finished stages make, from 0 to 1.
        stepped: Seconds from the start to the end of the last finished stage.

    Returns:
        The seconds, or 0 if the run has hardly begun or takes longer than expected.

    Examples:
        >>> time_left(0.25, 10, 10), time_left(0.25, 10, 22), time_left(0.25, 10, 99)
        (30.0, 18.0, 0.0)
        >>> time_left(0.01, 10, 10)
        0.0
    """
    if share < _EARLY:
        return 0.0
    return max(0.0, stepped / share - elapsed)


def describe_time_left(seconds: float) -> str:
    """Describe the estimated time left in words, rounded to whole seconds or minutes.

    Examples:
        >>> describe_time_left(42.1), describe_time_left(200), describe_time_left(0)
        ('about 43 s left', 'about 4 min left', '')
    """
    if seconds <= 0:
        return ""
    if seconds < 2 * _MINUTE:
        return f"about {int(seconds) + 1} s left"
    return f"about {int(seconds // _MINUTE) + 1} min left"
