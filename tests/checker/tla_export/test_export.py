"""The form of TLA+ modules that are exported from checks, and refusals to export.

The meaning of the modules is tested with TLC in test_tlc.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.agreement import loaded
from tests.support.command import run
from tests.support.paths import ROOT
from tests.support.text_tables import tables

from fencepost.checker.run.check import prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export import tree
from fencepost.checker.tla_export.module import Export, exported
from fencepost.checker.tla_export.names import (
    OURS,
    RESERVED,
    STANDARD,
    Names,
    field_names,
    names_of,
)
from fencepost.checker.tla_export.printing import WIDTH, comment, definition, flat, lines
from fencepost.checker.tla_export.tree import Expr, Infix, Junction, Let, Name, Number, Prefix
from fencepost.checker.tla_export.values import NotExported
from fencepost.spec.elaborate.claims.program import Program, load

TABLES = tables(Path(__file__))

GOLDEN = ROOT / "tests" / "golden" / "tla"


def export_of(program: Program, check: int = 0) -> Export:
    return exported(prepare(program, program.checks[check], Settings(engine="interpreter")), "m")


def body(module: str, name: str) -> str:
    """Returns the definition of a name in a module, joined into one line."""
    joined: list[str] = []
    for line in module.splitlines():
        if joined and not line:
            break
        if joined or line.startswith((f"{name} ==", f"{name}(")):
            joined.append(line.strip())
    return " ".join(" ".join(joined).split())


OPENS = ("THEN", "ELSE", "IN", "=", "=>", ":", "(", "[", ",", "|->", "/\\", "\\/", "IF")
"""Line endings after which a list may start."""


def out_of_column(module: str) -> list[str]:
    """Returns the lines that start with a conjunction or disjunction sign but belong to no list.
    TLA+ would read such a sign as an infix operator between the whole preceding and the whole
    following expression.
    """
    misplaced: list[str] = []
    rows = module.splitlines()
    for number, row in enumerate(rows):
        sign, column = row.lstrip()[:2], len(row) - len(row.lstrip())
        if sign not in ("/\\", "\\/"):
            continue
        for above in reversed(rows[:number]):
            if above[column : column + 2] == sign:
                break
            if len(above) - len(above.lstrip()) < column:
                if not rows[number - 1].endswith(OPENS):
                    misplaced.append(row)
                break
    return misplaced


# ---------------------------------------------------------------- whole modules


def test_a_module_to_be_read(tmp_path: Path) -> None:
    """The spec has a docstring, comments, definitions, a procedure, roles, a loop and all kinds of
    properties.
    """
    text = (GOLDEN / "little.fence").read_text(encoding="utf-8")
    (tmp_path / "little.fence").write_text(text, encoding="utf-8")
    ran = run("export", "little.fence", "--to", "tla", folder=tmp_path)
    assert ran.code == 0, ran.stderr
    for ending in ("tla", "cfg"):
        written = (tmp_path / f"little_little.{ending}").read_text(encoding="utf-8")
        assert written == (GOLDEN / f"little_little.{ending}").read_text(encoding="utf-8")


SPECS = Path(__file__).parent / "specs"


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SPECS.glob("*.fence")) if "_part" not in path.stem],
    ids=lambda path: path.stem,
)
def test_every_conjunct_is_in_its_column(path: Path) -> None:
    program = load(path)
    for number in range(len(program.checks)):
        try:
            module = export_of(program, number).module
        except NotExported:
            continue
        assert out_of_column(module) == []


def test_out_of_column() -> None:
    chain = "IF a\nTHEN b\nELSE IF /\\ c\n   /\\ d => e\nTHEN f\nELSE g"
    assert out_of_column(chain) == ["   /\\ d => e"]
    assert out_of_column(chain.replace("\n   /", "\n        /")) == []


def test_the_page_shows_the_exported_module() -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    spec = re.search(r"^```fence check file=turns.fence\n(.*?)^```$", page, re.M | re.S)
    shown = re.search(r"^```tla\n(.*?)^```$", page, re.M | re.S)
    assert spec is not None
    assert shown is not None
    assert shown[1] in export_of(loaded(spec[1])).module


@pytest.mark.parametrize(
    "model", ["verification_race", "txn_two_phase", "txn_group", "txn_read_committed"]
)
def test_lines_are_short(model: str) -> None:
    """Only deeply nested lines and lines with a message, which is never broken, exceed the
    width.
    """
    program = load(ROOT / "models" / "kafka" / f"{model}.fence")
    module = export_of(program).module
    long = [line for line in module.splitlines() if len(line) > WIDTH]
    assert all('"' in line or len(line.strip()) <= 88 for line in long)
    assert len(long) * 50 < len(module.splitlines())
    assert len(module) < 220_000


# ---------------------------------------------------------------- forms


FORMS = [
    # A guard that TLC would split into disjuncts.
    ("require x < 3 or x < 2; x = 1", "(x < 3 \\/ x < 2) = TRUE"),
    ("require exists y in 0..2: y >= x; x = 1", "(\\E y \\in 0..2 : y >= x) = TRUE"),
    ("require x < 3 and x > 0; x = 1", "/\\ x < 3 /\\ x > 0 /\\ x' = 1"),
    # Expressions that may fail, which TLA+ would otherwise evaluate later or not at all.
    ("x += 1", "x' = Within(x + 1, 0..3)"),
    ("let y = first(q); x = 1", "LET v == q[1] IN /\\ Defined(v) /\\ x' = 1"),
    ("x += 1; require b; x = 0", "LET x_2 == Within(x + 1, 0..3) IN /\\ Defined(x_2) /\\ b"),
    ("q[x] = true", 'Assert(x < Len(q), "evaluation error: the index is outside'),
    ("b = int8(x) > 0; x = 1", "b' = (x > 0)"),
    ("b = int8(w) > 0; x = 1", "b' = (Within(w, -128..127) > 0)"),
    # Loops evaluate their collection once.
    ("for k in s: s.add(3 - k)", "Loop(Ordered(s, <), s)"),
    ("for k in q: q.pop_first()", "Loop(q, q)"),
    # Constant conditions disappear.
    ("require true\n    if false: x = 2\n    x = 1", "a == /\\ x' = 1 /\\ UNCHANGED"),
    # Choices among equal elements.
    ("pick y in q; b = y", "\\E i \\in DOMAIN q : /\\ b' = q[i]"),
    # Products that would exceed 32 bits.
    ("n = n * n", "n' = Wrap(Product(n, n % 1073741824, 1073741824), 536870912)"),
]


@pytest.mark.parametrize(("statements", "wanted"), FORMS)
def test_forms(statements: str, wanted: str) -> None:
    text = (
        "var x: 0..3 = 0\nvar w: 0..400 = 0\nvar b: bool = false\nvar q: seq[bool, 2] = []\n"
        "var s: set[0..3] = {0}\nvar n: int[30] = 0\n"
        f"action a:\n    {statements}\nterminal: true\n"
    )
    assert wanted in body(export_of(loaded(text)).module, "a")


def test_quiescent_is_its_own_definition() -> None:
    module = export_of(
        loaded(
            "var x: 0..2 = 0\naction a:\n    require x == 0\n    x = 1\n"
            "action b:\n    require x == 1\n    x = 2\naction c:\n    require x == 2\n    x = 0\n"
            "invariant P: quiescent implies x == 0\n"
            "invariant Q: not enabled(a) and not enabled(b) implies x == 2\nterminal: true\n"
        )
    ).module
    assert body(module, "Quiescent") == (
        "Quiescent == ~(ENABLED a) /\\ ~(ENABLED b) /\\ ~(ENABLED c)"
    )
    assert body(module, "P") == "P == Quiescent => x = 0"
    assert body(module, "Q") == "Q == ~(ENABLED a) /\\ ~(ENABLED b) => x = 2"


def test_loops_do_not_grow_with_the_type() -> None:
    """A loop over a set of many values becomes a recursive definition."""

    def size(top: int) -> int:
        text = (
            f"type A = 1..{top}\nvar s: set[A] = {{}}\nvar n: 0..99 = 0\naction all:\n"
            "    for a in A:\n        if a in s or n < 3: n = n + 1\nterminal: true\n"
        )
        return len(export_of(loaded(text)).module)

    assert size(48) < size(12) + 400


def test_branches_do_not_double() -> None:
    """The statements after a branch occur once."""

    def size(number: int) -> int:
        branches = "".join(
            f"    if x == {n}:\n        require y < 9\n        y += 1\n" for n in range(number)
        )
        text = f"var x: 0..99 = 0\nvar y: 0..9 = 0\naction a:\n{branches}    x += 1\n"
        return len(tree_of(export_of(loaded(text)).module))

    assert size(24) < 3 * size(12)


def tree_of(module: str) -> str:
    """Returns the text of a module without its white space."""
    return "".join(module.split())


def test_steps_that_change_nothing_are_visible() -> None:
    still = "var x: 0..1 = 0\naction a: x = x\nstep invariant S: next(x) {} x\nterminal: true\n"
    moving = export_of(loaded(still.format("!=")))
    assert "clock' = (~clock)" in body(moving.module, "a")
    assert "VIEW view" in moving.configuration.splitlines()
    assert "clock" not in export_of(loaded(still.format(">="))).module


@pytest.mark.parametrize(
    ("terminal", "lines_of_it"),
    [
        ("", ["CHECK_DEADLOCK TRUE"]),
        ("terminal: true", ["CHECK_DEADLOCK FALSE"]),
        ("terminal: x == 1", ["INVARIANT NoDeadlock", "CHECK_DEADLOCK FALSE"]),
    ],
)
def test_deadlock(terminal: str, lines_of_it: list[str]) -> None:
    result = export_of(
        loaded(f"var x: 0..1 = 0\naction a:\n    require x == 0\n    x = 1\n{terminal}\n")
    )
    assert result.configuration.splitlines()[2:] == lines_of_it
    assert (result.deadlock is None) == ("NoDeadlock" not in result.module)


def test_definitions_stay_definitions() -> None:
    module = export_of(
        loaded(
            "var x: 0..3 = 0\n# Twice as much.\ndef twice(y: int): int = 2 * y\n"
            "action a:\n    require twice(x) < 4\n    x += 1\ninvariant I: twice(x) < 8\n"
        )
    ).module
    assert "\\* Twice as much.\ntwice(y) == 2 * y\n" in module
    assert "/\\ twice(x) < 4" in body(module, "a")
    assert body(module, "I") == "I == twice(x) < 8"


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(("wanted", "name"), TABLES["names"])
def test_names(wanted: str, name: str) -> None:
    assert Names().fresh(wanted) == name


def test_fields() -> None:
    assert field_names(["IF", "Len", "WF_a", "x"]) == ["IF_2", "Len", "x_WF_a", "x"]


def test_names_in_strings_and_fields_stay() -> None:
    module = export_of(
        loaded(
            "enum E: v, x_2\nrecord R: v: 0..3\nvar e: E = v\nvar r: R = R(0)\n"
            "action a:\n    let v_ = r.v + 1\n    require v_ < 4 and e == v\n    r.v = v_\n"
            "    e = x_2\nterminal: true\n"
        )
    ).module
    assert body(module, "a").endswith(
        '/\\ r.v + 1 < 4 /\\ e = "v" /\\ e\' = "x_2" /\\ r\' = [r EXCEPT !.v = Within(v, 0..3)]'
    ) or '/\\ e = "v"' in body(module, "a")


def test_specs_do_not_use_the_names_of_helpers() -> None:
    text = (ROOT / "checker" / "tla_export" / "helpers.tla").read_text(encoding="utf-8")
    words = set(re.findall(r"(?<!\\)\b[A-Za-z]\w*", re.sub(r'\\\*.*|"[^"]*"', "", text)))
    assert words <= RESERVED | STANDARD | OURS


def test_names_of_modules() -> None:
    assert names_of("a-b", ["x", "y z", ""], Names()) == {"x": "a_b_x", "y z": "a_b_y_z", "": "a_b"}


# ---------------------------------------------------------------- the printer


X, Y, Z = Name("x"), Name("y"), Name("z")


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Infix("-", X, Infix("-", Y, Z)), "x - (y - z)"),
        (Infix("-", Infix("-", X, Y), Z), "x - y - z"),
        (Infix("*", Infix("+", X, Y), Z), "(x + y) * z"),
        (Infix("+", Infix("*", X, Y), Z), "x * y + z"),
        (Infix("%", Infix("+", X, Y), Z), "(x + y) % z"),
        (Infix("\\", X, Infix("\\cup", Y, Z)), "x \\ (y \\cup z)"),
        (Infix("..", Infix("+", X, Number(1)), Number(-1)), "x + 1..-1"),
        (Infix("-", X, Number(-1)), "x - (-1)"),
        (Infix("=", Infix("=", X, Y), Z), "(x = y) = z"),
        (Infix("=>", X, Infix("=>", Y, Z)), "x => (y => z)"),
        (Junction("/\\", (Junction("\\/", (X, Y)), Z)), "(x \\/ y) /\\ z"),
        (Junction("/\\", (Infix("=>", X, Y), Z)), "(x => y) /\\ z"),
        (Infix("=>", Junction("/\\", (X, Y)), Z), "x /\\ y => z"),
        (Prefix("~", Infix("=", X, Y)), "~(x = y)"),
        (Prefix("~", Junction("/\\", (X, Y))), "~(x /\\ y)"),
        (tree.At(tree.If(X, Y, Z), X), "(IF x THEN y ELSE z)[x]"),
        (tree.Dot(tree.Apply("Head", (X,)), "f"), "Head(x).f"),
        (Infix("+", tree.If(X, Y, Z), X), "(IF x THEN y ELSE z) + x"),
        (tree.String('a "b" \\c'), '"a \\"b\\" \\\\c"'),
        (tree.Unchanged(("x",)), "UNCHANGED x"),
        (tree.SetLiteral((Infix("\\in", X, Y), Z)), "{(x \\in y) = TRUE, z}"),
        (
            tree.SetLiteral((Junction("\\/", (Infix("\\in", X, Y), Z)),)),
            "{(x \\in y \\/ z) = TRUE}",
        ),
        (tree.At(X, Infix("\\in", X, Y)), "x[(x \\in y) = TRUE]"),
        (tree.Image(Infix("\\in", X, Y), "z", Z), "{(x \\in y) = TRUE : z \\in z}"),
        (tree.Unchanged(("x", "y")), "UNCHANGED <<x, y>>"),
    ],
)
def test_brackets(node: Expr, text: str) -> None:
    assert flat(node) == text


def test_lists_are_to_the_right_of_their_signs() -> None:
    """TLA+ would end the list at a line that does not start to the right of the list's sign."""
    long = [Name(f"name_{n}" * 6) for n in range(6)]
    inner = Junction("\\/", tuple(long))
    node = Junction("/\\", (Let((tree.Definition("d", (), inner),), inner), inner, X))
    rows = lines(node, 60)
    signs = [n for n, line in enumerate(rows) if line.startswith("/\\ ")]
    assert len(signs) == 3
    assert all(line.startswith("   ") for n, line in enumerate(rows) if n not in signs)


