"""A headless Chromium, driven by real clicks and key presses (WebDriver, through chromedriver).

Unless both are installed, the tests that need them are not collected (see ``conftest.py``). With
FENCEPOST_BROWSER=1, which `.ci/run` sets after installing them, the tests are always collected, and
fail if one of the two is missing.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support.processes import started

DRIVER = shutil.which("chromedriver")
WANTED = bool(DRIVER) or os.environ.get("FENCEPOST_BROWSER") == "1"
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
    "End": "\ue010", "Home": "\ue011", "Enter": "\ue007", "Escape": "\ue00c",
}  # fmt: skip


class Browser:
    """A browser tab."""

    def __init__(self, base: str) -> None:
        self._base = base

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self._base}{path}", data, headers, method=method)
        try:
            with urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path | str) -> None:
        """Opens a file or a URL."""
        self.call(
            "POST", "/url", {"url": page if isinstance(page, str) else page.resolve().as_uri()}
        )

    def size(self, width: int, height: int) -> None:
        """Sets the size of the window, which cannot be made as small as a phone's screen."""
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        """Sets the size of the page, independently of the window, and the preferred colour
        scheme.
        """
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send_command("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send_command("Emulation.setEmulatedMedia", features=[scheme])

    def send_command(self, command: str, **parameters: Any) -> Any:
        """Sends a command of Chromium's own protocol."""
        body = {"cmd": command, "params": parameters}
        return self.call("POST", "/goog/cdp/execute", body)

    def type(self, selector: str, text: str) -> None:
        """Replaces the text of an input by typing."""
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{element[ELEMENT]}/clear")
        self.call("POST", f"/element/{element[ELEMENT]}/value", {"text": text})

    def click(self, selector: str) -> None:
        """Clicks an element with the mouse; fails if something covers it."""
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{element[ELEMENT]}/click")

    def press(self, *keys: str) -> None:
        """Presses keys one after the other; they go to the element that has the focus."""
        actions: list[dict[str, str]] = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        body = {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        self.call("POST", "/actions", body)

    def ask(self, script: str) -> Any:
        """Returns the value of a JavaScript expression."""
        return self.call("POST", "/execute/sync", {"script": f"return {script}", "args": []})

    def log(self) -> list[str]:
        """Returns the browser's messages since the last call, such as errors and blocked
        requests.
        """
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


@contextmanager
def browser(profile: Path) -> Generator[Browser]:
    """Opens a browser with an empty profile for the duration of the block."""
    assert DRIVER is not None, "FENCEPOST_BROWSER=1, and there is no chromedriver"
    with started(DRIVER, "--port=0", errors=subprocess.DEVNULL, patience=600) as process:
        assert process.stdout is not None
        ready = re.compile(r"successfully on port (\d+)")
        port = next(m[1] for line in process.stdout if (m := ready.search(line)))
        root = f"http://127.0.0.1:{port}/session"
        wanted = {
            "goog:chromeOptions": {"args": [*OPTIONS, f"--user-data-dir={profile}"]},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        body = {"capabilities": {"alwaysMatch": wanted}}
        session = Browser(root).call("POST", "", body)["sessionId"]
        tab = Browser(f"{root}/{session}")
        try:
            yield tab
        finally:
            tab.call("DELETE", "")
