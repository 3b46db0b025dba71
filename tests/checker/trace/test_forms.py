"""The forms of a saved trace, each checked by rules that do not depend on its writer."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.browser import WANTED
from tests.support.command import run
from tests.support.paths import ROOT
from tests.support.processes import finished
from tests.support.sample_traces import EVIL, FAULTS, hostile, large, saved

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.html import asset
from fencepost.checker.trace import itf

EXAMPLES = ROOT / "docs" / "examples"
GOLDEN = ROOT / "tests" / "golden" / "trace"
FORMS = {"text": "txt", "html": "html", "mermaid": "mmd"}
DATA = ("dot", "json")
RENDERED = {
    "verification_race": ("models/kafka/verification_race.fence", "unchecked_s12"),
    "epoch_overflow": ("models/kafka/epoch_arithmetic.fence", "fence_without_rotation_s8"),
    "consumer_group": ("models/kafka/txn_group.fence", "unstable_s14"),
}


@pytest.fixture(scope="module", name="faults")
def _faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("faults"), FAULTS)


@pytest.fixture(scope="module", name="evil")
def _evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evil") / "t.itf.json"
    path.write_bytes(hostile())
    return path


def shown(trace: Path, form: str) -> str:
    ran = run("trace", "show", trace.name, "--as", form, folder=trace.parent)
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout


# ---------------------------------------------------------------- the committed examples


@pytest.mark.parametrize("name", RENDERED)
def test_examples_are_current(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """docs/examples contains these traces exactly as the current models and program produce
    them.
    """
    spec, check = RENDERED[name]
    trace = tmp_path / "trace.itf.json"
    words = ("--check", check, "--engine", "interpreter", "--trace", str(trace))
    assert run("check", spec, *words, folder=ROOT).code == 0
    for form, suffix in FORMS.items():
        text = shown(trace, form)
        file = EXAMPLES / name / f"trace.{suffix}"
        if request.config.getoption("--update-golden"):
            file.write_text(text, encoding="utf-8")
        assert file.read_text("utf-8") == text, f"{file}: run with --update-golden"


@pytest.mark.parametrize("form", [*DATA, "mermaid"])
def test_forms_for_other_tools(faults: Path, form: str, request: pytest.FixtureRequest) -> None:
    """The files for Graphviz, scripts and Mermaid show a trace with every kind of exchange."""
    file = GOLDEN / f"faults.{FORMS.get(form, form)}"
    if request.config.getoption("--update-golden"):
        file.write_text(shown(faults, form), encoding="utf-8")
    assert file.read_text("utf-8") == shown(faults, form), f"{file}: run with --update-golden"


# ---------------------------------------------------------------- contents


def test_messages_losses_and_copies(faults: Path) -> None:
    document = json.loads(shown(faults, "json"))
    assert document["lifelines"] == ["Client", "Server[1]", "Server[2]", "net"]
    fates = [(m["message"], m["channel"], m["end"], m["copied"]) for m in document["messages"]]
    assert sorted(fates) == [
        ("Ask(n: 1)", "net", "lost", False),
        ("Ask(n: 2)", "net", "received", False),
        ("Nudge", "own", "received", False),
        ("Tell(n: 2)", "net", "received", False),
        ("Tell(n: 2)", "net", "received", True),
    ]
    for message in document["messages"]:
        assert message["sent"] < message["ended"] < len(document["steps"])
    titles = {step["number"]: step["title"] for step in document["steps"]}
    copy = next(m for m in document["messages"] if m["copied"])
    assert titles[copy["sent"]] == "net.duplicate(message: Tell(n: 2))"
    assert titles[copy["ended"]].startswith("Client.on_tell")


def test_the_needs_of_each_step(faults: Path) -> None:
    document = json.loads(shown(faults, "json"))
    by_title = {step["title"]: step for step in document["steps"]}
    ask = by_title["Server[2].on_ask(loud: false) on Ask(n: 2)"]
    second = document["steps"][2]
    assert second["title"] == "Client.ask"
    # The step needs the step that sent its message, which needs the previous `ask`.
    assert ask["needs"] == [2]
    assert second["needs"] == [1]
    assert not any(step["spare"] for step in document["steps"])


FROM_THE_START = """\
union M: Token, Note(n: 0..1)
channel c: M ordered capacity 2 = [Token, Note(1)]
channel d: M distinct = [Token]
var n: 0..3 = 0
role R:
    action take on Token from c: n += 1
    action read on Note(k) from c: n += k
