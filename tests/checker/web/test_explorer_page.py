"""The explorer in a browser: a whole session by clicks and keys, and pages from other origins."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.support.browser import Browser, browser
from tests.support.command import run
from tests.support.explorers import answer_to_page, serving
from tests.support.sample_traces import EVIL, FAULTS

from fencepost.checker.tools.exploration import Exploration

PATIENCE = 60
WANTED = "Client.told == 2 and Client.asked == 2 and own == [] and net == []"


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.size(1400, 900)
        yield tab


def until(condition: Callable[[], Any]) -> Any:
    """Returns the first truthy result of a condition; fails after a minute."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.02)
    return result


def idle(tab: Browser) -> bool:
    return bool(tab.ask("!document.body.classList.contains('waiting')"))


def click(tab: Browser, selector: str) -> None:
    """Clicks on an element, and waits for the answer."""
    tab.click(selector)
    until(lambda: idle(tab))


def press(tab: Browser, *keys: str) -> None:
    for key in keys:
        tab.press(key)
        until(lambda: idle(tab))


def say(tab: Browser, selector: str, text: str) -> str:
    """Submits an expression in a form, and returns the message on the page."""
    tab.type(f"{selector} input", text)
    press(tab, "Enter")
    return str(tab.ask("document.getElementById('said').textContent"))


def steps(tab: Browser) -> list[str]:
    """Returns the titles in the list of steps, which must match the boxes of the diagram."""
    titles = tab.ask("[...document.querySelectorAll('#steps h2')].map(e => e.textContent.slice(2))")
    boxes = tab.ask("document.querySelectorAll('#diagram .step').length")
    assert boxes == len(titles)
    return [str(title).strip() for title in titles]


def texts(tab: Browser, selector: str) -> list[str]:
    script = f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)"
    return [str(text) for text in tab.ask(script)]


