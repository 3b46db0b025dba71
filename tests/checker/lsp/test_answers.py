"""Answers of the language server to requests in texts with a marked cursor position."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import TypeVar, get_args

import pytest
from lsprotocol import types as lsp

from fencepost.checker.lsp import patch, renaming
from fencepost.checker.lsp.colours import MODIFIERS, TYPES, tokens
from fencepost.checker.lsp.completion import completions
from fencepost.checker.lsp.cures import cures
from fencepost.checker.lsp.desk import Desk, Document, View
from fencepost.checker.lsp.hover import hover, signatures
from fencepost.checker.lsp.outline import folds, symbols
from fencepost.checker.lsp.places import Text, changed
from fencepost.checker.lsp.rewriting import layout
from fencepost.spec.elaborate.ide.references import Kind
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import package_root
from fencepost.spec.text.source import Source

T = TypeVar("T")

MODULE = """\
# How many there are.
const Top: int = 2
enum Mood: Calm, Busy
# Whether it is full.
def full(n: 0..Top, mood: Mood): bool = n == Top and mood == Busy
"""
SPEC = """\
import m
from m import Mood
enum Worker: Ada, Ben
record Place: at: 0..2, busy: bool
union Message: Ask(who: Worker), Answer(n: 0..2)
channel net: Message lossy capacity 2
var counter: int16 = 0
var perhaps: (0..2)? = none
var mood: Mood = Calm
role Client[w: Worker]:
    var place: Place = Place(at: 0, busy: false)
    var log: seq[Worker, 2] = []
    action ask(k in 0..1):
        let later = k + 1
        require not place.busy
        send Ask(w) to net
    action hear on Answer(n) from net:
        place.at = n
action serve on Ask(who) from net:
    match who:
        case Ada: send Answer(1) to net
        case Ben: skip
invariant Low: forall w in Worker: Client[w].place.at <= 2
terminal: true
check every:
    expect ok
