"""Find out how much memory this process may use.

A container often has less memory than its machine, and the system ends a process that exceeds the
limit of its control group without a word.
"""

from collections.abc import Iterator
from pathlib import Path

import psutil

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_LIMITS = {
    "memory.max": "memory.current",
    "memory.limit_in_bytes": "memory.usage_in_bytes",
}
"""For both versions of Linux control groups: the file with the limit, and the one with the use."""
_CACHES = ("inactive_file", "total_inactive_file")
"""Counters of cached files, whose memory counts as used although the system frees it on demand."""


def memory_in_use() -> int:
    """Return the memory that this process uses now, in bytes."""
    return int(psutil.Process().memory_info().rss)


def usable_memory(groups: Path = _GROUPS, membership: Path = _MEMBERSHIP) -> int:
    """Return the total memory that this process may use, in bytes.

    It is what the process uses now, and what the machine and the process's control groups have
    left, whichever is less.

    Args:
        groups: The folder of control groups; other systems than Linux have none.
    """
    left = [int(psutil.virtual_memory().available)]
    left += [free for group in _own_groups(groups, membership) for free in _free_in(group)]
    return memory_in_use() + min(left)


def _own_groups(groups: Path, membership: Path) -> Iterator[Path]:
    """Yield the control groups that may limit the memory of this process.

    These are the groups of the process, and all groups that contain them.
    """
    try:
        lines = membership.read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = groups / controllers
        own = root / path.lstrip("/")
        yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root))


def _free_in(group: Path) -> Iterator[int]:
    """Yield how many more bytes a control group may use; nothing for a group without a limit."""
    for limit, usage in _LIMITS.items():
        try:
            most, used = ((group / name).read_text("ascii").strip() for name in (limit, usage))
        except OSError:
            continue
        if most != "max":
            yield max(int(most) - int(used) + _cached_in(group), 0)


def _cached_in(group: Path) -> int:
    try:
        lines = (group / "memory.stat").read_text("ascii").splitlines()
    except OSError:
        return 0
    counts = dict(line.split() for line in lines)
    return max(int(counts.get(name, 0)) for name in _CACHES)