invariant Few: n < 2
check it:
    expect violated Few
"""


def test_messages_that_are_there_at_the_start(tmp_path: Path) -> None:
    trace = saved(tmp_path, FROM_THE_START)
    drawn = shown(trace, "mermaid").splitlines()
    assert [line.strip() for line in drawn if "->>" in line] == [
        "p0->>p0: Token (initially in the channel)",
        "p0->>p0: Note(n#58; 1) (initially in the channel)",
    ]
    assert shown(trace, "html").count('<g class="flight received" data-from="0"') == 2
    dot = shown(trace, "dot")
    assert 's0 [label="initially in the channel", shape=plaintext];' in dot
    assert "still in flight" not in dot
    messages = json.loads(shown(trace, "json"))["messages"]
    assert [(entry["channel"], entry["sent"], entry["ended"]) for entry in messages] == [
        ("c", 0, 1), ("c", 0, 2), ("d", 0, None),
    ]  # fmt: skip


def test_the_page_shows_the_problem(faults: Path) -> None:
    page = shown(faults, "html")
    assert "<h1>invariant Twice is violated after 8 steps</h1>" in page
    assert page.count('<li id="step-') == 9
    assert len(re.findall(r'<g class="flight lost"', page)) == 1
    assert len(re.findall(r'<g class="flight received copied"', page)) == 1
    assert "needed for the problem" in page
    assert "<tr><th>Client.told</th><td>2</td></tr>" in page
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert data["actions"]["Client.ask"]["text"].startswith("action ask:\n    require asked < 2")
    assert "role" not in data["actions"]["Client.on_tell"]["text"]


def test_a_trace_of_another_tool_is_drawn_too(tmp_path: Path) -> None:
    trace = tmp_path / "t.itf.json"
    states = [{"x": n} for n in range(3)]
    trace.write_text(json.dumps({"vars": ["x"], "states": states, "loop": 1}), encoding="utf-8")
    assert (
        "participant p0 as system\n    loop steps 1 and 2, forever\n"
        "    Note over p0: 1 step<br/>x 0 → 1"
    ) in shown(trace, "mermaid")
    assert "Note over p0: and so on from 1" in shown(trace, "mermaid")
    for form in (*FORMS, *DATA):
        assert shown(trace, form)


# ---------------------------------------------------------------- ITF by its rules


def check_itf(value: Json) -> None:
    """Checks that a value has the form that the format prescribes (ADR-015 of Apalache, section
    3).
    """
    match value:
        case bool() | str():
            pass
        case list():
            for item in value:
                check_itf(item)
        case {"#bigint": digits, **rest}:
            assert not rest
            assert isinstance(digits, str)
            assert re.fullmatch(r"-?[0-9]+", digits)
        case {"#tup": list(items), **rest} | {"#set": list(items), **rest}:
            assert not rest
            check_itf(items)
        case {"#map": list(pairs), **rest}:
            assert not rest
            for pair in pairs:
                assert isinstance(pair, list)
                assert len(pair) == 2
                check_itf(pair)
        case dict():
            assert not any(key.startswith("#") for key in value)
            check_itf(list(value.values()))
        case _:
            raise AssertionError(value)


def check_itf_file(text: str) -> None:
    root = json.loads(text)
    assert set(root) <= {"#meta", "params", "vars", "states", "loop"}
    for state in root["states"]:
        assert set(state) - {"#meta"} == set(root["vars"])
        check_itf([value for name, value in state.items() if name != "#meta"])


def test_itf(faults: Path) -> None:
    check_itf_file(faults.read_text("utf-8"))
    again = shown(faults, "itf")
    check_itf_file(again)
    assert json.loads(again) == json.loads(faults.read_text("utf-8"))


def test_itf_of_plain_numbers_is_brought_into_form(tmp_path: Path) -> None:
    trace = tmp_path / "t.itf.json"
    state = {"x": 1, "y": {"#set": [2]}, "z": {"tag": "A", "value": {"n": True}}}
    trace.write_text(json.dumps({"vars": [*state], "states": [state]}), encoding="utf-8")
    written = shown(trace, "itf")
    check_itf_file(written)
    assert json.loads(written)["states"][0]["y"] == {"#set": [{"#bigint": "2"}]}


# ---------------------------------------------------------------- hostile files


class Elements(HTMLParser):
    """Collects the elements and attributes of a page, and checks that tags are closed in the right
    order.
    """

    VOID = ("meta", "wbr", "line", "circle", "rect", "path", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_no_markup_gets_into_the_page(evil: Path) -> None:
    page = shown(evil, "html")
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert elements.open == []
    assert elements.seen["script"] == 2
    assert "img" not in elements.seen
    assert not {name for name in elements.attributes if name.startswith("on")}
    assert asset("trace.js") in page, "the script is the one whose hash the page allows"
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_no_line_of_mermaid_comes_from_the_file(evil: Path) -> None:
    text = r"(?:[A-Za-z0-9 _.,()\[\]=+\-*/?!'→−✗…]|#[0-9]+;|<br/>)+"
    line = re.compile(
        rf"sequenceDiagram|    title {text}|    participant p\d+ as {text}"
        rf"|    p\d+(?:->>|-->>|-x)p\d+: {text}|    Note over p\d+(?:,p\d+)?: {text}"
        r"|    rect rgb\(255, 214, 214\)|    end"
    )
    lines = shown(evil, "mermaid").splitlines()
    assert [row for row in lines if not line.fullmatch(row)] == []
    assert sum(row == "    end" for row in lines) == 1


def test_no_string_of_dot_ends_early(evil: Path) -> None:
    text = shown(evil, "dot")
    # Outside strings, the graph contains only words of the program.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert "evil" not in bare
    assert bare.count('"') % 2 == 0
    names = set(re.findall(r"[a-z]+\d*", bare))
    assert not names & {"alert", "click", "script", "init"}


def test_no_control_character_reaches_the_terminal(evil: Path) -> None:
    for form in ("text", "json", "itf"):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown(evil, form))


def test_a_long_trace_is_not_drawn(tmp_path: Path) -> None:
    trace = tmp_path / "long.itf.json"
    states = [{"x": 1}] * 2001
    trace.write_text(json.dumps({"vars": ["x"], "states": states}), encoding="utf-8")
    ran = run("trace", "show", "long.itf.json", "--as", "html", "--output", "o", folder=tmp_path)
    assert ran.code == 151
    assert "error[F040]: long.itf.json has 2,001 states, but at most 2,000 are drawn" in ran.stderr
    assert not (tmp_path / "o").exists()
    assert shown(trace, "text").count("nothing changes") == 2000


def test_a_large_trace_is_drawn_whole(tmp_path: Path) -> None:
    """A trace with 200 steps of 40 variables is drawn in full; docs/traces.md states how long that
    takes.
    """
    trace = tmp_path / "large.itf.json"
    trace.write_bytes(large())
    page = shown(trace, "html")
    assert page.count('<li id="step-') == 200
    assert page.count('<g class="flight received"') == 198
    assert len(page) < 2_000_000
    assert shown(trace, "mermaid").count("->>") == 198


def test_output_is_written_whole_or_not_at_all(faults: Path, tmp_path: Path) -> None:
    words = ("trace", "show", str(faults), "--as", "html", "--output")
    ran = run(*words, "page.html", folder=tmp_path)
    assert (ran.code, ran.stdout) == (0, "")
    assert (tmp_path / "page.html").read_text("utf-8") == shown(faults, "html")
    assert run(*words, "page.html/no", folder=tmp_path).code == 151
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    before = (tmp_path / "page.html").read_text("utf-8")
    ran = run("trace", "show", "bad.json", "--output", "page.html", folder=tmp_path)
    assert ran.code == 151
    assert (tmp_path / "page.html").read_text("utf-8") == before


# ---------------------------------------------------------------- DOT by its own renderer

if WANTED:

    @pytest.mark.parametrize("name", ["faults", "evil"])
    def test_graphviz_draws_the_file(name: str, request: pytest.FixtureRequest) -> None:
        trace: Path = request.getfixturevalue(name)
        program = shutil.which("dot")
        assert program is not None, "graphviz is installed together with the browser"
        done = finished(program, "-Tsvg", text=shown(trace, "dot"))
        assert "<svg" in done.stdout
        assert (done.returncode, done.stderr) == (0, "")
        if name == "faults":
            assert "on_ask(loud: false)" in done.stdout


def test_evil_texts_are_read() -> None:
    """The hostile file is read, not refused."""
    recording = itf.read(hostile(), "t")
    assert len(recording.steps) == len(EVIL) + 1
    assert recording.flights()