def test_a_list_on_the_left_is_in_brackets() -> None:
    """Without brackets, the following text would belong to the last part of the list."""
    long = Junction("/\\", tuple(Name(f"name_{n}" * 6) for n in range(6)))
    for sign in ("=>", "=", "\\in"):
        rows = lines(Infix(sign, long, X), 60)
        assert rows[0].startswith("(/\\ ")
    short = Junction("/\\", (X, Infix("=", tree.Prime("x"), Y)))
    assert lines(Infix("=>", short, Z), 12)[0].startswith("(/\\ ")


def test_parameters_are_broken() -> None:
    names = tuple(f"parameter_{n}" for n in range(20))
    rows = definition(tree.Definition("op", names, X, recursive=True))
    assert max(map(len, rows)) <= WIDTH


def test_comments() -> None:
    rows = comment("word " * 30 + "\nend\n\n  in\nlast \u2192")
    assert rows[1] == "\\* " + "word " * 11 + "end"
    assert rows[2:] == ["\\*", "\\*   in", "\\* last ?"]
    assert "\\*" not in {"", *RESERVED}


# ---------------------------------------------------------------- refusals and files


REFUSED = [
    ("action a: skip", "a model without variables", "s.fence:2:7"),
    ("var n: int32 = 0\naction a: n += 1", "arithmetic on int32", "s.fence:2:11"),
    ("var n: int64 = 5000000000\naction a: skip", "the number 5000000000", "s.fence:1:16"),
    (
        "var x: 0..30 = 0\nstrongly fair each action a(n in 0..30): x = n\n"
        "property P: always eventually x == 2",
        "more than 24 strongly fair units",
        "s.fence:2:27",
    ),
    (
        "var x: 0..9 = 0\nfair action up: x += 1\nconstraint: x < 3\nproperty P: eventually x == 2",
        "property P beyond the constraints: TLC checks it within them only",
        "s.fence:4:10",
    ),
    ("var b: bag[0..1, 2] = any\naction a: skip", "the set of all values of bag[0..1, 2]", ""),
]


