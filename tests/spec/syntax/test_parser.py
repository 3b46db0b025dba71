"""From text to tree: every form, layout, valid names, spans, and the parse table itself."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import lark
import pytest
from tests.support import grammar_forms
from tests.support.paths import ROOT
from tests.support.syntax_trees import dump, problem_line, problems, source, tree

from fencepost.spec.syntax import parse_table
from fencepost.spec.syntax.build import FORMS, MAX_DIGITS
from fencepost.spec.syntax.lalr import (
    MAX_DEPTH,
    keywords,
    loaded_parser,
    node_name,
    reserved,
    rules,
)
from fencepost.spec.syntax.nodes import (
    ActionDecl,
    Binary,
    Call,
    File,
    PropertyDecl,
    RoleDecl,
    VarDecl,
)
from fencepost.spec.syntax.parser import parse, parse_expression
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source


def cases(text: str) -> list[tuple[str, str]]:
    """Splits a text into blocks, each with a form, ``=>`` and its tree."""
    blocks = [block.split("\n=> ") for block in text.strip().split("\n\n")]
    return [(written, " ".join(expected.split())) for written, expected in blocks]


@pytest.mark.parametrize(("text", "expected"), cases(grammar_forms.EXPRESSIONS))
def test_expressions(text: str, expected: str) -> None:
    assert dump(parse_expression(source(text))) == expected


@pytest.mark.parametrize(("text", "expected"), cases(grammar_forms.DECLARATIONS))
def test_declarations(text: str, expected: str) -> None:
    assert " ".join(map(dump, tree(text).declarations)) == expected


@pytest.mark.parametrize(("text", "expected"), cases(grammar_forms.STATEMENTS))
def test_statements(text: str, expected: str) -> None:
    lines = [f"    {line}" for line in text.split("\n")]
    (action,) = tree("\n".join(["action a:", *lines])).declarations
    assert isinstance(action, ActionDecl)
    assert " ".join(map(dump, action.body)) == expected


# ---------------------------------------------------------------- blocks and layout


def body(text: str) -> str:
    (declaration,) = tree(text).declarations
    assert isinstance(declaration, PropertyDecl)
    return dump(declaration.body)


def test_a_block_is_the_conjunction_of_its_lines() -> None:
    assert body("invariant I:\n  a or b\n  c") == "Conjunction([Binary(or a b) c])"
    assert body("terminal:\n  a") == "a"


def test_let_lines_take_in_the_rest_of_the_block() -> None:
    assert body("invariant I:\n  let x = a\n  let y = b\n  c") == "LetIn(x a LetIn(y b c))"
    # With a colon, it is one of the conditions.
    both = "invariant I:\n  let x = a\n  let y = x: y\n  b"
    assert body(both) == "LetIn(x a Conjunction([LetIn(y x y) b]))"


def test_a_quantifier_at_the_end_of_a_line_opens_a_block() -> None:
    nested = "    p(x)\n    exists y in T:\n      q\n      r\n"
    text = f"invariant I:\n  a implies forall x in S:\n{nested}  c"
    inner = "Quantifier(exists [Binder(y T)] - Conjunction([q r]))"
    outer = f"Quantifier(forall [Binder(x S)] - Conjunction([Call(p [x]) {inner}]))"
    assert body(text) == f"Conjunction([Binary(implies a {outer}) c])"


@pytest.mark.parametrize(
    "text",
    [
        "invariant I: f(a,\n b\n)",
        "invariant I: f(\n# a remark\n\na,    # another\n\tb)",
        "invariant I: f(\na,\nb\n)",
        "\ufeffinvariant I: f(a, b)",
        "invariant I: f(a, b)\r\n",
        "\r\ninvariant I:\r\n\tf(a,\r\n b)\r\n",
        "\n  # indented remark\ninvariant I:\n# remark in the first column\n  f(a, b)\n      # end",
        "invariant I:\n\n\n    f(a, b)   \n   \n\t\n",
        "invariant\tI  :f ( a ,b,)",
    ],
)
def test_layout_has_no_meaning_beyond_indentation(text: str) -> None:
    assert body(text) == "Call(f [a b])"


CONTINUED = r"""
invariant I: x is A ~ and q
invariant I: x is A and ~ q
invariant I:\n  x is A ~ and ~ q\n  r
invariant I:\n  x ~ not in ~ (q) ~ or x ~ is ~ A
invariant I:\n  x ~ is not A and (\nq)
action a:\n  x = a ~ - b ~ - -c\n  y = 1
action a(x in S) where x > 1 ~ and x < 3:\n  y = 1
action a:\n  if a ~ or b not ~ in c:\n    y = 1\n  else:\n    y = 2
action a:\n  x = if a ~ then b ~ else ~ c\n  y = 1
def f: int =\n  - ~ x
property P: a leads to ~ always b
property P: a ~ leads to b
property P:\n  a until ~ b\n  c implies ~ always d
shows A when\n  -x < 1 ~ or not ~ a\n  b
initially: forall a in S: a is B ~ iff a ~ is C
action a(x in S) ~ where x > 1 ~ and y ~ on M(z) ~ from c ~ where z: skip
action a:\n  pick x in S ~ where x\n  send a ~ with b: c ~ to d
enum E: A, ~ B\nrecord R: a: T, ~ b: U\naction a:\n  assert x, ~ "why"
action a:\n  x = ~ 1\n  let y = ~ a ~ + b\n  x += ~ y
var x: T = ~ 1\nvar y: T in S ~ where y > 1
refinement R: m ~ where x = ~ y
def f: int = match m:\n  case A: a ~ + b\n  case B: c
"""
"""Texts in which ``~`` is a place where a line may break."""


@pytest.mark.parametrize("line_break", ["\n      ", "  # remark\r\n# remark\n\n       "])
@pytest.mark.parametrize("text", CONTINUED.split("\n")[1:-1])
def test_a_deeper_line_next_to_an_operator_continues_the_line(text: str, line_break: str) -> None:
    text = text.replace("\\n", "\n")
    assert tree(text.replace(" ~ ", line_break)) == tree(text.replace(" ~ ", " "))


NOT_CONTINUED = r"""
invariant I:\n  x is A\n  and q
invariant I:\n  x is A and\n  q
invariant I: x is A and\ninvariant J: q
invariant I: x is A\nand q
invariant I: x\n  not q
action a:\n  x = 1\n    -= 2
action a:\n  x =\n  1
action a:\n  send x\n  to c
def f: int =\n  1\n    where x
action a:\n  if a: x = 1\n    else: x = 2
action a:\n  if a: x = 1\n    elif b: x = 2
invariant I: x is A and\n  # remark
invariant I:\n\tx is A and\n\t  q
"""


@pytest.mark.parametrize("text", NOT_CONTINUED.split("\n")[1:-1])
def test_other_lines_do_not_continue(text: str) -> None:
    assert problems(text.encode().decode("unicode_escape"))


@pytest.mark.parametrize("text", ["", "\n", "# only a remark", "\ufeff", "  \n\t\n", "\r\n\r\n"])
def test_nothing_is_an_empty_file(text: str) -> None:
    assert tree(text) == File(source(text), None, ())


def test_docstring() -> None:
    assert tree('"""About\r\nthis."""\nconst N: int = 1').docstring == "About\nthis."
    assert tree('# first a remark\n\n""" "quoted" """\n').docstring == '"quoted"'


def test_trees_do_not_compare_spans() -> None:
    assert tree("var x:T=1") == tree("\n\nvar  x : T   = 1 # same\n")
    assert tree("var x: T = 1") != tree("var x: T = 2")


def test_spans_are_the_text_of_the_node() -> None:
    file = tree("role R:\n    var x: T = (a + b) * f(c)\n    action go: x = 1\n")
    (role,) = file.declarations
    assert isinstance(role, RoleDecl)
    var, action = role.members
    assert isinstance(var, VarDecl)
    assert isinstance(action, ActionDecl)
    assert isinstance(var.value, Binary)
    assert isinstance(var.value.right, Call)
    assert [
        var.span.text, var.name.span.text, var.value.span.text, var.value.left.span.text,
        var.value.right.function.span.text, action.span.text, str(action.name.span),
    ] == [
        "var x: T = (a + b) * f(c)", "x", "(a + b) * f(c)", "a + b",
        "f", "action go: x = 1", "t.fence:3:12",
    ]  # fmt: skip
    assert role.span.text.endswith("x = 1")


# ---------------------------------------------------------------- names and limits


RESERVED = """
    and any assert case choose elif else exists false fold for forall ghost if iff
    implies in is let match none not or pick require return send skip then true where with
