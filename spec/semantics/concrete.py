"""The concrete domain evaluates the core on Python values (see `types` for their representation).

It is staged, since interpreting the core for each state would be five to eight times slower:
folding the core over `ConcreteDomain` generates Python functions (see `python_codegen`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, assert_never

from fencepost.spec.core import ir, types
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.traverse import may_fail
from fencepost.spec.core.types import Type, Value, as_collection
from fencepost.spec.semantics.call_stack import deep, levels
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError
from fencepost.spec.semantics.domain import AtIndex, AtKey, Place
from fencepost.spec.semantics.fold import evaluate, updated
from fencepost.spec.semantics.python_codegen import Code, Stage

__all__ = ["DISABLED", "ConcreteDomain", "EvaluationError", "evaluate_constant"]

DISABLED = -1
Observer: TypeAlias = Callable[[int, tuple[int, ...]], object]
"""Receives the number of an observation and the values of its operands."""
BIG = 8
"""The maximum size of a constant collection that is searched linearly. A larger one is searched by
hash.
"""


class _Function:
    """The body of a recursion. It uses the positions ``low`` to ``end`` - 1 of the frame, beginning
    with its arguments.
    """

    code: Code

    def __init__(self, low: int) -> None:
        self.low = low
        self.end = low


class ConcreteDomain(Stage):
    """A domain whose values are functions that take a frame and return a Python value.

    ``variables`` are the types of the state variables. With ``steps``, frames also contain the next
    state. ``marks`` are the model's coverage marks. ``covered`` has a flag for each mark that need
    not be reported again; the caller sets these flags. ``enabled_in`` generates the code of
    `ir.Enabled`, and ``observer`` receives the values of `ir.Observe`.
    """

    def __init__(
        self,
        variables: Sequence[Type] = (),
        steps: bool = False,
        marks: Sequence[ir.CoverageMark] = (),
        covered: bytearray | None = None,
        enabled_in: Callable[[int, Sequence[Code]], Code] | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._variables = variables
        self._marks = marks
        self._covered = bytearray(len(marks)) if covered is None else covered
        self._enabled_in = enabled_in
        self._observer = observer
        self._next = len(variables)
        self._functions: dict[tuple[int, ...], _Function] = {}
        super().__init__(self._next * (2 if steps else 1), self._next)

    # ------------------------------------------------------------ leaves and binding

    def constant(self, value: Value, type: Type) -> Code:
        return self._constant(value)

    def symbol(self, index: int, type: Type) -> Code:
        raise AssertionError("a symbolic constant has no value; `instances` gives it one")

    def variable(self, index: int, next: bool, type: Type) -> Code:
        return self._place(index + self._next if next else index)

    def let(self, value: Code, body: Callable[[Code], Code]) -> Code:
        if self._lasting(value) or value in self._places:
            return body(value)
        slot, inner = self._bound(body)
        return self._code("f[slot] = {0}\nreturn {1}", value, inner, slot=slot)

    def demand(self, condition: Code, site: int, body: Callable[[], Code]) -> Code:
        if self._known.get(condition):
            return body()
        failed = EvaluationError
        if condition in self._known:
            return self._code("raise failed(site)", failed=failed, site=site)
        return self._code(
            "if not {0}:\n raise failed(site)\nreturn {1}",
            condition, body(), failed=failed, site=site,
        )  # fmt: skip

    def recursion(
        self, expr: ir.Recursion, arguments: Sequence[Code], body: Callable[[Sequence[Code]], Code]
    ) -> Code:
        low, width = self._top, self.width
        self._top += len(arguments)
        self.width = self._top
        function = self._functions[expr.slots] = _Function(low)
        inner = body([self._place(low + index) for index in range(len(arguments))])
        function.code, function.end = inner, self.width
        self._top, self.width = low, max(width, self.width)
        text = "f[low:end] = {0}\nwith deep(levels):\n return {1}"
        values, end = self._tuple(arguments), low + len(arguments)
        return self._code(text, values, inner, low=low, end=end, deep=deep, levels=levels(expr))

    def recall(self, expr: ir.Recall, arguments: Sequence[Code]) -> Code:
        # The caller continues with its own values in all slots of the body.
        text = (
            "values = {0}\n"
            "low, end = function.low, function.end\n"
            "kept = f[low:end]\n"
            "f[low:low + len(values)] = values\n"
            "result = function.code(f)\n"
            "f[low:end] = kept\n"
            "return result"
        )
        return self._code(text, self._tuple(arguments), function=self._functions[expr.slots])

    def witness(self, mark: int, condition: Code) -> Code:
        if self._known.get(condition) is False:
            return condition
        text = "if not {0}:\n return False\nif not covered[mark]:\n f[-1].seen.append(mark)\n"
        return self._code(text + "return True", condition, covered=self._covered, mark=mark)

    def observe(
        self, number: int, condition: Code, operands: Sequence[Code], body: Callable[[], Code]
    ) -> Code:
        if self._observer is None or self._known.get(condition) is False:
            return body()
        holes = "".join(f"{{{index + 1}}}, " for index in range(len(operands)))
        text = f"if {{0}}:\n see(number, ({holes}))\nreturn {{{len(operands) + 1}}}"
        return self._code(text, condition, *operands, body(), see=self._observer, number=number)

    # ------------------------------------------------------------ truth

    def negation(self, operand: Code) -> Code:
        return self._pure("not {0}", operand)

    def conjunction(self, parts: Sequence[Callable[[], Code]]) -> Code:
        return self._connective(parts, "and", True)

    def disjunction(self, parts: Sequence[Callable[[], Code]]) -> Code:
        return self._connective(parts, "or", False)

    def _connective(self, parts: Sequence[Callable[[], Code]], word: str, unit: bool) -> Code:
        codes: list[Code] = []
        for part in parts:
            code = part()
            constant = self._known.get(code)
            if constant is unit:
                continue
            codes.append(code)
            if constant is not None:
                break
        if not codes:
            return self._constant(unit)
        if len(codes) == 1:
            return codes[0]
        holes = [f"{{{index}}}" for index in range(len(codes))]
        return self._code(f" {word} ".join(holes), *codes)

    def conditional(
        self,
        condition: Code,
        then: Callable[[], Code],
        otherwise: Callable[[], Code],
        type: Type,
    ) -> Code:
        if condition in self._known:
            return then() if self._known[condition] else otherwise()
        return self._code("{1} if {0} else {2}", condition, then(), otherwise())

    # ------------------------------------------------------------ numbers and comparison

    def arithmetic(self, operator: Operator, left: Code, right: Code, type: Type) -> Code:
        text = f"{{0}} {operator.value} {{1}}"
        if isinstance(type, types.Machine):
            half = 1 << (type.bits - 1)
            wrapped = f"(({text}) + half & mask) - half"
            return self._pure(wrapped, left, right, half=half, mask=2 * half - 1)
        return self._pure(text, left, right)

    def between(self, number: Code, low: int, high: int) -> Code:
        return self._pure("low <= {0} <= high", number, low=low, high=high)

    def equal(self, left: Code, right: Code) -> Code:
        return self._pure("{0} == {1}", left, right)

    def less(self, left: Code, right: Code, or_equal: bool) -> Code:
        return self._pure("{0} <= {1}" if or_equal else "{0} < {1}", left, right)

    def convert(self, value: Code, source: Type, target: Type) -> Code:
        return value

    # ------------------------------------------------------------ records, unions, options

    def _tuple(self, parts: Sequence[Code]) -> Code:
        holes = "".join(f"{{{index}}}, " for index in range(len(parts)))
        return self._pure(f"({holes})", *parts)

    def record(self, fields: Sequence[Code], type: Type) -> Code:
        return self._tuple(fields)

    def field(self, record: Code, index: int, type: Type) -> Code:
        return self._pure("{0}[index]", record, index=index)

    def variant(self, tag: int, fields: Sequence[Code], type: Type) -> Code:
        return self._tuple([self._constant(tag), *fields])

    def has_tag(self, union: Code, tag: int) -> Code:
        return self._pure("{0}[0] == tag", union, tag=tag)

    def payload(self, union: Code, tag: int, index: int, type: Type) -> Code:
        return self._pure("{0}[index]", union, index=index + 1)

    def some(self, value: Code, type: Type) -> Code:
        return self._tuple([value])

    def is_some(self, option: Code) -> Code:
        return self._pure("{0} != ()", option)

    def content(self, option: Code, type: Type) -> Code:
        return self._pure("{0}[0]", option)

    def replace(self, base: Code, place: Place[Code], value: Code, type: Type) -> Code:
        text = "b = {0}\ni = {1}\nreturn b[:i] + ({2},) + b[i + 1:]"
        return self._code(text, base, self._position(place, type), value)

    def _position(self, place: Place[Code], type: Type) -> Code:
        """Returns the index of ``place`` in the tuple that represents a value of ``type``."""
        match place:
            case ir.FieldStep(index):
                return self._constant(index)
            case AtIndex(index):
                return index
            case AtKey(key):
                assert isinstance(type, types.Map)
                return self._key(key, type.key)
            case _:
                assert_never(place)

    def _key(self, key: Code, type: Type) -> Code:
        match type:
            case types.Scalar():
                return key if type.low == 0 else self._pure("{0} - low", key, low=type.low)
            case _:
                return self._pure("positions[{0}]", key, positions=_positions(type))

    # ------------------------------------------------------------ collections and maps

    def universe(self, type: types.Set) -> Code:
        kind = type.element
        return self._constant(_universe(kind) if _listed(kind) else types.Values(kind))

    def interval(self, low: Code, high: Code, type: Type) -> Code:
        # A long interval is never stored as a set.
        text = "range({0}, {1} + 1)"
        return self._pure(
            f"tuple({text})" if _listed(as_collection(type).element) else text, low, high
        )

    def subsets(self, collection: Code, type: types.Set) -> Code:
        return self._pure("subsets({0})", collection, subsets=types.Subsets)

    def build(self, elements: Sequence[Code], type: Type) -> Code:
        match type:
            case types.Set():
                return self._pure("tuple(sorted({{*{0}}}))", self._tuple(elements))
            case types.Bag():
                return self._pure("tuple(sorted({0}))", self._tuple(elements))
            case _:
                return self._tuple(elements)

    def add(self, collection: Code, element: Code, type: Type) -> Code:
        match type:
            case types.Set():
                return self._pure("add({0}, {1})", collection, element, add=_with_new)
            case types.Bag():
                return self._pure("add({0}, {1})", collection, element, add=_with_another)
            case _:
                return self._pure("{0} + ({1},)", collection, element)

    def remove(self, collection: Code, element: Code, type: Type) -> Code:
        return self._pure("remove({0}, {1})", collection, element, remove=_without)

    def insert_at(self, sequence: Code, index: Code, element: Code, type: Type) -> Code:
        text = "b = {0}\ni = {1}\nreturn b[:i] + ({2},) + b[i:]"
        return self._code(text, sequence, index, element)

    def remove_at(self, sequence: Code, index: Code, type: Type) -> Code:
        return self._code("b = {0}\ni = {1}\nreturn b[:i] + b[i + 1:]", sequence, index)

    def contains(self, collection: Code, element: Code) -> Code:
        elements: tuple[Value, ...] = self._known.get(collection, ())
        if len(elements) > BIG:
            return self._pure("{0} in among", element, among=frozenset(elements))
        if collection in self._known or collection in self._places:
            return self._pure("{1} in {0}", collection, element)
        # A single `in` expression would evaluate the element first.
        return self._code("c = {0}\nreturn {1} in c", collection, element)

    def size(self, collection: Code, type: Type) -> Code:
        return self._pure("len({0})", collection)

    def algebra(self, operator: ir.SetOperator, left: Code, right: Code, type: Type) -> Code:
        match operator:
            case ir.SetOperator.UNION:
                return self._pure("tuple(sorted({{*{0}, *{1}}}))", left, right)
            case ir.SetOperator.INTERSECTION:
                return self._pure("tuple(sorted({{*{0}}} & {{*{1}}}))", left, right)
            case ir.SetOperator.DIFFERENCE:
                return self._pure("tuple(sorted({{*{0}}} - {{*{1}}}))", left, right)
            case _:
                assert_never(operator)

    def at(self, sequence: Code, index: Code, type: Type) -> Code:
        return self._pure("{0}[{1}]", sequence, index)

    def get(self, map: Code, key: Code, kind: types.Map) -> Code:
        return self._pure("{0}[{1}]", map, self._key(key, kind.key))

    def build_map(self, body: Callable[[Code], Code], type: types.Map) -> Code:
        slot, value = self._bound(body)
        text = "r = []\nfor f[slot] in keys:\n r.append({0})\nreturn tuple(r)"
        return self._code(text, value, slot=slot, keys=_universe(type.key))

    def holds(self, every: bool, collection: Code, body: Callable[[Code], Code]) -> Code:
        slot, test = self._bound(body)
        test_line = "if not {1}" if every else "if {1}"
        text = f"for f[slot] in {{0}}:\n {test_line}:\n  return {not every}\nreturn {every}"
        return self._code(text, collection, test, slot=slot)

    def fold(
        self,
        collection: Code,
        start: Code,
        body: Callable[[Code, Code], Code],
        stop: Callable[[Code], Code] | None,
        type: Type,
    ) -> Code:
        ends: list[Code] = []

        def from_result(result: Code) -> Code:
            if stop is not None:
                ends.append(stop(result))
            return self._bound(lambda x: body(x, result))[1]

        result, grown = self._bound(from_result)
        text = "c = {0}\nf[slot] = {1}\nfor f[slot + 1] in c:\n f[slot] = {2}\n"
        until = " if {3}:\n  break\n" if ends else ""
        text = f"{text}{until}return f[slot]"
        return self._code(text, collection, start, grown, *ends, slot=result)

    def enabled(self, action: int, choices: Sequence[Code]) -> Code:
        assert self._enabled_in is not None, "only properties ask what is enabled"
        return self._enabled_in(action, choices)

    # ------------------------------------------------------------ statements

    def sequence(self, parts: Sequence[Callable[[], Code]]) -> Code:
        return self._chain([part() for part in parts])

    def _chain(self, codes: Sequence[Code]) -> Code:
        codes = [code for code in codes if code not in self._known]
        if not codes:
            return self._constant(0)
        if len(codes) == 1:
            return codes[0]
        if len(codes) > BIG:  # A tree, so that long sequences do not nest deeply.
            size = max(BIG, -(-len(codes) // BIG))
            parts = [codes[start : start + size] for start in range(0, len(codes), size)]
            return self._chain([self._chain(part) for part in parts])
        lines = [f"s = {{{index}}}\nif s:\n return s" for index in range(len(codes) - 1)]
        return self._code("\n".join([*lines, f"return {{{len(codes) - 1}}}"]), *codes)

    def assign(self, variable: int, path: Sequence[Place[Code]], value: Code) -> Code:
        match path:
            case ():
                return self._code("f[v] = {0}\nreturn 0", value, v=variable)
            case (place,):
                text = "i = {0}\nx = {1}\nb = f[v]\nf[v] = b[:i] + (x,) + b[i + 1:]\nreturn 0"
                position = self._position(place, self._variables[variable])
                return self._code(text, position, value, v=variable)
            case _:
                kind = self._variables[variable]
                new = updated(self, self._place(variable), kind, path, value)
                return self._code("f[v] = {0}\nreturn 0", new, v=variable)

    def bind(self, value: Code, body: Callable[[Code], Code]) -> Code:
        if self._lasting(value):
            return body(value)
        slot, inner = self._bound(body)
        return self._code("f[slot] = {0}\nreturn {1}", value, inner, slot=slot)

    def pick(
        self,
        collection: Code,
        condition: Callable[[Code], Code] | None,
        body: Callable[[Code], Code],
        pick: ir.Pick,
    ) -> Code:
        match pick:
            case ir.Pick(
                label=None,
                body=ir.Assign(
                    variable, (), ir.Local(slot=used) | ir.Convert(operand=ir.Local(slot=used))
                ),
            ) if used == pick.slot:
                text = "f[-1].among({0}, variable)"
                collection = self._code(text, collection, variable=variable)
            case _:
                pass
        offer = collection
        if condition is not None:
            tried, test = self._bound(condition)
            text = "r = []\nfor f[slot] in {0}:\n if {1}:\n  r.append(f[slot])\nreturn r"
            listed = _listed(as_collection(pick.domain.type).element)
            if not listed and not may_fail(pick.condition):
                each = "def each():\n for f[slot] in {0}:\n  if {1}:\n   yield f[slot]\n"
                text = f"{each}return each()"
            offer = self._code(text, collection, test, slot=tried)
        if isinstance(pick.domain.type, types.Bag):
            offer = self._code("list(unique({0}))", offer, unique=dict.fromkeys)
        slot, inner = self._bound(body)
        text = (
            "run = f[-1]\n"
            "if run.position == len(run.indices):\n"
            " offer = {0}\n"
            " if not run.offer(offer, pick):\n"
            "  return DISABLED\n"
            "p = run.position\n"
            "run.position = p + 1\n"
            "f[slot] = run.offers[p][run.indices[p]]\n"
            "return {1}"
        )
        return self._code(text, offer, inner, slot=slot, pick=pick, DISABLED=DISABLED)

    def require(self, condition: Code, guard: int) -> Code:
        if self._known.get(condition):
            return self._constant(0)
        text = "if {0}:\n return 0\nf[-1].guard = guard\nreturn DISABLED"
        return self._code(text, condition, guard=guard, DISABLED=DISABLED)

    def affirm(self, condition: Code, site: int) -> Code:
        return self._stop_unless(condition, AssertionFailed, site)

    def ensure(self, condition: Code, site: int) -> Code:
        return self._stop_unless(condition, EvaluationError, site)

    def _stop_unless(self, condition: Code, failed: type[Exception], site: int) -> Code:
        if self._known.get(condition):
            return self._constant(0)
        text = "if {0}:\n return 0\nraise failed(site)"
        return self._code(text, condition, failed=failed, site=site)

    def branch(
        self, condition: Code, then: Callable[[], Code], otherwise: Callable[[], Code]
    ) -> Code:
        return self.conditional(condition, then, otherwise, ir.BOOL)

    def each(self, collection: Code, body: Callable[[Code], Code]) -> Code:
        slot, inner = self._bound(body)
        text = "for f[slot] in {0}:\n s = {1}\n if s:\n  return s\nreturn 0"
        return self._code(text, collection, inner, slot=slot)

    def block(self, label: int, body: Callable[[], Code]) -> Code:
        inner = body()
        if inner in self._known:
            return self._constant(0)
        return self._code("s = {0}\nreturn 0 if s == end else s", inner, end=label + 1)

    def leave(self, label: int) -> Code:
        return self._code("signal", signal=label + 1)

    def mark(self, mark: int) -> Code:
        kept = "seen" if self._marks[mark].kind == "guard" else "marks"
        text = f"if not covered[mark]:\n f[-1].{kept}.append(mark)\nreturn 0"
        return self._code(text, covered=self._covered, mark=mark)


def evaluate_constant(expr: ir.Expr) -> Value:
    """Evaluates an expression that has no variables and no free slots. Raises `EvaluationError`."""
    if isinstance(expr, ir.Literal):
        return expr.value
    domain = ConcreteDomain()
    code = evaluate(domain, {}, expr)
    value: Value = code([None] * domain.width)
    return value


def _listed(kind: Type) -> bool:
    """Returns whether all values of a type may be listed in memory."""
    return types.count_values(kind, types.MAX_LISTED) <= types.MAX_LISTED


@cache
def _universe(type: Type) -> tuple[Value, ...]:
    return tuple(types.values(type))


@cache
def _positions(type: Type) -> dict[Value, int]:
    return {value: index for index, value in enumerate(_universe(type))}


def _with_new(elements: tuple[Any, ...], element: Any) -> tuple[Any, ...]:
    index = bisect_left(elements, element)
    if index < len(elements) and elements[index] == element:
        return elements
    return (*elements[:index], element, *elements[index:])


def _with_another(elements: tuple[Any, ...], element: Any) -> tuple[Any, ...]:
    index = bisect_right(elements, element)
    return (*elements[:index], element, *elements[index:])


def _without(elements: tuple[Any, ...], element: Any) -> tuple[Any, ...]:
    index = bisect_left(elements, element)
    if index < len(elements) and elements[index] == element:
        return elements[:index] + elements[index + 1 :]
    return elements