"""


class Opened:
    """An open spec with a cursor, in a folder that also contains the module ``m``."""

    def __init__(self, folder: Path, marked: str) -> None:
        self.path = folder.resolve() / "spec.fence"
        self.module = folder.resolve() / "m.fence"
        self.module.write_text(MODULE, encoding="utf-8")
        self.text = marked.replace("‸", "")
        self.path.write_text(self.text, encoding="utf-8")
        self.offset = marked.index("‸") if "‸" in marked else 0
        self.desk = Desk(folders=[folder.resolve()])
        self.desk.put(Document("file:///spec.fence", self.path, self.text, 1))

    def asked(self, question: Callable[[View], Awaitable[T]]) -> T:
        """Returns the answer to an asynchronous question about the view."""

        async def answer() -> T:
            return await question(await self.desk.view(self.path))

        try:
            return asyncio.run(answer())
        finally:
            self.desk.close()

    def seen(self, question: Callable[[View], T]) -> T:
        """Returns the answer to a synchronous question about the view."""

        async def now(view: View) -> T:
            return question(view)

        return self.asked(now)


def replaced(old: str, new: str) -> str:
    """Returns the spec with one part replaced, which must occur exactly once."""
    assert SPEC.count(old) == 1, old
    return SPEC.replace(old, new)


def with_line(line: str) -> str:
    return replaced("terminal: true", f"{line}\nterminal: true")


def played(steps: str) -> str:
    """Returns the spec with a scenario before its check."""
    return replaced("check every:", f"scenario s: {steps}\ncheck every:")


# ---------------------------------------------------------------- completion

COMPLETED = {
    "a field": (replaced("not place.busy", "not place.‸"), "at busy", "ask Ada"),
    "a field of a whole line": (replaced("not place.busy", "not place.b‸usy"), "at busy", "Ada"),
    "what changes a sequence": (replaced("place.at = n", "log.‸"), "append clear", "add at"),
    "a message": (replaced("send Ask(w)", "send ‸"), "Ask Answer w", "Low"),
    "a message without a channel": (replaced("send Ask(w) to net", "send A‸"), "Ask Answer", ""),
    "a message received": (replaced("on Answer(n) from", "on ‸ from"), "Ask Answer", "Ada place"),
    "a channel": (replaced("send Ask(w) to net", "send Ask(w) to ‸"), "net", "place Ada"),
    "a case": (replaced("case Ben: skip", "case ‸: skip"), "Ada Ben", "place Ask"),
    "a case without its end": (replaced("case Ben: skip", "case ‸"), "Ada Ben", "Ask"),
    "a local": (replaced("not place.busy", "‸"), "later k w place net counter not", "n who Low2"),
    "before deep nesting": (
        replaced("not place.busy", "‸ == " + "{" * 500 + "}" * 500), "place w", "who"
    ),
    "no local of another": (replaced("place.at = n", "place.at = ‸"), "n w place", "k later who"),
    "a member of a module": (replaced("not place.busy", "m.‸"), "Top full Calm Busy", "Ask w"),
    "a name of a role": (replaced("w].place.at <= 2", "w].‸"), "place log ask", "Ada counter"),
    "a member of the other side": (replaced("not place.busy", "mood == ‸"), "Calm Busy", "expect"),
    "a type": (replaced("counter: int16", "counter: ‸"), "Worker Place Mood int8 seq", "net Low"),
    "a property": (replaced("expect ok", "expect violated ‸"), "Low", "Ada place"),
    "a line of a check": (replaced("expect ok", "‸"), "expect engine const properties", "Low Ada"),
    "an expected verdict": (replaced("expect ok", "expect ‸"), "ok inconclusive violated", "Low"),
    "before a formula": (replaced("terminal: true", "property P ‸: true"), "within", "Ada Low"),
    "after within": (replaced("terminal: true", "property P within ‸: true"), "constraint", "Low"),
    "a constant of a module": (replaced("expect ok", "const m.‸ = 1"), "Top", "full Low"),
    "a module": (replaced("import m\n", "import ‸\n"), "m models invariants", "Low"),
    "an imported name": (replaced("import Mood", "import ‸"), "Top full Mood Calm", "Low Ada"),
    "a declaration": (replaced("terminal: true", "te‸"), "terminal invariant role check", "Low"),
    "a member of a role": (replaced("    action hear", "    ‸\n    action hear"), "action", "Low"),
    "a statement": (replaced("place.at = n", "‸"), "require send if place log n", "check"),
    "nothing for a new name": (replaced("let later", "let ‸"), "", "place Ada"),
    "nothing for a new name in an expression": (
        replaced("not place.busy", "let ‸ = 1: true"), "", "place Ada"),
    "nothing for a new loop variable": (replaced("forall w in", "forall ‸ in"), "", "place Ada"),
    "in a comprehension": (replaced("not place.busy", "[‸ for each in log] == []"), "each w k", ""),
    "behind let in": (replaced("not place.busy", "let inner = 1: ‸"), "inner w", ""),
    "a field behind with": (replaced("place.at = n", "place = place with ‸"), "at busy", "Ada"),
    "behind a condition": (replaced("action ask(k in 0..1):", "action ask(k in 0..1) where ‸:"),
                           "k w place", "later"),
    "in an open bracket": (replaced("send Ask(w) to net", "send Ask(‸"), "w Ada k", ""),
    "in a condition": (replaced("require not place.busy", "if place.‸"), "at busy", "Ada"),
    "a member of a group": (replaced("terminal: true", "fair {‸"), "Client serve net", "Ada Low"),
    "in the set of a fold": (replaced("place.at = n", "place.at = fold(i, j in ‸"), "log n", "who"),
    "the subject of a match": (replaced("place.at = n", "place.at = match ‸"), "place n", "who"),
    "a case of a match": (replaced("place.at = n", "place.at = match mood: case ‸"), "Calm", "k"),
    "a step of a scenario": (played("‸"), "Client net", "Ada Low"),
    "an action of a step": (played("Client[Ada].‸"), "ask hear",
                            "place log Ada"),
    "a fault of a channel": (played("net.‸"), "lose",
                             "duplicate Ada"),
    "an argument of a step": (played("Client[Ada].hear(‸"),
                              "Ask Answer", "expect"),
    "what a scenario expects": (played("expect ‸"),
                                "Client counter", "Low"),
    "in a comment above all declarations": ("# a w‸ord\nvar x: 0..1 = 0\n", "", ""),
    "in a quantifier": (replaced("Client[w].place.at <= 2", "Client[‸"), "w Ada Ben", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", COMPLETED)
def test_completion(tmp_path: Path, case: str) -> None:
    marked, there, absent = COMPLETED[case]
    opened = Opened(tmp_path, marked)
    text = Text(opened.text)
    items = opened.asked(lambda _: completions(opened.desk, opened.path, text, opened.offset))
    labels = {item.label for item in items}
    assert set(there.split()) <= labels, labels
    assert not labels & set(absent.split()), labels
    for item in items:
        # The edit starts at the beginning of the word.
        assert isinstance(item.text_edit, lsp.TextEdit)
        assert text.offset(item.text_edit.range.start) <= opened.offset


def test_fitting_completions_come_first(tmp_path: Path) -> None:
    opened = Opened(tmp_path, COMPLETED["a member of the other side"][0])
    items = opened.asked(
        lambda _: completions(opened.desk, opened.path, Text(opened.text), opened.offset)
    )
    best = sorted(items, key=lambda item: item.sort_text or "")[:12]
    assert {"Calm", "Busy"} <= {item.label for item in best}
    assert {item.detail for item in items if item.label == "Calm"} == {"Mood"}


# ---------------------------------------------------------------- hover and signatures

HOVERED = {
    "a constant": (replaced("not place.busy", "m.T‸op == 2"),
                   ["const Top: int = 2", "How many there are.", "`2..2`"]),
    "a variable": (replaced("place.at = n", "pl‸ace.at = n"), ["var place: Place", "variable"]),
    "a def": (replaced("not place.busy", "m.fu‸ll(1, Calm)"),
              ["def full(n: 0..Top, mood: Mood): bool", "Whether it is full."]),
    "a field": (replaced("place.at = n", "place.a‸t = n"), ["at: 0..2", "field"]),
    "a keyword": (replaced("send Ask(w)", "se‸nd Ask(w)"), ["send e to c"]),
    "a function": (replaced("not place.busy", "le‸n(log) == 0"), ["len(c)", "number of elements"]),
    "an expression": (replaced("place.at <= 2", "place.at ‸<= 2"), ["`bool`"]),
    "an action": (replaced("action hear", "action he‸ar"), ["action hear on Answer(n) from net"]),
    "a named group": (
        replaced("terminal: true", "fair Tal‸k: {Client.ask, serve} where mood == Calm"),
        ["fair Talk: {Client.ask, serve} where mood == Calm", "fairness, in spec, line 24"],
    ),
    "a group in a check": (
        replaced("terminal: true", "strongly fair Talk: {serve}\nterminal: true").replace(
            "expect ok", "without fair Ta‸lk"
        ),
        ["strongly fair Talk: {serve}", "fairness, in spec"],
    ),
    "a group without a name": (
        replaced("terminal: true", "fa‸ir {Client.ask, serve}"),
        ["fair {a, R.b} where e", "at the top level or in a role"],
    ),
    "a member of a group": (
        replaced("terminal: true", "fair {Client.a‸sk, serve}"), ["action ask(k in 0..1)"]
    ),
    "a property within a constraint": (
        replaced("terminal: true", "property Wi‸de within constraint:\n    always counter == 0"),
        ["property Wide within constraint:", "property, in spec"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOVERED)
def test_hover(tmp_path: Path, case: str) -> None:
    marked, parts = HOVERED[case]
    opened = Opened(tmp_path, marked)
    hovered = opened.seen(lambda view: hover(view, opened.offset))
    assert hovered is not None
    assert isinstance(hovered.contents, lsp.MarkupContent)
    for part in parts:
        assert part in hovered.contents.value


SIGNATURES = [
    (replaced("not place.busy", "m.full(1, ‸"), "full(n: 0..Top, mood: Mood): bool", 1),
    (replaced("not place.busy", "m.full(‸1, Calm)"), "full(n: 0..Top, mood: Mood): bool", 0),
    (replaced("send Ask(w)", "send Ask(‸"), "Ask(who: Worker)", 0),
    (replaced("place.at = n", "place = Place(busy: ‸"), "Place(at: 0..2, busy: bool)", 1),
    (replaced("not place.busy", "len(‸"), "len(c)", 0),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "label", "active"), SIGNATURES)
def test_signatures(tmp_path: Path, marked: str, label: str, active: int) -> None:
    opened = Opened(tmp_path, marked)
    answer = opened.asked(
        lambda _: signatures(opened.desk, opened.path, Text(opened.text), opened.offset)
    )
    assert answer is not None
    assert (answer.signatures[0].label, answer.active_parameter) == (label, active)


# ---------------------------------------------------------------- renaming

REFUSED = {
    "a keyword": (replaced("not place.busy", "le‸n(log) == 0"), "x", "not declared in a spec"),
    "a reserved word": (replaced("var counter", "var coun‸ter"), "require", "cannot be a name"),
    "a word that is none": (replaced("var counter", "var coun‸ter"), "a-b", "cannot be a name"),
    "a name that is taken": (replaced("var counter", "var coun‸ter"), "net", "cannot be called"),
    "a local's": (replaced("let later", "let lat‸er"), "place", "cannot be called"),
    "a file": (replaced("import m\n", "import m as q\n").replace(
        "from m", "from ‸m"), "x", "rename the file"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_names(tmp_path: Path, case: str) -> None:
    marked, new, reason = REFUSED[case]
    opened = Opened(tmp_path, marked)
    with pytest.raises(renaming.Refused, match=reason):
        opened.asked(lambda view: renaming.renamed(opened.desk, view, opened.offset, new))


def test_a_name_of_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    library = next((package_root() / "invariants").glob("*.fence")).stem
    opened = Opened(tmp_path, f"import invariants.{library} as lib\nvar x: 0..1 = 0\n")

    async def renamed(view: View) -> object:
        start = next(
            span.start
            for span, declaration in view.references.declarations.items()
            if declaration.kind == "def" and span.source is not view.source
        )
        inside = await opened.desk.view(
            next(p for p in view.survey.files.files if p != view.path) if view.survey else view.path
        )
        return await renaming.renamed(opened.desk, inside, start, "other")

    with pytest.raises(renaming.Refused, match="cannot be written"):
        opened.asked(renamed)


RENAMED = {
    "in another file": (replaced("import Mood", "import Mo‸od"), "Temper"),
    "a module": (replaced("mood: Mood = Calm", "mood: m‸.Mood = Calm"), "other"),
    "a word of the grammar": (replaced("var counter", "var coun‸ter"), "capacity"),
    "a fairness group": (with_line("fair Talk: {Client.ask}").replace(
        "expect ok", "without fair Ta‸lk\n    expect ok"), "Chat"),
    "an accumulator": (with_line("def f: 0..9 = fold(su‸m, w in Worker from 0: sum)"), "total"),
    "recursion": (with_line("def do‸wn(n: 0..3): bool at most 4 = n < 1 or down(n - 1)"), "f"),
    "a narrowed name": (
        with_line("def f: 0..2 = match perhaps: case none: 0; case _: perha‸ps!"), "maybe"),
    "part of a tuple": (with_line("def f: set[0..9, 4] = {a + b for (a‸, b) in {(1, 2)}}"), "c"),
}  # fmt: skip


@pytest.mark.parametrize("case", RENAMED)
def test_a_spec_is_the_same_under_another_name(tmp_path: Path, case: str) -> None:
    marked, new = RENAMED[case]
    opened = Opened(tmp_path, marked)

    async def after(view: View) -> tuple[View, View]:
        assert view.problems == ()
        edits = await renaming.renamed(opened.desk, view, opened.offset, new)
        texts = {
            path: changed(path.read_text("utf-8"), file_edits) for path, file_edits in edits.items()
        }
        return view, await opened.desk.with_texts(view.path, texts)

    before, now = opened.asked(after)
    assert now.problems == ()
    assert len(now.names.uses) in (len(before.names.uses), len(before.names.uses) + 1)
    assert now.text.text != before.text.text


# ---------------------------------------------------------------- cures

UNION = "union M: A, B(n: 0..1), C\nvar x: M = A\n"
CURED = {
    "F201": "var x: 0..1 = 0\naction a:\n    require x == 0 and y‸x == 0\nvar yy: 0..1 = 0\n",
    "F211": "enum E: Upper, Down\nvar x: E = Upper\ninvariant I: x != E.Uper‸\n",
    "F314": "record R: field: bool\nvar x: R = R(field: true)\ninvariant I: x.feild‸\n",
    "F102": "var x: 0..1 = 0\ninvariant I: (‸x == 0\nterminal: true\n",
    "F107": "var x: 0..1 = 0\naction a:‸\nterminal: true\n",
    "F108": "var x: 0..1 = 0\naction a‸\n    x = 1\n",
    "F109": "var x: 0..1 = 0\ninvariant I: x ‸= 1\n",
    "F110": "var x: 0..1 = 0\naction a:\n    x ‸== 1\n",
    "F111": "var x: 0..1 = 0\ninvariant I: x == 0 ‸&& x == 1\n",
    "F209": "enum E: A, B\nenum F: A, C\nvar x: bool = ‸A == A\n",
    "F301": "var x: int8 = 0\nvar q: seq[bool, 2] = [true]\ninvariant I: q[‸x]\n",
    "F313": "var q: (seq[bool, 2])? = none\ninvariant I: ‸q[0]\n",
    "F408": "enum E: A, B, C\nvar x: E = A\naction a:\n    match ‸x:\n        case A: skip\n",
    "F409": "enum E: A, B\nvar x: E = A\naction a:\n    match x:\n        case A: skip\n"
    "        case B: skip\n        case ‸A: skip\n",
    "F412": "channel ‸c: 0..1\naction a: send 1 to c\naction b on _ from c: skip\n",
    "F823": "var x: 0..1 = 0\ncheck c:\n    expect ok\n    expect ‸ok\n",
    "F822": "var x: 0..1 = 0\ninvariant Low: x < 2\ncheck c:\n    expect violated Lou‸\n",
}  # fmt: skip


CURED_VALUES = [
    ("F408", f"{UNION}invariant I: match ‸x: case A: true\n"),
    ("F408", f"{UNION}invariant I: (match ‸x:\n    case A: true\n    case B(n): n > 0) or true\n"),
    ("F408", f"{UNION}def d: 0..1 = match ‸x:\n    case A: 1  # one\n    case B(n): n\n"),
    ("F409", f"{UNION}invariant I: match x: case A: true; case ‸A: false; case _: true\n"),
    ("F409", f"{UNION}def d: 0..1 = match x:\n    case A: 1\n    case ‸A: 1\n    case _: 0\n"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "marked"), [*CURED.items(), *CURED_VALUES])
def test_cures(tmp_path: Path, code: str, marked: str) -> None:
    """The first fix of a problem removes that problem and introduces no other."""
    opened = Opened(tmp_path, marked)

    async def cured(view: View) -> tuple[View, View]:
        problems = [problem for problem in view.problems if problem.code == code]
        assert problems, view.problems
        cure = next(cures(view, problems[0]))
        text = changed(opened.text, cure.edits)
        return view, await opened.desk.with_texts(view.path, {view.path: text})

    before, after = opened.asked(cured)
    assert code not in [problem.code for problem in after.problems], after.text.text
    assert len(after.problems) < len(before.problems) or code == "F209", after.text.text


# ---------------------------------------------------------------- the shape of a text


def test_outline(tmp_path: Path) -> None:
    outline = Opened(tmp_path, SPEC).seen(symbols)
    client = next(symbol for symbol in outline if symbol.name == "Client")
    assert [symbol.name for symbol in client.children or ()] == ["place", "log", "ask", "hear"]
    worker = next(symbol for symbol in outline if symbol.name == "Worker")
    assert [symbol.name for symbol in worker.children or ()] == ["Ada", "Ben"]
    assert [symbol.name for symbol in outline][-2:] == ["Low", "every"]


FOLDED = '''\
"""Two
lines."""
# one
# two
role R:
    var x: 0..1 = 0   # left
    action a:
        if x == 0:
            x = 1

        x = 0
check c:
    broken ( here
'''


def test_folding() -> None:
    ranges = {(fold.start_line, fold.end_line, fold.kind) for fold in folds(Text(FOLDED))}
    comment = lsp.FoldingRangeKind.Comment
    assert ranges == {
        (0, 1, comment), (2, 3, comment),
        (4, 10, None), (6, 10, None), (7, 8, None), (11, 12, None),
    }  # fmt: skip


def test_folding_does_not_slow_down_with_nesting() -> None:
    text = "const A: int = " + "(" * 50_000 + "1" + ")" * 50_000 + "\n"
    begin = time.process_time()
    assert folds(Text(text)) == []
    # Computing each position from the start of the line would take quadratic time here.
    assert time.process_time() - begin < 10


def test_semantic_tokens(tmp_path: Path) -> None:
    """The token type of a word depends on its context: here the keyword `to` names a variable."""
    text = 'enum E: A\nvar to: E = A  # "🦀" x\naction a: to = E.A\n'
    data = Opened(tmp_path, text).seen(tokens)
    line = column = 0
    words: list[tuple[str, str, str]] = []
    lines = text.split("\n")
    for at in range(0, len(data), 5):
        lines_down, start, width, kind, bits = data[at : at + 5]
        line, column = line + lines_down, start + (0 if lines_down else column)
        raw = lines[line].encode("utf-16-le")[2 * column : 2 * (column + width)]
        modifiers = [name for n, name in enumerate(MODIFIERS) if bits >> n & 1]
        words.append((raw.decode("utf-16-le"), TYPES[kind], " ".join(modifiers)))
    assert words == [
        ("enum", "keyword", ""), ("E", "type", "declaration"),
        ("A", "enumMember", "declaration readonly"),
        ("var", "keyword", ""), ("to", "variable", "declaration"), ("E", "type", ""),
        ("A", "enumMember", "readonly"), ('# "🦀" x', "comment", ""),
        ("action", "keyword", ""), ("a", "method", "declaration"), ("to", "variable", ""),
        ("E", "type", ""), ("A", "enumMember", "readonly"),
    ]  # fmt: skip


def test_every_kind_of_name_has_a_token_type(tmp_path: Path) -> None:
    text = played("Client[Ada].ask(1)") + "procedure p(x: 0..1): skip\nfair Asking: {Client.ask}\n"
    opened = Opened(tmp_path, text)

    def kinds_of_names(view: View) -> set[str]:
        assert tokens(view)
        return {declaration.kind for declaration in view.references.declarations.values()}

    assert opened.seen(kinds_of_names) | {"module"} == {*get_args(Kind)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions(encoding: str) -> None:
    """Every offset in a text with characters of all widths converts to a position and back."""
    raw = "a🦀é\r\nb\rc\u2028d\n\n𝑠"
    text = Text(raw, encoding)
    for offset in range(len(raw) + 1):
        if raw[offset - 1 : offset + 1] != "\r\n":
            assert text.offset(text.position(offset)) == offset
    assert text.position(raw.index("c")) == lsp.Position(2, 0)
    assert text.position(2).character == {"utf-8": 5, "utf-16": 3, "utf-32": 2}[encoding]
    assert text.offset(lsp.Position(99, 0)) == len(raw)
    assert text.offset(lsp.Position(0, 99)) == raw.index("\r")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_on_a_long_line(encoding: str) -> None:
    text = Text("a🦀" * 50_000, encoding)
    begin = time.process_time()
    for offset in range(0, 100_000, 5):
        assert text.offset(text.position(offset)) == offset
    # Conversions that scan the line would take minutes.
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("text", ["invariant P: " + "min(0, " * 500, "var x @ " + "(" * 500])
def test_no_patch_is_tried_where_none_is_possible(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts are invalid before the cursor, or nested too deeply."""
    opened = Opened(tmp_path, text + "‸")
    parsed: list[Source] = []

    def counted(source: Source) -> object:
        parsed.append(source)
        return parse(source)

    monkeypatch.setattr(patch, "parse", counted)
    place = opened.desk, opened.path, Text(opened.text), opened.offset

    async def ask(_: View) -> None:
        await signatures(*place)
        await completions(*place)

    opened.asked(ask)
    assert len(parsed) <= 2


def test_layout() -> None:
    text = dedent("""\
        var  x: 0..1 = 0
        # stays
        action a:
          x=1
    """)
    edits = layout(text)
    assert changed(text, edits) == "var x: 0..1 = 0\n# stays\naction a:\n    x = 1\n"
    assert len(edits) == 2
    assert layout("var x = (\n") == []