def test_a_session(tab: Browser, tmp_path: Path) -> None:
    """Takes steps, watches expressions, goes to a condition and back, takes another path, and
    returns to the first one; the saved file is a trace of the spec.
    """
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    tab.send_command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
    with serving(tmp_path, FAULTS) as server:
        tab.open(server.gate.url)
        assert texts(tab, "#options h3") == ["Client"]
        click(tab, "#options .take")
        press(tab, "1")
        assert steps(tab) == ["initial state", "Client.ask", "net.lose(message: Ask(n: 1))"]
        press(tab, "b")
        assert texts(tab, "#options h3") == ["net", "Client", "Server[1]", "Server[2]"]
        click(tab, "#options .group:nth-child(3) .take")
        assert steps(tab)[-1] == "Server[1].on_ask(loud: false) on Ask(n: 1)"

        assert say(tab, "#watch", "len(net) + Server[1].seen") == ""
        assert say(tab, "#watch", "Server[3].seen").startswith("error[F")
        kept = tab.ask("document.getElementById('expression').value")
        assert kept == "Server[3].seen", "what was wrong can be mended"
        assert say(tab, "#watch", "first(own)") == ""
        assert texts(tab, "#watched td:nth-child(2)") == ["2", "Nudge"]
        # The values are those in the selected step.
        tab.press("Escape", "k")
        assert texts(tab, "#watched td:nth-child(2)") == ["1", "it has no value here"]
        assert texts(tab, "#watched tr.changed th") == ["len(net) + Server[1].seen"]
        click(tab, "#watched tr:nth-child(2) .remove")
        assert texts(tab, "#watched th") == ["len(net) + Server[1].seen"]

        message = say(tab, "#goto", WANTED)
        assert message.endswith(" seen")
        long = steps(tab)
        assert texts(tab, "#wrong p") == ["invariant Twice is violated"]
        assert texts(tab, "#caption") == [
            f"invariant Twice is violated after {len(long) - 1} steps"
        ]
        assert tab.ask("document.querySelectorAll('#diagram .end').length") == 1

        # Takes another path from the second step, and then the first path again.
        click(tab, "#step-1 .here")
        assert steps(tab) == long[:2]
        press(tab, "2")
        assert steps(tab) == [*long[:2], "Client.ask"]
        assert tab.ask("document.getElementById('ways').hidden") is False
        tab.click("#ways summary")
        assert len(texts(tab, "#ways .way")) == 3
        ways = texts(tab, "#ways li")
        longest = next(n for n, way in enumerate(ways) if way.startswith(f"{len(long)} states"))
        assert ways[longest].endswith("separates after step 1")
        click(tab, f"#ways li:nth-child({longest + 1}) .way")
        assert steps(tab) == long
        press(tab, "b", "b", "f", "f")
        assert steps(tab) == long

        tab.click("#save")
        saved = downloads / "walk.itf.json"
        until(saved.exists)
        assert tab.log() == []
    words = ("trace", "replay", str(saved), "spec.fence")
    ran = run(*words, folder=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    # The name of the test's folder may be longer than a line.
    assert f"fits spec.fence: {len(long)} states " in " ".join(ran.stdout.split()) + " "
    assert "invariant Twice is violated at its end" in ran.stdout


def test_initial_states_and_final_steps(tab: Browser, tmp_path: Path) -> None:
    spec = (
        "var x: 0..2 = any\nvar y: 0..1 = 0\naction fall: assert x == 7\n"
        "action up:\n    require x < 2\n    x += 1\ninvariant Low: x < 2\n"
    )
    with serving(tmp_path, spec) as server:
        tab.open(server.gate.url)
        assert texts(tab, "#options .label") == ["x = 0, y = 0", "x = 1, y = 0", "x = 2, y = 0"]
        assert texts(tab, "#choice") == ["Where to begin"]
        assert tab.ask("document.getElementById('save').getClientRects().length") == 0
        press(tab, "2")
        assert texts(tab, ".take.bad .note") == [
            "fails: the assertion is false",
            "violates invariant Low",
        ]
        press(tab, "1")
        assert steps(tab)[-1] == "fall"
        assert texts(tab, "#wrong p") == ["this step fails: the assertion is false"]
        assert texts(tab, "#options p") == ["there is no successor"]
        press(tab, "b", "b")
        assert texts(tab, "#choice") == ["Where to begin"]
        assert say(tab, "#goto", "x == 2 and y == 0").startswith("1 step, ")
        assert say(tab, "#goto", "y ==").startswith("error[F101]")
        assert tab.log() == []


def test_hostile_text_is_text(tab: Browser, tmp_path: Path) -> None:
    """The page repeats typed text in messages, and never interprets that text as markup."""
    with serving(tmp_path, FAULTS) as server:
        tab.open(server.gate.url)
        for text in EVIL[:2]:
            assert say(tab, "#goto", text).startswith("error[F")
        watched = "{1} == {2} or 'x' == 3".replace("'x'", "(1 + 2)")
        say(tab, "#watch", watched)
        assert texts(tab, "#watched th") == [watched]
        assert tab.ask("document.querySelectorAll('img, main script').length") == 0
        assert tab.log() == []


class _Evil(BaseHTTPRequestHandler):
    """Serves a page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title><body>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_another_origin_has_no_access(tab: Browser, tmp_path: Path) -> None:
    """Even with the token, a page on another port has no access by `fetch`, by a form, or in a
    frame.
    """
    # Browsers open connections in advance; a single-threaded server would wait for them.
    local = ("127.0.0.1", 0)
    with serving(tmp_path, FAULTS) as server, ThreadingHTTPServer(local, _Evil) as evil:
        Thread(target=evil.serve_forever, args=(0.02,), daemon=True).start()
        try:
            tab.open(f"http://127.0.0.1:{evil.server_address[1]}/")
            url = server.gate.url
            body = json.dumps({"do": "take", "at": 0, "number": 1})
            tries: list[dict[str, Any]] = [
                {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": body},
                {"method": "POST", "mode": "no-cors", "body": body},
                {"method": "GET"},
            ]
            for attempt in tries:
                target = json.dumps(url + ("do" if attempt["method"] == "POST" else ""))
                script = (
                    f"fetch({target}, {json.dumps(attempt)}).then(a => a.text()).then("
                    "text => { window.got = `${text.length}`; }, () => { window.got = 'failed'; })"
                )
                tab.ask(f"(window.got = undefined, {script}, 0)")
                # An opaque response has no text.
                assert until(lambda: tab.ask("window.got")) in ("failed", "0")
            frame = f"document.body.innerHTML = '<iframe id=f src=\"{url}\"></iframe>'"
            tab.ask(f"({frame}, 0)")
            until(lambda: tab.log())
            tab.ask(
                "(document.body.innerHTML = '<form id=s method=post enctype=text/plain action="
                f"{url}do><input name=x></form>', document.getElementById('s').submit(), 0)"
            )
            until(lambda: tab.ask("location.href") == f"{url}do")
            assert tab.ask("document.body.textContent") == "Forbidden"
            assert len(answer_to_page(server, do="back", at=0, count=0).json["data"]["steps"]) == 1
        finally:
            evil.shutdown()
        tab.log()


def test_two_hundred_steps_of_forty_variables(tab: Browser, tmp_path: Path) -> None:
    """Each step is taken with a key, and the last one is visible on the screen."""
    roles = "".join(
        f"role R{role}:\n"
        + "".join(f"    var v{n}: 0..9 = 0\n" for n in range(8))
        + f"    action go(n in 1..2):\n        v{role} = (v{role} + n) % 10\n"
        for role in range(5)
    )

    def walk(explored: Exploration) -> None:
        for at in range(198):
            explored.take(at % 10 + 1)

    with serving(tmp_path, f"{roles}terminal: true\n", walk) as server:
        tab.open(server.gate.url)
        press(tab, "3")
        assert len(steps(tab)) == 200
        last = "document.querySelector('.step.on rect').getBoundingClientRect()"
        frame = "document.getElementById('diagram').getBoundingClientRect()"
        assert tab.ask(f"{frame}.top <= {last}.top && {last}.bottom <= {frame}.bottom")
        tab.press("s")
        assert len(texts(tab, "#step-199 table.state tr")) == 40
        click(tab, "#step-100 .here")
        assert len(steps(tab)) == 101
        assert tab.log() == []


@pytest.mark.parametrize("width", [390, 800])
@pytest.mark.parametrize("dark", [False, True])
def test_the_explorer_fits_small_screens(
    tab: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    with serving(tmp_path, FAULTS) as server:
        answer_to_page(server, do="goto", at=0, text="len(net) == 2 and Server[1].seen == 1")
        tab.screen(width, 844, dark=dark)
        try:
            tab.open(server.gate.url)
            assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
            back = tab.ask("getComputedStyle(document.body).backgroundColor")
            assert back == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
            heights = tab.ask("[...document.querySelectorAll('.take')].map(b => b.offsetHeight)")
            assert min(heights) >= 28
        finally:
            tab.send_command("Emulation.clearDeviceMetricsOverride")
            tab.send_command("Emulation.setEmulatedMedia", features=[])
