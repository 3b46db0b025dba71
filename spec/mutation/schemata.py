"""Combines many changes of a spec into one program. A symbolic constant selects the change.

As a result, the model is built and compiled only once for all mutants (mutant schemata: Untch,
Offutt and Harrold, 1993).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, assert_never, cast

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.traverse import children, rebuilt, walk
from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.mutation.mutants import BOUNDARIES, Filtered, Mutant, Removed
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.source import Source, Span

T = TypeVar("T")

MODULE = "mutants__"
CONSTANT = "Mutant__"
"""The name of the symbolic constant that selects a change. `MODULE` is the name of the module that
declares it. Specs cannot use these names.
"""


@dataclass(frozen=True, slots=True)
class Schema:
    """A program with the symbolic constant `CONSTANT`. The value n of the constant selects change n
    of ``mutants``, counted from 1; the value 0 selects none.
    """

    program: Program
    mutants: tuple[Mutant, ...]


def schema(program: Program, every: Sequence[Mutant]) -> Schema:
    """Builds a program with all changes that can be selected at run time.

    Changes of constants, patterns and fairness are excluded. So are changes of conditions that
    narrow a union, and of a `return` in a branch with such a condition: code after them would be
    invalid without the narrowing.
    """
    telling = _telling_returns(program)
    chosen = tuple(
        mutant for mutant in every if _can_wait(mutant) and id(mutant.old) not in telling
    )
    numbered: dict[int, list[tuple[int, Mutant]]] = defaultdict(list)
    for number, mutant in enumerate(chosen, 1):
        numbered[id(mutant.old)].append((number, mutant))
    home = Path("/", f"{MODULE}.fence")
    text = f"const {CONSTANT}: 0..{len(chosen)} = any\n"
    tree, problems = parse(Source(home.name, text))
    assert not problems
    files = {path: _woven_file(file, numbered) for path, file in program.files.files.items()}
    imports = dict(program.files.imports)
    for path in files:
        imports[path, (MODULE,)] = home
    woven_files = replace(program.files, files={**files, home: tree}, imports=imports)
    return Schema(replace(program, files=woven_files), chosen)


def told_apart(model: ir.Model) -> frozenset[int]:
    """Returns the numbers of the changes that occur in a model of a schema's program. For any other
    change, the model equals the original.
    """
    bodies = [*(owner.body for owner in model.actions), *(owner.body for owner in model.properties)]
    return frozenset(
        number.value
        for node in walk((*bodies, model.initial))
        for parts in [list(children(node))]
        if any(isinstance(part, ir.Symbol) for part in parts)
        for number in parts
        if isinstance(number, ir.Literal) and isinstance(number.value, int)
    )


def _can_wait(mutant: Mutant) -> bool:
    old, new = mutant.old, mutant.new
    match old:
        case (
            syntax.Boolean()
            | syntax.Equals()
            | syntax.ActionDecl()
            | syntax.RoleDecl()
            | syntax.FairDecl()
        ):
            return False
        case _ if isinstance(new, syntax.Boolean):
            return not _tells_member(old)
        case syntax.Binary("and" | "or", left, right):
            return not _tells_member(left if new is right else right)
        case syntax.Conjunction():
            return not _tells_member(_dropped(old, new))
        case syntax.Conditional(condition=condition):
            return not _tells_member(condition)
        case _ if isinstance(old, syntax.Require | Filtered):
            return old.condition is None or not _tells_member(old.condition)
        case _:
            return True


def _telling_returns(program: Program) -> frozenset[int]:
    """Returns the identities of the return statements in branches whose condition narrows a type.
    Without such a return, later code would have other types.
    """
    branches = (
        branch
        for tree in program.files.files.values()
        for branch in walk(tree.declarations)
        if isinstance(branch, syntax.Branch) and _tells_member(branch.condition)
    )
    inside = (part for branch in branches for part in walk(branch.body))
    return frozenset(id(part) for part in inside if isinstance(part, syntax.Return))


def _tells_member(condition: syntax.Node) -> bool:
    return any(isinstance(part, syntax.Is) for part in walk(condition))


def _woven_file(tree: syntax.File, numbered: Mapping[int, list[tuple[int, Mutant]]]) -> syntax.File:
    start = Span(tree.source, 0, 0)
    name = syntax.Name(CONSTANT, span=start)
    module = (syntax.Name(MODULE, span=start),)
    imported = syntax.Import(module, None, (name,), (), span=start)
    woven = tuple(_woven(node, numbered) for node in tree.declarations)
    return replace(tree, declarations=(imported, *cast("tuple[syntax.Declaration, ...]", woven)))


def _woven(value: object, numbered: Mapping[int, list[tuple[int, Mutant]]]) -> object:
    """Inserts the selection of every change inside ``value``, from the inside out."""
    node = rebuilt(value, lambda part: _woven(part, numbered))
    if not isinstance(node, syntax.Node):
        return node
    # A change that replaces the whole condition comes last, since other changes replace its parts.
    for number, mutant in sorted(numbered.get(id(value), ()), key=_is_whole):
        node = _chosen(node, mutant, number)
    return node


def _is_whole(numbered: tuple[int, Mutant]) -> bool:
    return isinstance(numbered[1].new, syntax.Boolean)


def _chosen(node: syntax.Node, mutant: Mutant, number: int) -> syntax.Node:
    """Adds the selection of a change to ``node``, which is ``mutant.old`` with other changes
    applied.
    """
    old, new, span = mutant.old, mutant.new, mutant.old.span
    here, elsewhere = _is(number, span, "=="), _is(number, span, "!=")
    if isinstance(new, syntax.Boolean):
        whole = cast("syntax.Expr", node)
        return _either(here, whole) if new.value else _both(elsewhere, whole)
    if isinstance(node, Removed):
        return _optional(node, here, elsewhere)
    if isinstance(node, Filtered):
        assert node.condition is not None
        return replace(node, condition=_either(here, node.condition))
    match node:
        case syntax.Conditional(condition=condition):
            assert isinstance(old, syntax.Conditional)
            always = new is old.then
            taken = _either(here, condition) if always else _both(elsewhere, condition)
            return replace(node, condition=taken)
        case syntax.Conjunction(lines):
            assert isinstance(old, syntax.Conjunction)
            dropped = _dropped(old, new)
            index = next(n for n, line in enumerate(old.lines) if line is dropped)
            weaker = _either(here, lines[index])
            return replace(node, lines=(*lines[:index], weaker, *lines[index + 1 :]))
        case syntax.Binary("and" | "or" as word, left, right):
            assert isinstance(old, syntax.Binary)
            first = new is old.right
            part = left if first else right
            weak = _either(here, part) if word == "and" else _both(elsewhere, part)
            return replace(node, left=weak) if first else replace(node, right=weak)
        case syntax.Binary(operator, left, right) if operator in BOUNDARIES:
            equal = syntax.Binary("==", left, right, span=span)
            if operator in ("<", ">"):
                return _either(node, _both(here, equal))
            kept = syntax.Unary("not", _both(here, equal), span=span)
            return _both(node, kept)
        case _:
            raise AssertionError(f"no choice is known for {type(node).__name__}")


def _optional(node: Removed, here: syntax.Expr, elsewhere: syntax.Expr) -> syntax.Node:
    """Returns a statement that has no effect if the change is selected."""
    match node:
        case syntax.Require(condition):
            return replace(node, condition=_either(here, condition))
        case syntax.Assign() | syntax.Send() | syntax.Do() | syntax.Return():
            branch = syntax.Branch(elsewhere, (node,), span=node.span)
            return syntax.If((branch,), None, span=node.span)
        case _:
            assert_never(node)


def _dropped(old: syntax.Conjunction, new: syntax.Node) -> syntax.Expr:
    """Returns the line that a change drops."""
    kept = new.lines if isinstance(new, syntax.Conjunction) else (new,)
    return next(line for line in old.lines if not any(line is other for other in kept))


def _is(number: int, span: Span, operator: str) -> syntax.Expr:
    name = syntax.Name(CONSTANT, span=span)
    return syntax.Binary(operator, name, syntax.Integer(number, span=span), span=span)


def _either(left: syntax.Expr, right: syntax.Expr) -> syntax.Expr:
    return syntax.Binary("or", left, right, span=left.span)


def _both(left: syntax.Expr, right: syntax.Expr) -> syntax.Expr:
    return syntax.Binary("and", left, right, span=left.span)


def _is_counted(kind: PropertyKind) -> bool:
    """Returns whether a search counts coverage marks in properties of this kind."""
    apart = kind.of_behaviours or kind.of_initial_states or kind.supports_proofs
    return kind.selectable and not apart


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """An instrumented model of the original spec.

    ``marks`` maps the number of a change to a coverage mark, which is set where the change may make
    a difference. For the changes in ``unobserved``, marks are not counted. These changes are in
    initial values, in assumptions, in properties that bound or end runs, and in parts of formulas.
    """

    model: ir.Model
    marks: dict[int, int]
    unobserved: frozenset[int]

    def apart(self, seen: Collection[int]) -> frozenset[int]:
        """Returns the changes that may affect a search that set the marks ``seen``."""
        return self.unobserved | {number for number, mark in self.marks.items() if mark in seen}


def observed(model: ir.Model) -> ObservedChange:
    """Instruments a model of the program of a `Schema`."""
    watch = _Watch(len(model.marks), {})
    instrumented = replace(
        model,
        initial=watch.late(model.initial),
        actions=tuple(replace(item, body=watch.late(item.body)) for item in model.actions),
        properties=tuple(replace(item, body=watch.late(item.body)) for item in model.properties),
        assumptions=tuple(
            replace(item, condition=watch.late(item.condition)) for item in model.assumptions
        ),
        symbols=(),
    )
    elsewhere = (
        model.initial,
        *(item.condition for item in model.assumptions),
        *(item.body for item in model.properties if not _is_counted(item.kind)),
    )
    spoken = (_number(node) for node in walk(elsewhere))
    unobserved = frozenset(number for number in spoken if number is not None)
    span = model.variables[0].span
    marks = (*model.marks, *(ir.CoverageMark("guard", span, 0, "") for _ in watch.marks))
    return ObservedChange(replace(instrumented, marks=marks), watch.marks, unobserved)


@dataclass(frozen=True, slots=True)
class _Watch:
    """Replaces selections of changes by coverage marks. ``first`` is the number of the first new
    mark.
    """

    first: int
    marks: dict[int, int]

    def late(self, part: T) -> T:
        """Instruments ``part`` such that selections of changes are evaluated last in a conjunction
        or disjunction. A mark is then set only if the other operands have not decided the result.
        """
        number = _number(part)
        if number is not None:
            mark = self.marks.setdefault(number, self.first + len(self.marks))
            seen = ir.Witness(mark, ir.Literal(ir.BOOL, True))
            return cast("T", ir.And((seen, ir.Literal(ir.BOOL, False))))
        result = rebuilt(part, self.late)
        if isinstance(part, ir.And | ir.Or) and isinstance(result, ir.And | ir.Or):
            pairs = zip(part.parts, result.parts, strict=True)
            # An unselected change is neutral: it is false in an `or`, and true in an `and`.
            parts = tuple(
                operand for _, operand in sorted(pairs, key=lambda pair: _is_choice(pair[0]))
            )
            return cast("T", replace(result, parts=parts))
        return result


def _is_choice(part: ir.Expr) -> bool:
    return _number(part.operand if isinstance(part, ir.Not) else part) is not None


def _number(part: object) -> int | None:
    """Returns the number of the change that an expression selects, or None."""
    match part:
        case ir.Equal(ir.Symbol(), ir.Literal(_, int() as number)):
            return number
        case _:
            return None