@pytest.mark.parametrize(("text", "reason", "location"), REFUSED)
def test_refused(tmp_path: Path, text: str, reason: str, location: str) -> None:
    (tmp_path / "s.fence").write_text(f"{text}\ncheck c:\n    expect ok\n", encoding="utf-8")
    ran = run("export", "s.fence", "--to", "tla", folder=tmp_path)
    assert ran.code != 0
    assert f"error[F045]: c cannot be written as TLA+: {reason}" in ran.stderr
    assert location in ran.stderr
    assert not list(tmp_path.glob("*.tla"))


REFINED = "param const Top: int\nvar x: 0..3 = 0\naction up: x = x + 1\n"
REFINING = """import m with Top = 3
var y: 0..3 = 0
action up:
    require y < 3
    y += 1
refinement R: m where x = y
terminal: true
check c:
    expect ok
check c_R:
    expect ok
"""


def test_a_refined_module_is_written_next_to_the_check(tmp_path: Path) -> None:
    """The refined module disables steps that would fail, and all files have different names."""
    (tmp_path / "m.fence").write_text(REFINED, encoding="utf-8")
    (tmp_path / "s.fence").write_text(REFINING, encoding="utf-8")
    ran = run("export", "s.fence", "--to", "tla", folder=tmp_path)
    assert ran.code == 0, ran.stderr
    written = [f"{name}.{end}" for name in ("s_c", "s_c_R") for end in ("cfg", "tla")]
    written += ["s_c_R_2.tla", "s_c_R_R.tla"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".fence") == sorted(
        written
    )
    module = (tmp_path / "s_c.tla").read_text(encoding="utf-8")
    assert body(module, "R_m") == "R_m == INSTANCE s_c_R_2 WITH x <- y"
    assert body(module, "R") == "R == R_m!Spec"
    there = (tmp_path / "s_c_R_2.tla").read_text(encoding="utf-8")
    assert body(there, "up") == "up == /\\ x + 1 \\in 0..3 /\\ x' = x + 1"
    assert body(there, "Spec") == "Spec == Init /\\ [][Next]_vars"
    assert "PROPERTY R\n" in (tmp_path / "s_c.cfg").read_text(encoding="utf-8")


