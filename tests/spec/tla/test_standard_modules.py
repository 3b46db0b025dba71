# pyright: basic
"""The operators of the standard modules that are written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.standard.rows import truth
from fencepost.spec.tla.standard.table import FOLDER, STANDARD
from fencepost.spec.tla.values.kinds import EvaluationError, Value
from fencepost.spec.tla.values.universe import Universe

U = Universe()
OPERATORS = {
    name: row
    for module in STANDARD.values()
    for name, row in module.operators.items()
}  # fmt: skip


def call(name: str, *arguments: Value) -> Value:
    return OPERATORS[name][1](U, *arguments)


def s(*values: Value) -> frozenset[Value]:
    return frozenset(values)


def pair(left: Value, right: Value) -> Value:
    return (left, right)


BAG = U.merge(U.single("a", 2), U.single("b", 1))

RESULTS: list[tuple[str, tuple[Value, ...], str]] = [
    ("\\div", (-7, 2), "-4"),
    ("%", (-7, 2), "1"),
    ("^", (2, 10), "1024"),
    ("^^", (6, 3), "5"),
    ("Len", ("abc",), "3"),
    ("\\o", ("ab", "c"), '"abc"'),
    ("Tail", ("abc",), '"bc"'),
    ("SubSeq", ((1, 2, 3), 2, 3), "<<2, 3>>"),
    ("SubSeq", ((1, 2, 3), 3, 1), "<<>>"),
    ("SelectSeq", ((1, 2, 3), lambda n: truth(n > 1)), "<<2, 3>>"),
    ("SortSeq", ((2, 1, 3), lambda m, n: truth(m > n)), "<<3, 2, 1>>"),
    ("SetToSeqs", (s(1, 2),), "{<<1, 2>>, <<2, 1>>}"),
    ("FoldLeft", (pair, 0, (1, 2)), "<<<<0, 1>>, 2>>"),
    ("FoldRight", (pair, (1, 2), 0), "<<1, <<2, 0>>>>"),
    ("FoldSet", (pair, 0, s(1, 2)), "<<2, <<1, 0>>>>"),
    ("FoldFunction", (pair, 0, (1, 2)), "<<2, <<1, 0>>>>"),
    ("MapThenFoldSet", (pair, 0, lambda n: -n, min, s(1, 2)), "<<-1, <<-2, 0>>>>"),
    ("SumFunctionOnSet", ((5, 6, 7), s(1, 3)), "12"),
    ("kSubset", (2, s(1, 2, 3)), "{{1, 2}, {1, 3}, {2, 3}}"),
    ("Max", (s(1, 5, 2),), "5"),
    ("\\oplus", (BAG, U.single("a", 1)), "[a |-> 3, b |-> 1]"),
    ("\\ominus", (BAG, U.single("a", 2)), "[b |-> 1]"),
    ("SubBag", (U.single("a", 2),), "{<<>>, [a |-> 1], [a |-> 2]}"),
    ("BagOfAll", (lambda _: 0, BAG), "(0 :> 3)"),
    ("BagCardinality", (BAG,), "3"),
    ("CopiesIn", ("c", BAG), "0"),
    ("Permutations", (s("p", "q"),), "{[p |-> \"p\", q |-> \"q\"], [p |-> \"q\", q |-> \"p\"]}"),
    ("ToString", (s(1, 2),), '"{1, 2}"'),
    ("ReachableFrom", (s((1, 2), (2, 1)), 1), "{1, 2}"),
    ("PathsWithoutRepetition", (s(1, 2), s((1, 2))), "{<<1>>, <<2>>, <<1, 2>>}"),
    ("ToJson", ((1, U.single("a", s(truth(True)))),), '"[1,{\\"a\\":[true]}]"'),
    ("zeroPadN", (7, 3), '"007"'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "text"), RESULTS)
def test_result(name: str, arguments: tuple[Value, ...], text: str) -> None:
    assert U.show(call(name, *arguments)) == text


REFUSED: list[tuple[str, tuple[Value, ...], str]] = [
    ("+", (1, "a"), "must be integers"),
    ("\\div", (1, 0), "is 0"),
    ("%", (1, -1), "must be positive"),
    ("^", (2, -1), "must not be negative"),
    ("^", (2, 10**9), "too large"),
    ("Head", ((),), "empty sequence"),
    ("Tail", ("",), "empty sequence"),
    ("Head", (s(),), "must be a sequence"),
    ("\\o", ("a", (1,)), "cannot append"),
    ("SubSeq", ((1,), 1, 2), "outside of the sequence"),
    ("SelectSeq", ((1,), lambda n: n), "must return a Boolean"),
    ("Max", (s(),), "empty set"),
    ("Cardinality", (1,), "non-set"),
    ("BagCardinality", (U.single("a", 0),), "must be a bag"),
    ("\\oplus", (BAG, U.single(1, 1)), "compare"),
    ("\\ominus", (BAG, U.single(1, 1)), "compare"),
    ("\\sqsubseteq", (BAG, U.single(1, 1)), "compare"),
    ("CopiesIn", (1, BAG), "compare"),
    ("Assert", (truth(False), "stop"), "stop"),
    ("Permutations", (U.interval(1, 20),), "large set"),
    ("TLCGet", (1,), "no value"),
    ("RandomElement", (s(),), "empty set"),
    ("JavaTime", (), "not supported"),
    ("JsonDeserialize", ("f.json",), "--allow-read"),
    ("IOEnv", (), "--allow-read"),
    ("IOExec", (("ls",),), "start processes"),
    ("JsonSerialize", ("f.json", 1), "write files"),
    ("atoi", ("x",), "not a number"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_error(name: str, arguments: tuple[Value, ...], message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        call(name, *arguments)
    assert message in str(raised.value)


def test_arities() -> None:
    """Each operator takes the universe and as many arguments as its row says."""
    for arity, operator in OPERATORS.values():
        inspect.signature(operator).bind(*[None] * (arity + 1))


def test_runtime() -> None:
    universe = Universe()
    printed: list[str] = []
    universe.runtime.write = printed.append
    files = {"log": '{"a": [1, true]}\n\n"x"\n', "bad": "{", "csv": "1;2\n3;4\n"}
    universe.runtime.read = files.__getitem__
    universe.runtime.environment = {"HOME": "h"}
    run: Callable[..., Value] = lambda name, *given: OPERATORS[name][1](universe, *given)  # noqa: E731
    assert run("Print", "a", 1) == 1
    run("TLCSet", 1, (1, 2))
    assert printed == ['"a"  1']
    assert run("TLCGet", 1) == (1, 2)
    assert universe.show(run("ndJsonDeserialize", "log")) == '<<[a |-> <<1, TRUE>>], "x">>'
    assert universe.show(run("CSVRead", ("k", "v"), ";", "csv")) == (
        '<<[k |-> "1", v |-> "2"], [k |-> "3", v |-> "4"]>>'
    )
    assert universe.show(run("IOEnv")) == '[HOME |-> "h"]'
    with pytest.raises(EvaluationError, match="as JSON, line"):
        run("JsonDeserialize", "bad")
    assert run("RandomSubset", 2, U.interval(1, 9)) <= U.interval(1, 9)


def test_modules_in_tla_are_named_like_their_files() -> None:
    for path in FOLDER.glob("*.tla"):
        assert f"---- MODULE {path.stem} ----\n" in path.read_text(encoding="utf-8")
        assert path.stem not in STANDARD


PUBLIC = sorted({*STANDARD, *(path.stem for path in FOLDER.glob("*.tla"))})


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.startswith("_")])
def test_modules_can_be_extended(name: str, tmp_path: Path) -> None:
    path = tmp_path / "Extending.tla"
    path.write_text(f"---- MODULE Extending ----\nEXTENDS {name}\n====\n", encoding="utf-8")
    config = tmp_path / "Extending.cfg"
    config.write_text("", encoding="utf-8")
    Specification(path, config)