"""


def test_reserved_words() -> None:
    """A new reserved word breaks specs that use it as a name."""
    assert sorted(reserved()) == RESERVED.split()


@pytest.mark.parametrize("word", sorted(reserved()))
def test_reserved_words_are_no_names(word: str) -> None:
    (problem,) = problems(f"const {word}: int = 1\n")
    assert problem_line(problem) == f'F115 1:7 "{word}" is a reserved word, so it cannot be a name'


@pytest.mark.parametrize("word", sorted(keywords() - reserved()))
def test_other_keywords_may_be_names(word: str) -> None:
    text = (
        f"var {word}: int = 1\nenum E: {word}, B\nrecord R: {word}: T\nrole {word}:\n"
        f"    action {word}({word} in {word}) on {word}({word}) from {word}:\n"
        f"        {word} = {word} + {word}.{word}[{word}]\n        {word}({word}: {word})\n"
        f"        send {word} to {word}\n"
        f"invariant {word}: {word} in {word} and {word}\ncheck {word}: expect violated {word}\n"
    )
    assert len(tree(text).declarations) == 6


def test_depth_is_bounded() -> None:
    most = MAX_DEPTH - 3
    assert not problems("invariant I: " + " + ".join("a" * most))
    assert not problems("invariant I: " + "(" * 5000 + "a" + ")" * 5000)
    for text in (
        "invariant I: " + " + ".join("a" * 10_000),
        "invariant I: " + "not " * 10_000 + "a",
        "invariant I: " + "f(" * 10_000 + "a" + ")" * 10_000,
        "invariant I: " + "a[" * 10_000 + "a" + "]" * 10_000,
        "invariant I: a" + ".b" * 10_000,
        "invariant I: a" + "!" * 10_000,
        "invariant I: " + "forall x in S: " * 10_000 + "a",
        "action a:\n" + "".join(" " * n + "if b:\n" for n in range(1, 500)) + " " * 500 + "skip",
        "invariant I:\n" + "".join(" " * n + "forall x in S:\n" for n in range(1, 500))
        + " " * 500 + "a",
    ):  # fmt: skip
        (problem,) = problems(text)
        assert problem.code == "F122"


def test_long_numbers() -> None:
    assert not problems(f"assume {'9' * MAX_DIGITS} > 0")
    (problem,) = problems(f"assume {'9' * 5000} > 0")
    assert problem_line(problem) == "F121 1:8 a number has at most 40 digits, but this one has 5000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "F101 1:1 expected a value, found nothing"),
        ("1 +", "F101 1:4 expected a value, found the end of the line"),
        ("1\n2", "F101 2:1 expected a single value"),
        ("x = 3", 'F109 1:3 "=" assigns; to compare, write "=="'),
    ],
)
def test_expression_alone(text: str, expected: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_expression(source(text))
    assert [problem_line(problem) for problem in caught.value.problems] == [expected]


# ---------------------------------------------------------------- the grammar


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Redirects the prepared table to a path where it is initially missing."""
    path = tmp_path / "grammar.json"
    monkeypatch.setattr(parse_table, "TABLE", path)
    return path


