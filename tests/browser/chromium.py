"""Drive a headless Chromium through the DevTools protocol, over two pipes."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

Json = dict[str, Any]

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""Path of the browser; None if none is installed."""

_PATIENCE = 30.0
_PAUSE = 0.05
_VANISHED = ("Cannot find context", "No frame", "context was destroyed", "navigated or closed")
"""Parts of the errors about a page that is no longer there."""
_LAUNCH = """
import os, sys
pipes = [os.dup2(int(pipe), 100 + at) for at, pipe in enumerate(sys.argv[1:3])]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts the browser, which reads commands from descriptor 3 and writes answers to 4."""


class _Vanished(Exception):  # noqa: N818 - to be expected
    """The page to which a command was sent is no longer there."""


class _Stopped(Exception):  # noqa: N818 - it may start at the next attempt
    """The browser has ended."""


class Tab:
    """A tab of the browser."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands, self._answers = commands, answers
        self._numbers, self._session = itertools.count(1), ""
        self.log: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Log", "Runtime"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> Json:  # noqa: ANN401 - JSON
        """Send a command, and return its result."""
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        command = {"id": number, "method": method, "params": parameters, **session}
        self._commands.write(json.dumps(command).encode() + b"\0")
        self._commands.flush()
        while True:
            message = self._read()
            if message.get("id") == number:
                if any(sign in str(message.get("error")) for sign in _VANISHED):
                    raise _Vanished
                assert "error" not in message, message
                return dict(message["result"])
            if message.get("method") == "Log.entryAdded":
                self.log.append(message["params"]["entry"]["text"])

    def _read(self) -> Json:
        message = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise _Stopped
            message += byte
        return dict(json.loads(message))

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)

    def run(self, script: str, *, framed: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Run a script in the page, or in its first frame, and return its value."""
        where = {}
        if framed:
            frames = self.send("Page.getFrameTree")["frameTree"].get("childFrames")
            if not frames:
                return None
            frame = frames[0]["frame"]["id"]
            world = self.send("Page.createIsolatedWorld", frameId=frame)
            where = {"contextId": world["executionContextId"]}
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, **where)
        return done["result"].get("value")

    def wait(self, script: str, *, framed: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Run a script until its value is true, and return the value."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            with suppress(_Vanished):  # the page is being replaced
                if value := self.run(script, framed=framed):
                    return value
            time.sleep(_PAUSE)
        message = f"{script} does not become true; log: {self.log}"
        raise AssertionError(message)

    def wait_for_log(self, text: str) -> None:
        """Wait until the browser has logged a text."""
        end = time.monotonic() + _PATIENCE
        while not any(text in entry for entry in self.log):
            assert time.monotonic() < end, f"{text!r} is not in the log: {self.log}"
            with suppress(_Vanished):
                self.run("0")
            time.sleep(_PAUSE)

    def picture(self, path: Path) -> None:
        """Write a picture of the page."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def browse(folder: Path) -> Iterator[Tab]:
    """Start the browser with a folder for its files, and open a tab.

    On a busy machine, the browser sometimes ends before it answers; it then gets a second chance.
    """
    with ExitStack() as stack:
        try:
            tab = stack.enter_context(_start(folder))
        except (_Stopped, BrokenPipeError):
            tab = stack.enter_context(_start(folder))
        yield tab


@contextmanager
def _start(folder: Path) -> Iterator[Tab]:
    assert PATH, "there is no Chromium"
    (read_commands, commands), (answers, write_answers) = os.pipe(), os.pipe()
    browser = subprocess.Popen(
        [
            *(sys.executable, "-c", _LAUNCH, str(read_commands), str(write_answers)),
            PATH,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
            "--window-size=1280,1000",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(read_commands, write_answers),
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        with os.fdopen(commands, "wb") as to_browser, os.fdopen(answers, "rb") as from_browser:
            yield Tab(to_browser, from_browser)
    finally:
        browser.terminate()
        browser.wait(timeout=20)
