"""TLA+ values: order, equality, membership, functions, text, and TLC's errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from fencepost.spec.tla.values import lazy_sets
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    EvaluationError,
    Function,
    LazyFunction,
    Value,
)
from fencepost.spec.tla.values.lazy_sets import (
    NAT,
    Filter,
    FunctionSet,
    PowerSet,
    Product,
    RecordSet,
    SequenceSet,
)
from fencepost.spec.tla.values.universe import MAX_WRITTEN_INTERVAL, Universe

U = Universe()
"""Names in the order za, b, a, m, n."""
for _name in ("za", "b", "a"):
    U.rank(_name)
M, N, TYPED, OTHER = map(U.model_value, ("m", "n", "t_1", "s_1"))


def s(*values: Value) -> frozenset[Value]:
    return frozenset(values)


def record(**fields: Value) -> Value:
    domain = U.domain_of(frozenset(fields))
    return domain.function([fields[name] for name in domain.elements])


def many(count: int) -> Value:
    return U.interval(1, count)


LARGE = MAX_WRITTEN_INTERVAL + 5
AT_2_AND_3 = U.merge(U.single(3, "b"), U.single(2, "a"))
SUCCESSOR = LazyFunction(NAT, lambda n: n + 1)

SHOWN: list[tuple[Value, str]] = [
    (TRUE, "TRUE"),
    (-3, "-3"),
    ('a"\\\n', r'"a\"\\\n"'),
    ((), "<<>>"),
    ((1, ("b",)), '<<1, <<"b">>>>'),
    (s(), "{}"),
    (s(3, -1, 2), "{-1, 2, 3}"),
    (s("a", "za", "b"), '{"za", "b", "a"}'),
    (s("new2", "new1"), '{"new1", "new2"}'),
    (s(TRUE, FALSE), "{FALSE, TRUE}"),
    (s(N, M, TYPED), "{m, n, t_1}"),
    (s(5, N, 1, M), "{m, n, 1, 5}"),
    (s("b", M, "a"), '{m, "b", "a"}'),
    (s((1, 1), (2,), ()), "{<<>>, <<2>>, <<1, 1>>}"),
    (s(s(3), s(1, 2), s()), "{{}, {3}, {1, 2}}"),
    (s((M, 5), (1, 5), (M, 2)), "{<<m, 2>>, <<m, 5>>, <<1, 5>>}"),
    (record(a=1, b=2), "[b |-> 2, a |-> 1]"),
    (AT_2_AND_3, '(2 :> "a" @@ 3 :> "b")'),
    (s(AT_2_AND_3, (9, 9)), '{<<9, 9>>, (2 :> "a" @@ 3 :> "b")}'),
    (PowerSet(many(3)), "{{}, {1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}}"),
    (FunctionSet(many(2), s(1, 5)), "{<<1, 1>>, <<1, 5>>, <<5, 1>>, <<5, 5>>}"),
    (FunctionSet(s(), s()), "{<<>>}"),
    (FunctionSet(s(1), s()), "{}"),
    (FunctionSet(s("a", "b"), s(1)), "{[b |-> 1, a |-> 1]}"),
    (Product((many(2), s("a"))), '{<<1, "a">>, <<2, "a">>}'),
    (RecordSet({"a": many(2), "b": s(TRUE)}), "{[b |-> TRUE, a |-> 1], [b |-> TRUE, a |-> 2]}"),
    (Filter(many(5), lambda n: n > 3), "{4, 5}"),
    (FunctionSet(many(3), NAT), "[{1, 2, 3} -> Nat]"),
    (PowerSet(many(40)), "SUBSET " + U.show(many(40))),
    (SequenceSet(s("a")), 'Seq({"a"})'),
    (U.set_of([NAT, s(1)]), "{Nat, {1}}"),
    (U.interval(1, LARGE), f"1..{LARGE}"),
    (U.union(NAT, s(-1)), "(Nat \\cup {-1})"),
    (U.difference(FunctionSet(many(2), many(2)), s((1, 1))), "{<<1, 2>>, <<2, 1>>, <<2, 2>>}"),
    (U.intersection(many(3), NAT), "{1, 2, 3}"),
    (U.big_union(s(s(1), s(2, 1))), "{1, 2}"),
    (U.big_union(U.set_of([PowerSet(s(1)), s(s(2))])), "{{}, {1}, {2}}"),
    (U.set_of([(1, PowerSet(s()))]), "{<<1, {{}}>>}"),
    (U.domain(AT_2_AND_3), "{2, 3}"),
    (U.domain((7, 7)), "{1, 2}"),
    (U.updated((7, 7), 2, 8), "<<7, 8>>"),
    (U.updated((7, 7), 3, 8), "<<7, 7>>"),
    (U.updated(AT_2_AND_3, 3, 0), '(2 :> "a" @@ 3 :> 0)'),
    (U.updated(record(a=1), "b", 0), "[a |-> 1]"),
    (U.apply(U.updated(SUCCESSOR, 3, 0), 3), "0"),
    (U.apply(SUCCESSOR, 3), "4"),
    (U.merge((1, 2), (5, 6, 7)), "<<1, 2, 7>>"),
    (U.merge((), ()), "<<>>"),
    (U.normalise(LazyFunction(many(2), lambda n: PowerSet(s(n)))), "<<{{}, {1}}, {{}, {2}}>>"),
]


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=[text for _, text in SHOWN])
def test_text_in_the_order_of_tlc(value: Value, text: str) -> None:
    assert U.show(value) == text


HOLDS: list[tuple[str, bool | None]] = [
    ("equal((1, 2), U.domain_of(many(2)).function([1, 2]))", True),
    ("equal((), U.domain_of(s()).function([]))", True),
    ("equal((1, 2), (1, 3))", False),
    ("equal((1, 2), (1, 'a', 3))", False),
    ("equal(s(1, 2), s(3, 1, 4))", False),
    ("equal(M, 1)", False),
    ("equal(s(1), M)", False),
    ("equal(TYPED, M)", False),
    ("equal(record(a=1), record(b='x'))", False),
    ("equal((1, 2), record(a=1))", False),
    ("equal(PowerSet(s(1)), s(s(), s(1)))", True),
    ("equal(PowerSet(many(60)), PowerSet(many(60)))", True),
    ("equal(NAT, NAT)", True),
    ("equal(SUCCESSOR, SUCCESSOR)", True),
    ("contains(s(1, 2), 3)", False),
    ("contains(s(), 'a')", False),
    ("contains(s(1, 2), M)", False),
    ("contains(s((1, 2), (2, 3)), (2, 4))", False),
    ("contains(s(M, 1), 2)", False),
    ("contains(s(s(), s(s(), s(s()))), PowerSet(s()))", False),
    ("contains(NAT, -1)", False),
    ("contains(INT, -1)", True),
    ("contains(NAT, M)", False),
    ("contains(STRING, 'x')", True),
    ("contains(U.interval(0, 2 ** 40), 2 ** 39)", True),
    ("contains(PowerSet(NAT), s(1, 2))", True),
    ("contains(PowerSet(many(2)), s(1, 3))", False),
    ("contains(FunctionSet(many(2), NAT), (1, 2))", True),
    ("contains(FunctionSet(many(2), NAT), (1,))", False),
    ("contains(FunctionSet(s('a'), NAT), record(a=-1))", False),
    ("contains(RecordSet({'a': NAT}), record(a=1))", True),
    ("contains(RecordSet({'a': NAT}), record(a=1, b=1))", False),
    ("contains(Product((NAT, INT)), (0, -1))", True),
    ("contains(Product((NAT, INT)), (0, -1, 1))", False),
    ("contains(SequenceSet(NAT), (0, -1))", False),
    ("contains(SequenceSet(NAT), ())", True),
    ("contains(U.union(NAT, s(-1)), -1)", True),
    ("contains(U.difference(NAT, s(0)), 0)", False),
    ("contains(U.set_of([NAT, s(1)]), s(1))", None),
    ("subset(s(), NAT)", True),
    ("subset(s(1, -1), NAT)", False),
    ("subset(many(2), many(3))", True),
    ("is_finite(FunctionSet(many(2), NAT))", False),
    ("is_finite(U.intersection(PowerSet(NAT), PowerSet(s(1))))", True),
]  # fmt: skip


def evaluate(call: str) -> object:
    return eval(f"U.{call}", vars(lazy_sets) | globals())


@pytest.mark.parametrize(("call", "holds"), HOLDS)
def test_predicate(call: str, holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(EvaluationError):
            evaluate(call)
    else:
        assert evaluate(call) is holds


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "numbers and strings": (lambda: U.equal(1, "a"), 'Attempted to compare 1 with "a".'),
    "numbers and Booleans": (lambda: U.equal(1, TRUE), "Attempted to compare 1 with TRUE."),
    "inside sets": (lambda: U.equal(s(1), s("a")), 'Attempted to compare 1 with "a".'),
    "a mixed set": (lambda: U.elements(s(1, "a")), "with"),
    "a mixed set, normalised": (lambda: U.normalise((s((1, 2), (1, "a")),)), "with"),
    "a mixed set, counted": (lambda: U.cardinality(s(1, "a")), "with"),
    "record and tuple": (lambda: U.equal(record(a=1), (1,)), "compare \"a\" with 1"),
    "typed model values": (lambda: U.equal(TYPED, OTHER), "differently typed"),
    "typed model value": (lambda: U.equal(1, TYPED), "typed model value t_1 with 1"),
    "a sorted set of them": (lambda: U.elements(s((TYPED, 1), (OTHER, 2))), "differently typed"),
    "member of another kind": (lambda: U.contains(s(1), "a"), "compare"),
    "compound member": (lambda: U.contains(s((1, "a")), (1, 2)), "compare"),
    "member of Nat": (lambda: U.contains(NAT, "a"), "is in Nat"),
    "member of a number": (lambda: U.contains(1, 1), "non-set 1"),
    "member of a record set": (lambda: U.contains(RecordSet({"a": NAT}), (1,)), "non-record"),
    "subset": (lambda: U.subset(s(1), s("a")), "compare"),
    "difference": (lambda: U.difference(s(1), s("a")), "compare"),
    "union of a number": (lambda: U.union(s(1), 1), "must be a set, not 1"),
    "index": (lambda: U.apply((1, 2), 3), "applied to 3"),
    "field": (lambda: U.apply(record(a=1), "c"), 'no field "c"'),
    "application of a number": (lambda: U.apply(1, 1), "non-function 1"),
    "argument outside Nat": (lambda: U.apply(SUCCESSOR, -1), "applied to -1"),
    "domain": (lambda: U.domain(s()), "domain of the non-function {}"),
    "EXCEPT": (lambda: U.updated("a", 1, 1), "EXCEPT"),
    "enumeration": (lambda: U.elements(NAT), "infinite set Nat"),
    "enumeration of a part": (lambda: U.finite(PowerSet(NAT)), "infinite set Nat"),
    "size": (lambda: U.cardinality(SequenceSet(s(1))), "infinite set Seq({1})"),
    "a large set": (lambda: U.finite(PowerSet(many(60))), "more than 1,000,000"),
    "interval": (lambda: U.interval(1, "a"), "must be integers"),
}  # fmt: skip


@pytest.mark.parametrize(("action", "message"), REFUSED.values(), ids=list(REFUSED))
def test_error(action: Callable[[], object], message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        action()
    assert message in str(raised.value)


def test_normal_form() -> None:
    """Equal values are one object; Booleans are not numbers."""
    first = U.normalise(U.single("a", (1, s(2))))
    assert type(first) is Function
    assert U.normalise(U.single("a", (1, s(2)))) is first
    assert U.normalise((1,)) != U.normalise((TRUE,))
    assert pickle.loads(pickle.dumps((TRUE, FALSE)))[0] is TRUE