def test_a_table_is_used_with_its_grammar_and_its_lark_only(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parse_table.stored() is None
    parse_table.write()
    assert parse_table.stored() == json.loads(table.read_text(encoding="utf-8"))
    with monkeypatch.context() as patch:
        patch.setattr(lark, "__version__", "0")
        assert parse_table.stored() is None
    changed = tmp_path / "grammar.lark"
    changed.write_text(parse_table.GRAMMAR.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    monkeypatch.setattr(parse_table, "GRAMMAR", changed)
    assert parse_table.stored() is None


def test_nothing_but_time_is_lost_without_a_table(table: Path) -> None:
    """Without the file, Lark computes a table with the same symbols, rules, states and actions."""
    parse_table.prepared.cache_clear()
    without = parse_table.prepared()
    parse_table.write()
    parse_table.prepared.cache_clear()
    assert parse_table.prepared() == without


def test_lark_loads_its_own_table() -> None:
    """The only private function of Lark that we use reproduces Lark's own parser."""
    text = "action a: x = y[1] + forall z in S: z"
    compiled: Any = parse_table.compiled()
    fresh = compiled.parse_interactive(start="chunk")
    loaded = loaded_parser().parse_interactive(start="chunk")
    for token in loaded_parser().parse_interactive(text, start="chunk").iter_parse():
        assert fresh.accepts() == loaded.accepts()
        fresh.feed_token(token)
        loaded.feed_token(token)
    assert fresh.accepts() == loaded.accepts() == {"$END"}


def test_every_rule_has_its_form() -> None:
    names = {node_name(rule) for rule in rules()} - {None}
    passing = {node_name(rule) for rule in rules() if rule.options.expand1 and not rule.alias}
    assert names - passing <= FORMS.keys() <= names


def test_every_rule_has_a_first_symbol() -> None:
    """A rule without symbols would produce a node without a span."""
    assert all(rule.expansion for rule in rules())


def test_conflicts_are_those_of_forms_that_reach_far_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An operator after an operand continues the operand instead of ending the enclosing form."""
    caplog.set_level(logging.DEBUG, lark.logger.name)
    lark.logger.addHandler(caplog.handler)
    before = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    try:
        parse_table.compiled(debug=True)
    finally:
        lark.logger.removeHandler(caplog.handler)
        lark.logger.setLevel(before)
    messages = [r.getMessage() for r in caplog.records]
    rules = {m.strip(" *<>").split(" :")[0] for m in messages if m.startswith(" * ")}
    plain = {"comparison", "disjunction", "expr", "range", "sum"}
    formulas = {f"f_{rule}" for rule in plain - {"expr"}} | {"f_implication", "formula"}
    assert rules == plain | formulas | {"unary", "_value_cases"}
    ending = {m.strip(" *<>") for m in messages if m.startswith(" * <unary")}
    assert ending == {"unary : CHOOSE binder"}


def test_every_shipped_spec_parses() -> None:
    paths = [p for folder in ("models", "invariants") for p in (ROOT / folder).rglob("*.fence")]
    for path in paths:
        _, problems_ = parse(source(path.read_text(encoding="utf-8")))
        assert not problems_, path


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (" and ".join(["x > 0"] * 5000), "F122", 'this chain of "and" has 5,000 operands'),
        (" or ".join(["(x > 0 and x < 9)"] * 500), "F122", 'this chain of "or" has 500 operands'),
        (" + ".join(["x"] * 300) + " > 0", "F122", 'this chain of "+" has 300 operands'),
        ("(" * 200 + "x > 0" + ")" * 200, None, None),
        ("not " * 200 + "b", "F122", "this is nested more than 120 levels deep"),
        ("\n    let y = x" * 990 + "\n    y > 0", "F711", "this block is nested more than"),
    ],
)
def test_excessive_depth_is_named(text: str, code: str | None, message: str | None) -> None:
    _, problems = parse(Source("s.fence", f"var x: int = 0\ninvariant I: {text}\n"))
    assert [problem.code for problem in problems] == ([] if code is None else [code])
    assert all(problem.message.startswith(message or "") for problem in problems)
