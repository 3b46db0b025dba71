"""The formatter: examples, and that it is idempotent and preserves trees and comments."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import random_syntax
from tests.support.amounts import examples
from tests.support.paths import ROOT
from tests.support.syntax_trees import source, tree

from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.syntax.tokens import COMMENT, scan
from fencepost.spec.text.problem import Rejected

SHIPPED = [p for folder in ("models", "invariants") for p in (ROOT / folder).rglob("*.fence")]

CASES = {
    "spaces between tokens": (
        "const  N:int=3\nvar x :0 .. N-1 = - 1\n"
        "var y: ( 0..3 ) ?=none\nassume not(N)==-1*( 2+3 )\n",
        "const N: int = 3\nvar x: 0..N - 1 = -1\n"
        "var y: (0..3)? = none\nassume not (N) == -1 * (2 + 3)\n",
    ),
    "calls, indices, literals": (
        "invariant I: f (a [ i ] . b , {1,2} , [ ] )!  .c == [x for x in[1,2]if(p)]\n",
        "invariant I: f(a[i].b, {1, 2}, [])!.c == [x for x in [1, 2] if (p)]\n",
    ),
    "keywords are told from names by the grammar": (
        "channel c[a:A]: M lossy ( P )at most(3)capacity(4)or block\n"
        "action to: send to (x) to to [x]\n",
        "channel c[a: A]: M lossy(P) at most (3) capacity (4) or block\n"
        "action to: send to(x) to to[x]\n",
    ),
    "patterns": (
        "action a on m . P( _,==x,== - 1,y )as  r from net: return ;\n",
        "action a on m.P(_, ==x, ==-1, y) as r from net: return;\n",
    ),
    "groups, bounds, folds, matches and tuples": (
        "fair   Go :{ up,down }where x>0 and # a\n  x<3\n"
        "def f(n:T):U   at  most 4=fold (n:T,(a,b)in q if x>1 from 0:n+a)\n"
        "def g(m:M):T=\n  match m:\n    # b\n    case A(a):a\n    case B(a,==2):\n"
        "       let b=a # c\n       b\n"
        "def h(m:M):T=match m:case A(a):a;case _:t . 1\n"
        "property P  within   constraint:eventually x==3\n",
        "fair Go: {up, down} where x > 0 and  # a\n    x < 3\n"
        "def f(n: T): U at most 4 = fold(n: T, (a, b) in q if x > 1 from 0: n + a)\n"
        "def g(m: M): T =\n    match m:\n        # b\n        case A(a): a\n"
        "        case B(a, ==2):\n            let b = a  # c\n            b\n"
        "def h(m: M): T = match m: case A(a): a; case _: t.1\n"
        "property P within constraint: eventually x == 3\n",
    ),
    "indentation": (
        "role R:\n  var x: T = e\n  action a:\n   if b:\n           skip\n   else:\n      return\n",
        "role R:\n    var x: T = e\n    action a:\n        if b:\n            skip\n        else:\n"
        "            return\n",
    ),
    "tabs": (
        "role R:\n\taction a:\n\t\tskip # t\n\t\tx =\ty\n",
        "role R:\n    action a:\n        skip  # t\n        x = y\n",
    ),
    "blank lines": (
        "\n\n# top\n\n\n\n\nconst N: int = 3\n\n\n\n"
        "action a:\n\n\n    skip\n\n\n\n    skip\n\n\n\n\n"
        "action b: skip\n\n\n",
        "# top\n\n\nconst N: int = 3\n\n\naction a:\n\n    skip\n\n    skip\n\n\naction b: skip\n",
    ),
    "remarks at the end of lines": (
        "const N: int = 3 # a\nconst Long: int = 3# b\n"
        "const M: int = 3\nconst K: int = 3       #c  \n",
        "const N: int = 3     # a\nconst Long: int = 3  # b\nconst M: int = 3\n"
        "const K: int = 3  #c\n",
    ),
    "a remark goes on below itself": (
        "const N: int = 3    # one\n                    # two\n\n  # three\n",
        "const N: int = 3  # one\n                  # two\n\n# three\n",
    ),
    "remarks on their own lines": (
        "action a:\n # in a\n  if b:\n     skip\n"
        "     # in if\n   # also\n  # in a\n# top\naction c:\n"
        "  skip\n  # in c\n",
        "action a:\n    # in a\n    if b:\n        skip\n        # in if\n    # also\n    # in a\n"
        "# top\naction c:\n    skip\n    # in c\n",
    ),
    "brackets over several lines": (
        "var x: T = f(\n1,\n  [2,\n3\n],\n # remark\n {\n4}\n   )\nvar y: T = (a\nor b\n)\n",
        "var x: T = f(\n    1,\n    [2,\n     3\n    ],\n    # remark\n    {\n        4}\n)\n"
        "var y: T = (a\n            or b\n           )\n",
    ),
    "continuation lines": (
        "action a(y in S) where y and\n  x == 1:\n  x = y\n        - 1  # a\n     # b\n\n\n\n"
        "      -1\n  require p is\n     not A or\n      (a\n  ==b)\n  # c\n"
        "property M: p\n     leads to q\ndef f: int =\n  -1\n",
        "action a(y in S) where y and\n        x == 1:\n    x = y\n        - 1  # a\n"
        "        # b\n\n"
        "        - 1\n    require p is\n        not A or\n        (a\n         == b)\n    # c\n"
        "property M: p\n    leads to q\ndef f: int =\n    -1\n",
    ),
    "line ends and the end of the file": (
        "\ufeffconst N: int = 3\r\n\r\n# x\r\n",
        "const N: int = 3\n\n# x\n",
    ),
    "the text of a file stays as it is": (
        '"""a\r\n  b  \n\n\n\nc"""# d',
        '"""a\n  b  \n\n\n\nc"""  # d\n',
    ),
    "nothing": ("\n\n", ""),
    "only remarks": ("  # a\n\n\n\n#b", "# a\n\n\n#b\n"),
}  # fmt: skip


def remarks(text: str) -> list[str]:
    return [token.text.rstrip() for token in scan(text) if token.kind == COMMENT]


def check(text: str) -> str:
    result = formatted(source(text))
    assert formatted(source(result)) == result
    assert tree(result) == tree(text)
    assert remarks(result) == remarks(text)
    return result


@pytest.mark.parametrize("name", CASES)
def test_examples(name: str) -> None:
    text, expected = CASES[name]
    assert check(text) == expected


@examples(60)
@given(st.randoms(use_true_random=False))
def test_random_specs(random: Random) -> None:
    check(random_syntax.spec(random))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_specs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(source(text)) == text, "run fencepost fmt"


def test_syntax_errors_are_reported() -> None:
    with pytest.raises(Rejected) as caught:
        formatted(source("var x = 1\nvar y: T = 1\nvar z = 2\n"))
    assert len(caught.value.problems) == 2
