"""A headless Chromium, driven over a pipe by the DevTools protocol; no package is needed for it.

https://chromedevtools.github.io/devtools-protocol/: with --remote-debugging-pipe commands are read from file
descriptor 3 and answers written to 4, JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


def find_chromium() -> str | None:
    """Returns the path of a Chromium, None without one. CHROMIUM names another than those of PATH."""
    return os.environ.get("CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One page. ``requests`` and ``errors`` hold what it asked the network for and complained about."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._number = 0
        for attempt in range(2):  # on a busy machine it was seen once to start and to answer nothing
            self._start(folder / str(attempt))
            try:
                pages = self._call("Target.getTargets")["targetInfos"]
                break
            except RuntimeError:
                self._process.kill()
                self._process.wait()
                if attempt == 1:
                    raise
        page = next(each["targetId"] for each in pages if each["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _start(self, profile: Path) -> None:
        self._buffer = b""
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        program = find_chromium()
        assert program is not None
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(
            # the shell puts the two ends where Chromium looks for them
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", *command], pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._from, selectors.EVENT_READ)

    def close(self) -> None:
        """Ends the browser."""
        try:
            self._call("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def open(self, file: Path, width: int = 1280, height: int = 900, **media: str) -> None:
        """Shows a file at a width, with media features such as ``prefers_color_scheme="dark"``."""
        self.resize(width, height)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        self._loaded = False
        self.call("Page.navigate", url=file.resolve().as_uri())
        end = time.monotonic() + 30
        while not self._loaded:
            self._take(self._read(end))

    def resize(self, width: int, height: int = 900) -> None:
        """Gives the page another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Presses a key: "Enter", "ArrowRight"."""
        number = {"Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number, **text)

    def picture(self, file: Path, whole: bool = True) -> None:
        """Writes what is shown as PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def call(self, method: str, **parameters: Any) -> Any:
        """Calls a method of the protocol for the page."""
        return self._call(method, self._session, **parameters)

    def _call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 30
        while True:
            answer = self._read(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._take(answer)

    def _read(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not self._selector.select(max(0, end - time.monotonic())):
                raise RuntimeError("expected an answer from Chromium within 30 s, got none")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError(f"expected Chromium to run, got its exit code {self._process.wait()}")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _take(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
