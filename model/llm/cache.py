"""Store the language model's answers on disk, so that no question is paid for twice.

Each answer is one small file named by the question's hash, so runs can share a folder. A file holds
the answer and nothing of the question.
"""

import json
from pathlib import Path

from datahub_hyperjoin.storage import replacing

_MAX_LENGTH = 200
"""Maximum number of characters of an answer that are stored; every usable name is shorter."""


class Cache:
    """A store of the language model's answers on disk."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.error = ""
        """Reason why an answer could not be stored; empty if all were."""

    def get(self, key: str) -> str | None:
        """Return the stored answer to a question, or None.

        Returns:
            The answer; None if there is none or its file is damaged.
        """
        if self._folder is None:
            return None
        # A damaged file costs one question, so it is no reason to fail.
        try:
            answer = json.loads(self._file(self._folder, key).read_bytes())["answer"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return answer if isinstance(answer, str) else None

    def put(self, key: str, answer: str) -> None:
        """Store the answer to a question in one atomic write."""
        # An error that prevents one write, such as a full disk, prevents all others.
        if self._folder is None or self.error:
            return
        file = self._file(self._folder, key)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(file) as fresh:
                fresh.write_text(json.dumps({"answer": answer[:_MAX_LENGTH]}), "ascii")
        except OSError as error:
            self.error = f"{self._folder}: {error.strerror}"

    @staticmethod
    def _file(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"
