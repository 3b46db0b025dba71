"""The HTML page of a trace in a real browser, with real clicks and keys, and without a network."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.browser import Browser, browser
from tests.support.command import run
from tests.support.sample_traces import ENDLESS, FAULTS, hostile, large, saved


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.size(1400, 900)
        yield tab


@pytest.fixture(scope="module", name="page")
def _page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return drawn(saved(folder, FAULTS))


def drawn(trace: Path) -> Path:
    words = ("trace", "show", trace.name, "--as", "html", "--output", "page.html")
    assert run(*words, folder=trace.parent).code == 0
    return trace.parent / "page.html"


def current(tab: Browser) -> str:
    """Returns the number of the selected step."""
    number = tab.ask("document.querySelector('#steps > li[aria-current] .select').textContent")
    assert tab.ask("document.querySelectorAll('#steps > li[aria-current]').length") == 1
    return str(number)


def shown(tab: Browser, selector: str) -> list[str]:
    """Returns the texts of the visible elements that match the selector."""
    script = (
        f"[...document.querySelectorAll({selector!r})]"
        ".filter(e => e.getClientRects().length).map(e => e.textContent)"
    )
    return [str(text) for text in tab.ask(script)]


def await_(tab: Browser, condition: str) -> None:
    """Waits until a condition of the page holds."""
    poll = f"setInterval(() => {{ if ({condition}) {{ clearInterval(timer); done(true); }} }}, 20)"
    assert tab.ask(f"new Promise(done => {{ const timer = {poll}; }})")


def test_keys_step_through_the_trace(tab: Browser, page: Path) -> None:
    tab.open(page)
    assert current(tab) == "0"
    seen: list[str] = []
    for key in ("j", "ArrowDown", "k", "ArrowUp", "ArrowUp", "End", "ArrowDown", "Home"):
        tab.press(key)
        seen.append(current(tab))
    assert seen == ["1", "2", "1", "0", "0", "8", "8", "0"]
    assert tab.log() == []


def test_keys_repeat_the_steps_of_a_lasso(tab: Browser, tmp_path: Path) -> None:
    tab.open(drawn(saved(tmp_path, ENDLESS)))
    seen: list[tuple[str, str]] = []
    for key in ("End", "j", "ArrowDown", "j", "j", "k", "k", "k", "k", "k"):
        tab.press(key)
        seen.append((current(tab), shown(tab, "#onward output")[0]))
    second = "(round 2)"
    assert seen == [
        ("4", ""), ("2", second), ("3", second), ("4", second), ("2", "(round 3)"),
        ("4", second), ("3", second), ("2", second), ("4", ""), ("3", ""),
    ]  # fmt: skip
    tab.click("#onward a")
    assert (current(tab), shown(tab, "#onward output")) == ("2", [second])
    tab.click("#why summary")
    tab.click("#endless a[href='#step-4']")
    assert (current(tab), shown(tab, "#onward output")) == ("4", [""])
    again = tab.ask("[...document.querySelectorAll('li.again')].map(e => e.dataset.step)")
    assert again == ["2", "3", "4"]
    # The arrow back leads from the last box to the first repeated one, to the left of both boxes.
    way = "document.querySelector('.back path').getBoundingClientRect()"
    boxes = (
        "[...document.querySelectorAll('.step:not(.initial) .box')]"
        ".map(e => e.getBoundingClientRect())"
    )
    (back, (_, first, _, last)) = tab.ask(way), tab.ask(boxes)
    assert first["top"] < back["top"] < first["bottom"]
    assert last["top"] < back["bottom"] < last["bottom"]
    assert back["left"] < min(first["left"], last["left"]) - 5
    assert tab.log() == []


def test_the_diagram_follows_and_leads(tab: Browser, page: Path) -> None:
    tab.open(page)
    tab.press("j", "j", "j")
    on = tab.ask("[...document.querySelectorAll('.step.on')].map(e => e.dataset.step)")
    assert on == ["3"]
    needed = tab.ask("[...document.querySelectorAll('.step.needed')].map(e => e.dataset.step)")
    assert needed == ["2"]
    tab.click(".step[data-step='6'] text")
    assert current(tab) == "6"
    tab.click("#step-6 .why a[href='#step-5']")
    assert current(tab) == "5"
    tab.press("n")
    assert current(tab) == "6"


def test_state_and_source_are_next_to_the_step(tab: Browser, page: Path) -> None:
    tab.open(page)
    tab.click("#step-1 h2")
    assert shown(tab, "figure.source pre") == [
        "action ask:\n    require asked < 2\n    asked += 1\n    send Ask(asked) to net"
    ]
    assert shown(tab, "table.state") == []
    tab.click("#step-1 .open")
    rows = shown(tab, "#step-1 table.state tr")
    assert "Client.asked1" in rows
    assert "net[Ask(n: 1)]" in rows
    assert len(rows) == 8
    assert shown(tab, "#step-1 tr.changed") == ["net[Ask(n: 1)]", "Client.asked1"]
    boxes = tab.ask(
        "['table.state', 'figure.source']"
        ".map(s => document.querySelector(s).getBoundingClientRect())"
    )
    assert boxes[0]["bottom"] <= boxes[1]["top"], "the source stands below the state"
    # Any state can be opened, with the mouse or by key, even if another step is selected.
    tab.press("j", "s")
    assert len(shown(tab, "table.state")) == 2
    tab.press("s")
    assert len(shown(tab, "table.state")) == 1
    tab.click("#step-1 .open")
    assert shown(tab, "table.state") == []


def test_a_trace_is_played(tab: Browser, page: Path) -> None:
    """Playing moves the messages, the slider and the state; the end stops it."""
    tab.open(page)
    tab.click("#now summary")
    tab.press("Home", "j", "p")
    await_(tab, "document.querySelector('.flight .dot')")
    await_(tab, "seek.value === '2'")
    tab.press("p")
    assert (current(tab), shown(tab, "#player output")) == ("2", ["step 2 of 8"])
    assert "Client.asked2" in shown(tab, "#now tr.changed")
    tab.ask("seek.value = 8, seek.dispatchEvent(new Event('input'))")
    assert (current(tab), shown(tab, "#now summary")) == ("8", ["State 8"])
    assert tab.ask("play.textContent") == "▶"
    assert tab.log() == []


def test_list_and_diagram_scroll_together(tab: Browser, tmp_path: Path) -> None:
    (tmp_path / "t.itf.json").write_bytes(large(40, 4))
    tab.open(drawn(tmp_path / "t.itf.json"))
    await_(tab, "(scrollBy(0, 50), diagram.scrollTop > 900)")
    await_(tab, "(diagram.scrollBy(0, -20), scrollY < 500)")


def test_the_page_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    trace = saved(tmp_path, FAULTS)
    data = json.loads(trace.read_text("utf-8"))
    data["#meta"]["source"] = str(tmp_path / "deep" / "spec.fence")
    data["#meta"]["property-source"]["place"] = "/elsewhere/secret/spec.fence:1:1"
    trace.write_text(json.dumps(data), encoding="utf-8")
    page = drawn(trace).read_text("utf-8")
    assert "deep/spec.fence" in page
    assert "<figcaption>spec.fence:1:1</figcaption>" in page
    assert [folder for folder in (str(tmp_path), "secret") if folder in page] == []


def test_light_and_dark(tab: Browser, page: Path) -> None:
    tab.open(page)
    back = "getComputedStyle(document.body).backgroundColor"
    light = tab.ask(back)
    tab.press("t")
    dark = tab.ask(back)
    tab.click("#theme")
    assert (light, tab.ask(back)) == ("rgb(255, 255, 255)", light)
    assert dark == "rgb(20, 24, 29)"


def test_the_help_for_keys(tab: Browser, page: Path) -> None:
    tab.open(page)
    tab.press("?")
    assert tab.ask("document.getElementById('keys').open")
    tab.press("j")
    assert current(tab) == "0", "the dialog has the keyboard"
    tab.press("Escape")
    tab.click("#help")
    tab.click("#keys button")
    assert not tab.ask("document.getElementById('keys').open")


def test_on_a_phone(tab: Browser, page: Path) -> None:
    """The steps come first, the diagram is a tab, nothing else is wider than the screen, and
    buttons are large enough for a finger.
    """
    tab.size(500, 800)
    tab.open(page)
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    assert tab.ask("steps.getBoundingClientRect().top") < 300
    assert tab.ask("diagram.clientHeight") == 0
    tab.click("[data-tab='diagram']")
    assert tab.ask("diagram.scrollWidth > diagram.clientWidth")
    assert tab.ask("list.clientHeight") == 0
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    tab.click("[data-tab='steps']")
    tab.ask("document.getElementById('step-3').scrollIntoView({block: 'center'})")
    tab.click("#step-3 h2")
    tab.click("#step-3 .open")
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    sizes = tab.ask("[...document.querySelectorAll('li button')].map(b => b.offsetHeight)")
    assert min(sizes) >= 32
    tab.size(1400, 900)


@pytest.fixture(scope="module", name="wide")
def _wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with five lifelines and with labels that do not fit."""
    trace = tmp_path_factory.mktemp("wide") / "t.itf.json"
    trace.write_bytes(large(40, 4))
    return drawn(trace)