def test_a_refined_module_that_may_fail_in_a_comprehension_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.fence").write_text(
        "var x: 0..3 = 0\nvar q: seq[0..1, 2] = [0]\naction up: x = len({q[n] for n in {0, 1}})\n",
        encoding="utf-8",
    )
    text = REFINING.replace("import m with Top = 3", "import m").replace("x = y", "x = y, q = [0]")
    (tmp_path / "s.fence").write_text(text, encoding="utf-8")
    ran = run("export", "s.fence", "--to", "tla", folder=tmp_path)
    assert "a refined module with an evaluation that may fail inside a comprehension" in ran.stderr
    assert "m.fence:3:" in ran.stderr


def test_a_limit_on_depth_is_refused_and_the_other_checks_are_written(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(
        "var x: 0..9 = 0\naction a:\n    require x < 9\n    x += 1\nterminal: true\n"
        "check short:\n    depth 3\n    expect ok\ncheck whole:\n    expect ok\n",
        encoding="utf-8",
    )
    ran = run("export", "s.fence", "--to", "tla", "--output", "a/b", folder=tmp_path)
    assert ran.code == 151
    assert "short cannot be written as TLA+: a search to a limited depth" in ran.stderr
    assert ran.stdout == "written a/b/s_whole.tla\nwritten a/b/s_whole.cfg\n"
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "s_whole.cfg", "s_whole.tla",
    ]  # fmt: skip


def test_places_of_refusals() -> None:
    program = loaded("var n: int32 = 0\naction a: n += 1\n")
    with pytest.raises(NotExported) as refused:
        export_of(program)
    assert refused.value.span is not None
    assert refused.value.span.line == 2
