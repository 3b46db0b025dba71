"""Runs TLA+ modules as TLC does: the initial states, the successors by the rules for primed
variables, breadth first, and what breaks an invariant.

A function is a tuple where it is a sequence, else a `Function`; so equal functions are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeGuard

from tests.tla.reading import Definition, Module, Tree

Value = Any


@dataclass(frozen=True)
class Function:
    """A function that is no sequence."""

    pairs: frozenset[tuple[Value, Value]]


class Stopped(Exception):
    """TLC would stop with an error."""


def function(pairs: Mapping[Value, Value]) -> Value:
    """The function with these values."""
    count = len(pairs)
    if all(isinstance(key, int) and not isinstance(key, bool) for key in pairs) and set(
        pairs
    ) == set(range(1, count + 1)):
        return tuple(pairs[key] for key in range(1, count + 1))
    return Function(frozenset(pairs.items()))


def pairs_of(value: Value) -> dict[Value, Value]:
    """The keys and values of a function."""
    if is_sequence(value):
        return dict(enumerate(value, 1))
    if isinstance(value, Function):
        return dict(value.pairs)
    raise Stopped(f"{value!r} is no function")


def is_sequence(value: Value) -> TypeGuard[tuple[Value, ...]]:
    return isinstance(value, tuple)


def is_set(value: Value) -> TypeGuard[frozenset[Value]]:
    return isinstance(value, frozenset)


@dataclass(frozen=True)
class Scope:
    """Names and what they stand for: a value, or a definition to be evaluated."""

    module: Module
    state: Mapping[str, Value]
    after: Mapping[str, Value]
    names: Mapping[str, Value]

    def having(self, name: str, value: Value) -> Scope:
        known = {*self.names, *self.module.definitions, *self.module.variables}
        assert name not in known, f"{name} is defined twice"
        return Scope(self.module, self.state, self.after, {**self.names, name: value})


@dataclass(frozen=True)
class Later:
    """A definition of a LET, with its scope."""

    definition: Definition
    scope: Scope


def truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise Stopped(f"{value!r} is neither true nor false")
    return value


def number(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**31:
        raise Stopped(f"{value!r} is no number of TLC")
    return value


def elements(value: Value) -> frozenset[Value]:
    if is_set(value):
        return value
    raise Stopped(f"{value!r} is no set")


def comparable(left: Value, right: Value) -> bool:
    """Equality; TLC does not compare values of different sorts."""

    def sort(value: Value) -> str:
        return "tuple" if isinstance(value, Function) else type(value).__name__

    if sort(left) != sort(right):
        raise Stopped(f"{left!r} and {right!r} cannot be compared")
    return bool(left == right)


def value_of(scope: Scope, tree: Tree) -> Value:
    """The value of an expression."""

    def of(part: Tree) -> Value:
        return value_of(scope, part)

    match tree:
        case ("value", value):
            return value
        case ("name", name):
            return _named(scope, name, [])
        case ("call", name, arguments):
            return _called(scope, name, arguments)
        case ("prime", name):
            return scope.after[name]
        case ("list", sign, items):
            wanted = sign == "\\/"
            return wanted if any(truth(of(item)) is wanted for item in items) else not wanted
        case ("binary", sign, left, right):
            return _binary(scope, sign, left, right)
        case ("prefix", "~", part):
            return not truth(of(part))
        case ("prefix", "-", part):
            return -number(of(part))
        case ("prefix", "DOMAIN", part):
            return frozenset(pairs_of(of(part)))
        case ("prefix", "SUBSET", part):
            whole = sorted(elements(of(part)), key=repr)
            sizes = range(len(whole) + 1)
            return frozenset(frozenset(c) for size in sizes for c in combinations(whole, size))
        case ("prefix", "UNION", part):
            return frozenset(one for inner in elements(of(part)) for one in elements(inner))
        case ("prefix", "ENABLED", part):
            return any(True for _ in steps(scope, part, {}))
        case ("quantified", sign, name, domain, body):
            wanted = sign == "\\E"
            found = (
                truth(value_of(scope.having(name, one), body)) is wanted
                for one in elements(of(domain))
            )
            return wanted if any(found) else not wanted
        case ("choose", name, domain, body):
            for one in sorted(elements(of(domain)), key=repr):
                if truth(value_of(scope.having(name, one), body)):
                    return one
            raise Stopped("nothing to choose")
        case ("if", condition, then, otherwise):
            return of(then if truth(of(condition)) else otherwise)
        case ("let", name, definition, body):
            return value_of(scope.having(name, Later(definition, scope)), body)
        case ("set", items):
            return frozenset(of(item) for item in items)
        case ("filter", name, domain, body):
            return frozenset(
                one
                for one in elements(of(domain))
                if truth(value_of(scope.having(name, one), body))
            )
        case ("map", body, name, domain):
            chosen = elements(of(domain))
            return frozenset(value_of(scope.having(name, one), body) for one in chosen)
        case ("tuple", items):
            return tuple(of(item) for item in items)
        case ("record", fields):
            return function({name: of(part) for name, part in fields})
        case ("records", fields):
            names = [name for name, _ in fields]
            choices = product(*(elements(of(part)) for _, part in fields))
            return frozenset(function(dict(zip(names, one, strict=True))) for one in choices)
        case ("function", name, domain, body):
            chosen = elements(of(domain))
            return function({one: value_of(scope.having(name, one), body) for one in chosen})
        case ("functions", domain, values):
            keys = list(elements(of(domain)))
            choices = product(elements(of(values)), repeat=len(keys))
            return frozenset(function(dict(zip(keys, one, strict=True))) for one in choices)
        case ("apply", base, index):
            held, key = pairs_of(of(base)), of(index)
            if key not in held:
                raise Stopped(f"{key!r} is outside the domain")
            return held[key]
        case ("except", base, path, value):
            return _except(of(base), [of(part) for part in path], of(value))
        case _:
            raise AssertionError(tree)


def _except(base: Value, path: list[Value], value: Value) -> Value:
    if not path:
        return value
    held = pairs_of(base)
    assert path[0] in held, "TLC ignores this, and the language does not"
    held[path[0]] = _except(held[path[0]], path[1:], value)
    return function(held)


def _named(scope: Scope, name: str, arguments: list[Value]) -> Value:
    if name in scope.names:
        held = scope.names[name]
        return value_of(held.scope, held.definition.body) if isinstance(held, Later) else held
    if name in scope.state:
        return scope.state[name]
    if name == "BOOLEAN":
        return frozenset((False, True))
    if name == "EmptyBag":
        return ()
    return _defined(scope, scope.module.definitions[name], arguments)


def _defined(scope: Scope, definition: Definition, arguments: list[Value]) -> Value:
    inner = Scope(scope.module, scope.state, scope.after, {})
    for name, value in zip(definition.parameters, arguments, strict=True):
        inner = inner.having(name, value)
    return value_of(inner, definition.body)


def _called(scope: Scope, name: str, arguments: list[Tree]) -> Value:
    if name in scope.module.definitions:
        return _named(scope, name, [value_of(scope, part) for part in arguments])
    if name == "SelectSeq":
        _, variable, body = arguments[1]
        whole = value_of(scope, arguments[0])
        return tuple(x for x in whole if truth(value_of(scope.having(variable, x), body)))
    held = [value_of(scope, part) for part in arguments]
    match name, held:
        case "Len", [(*q,)]:
            return len(q)
        case "Append", [(*q,), one]:
            return (*q, one)
        case "Head", [(first, *_)]:
            return first
        case "Tail", [(_, *rest)]:
            return tuple(rest)
        case "SubSeq", [(*q,), low, high]:
            if low > high:
                return ()
            if low < 1 or high > len(q):
                raise Stopped("SubSeq outside the sequence")
            return tuple(q[low - 1 : high])
        case "Cardinality", [whole]:
            return len(elements(whole))
        case "SetToBag", [whole]:
            return function(dict.fromkeys(elements(whole), 1))
        case "BagToSet", [bag]:
            return frozenset(pairs_of(bag))
        case "BagCardinality", [bag]:
            return sum(pairs_of(bag).values())
        case "CopiesIn", [one, bag]:
            return pairs_of(bag).get(one, 0)
        case "Assert", [condition, message]:
            if not truth(condition):
                raise Stopped(message)
            return True
        case _:
            raise Stopped(f"{name}{tuple(held)}")


def _binary(scope: Scope, sign: str, left_tree: Tree, right_tree: Tree) -> Value:
    left = value_of(scope, left_tree)
    match sign:
        case "/\\":
            return truth(left) and truth(value_of(scope, right_tree))
        case "\\/":
            return truth(left) or truth(value_of(scope, right_tree))
        case "=>":
            return not truth(left) or truth(value_of(scope, right_tree))
        case "\\in" if right_tree == ("name", "Int"):
            return number(left) == left
        case _:
            pass
    right = value_of(scope, right_tree)
    match sign:
        case "=":
            return comparable(left, right)
        case "/=":
            return not comparable(left, right)
        case "<":
            return number(left) < number(right)
        case "<=":
            return number(left) <= number(right)
        case ">":
            return number(left) > number(right)
        case "\\in":
            return left in elements(right)
        case "\\cup":
            return elements(left) | elements(right)
        case "\\cap":
            return elements(left) & elements(right)
        case "\\":
            return elements(left) - elements(right)
        case "..":
            return frozenset(range(number(left), number(right) + 1))
        case "+":
            return number(number(left) + number(right))
        case "-":
            return number(number(left) - number(right))
        case "*":
            return number(number(left) * number(right))
        case "\\div" | "%":
            if number(right) <= 0:
                raise Stopped("a divisor of TLC is positive")
            return left // right if sign == "\\div" else left % right
        case "\\o":
            return (*left, *right)
        case "(+)" | "(-)":
            counts = pairs_of(left)
            for one, count in pairs_of(right).items():
                counts[one] = counts.get(one, 0) + (count if sign == "(+)" else -count)
            return function({one: count for one, count in counts.items() if count > 0})
        case ":>":
            return function({left: right})
        case "@@":
            return function({**pairs_of(right), **pairs_of(left)})
        case _:
            raise AssertionError(sign)


# ---------------------------------------------------------------- steps


def steps(scope: Scope, tree: Tree, after: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """The ways to make a formula true, from the left: a primed variable that has no value yet gets
    one by ``=``; everything else is a condition.
    """
    match tree:
        case ("list", "/\\", items):
            yield from _both(scope, list(items), after)
        case ("binary", "/\\", left, right):
            yield from _both(scope, [left, right], after)
        case ("list", "\\/", items):
            for item in items:
                yield from steps(scope, item, after)
        case ("quantified", "\\E", name, domain, body):
            for one in elements(value_of(_at(scope, after), domain)):
                yield from steps(scope.having(name, one), body, after)
        case ("if", condition, then, otherwise):
            chosen = then if truth(value_of(_at(scope, after), condition)) else otherwise
            yield from steps(scope, chosen, after)
        case ("let", name, definition, body):
            yield from steps(scope.having(name, Later(definition, scope)), body, after)
        case ("binary", "=", ("prime", name), right) if name not in after:
            yield {**after, name: value_of(_at(scope, after), right)}
        case ("prefix", "UNCHANGED", ("tuple", items)):
            yield from _both(scope, [("prefix", "UNCHANGED", item) for item in items], after)
        case ("prefix", "UNCHANGED", ("name", name)):
            assert name not in after, f"{name} is assigned twice"
            yield {**after, name: scope.state[name]}
        case ("name", name) if name in scope.module.definitions:
            yield from steps(_empty(scope), scope.module.definitions[name].body, after)
        case ("call", name, arguments) if name in scope.module.definitions:
            definition = scope.module.definitions[name]
            inner = _empty(scope)
            for parameter, argument in zip(definition.parameters, arguments, strict=True):
                inner = inner.having(parameter, value_of(scope, argument))
            yield from steps(inner, definition.body, after)
        case _:
            if truth(value_of(_at(scope, after), tree)):
                yield dict(after)


def _both(
    scope: Scope, items: list[Tree], after: Mapping[str, Value]
) -> Iterator[dict[str, Value]]:
    if not items:
        yield dict(after)
        return
    for now in steps(scope, items[0], after):
        yield from _both(scope, items[1:], now)


def _at(scope: Scope, after: Mapping[str, Value]) -> Scope:
    return Scope(scope.module, scope.state, after, scope.names)


def _empty(scope: Scope) -> Scope:
    return Scope(scope.module, scope.state, scope.after, {})


def starts(module: Module, tree: Tree, now: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """The initial states: the same, of variables without primes."""

    def primed(part: Tree) -> Tree:
        match part:
            case ("binary", "=", ("name", name), right) if name in module.variables:
                return ("binary", "=", ("prime", name), right)
            case ("list", "/\\", items):
                return ("list", "/\\", [primed(item) for item in items])
            case ("quantified", "\\E", name, domain, body):
                return ("quantified", "\\E", name, domain, primed(body))
            case ("if", condition, then, otherwise):
                return ("if", condition, primed(then), primed(otherwise))
            case ("let", name, definition, body):
                return ("let", name, definition, primed(body))
            case _:
                return part

    yield from steps(Scope(module, {}, {}, {}), primed(tree), now)


@dataclass(frozen=True)
class Found:
    """What a search found: distinct states, and what was violated first ("" nothing), after how
    many levels.
    """

    distinct: int
    violated: str
    levels: int


def search(module: Module, configuration: str) -> Found:
    """Breadth first, as TLC with one worker: invariants of each new state, properties of each
    step; states outside a constraint are looked at and not counted.
    """
    asked = [line.split() for line in configuration.splitlines()]
    invariants = [words[1] for words in asked if words[0] == "INVARIANT"]
    constraints = [words[1] for words in asked if words[0] == "CONSTRAINT"]
    properties = [words[1] for words in asked if words[0] == "PROPERTY"]
    assert ["CHECK_DEADLOCK", "FALSE"] in asked
    for assumption in module.assumptions:
        assert truth(value_of(Scope(module, {}, {}, {}), assumption)), "ASSUME"
    seen: set[Value] = set()
    level: list[dict[str, Value]] = []
    found = ""

    def look(state: dict[str, Value]) -> None:
        nonlocal found
        assert state.keys() == set(module.variables), "every variable has a value"
        key = tuple(state[name] for name in module.variables)
        if key in seen:
            return
        scope = Scope(module, state, {}, {})
        for name in invariants:
            if not found and not truth(value_of(scope, ("name", name))):
                found = name
        if all(truth(value_of(scope, ("name", name))) for name in constraints):
            seen.add(key)
            level.append(state)

    for state in starts(module, module.definitions["Init"].body, {}):
        look(state)
    levels = 0
    while level:
        levels += 1
        if found:
            break
        before, level = level, []
        for state in before:
            for after in steps(Scope(module, state, {}, {}), ("name", "Next"), {}):
                for name in properties:
                    if not found and not _holds(module, name, state, after):
                        found = name
                look(after)
    return Found(len(seen), found, levels)


def _holds(
    module: Module, name: str, state: Mapping[str, Value], after: Mapping[str, Value]
) -> bool:
    match module.definitions[name].body:
        case ("always", ("box", body)):
            return dict(state) == dict(after) or truth(
                value_of(Scope(module, state, after, {}), body)
            )
        case other:
            raise AssertionError(other)
