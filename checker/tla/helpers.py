"""Definitions that a module has where it uses them."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.checker.tla.forming import among, call, conjoined, equal, everything, let, plus
from fencepost.checker.tla.tree import (
    FALSE,
    Apply,
    At,
    Definition,
    Expr,
    Filter,
    Function,
    If,
    Image,
    Infix,
    Listed,
    Name,
    Number,
    Prefix,
    Quantified,
    String,
    Tuple,
)


def _n(text: str) -> Name:
    return Name(text)


def _infix(left: Expr, sign: str, right: Expr) -> Expr:
    return Infix(sign, left, right)


def _count(name: str, domain: Expr, condition: Expr) -> Expr:
    return call("Cardinality", Filter(name, domain, condition))


_ONE = Number(1)
_TWO_HALVES = _infix(Number(2), "*", _n("half"))
_UP_TO = _infix(_ONE, "..", call("Cardinality", _n("elements")))
_DOUBLED = _infix(_infix(Number(2), "*", _n("half")), "%", _n("bits"))

HELPERS: dict[str, Definition] = {
    one.name: one
    for one in (
        Definition(
            "Within",
            ("value", "range"),
            If(
                among(_n("value"), _n("range")),
                _n("value"),
                call(
                    "Assert",
                    FALSE,
                    Tuple(
                        (
                            String("evaluation error: a value leaves its range"),
                            _n("value"),
                            _n("range"),
                        )
                    ),
                ),
            ),
            "A value that is stored where only those of the range are held.",
        ),
        Definition(
            "Defined",
            ("value",),
            equal(_n("value"), _n("value")),
            "TRUE, once the value is known: TLC evaluates a LET only where it is used.",
        ),
        Definition(
            "After",
            ("value", "other"),
            If(equal(_n("value"), _n("value")), _n("other"), _n("other")),
            "The other value, once the first is known.",
        ),
        Definition(
            "Evaluated",
            ("value",),
            If(equal(_n("value"), _n("value")), _n("value"), _n("value")),
            "The value, all of which is evaluated: TLC evaluates parts of it only on demand.",
        ),
        Definition(
            "FloorDiv",
            ("dividend", "divisor"),
            If(
                _infix(_n("divisor"), ">", Number(0)),
                _infix(_n("dividend"), "\\div", _n("divisor")),
                _infix(Prefix("-", _n("dividend")), "\\div", Prefix("-", _n("divisor"))),
            ),
        ),
        Definition(
            "FloorMod",
            ("dividend", "divisor"),
            _infix(
                _n("dividend"),
                "-",
                _infix(_n("divisor"), "*", call("FloorDiv", _n("dividend"), _n("divisor"))),
            ),
        ),
        Definition(
            "Wrap",
            ("number", "half"),
            _infix(
                _infix(_infix(_n("number"), "+", _n("half")), "%", _TWO_HALVES), "-", _n("half")
            ),
            "A number in two's complement.",
        ),
        Definition(
            "Product",
            ("left", "right", "bits"),
            If(
                equal(_n("right"), Number(0)),
                Number(0),
                let(
                    "half",
                    call(
                        "Product", _n("left"), _infix(_n("right"), "\\div", Number(2)), _n("bits")
                    ),
                    _infix(
                        _infix(
                            _DOUBLED,
                            "+",
                            If(
                                equal(_infix(_n("right"), "%", Number(2)), _ONE),
                                _infix(_n("left"), "%", _n("bits")),
                                Number(0),
                            ),
                        ),
                        "%",
                        _n("bits"),
                    ),
                ),
            ),
            "A product modulo `bits`, of which no part leaves 32 bits.",
            recursive=True,
        ),
        Definition(
            "Position",
            ("value", "elements"),
            Quantified(
                "CHOOSE",
                "index",
                Prefix("DOMAIN", _n("elements")),
                equal(At(_n("elements"), _n("index")), _n("value")),
            ),
        ),
        Definition(
            "Least",
            ("elements", "Before(_, _)"),
            Quantified(
                "CHOOSE",
                "least",
                _n("elements"),
                Quantified(
                    "\\A",
                    "other",
                    _n("elements"),
                    Prefix("~", call("Before", _n("other"), _n("least"))),
                ),
            ),
        ),
        Definition(
            "Ordered",
            ("elements", "Before(_, _)"),
            Function(
                "index",
                _UP_TO,
                Quantified(
                    "CHOOSE",
                    "member",
                    _n("elements"),
                    equal(
                        _count("other", _n("elements"), call("Before", _n("other"), _n("member"))),
                        plus(_n("index"), -1),
                    ),
                ),
            ),
            "The elements of a set as a sequence.",
        ),
        Definition(
            "Total",
            ("amounts", "domain"),
            If(
                equal(_n("domain"), Listed(())),
                Number(0),
                let(
                    "first",
                    Quantified("CHOOSE", "other", _n("domain"), Name("TRUE")),
                    _infix(
                        At(_n("amounts"), _n("first")),
                        "+",
                        call(
                            "Total",
                            _n("amounts"),
                            _infix(_n("domain"), "\\", Listed((_n("first"),))),
                        ),
                    ),
                ),
            ),
            recursive=True,
        ),
        Definition(
            "Repeated",
            ("bag", "Before(_, _)"),
            Function(
                "index",
                _infix(_ONE, "..", call("BagCardinality", _n("bag"))),
                Quantified(
                    "CHOOSE",
                    "member",
                    Prefix("DOMAIN", _n("bag")),
                    let(
                        "below",
                        call(
                            "Total",
                            _n("bag"),
                            Filter(
                                "other",
                                Prefix("DOMAIN", _n("bag")),
                                call("Before", _n("other"), _n("member")),
                            ),
                        ),
                        conjoined(
                            [
                                _infix(_n("below"), "<", _n("index")),
                                _infix(
                                    _n("index"),
                                    "<=",
                                    _infix(_n("below"), "+", At(_n("bag"), _n("member"))),
                                ),
                            ]
                        ),
                    ),
                ),
            ),
            "The elements of a bag as a sequence.",
        ),
        Definition(
            "Joined",
            ("parts", "count"),
            If(
                equal(_n("count"), Number(0)),
                Tuple(()),
                _infix(
                    call("Joined", _n("parts"), plus(_n("count"), -1)),
                    "\\o",
                    At(_n("parts"), _n("count")),
                ),
            ),
            "The first sequences of a sequence of them, one behind the other.",
            recursive=True,
        ),
        Definition(
            "BagOf",
            ("elements",),
            Function(
                "member",
                Image(At(_n("elements"), _n("index")), "index", Prefix("DOMAIN", _n("elements"))),
                _count(
                    "other",
                    Prefix("DOMAIN", _n("elements")),
                    equal(At(_n("elements"), _n("other")), _n("member")),
                ),
            ),
            "The elements of a sequence as a bag.",
        ),
    )
}
"""By their names; one that uses another stands behind it."""

_ORDER = (
    "Within", "Defined", "After", "Evaluated", "FloorDiv", "FloorMod", "Wrap", "Product",
    "Position", "Least", "Ordered", "Total", "Repeated", "Joined", "BagOf",
)  # fmt: skip


def wanted(bodies: Iterable[Expr]) -> list[Definition]:
    """The definitions that some expressions use, in order."""
    found: set[str] = set()
    pending = list(bodies)
    while pending:
        for node in everything(pending.pop()):
            if isinstance(node, Apply) and node.operator in HELPERS and node.operator not in found:
                found.add(node.operator)
                pending.append(HELPERS[node.operator].body)
    return [HELPERS[name] for name in _ORDER if name in found]