@pytest.fixture(name="small")
def _small(tab: Browser) -> Generator[Browser]:
    """A tab with a small screen."""
    yield tab
    tab.send_command("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_the_names_of_lifelines_stay_in_sight(small: Browser, wide: Path, width: int) -> None:
    small.screen(width, 844)
    small.open(wide)
    if width == 390:
        small.click("[data-tab='diagram']")
    names = "document.querySelector('.names').getBoundingClientRect()"
    for key in ("End", "Home", "j"):
        small.press(key)
        box = small.ask(names)
        assert 0 <= box["top"] < box["bottom"] < 844
        # Each name is above its lifeline, even if the diagram is scrolled.
        lanes = "[...document.querySelectorAll('.lane')].map(e => e.getBoundingClientRect())"
        centres = "[...document.querySelectorAll('.names g')].map(e => e.getBoundingClientRect())"
        for lane, name in zip(small.ask(lanes), small.ask(centres), strict=True):
            assert abs(lane["left"] - (name["left"] + name["right"]) / 2) < 2
    last = "document.querySelector('.step.on .box').getBoundingClientRect()"
    small.press("End")
    assert small.ask(f"{last}.top") > small.ask(f"{names}.bottom"), "nothing hides behind them"
    chosen = "document.querySelector('#steps > li[aria-current]').getBoundingClientRect()"
    assert width == 390 or small.ask(f"{chosen}.top < innerHeight && {chosen}.bottom > 0")


def test_a_label_is_shown_in_full(small: Browser, wide: Path) -> None:
    """A part with the focus or under the pointer shows its full label, even if it must be scrolled
    into view.
    """
    small.screen(800, 844)
    small.open(wide)
    label = "document.getElementById('label')"
    assert small.ask(f"{label}.hidden")
    assert not small.ask("document.querySelector('.flight').dataset.full"), "this label fits"
    shortened = "[...document.querySelectorAll('.step[data-full]')].map(e => e.dataset.step)"
    for step in map(int, small.ask(shortened)[:: len(small.ask(shortened)) - 1]):
        part = f".step[data-step='{step}']"
        text = f"Node[{step % 5}].on_append on Append(term: {step - 1}, entries: [a, b, c])"
        small.ask(f'document.querySelector("{part}").focus()')
        assert small.ask(f"{label}.textContent").split("\n")[0] == text
        small.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert not small.ask(f"{label}.hidden")
        box = small.ask(f"{label}.getBoundingClientRect()")
        assert box["left"] >= 0
        assert box["right"] <= 800
        assert 0 <= box["top"] < box["bottom"] <= 844
        small.press("Escape")
        assert small.ask(f"{label}.hidden")
    small.ask("document.activeElement.blur()")
    small.press("Home")
    element = small.call("POST", "/element", {"using": "css selector", "value": ".step[data-full]"})
    move = {"type": "pointerMove", "origin": element, "x": 0, "y": 0}
    pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
    small.call("POST", "/actions", {"actions": [pointer]})
    assert small.ask(f"{label}.textContent").startswith("Node[4].on_append")
    assert not small.ask(f"{label}.hidden")
    away = {**pointer, "actions": [{**move, "origin": "viewport", "x": 700, "y": 800}]}
    small.call("POST", "/actions", {"actions": [away]})
    assert small.ask(f"{label}.hidden")


def test_no_label_leaves_the_diagram(small: Browser, tmp_path: Path) -> None:
    """Labels of messages still in flight also stay inside the diagram, on every lifeline."""
    small.screen(800, 844)
    for roles in range(2, 7):
        sent = {
            "kind": "send",
            "channel": "net",
            "message": {"tag": "AppendEntries", "value": {"term": 12345, "leader": "A"}},
        }
        states: list[dict[str, object]] = [{"x": 0}]
        for role in range(roles):
            meta = {"action": f"R{role}.go", "title": f"R{role}.go", "lifeline": f"R{role}",
                    "kind": "ordinary", "exchanges": [sent]}  # fmt: skip
            states.append({"#meta": meta, "x": role})
        trace = tmp_path / "flying.itf.json"
        trace.write_text(json.dumps({"vars": ["x"], "states": states}), encoding="utf-8")
        small.open(drawn(trace))
        frame = small.ask("document.querySelectorAll('#diagram svg')[1].getBoundingClientRect()")
        boxes = small.ask(
            "[...document.querySelectorAll('#diagram .flight')].map(e => e.getBoundingClientRect())"
        )
        assert len(boxes) == roles
        for box in boxes:
            assert frame["left"] <= box["left"]
            assert box["right"] <= frame["right"]


@pytest.mark.parametrize("width", [800, 390])
def test_values_break_between_words(small: Browser, wide: Path, width: int) -> None:
    """No line starts inside a word that would fit on one line."""
    small.screen(width, 844)
    small.open(wide)
    small.press("s")
    inside = """[...document.querySelectorAll('td, th')].flatMap(cell => {
        const found = [];
        for (const text of [...cell.childNodes].filter(n => n.nodeType === 3)) {
            for (const match of text.data.matchAll(/[\\w]+/g)) {
                const range = document.createRange();
                range.setStart(text, match.index);
                range.setEnd(text, match.index + match[0].length);
                if (range.getClientRects().length > 1) found.push(match[0]);
            }
        }
        return found;
    })"""
    cells = small.ask("document.querySelectorAll('td').length")
    assert cells > 40
    assert small.ask(inside) == []
    assert small.ask("document.documentElement.scrollWidth <= innerWidth")


def test_a_link_leads_to_a_step(tab: Browser, page: Path) -> None:
    tab.call("POST", "/url", {"url": f"{page.as_uri()}#step-7"})
    tab.call("POST", "/refresh")
    assert current(tab) == "7"


def test_hostile_text_is_text(tab: Browser, tmp_path: Path) -> None:
    trace = tmp_path / "evil.itf.json"
    trace.write_bytes(hostile())
    tab.open(drawn(trace))
    for _ in range(12):
        tab.press("j", "s")
    assert tab.ask("document.querySelectorAll('img, li script').length") == 0
    assert tab.log() == []
    assert "<img src=x onerror=alert(2)>" in "".join(shown(tab, "#property pre"))


def test_injected_scripts_are_blocked(tab: Browser, page: Path) -> None:
    """The policy of the page forbids every script except its own, identified by its hash."""
    text = page.read_text("utf-8")
    broken = page.with_name("broken.html")
    evil = "<script>document.title = 'evil'</script><img src=x onerror=\"document.title='evil'\">"
    broken.write_text(text.replace("<h1>", f"{evil}<h1>"), encoding="utf-8")
    tab.open(broken)
    tab.press("j")
    assert current(tab) == "1"
    assert tab.ask("document.title") == "invariant Twice is violated after 8 steps"
    assert any("Content Security Policy" in line for line in tab.log())


def test_a_large_trace_is_usable(tab: Browser, tmp_path: Path) -> None:
    """With 200 steps of 40 variables, each state can be opened, and one key leads to the last
    step.
    """
    trace = tmp_path / "large.itf.json"
    trace.write_bytes(large())
    tab.open(drawn(trace))
    tab.press("End")
    assert current(tab) == "199"
    assert tab.ask("document.getElementById('step-199').getBoundingClientRect().top < innerHeight")
    tab.press("s")
    assert len(shown(tab, "#step-199 table.state tr")) == 40
    tab.ask("document.querySelectorAll('.open').forEach(b => b.click())")
    tab.press("Home")
    assert current(tab) == "0"
    assert len(shown(tab, "table.state")) == 199


# ---------------------------------------------------------------- the state graph


@pytest.mark.parametrize("width", [800, 390])
def test_the_first_state_of_a_wide_graph_is_on_the_screen(
    small: Browser, tmp_path: Path, width: int
) -> None:
    spec = (
        "var x: 0..39 = 0\naction a(n in 1..39):\n    require x == 0\n    x = n\nterminal: true\n"
    )
    (tmp_path / "spec.fence").write_text(spec, encoding="utf-8")
    ran = run("graph", "spec.fence", "--as", "html", "--output", "g.html", folder=tmp_path)
    assert ran.code == 0
    small.screen(width, 844)
    small.open(tmp_path / "g.html")
    assert small.ask("diagram.scrollWidth > diagram.clientWidth")
    box = small.ask("document.querySelector('.vertex').getBoundingClientRect()")
    assert 0 <= box["left"] < box["right"] <= width
    assert 0 <= box["top"] < box["bottom"] <= 844


@pytest.fixture(scope="module", name="graph")
def _graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    spec = """\
var x: 0..3 = 0
var y: bool = any
action up: x += 1
action flip: y = not y
invariant Low: x < 2
constraint Most: x < 3
"""
    (folder / "spec.fence").write_text(spec, encoding="utf-8")
    ran = run("graph", "spec.fence", "--as", "html", "--output", "g.html", folder=folder)
    assert ran.code == 0
    return folder / "g.html"


def vertex(tab: Browser) -> str:
    """Returns the values of the displayed state, which must be the marked one."""
    number = tab.ask("document.querySelector('.vertex.on text').textContent")
    assert shown(tab, "#panel h2")[0].startswith(f"state {number}: ")
    return " ".join(shown(tab, "#panel td"))


def test_a_graph_is_walked_by_keys_and_clicks(tab: Browser, graph: Path) -> None:
    tab.size(1400, 900)
    tab.open(graph)
    assert vertex(tab) == "0 false"
    seen: list[str] = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowDown", "v", "ArrowUp", "Home"):
        tab.press(key)
        seen.append(vertex(tab))
    assert seen[:4] == ["0 true", "0 false", "1 false", "2 false"]
    assert seen[4] == "2 true", "v goes to the next problem, but this is one"
    assert seen[5:] == ["1 true", "0 false"]
    tab.press("v")
    assert "violates invariant Low" in shown(tab, "#panel p")
    assert tab.ask("document.querySelectorAll('.edge.way').length") == 2
    tab.click("#panel ul:last-of-type a")
    tab.click(".vertex[data-vertex='0'] circle")
    assert vertex(tab) == "0 false"
    assert tab.log() == []


def test_the_text_of_a_report_takes_the_whole_page(tab: Browser, tmp_path: Path) -> None:
    text = (
        "var x: 0..3 = 0\naction a: require x < 3; x += 1\nterminal: x == 3\ncheck c: expect ok\n"
    )
    (tmp_path / "s.fence").write_text(text, encoding="utf-8")
    assert run("check", "s.fence", "--format", "html=page.html", folder=tmp_path).code == 0
    tab.size(1400, 900)
    tab.open(tmp_path / "page.html")
    width = "document.querySelector('main > pre').getBoundingClientRect().width"
    assert int(tab.ask(f"Math.round({width})")) > 1300
    assert tab.log() == []
