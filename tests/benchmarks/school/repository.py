"""Read files of a public repository at one commit, without checking it out."""

import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from benchmarks.school.errors import SourceError, UnreadableSourceError

LARGEST = 4 * 2**20
"""Maximum size of a file that is read, in bytes; most rows of a larger table would be dropped
anyway."""


@dataclass(frozen=True)
class Repository:
    """A local copy of a repository, read at one commit."""

    source: str
    """Owner and name of the repository."""

    folder: Path
    """A git directory, or a folder with a `.git` in it."""

    commit: str

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Paths of all files, sorted."""
        listed = _git(self.folder, "ls-tree", "-r", "-z", "--name-only", self.commit)
        return tuple(sorted(listed.decode("utf-8", "replace").split("\0")[:-1]))

    def matching(self, patterns: str) -> list[str]:
        """Return the paths that match any of the patterns.

        Args:
            patterns: Patterns with `*`, separated by spaces.

        Raises:
            UnreadableSourceError: No file matches.
        """
        kinds = patterns.split()
        found = [path for path in self.files if any(fnmatch(path, kind) for kind in kinds)]
        if not found:
            raise UnreadableSourceError.without_file(self.source, patterns)
        return found

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if it is missing or too large.

        Args:
            path: Its path in the repository.
        """
        name = f"{self.commit}:{path}"
        try:
            if int(_git(self.folder, "cat-file", "-s", name)) > LARGEST:
                return None
            return _git(self.folder, "cat-file", "blob", name)
        except subprocess.CalledProcessError:
            return None


def open_repository(source: str, commit: str, *, cache: Path, mirror: Path | None) -> Repository:
    """Open a repository in the mirror or the cache, or clone it into the cache.

    Args:
        source: Owner and name.
        commit: The commit to read.
        cache: A folder of git directories, `owner+name`.
        mirror: A further such folder, which is only read.

    Raises:
        SourceError: The repository cannot be fetched.
    """
    name = source.replace("/", "+")
    for parent in (mirror, cache):
        places = [parent / name / part for part in ("repo", "repo/.git", "")] if parent else []
        for folder in places:
            if _holds(folder, commit):
                return Repository(source, folder, commit)
    return Repository(source, _clone(source, commit, cache / name), commit)


def _holds(folder: Path, commit: str) -> bool:
    """Return whether a git directory contains a commit.

    An interrupted clone does not.
    """
    if not (folder / "HEAD").is_file():
        return False
    command = ["git", "-C", str(folder), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _clone(source: str, commit: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _git(folder, "init", "--quiet", "--bare")
        url = f"https://github.com/{source}"
        _git(folder, "fetch", "--quiet", "--depth", "1", url, commit)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip()
        raise SourceError.not_fetched(source, commit, reason) from error
    return folder


def _git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout
