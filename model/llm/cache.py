"""Answers kept on disk, so that no question is paid for twice.

One small file an answer, named by the question's hash: runs that share a folder do not disturb one
another. A file holds what the model said and nothing of what it was asked.
"""

import json
import tempfile
from pathlib import Path

_LONGEST = 200
"""Characters of an answer that are kept; a name has fewer, and what is longer is none anyway."""


class Cache:
    """What a language model said before.

    Args:
        folder: Where it is kept; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.fault = ""
        """Why an answer could not be kept; empty if all were."""

    def get(self, key: str) -> str | None:
        """Looks an answer up.

        Args:
            key: The question's hash.

        Returns:
            What was said; None if it is not known, or its file is spoilt.
        """
        if self._folder is None:
            return None
        try:
            answer = json.loads(self._file(self._folder, key).read_bytes())["answer"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return answer if isinstance(answer, str) else None

    def put(self, key: str, said: str) -> None:
        """Keeps an answer, whole or not at all.

        Args:
            key: The question's hash.
            said: What the model said.
        """
        if self._folder is None or self.fault:
            return
        file = self._file(self._folder, key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=file.parent, prefix=".new-") as folder:
                fresh = Path(folder, file.name)
                fresh.write_text(json.dumps({"answer": said[:_LONGEST]}), "ascii")
                fresh.replace(file)
        except OSError as error:
            self.fault = f"{self._folder}: {error.strerror}"

    @staticmethod
    def _file(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"
