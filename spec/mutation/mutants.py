"""Finds small changes that weaken a spec, such as changes of a guard, an update or a branch."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import rebuilt, walk
from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

Kind = Literal["guard", "branch", "update", "condition", "fairness", "switch"]
KINDS: tuple[Kind, ...] = ("guard", "branch", "update", "condition", "fairness", "switch")

Removed: TypeAlias = syntax.Require | syntax.Assign | syntax.Send | syntax.Do | syntax.Return
"""A statement that may be replaced by `skip`."""

N = TypeVar("N", bound=syntax.Node)

Filtered: TypeAlias = (
    syntax.Pick
    | syntax.Choices
    | syntax.Receive
    | syntax.Choose
    | syntax.Comprehension
    | syntax.Fold
    | syntax.Quantifier
)
"""A node with an optional filter condition."""

BOUNDARIES: Mapping[str, str] = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
}
TEXT = 72
"""The maximum length of a quoted source text. A longer text is cut."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change that replaces the node ``old`` of the file at ``path`` by ``new``.

    ``span`` is the changed part, and ``change`` describes the change ("remove `require x > 0`").
    ``where`` is the enclosing declaration, qualified by its role ("Client.commit").
    """

    kind: Kind
    span: Span
    where: str
    change: str
    path: Path
    old: syntax.Node
    new: syntax.Node


def mutants(program: Program, models: Sequence[ir.Model]) -> tuple[Mutant, ...]:
    """Returns all changes to the protocol that ``models`` of the program describe.

    Changes are made in actions, and in the procedures and defs that they use. The changes are in
    the order of files and text. Properties and ghosts are excluded, since they only observe, and so
    are unused declarations of imported modules.
    """
    used = _Used(models)
    changes: list[Mutant] = []
    for path, tree in program.files.files.items():
        changes += _Finder(path, used).of(tree)
    return tuple(changes)


def mutated(program: Program, mutant: Mutant) -> Program:
    """Returns ``program`` with the change applied."""
    tree = _exchanged(program.files.files[mutant.path], mutant.old, mutant.new)
    files = replace(program.files, files={**program.files.files, mutant.path: tree})
    return replace(program, files=files)


def _exchanged(tree: syntax.File, old: syntax.Node, new: syntax.Node) -> syntax.File:
    declarations = tuple(_rebuilt(node, old, new) for node in tree.declarations)
    return replace(tree, declarations=cast("tuple[syntax.Declaration, ...]", declarations))


def _rebuilt(value: object, old: syntax.Node, new: syntax.Node) -> object:
    """Replaces the node ``old``, compared by identity, within ``value``. Unaffected parts are
    shared.

    The parser limits nesting, so recursion is safe.
    """
    if value is old:
        return new
    if isinstance(value, syntax.Node):
        span = value.span
        if old.span.source is not span.source or not (
            span.start <= old.span.start and old.span.end <= span.end
        ):
            return value
    return rebuilt(value, lambda part: _rebuilt(part, old, new))


# ---------------------------------------------------------------- what a model uses


class _Used:
    """Locates the parts of the source that actions use, and the parts that only assign ghosts."""

    def __init__(self, models: Sequence[ir.Model]) -> None:
        starts: dict[str, set[int]] = defaultdict(set)
        real: dict[str, set[int]] = defaultdict(set)
        ghost: dict[str, set[int]] = defaultdict(set)
        fair: dict[str, set[int]] = defaultdict(set)
        for model in models:
            judged = any(prop.kind.of_behaviours for prop in model.properties)
            for item in model.fairness if judged else ():
                fair[item.span.source.name].add(item.span.start)
            for action in model.actions:
                starts[action.span.source.name].add(action.span.start)
                for node in walk(action.body):
                    if not isinstance(node, ir.Node) or node.span is None:
                        continue
                    name, start = node.span.source.name, node.span.start
                    starts[name].add(start)
                    if isinstance(node, ir.Assign):
                        watching = model.variables[node.variable].ghost
                        (ghost if watching else real)[name].add(start)
        self._starts = {name: sorted(offsets) for name, offsets in starts.items()}
        self._real = {name: sorted(offsets) for name, offsets in real.items()}
        self._fair = {name: sorted(offsets) for name, offsets in fair.items()}
        self._ghost = {name: sorted(offsets) for name, offsets in ghost.items()}

    def taken_up(self, span: Span) -> bool:
        """Returns whether an action uses this part of the source."""
        return _any_in(self._starts, span)

    def fair(self, span: Span) -> bool:
        """Returns whether this part of the source declares a fairness constraint that properties
        depend on.
        """
        return _any_in(self._fair, span)

    def watches(self, span: Span) -> bool:
        """Returns whether this part of the source contains assignments, all of them to ghosts."""
        return _any_in(self._ghost, span) and not _any_in(self._real, span)


def _any_in(starts: Mapping[str, Sequence[int]], span: Span) -> bool:
    offsets = starts.get(span.source.name, ())
    index = bisect_left(offsets, span.start)
    return index < len(offsets) and offsets[index] < span.end


# ---------------------------------------------------------------- the changes of a file


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the changes in the file at ``path``. ``where`` is the declaration that is being
    changed.
    """

    path: Path
    used: _Used
    where: str = ""

    def of(self, tree: syntax.File) -> Iterator[Mutant]:
        for node in tree.declarations:
            match node:
                case syntax.RoleDecl(name=name, members=members):
                    yield from replace(self, where=name.text)._unfair(node)
                    for member in members:
                        yield from self._declaration(member, f"{name.text}.")
                case syntax.Const(name=name, value=syntax.Boolean(value) as old):
                    now = "false" if value else "true"
                    new = syntax.Boolean(not value, span=old.span)
                    change = f"{name.text} = {now}"
                    yield Mutant("switch", node.span, name.text, change, self.path, old, new)
                case _:
                    yield from self._declaration(node, "")

    def _declaration(
        self, node: syntax.Declaration | syntax.RoleMember, role: str
    ) -> Iterator[Mutant]:
        match node:
            case syntax.ActionDecl(name=name, choices=choices, receive=receive, body=body):
                if self.used.taken_up(node.span):
                    inside = replace(self, where=f"{role}{name.text}")
                    yield from inside._unfair(node)
                    yield from inside._conditions(choices)
                    if receive is not None:
                        yield from inside._pattern(receive.pattern)
                        yield from inside._conditions(receive)
                    yield from inside._suite(body)
            case syntax.ProcedureDecl(name=name, body=body):
                if self.used.taken_up(node.span):
                    yield from replace(self, where=f"{role}{name.text}")._suite(body)
            case syntax.DefDecl(name=name, body=body):
                if self.used.taken_up(body.span):
                    yield from replace(self, where=f"{role}{name.text}")._conditions(body)
            case syntax.FairDecl(name=name) if self.used.fair(node.span):
                # Without members, the constraint demands nothing.
                new = replace(node, members=())
                where = f"{role}{name.text}" if name is not None else role.removesuffix(".")
                change = f"drop `{_quoted(node)}`"
                yield Mutant("fairness", node.span, where, change, self.path, node, new)
            case _:
                pass

    def _unfair(self, node: syntax.ActionDecl | syntax.RoleDecl) -> Iterator[Mutant]:
        if node.fairness and self.used.fair(node.span):
            change = f"drop `{node.fairness}`"
            new = replace(node, fairness="")
            yield Mutant("fairness", node.name.span, self.where, change, self.path, node, new)

    def _suite(self, suite: syntax.Suite) -> Iterator[Mutant]:
        for statement in suite:
            if not self.used.watches(statement.span):
                yield from self._statement(statement)

    def _statement(self, node: syntax.Statement) -> Iterator[Mutant]:
        match node:
            case syntax.Require(condition):
                yield self._removed("guard", node)
                yield from self._conditions(condition)
            case syntax.Assign() | syntax.Send() | syntax.Do():
                yield self._removed("update", node)
                yield from self._conditions(node)
            case syntax.Return():
                yield self._removed("branch", node)
            case syntax.Pick() | syntax.Let():
                yield from self._conditions(node)
            case syntax.If(branches, otherwise):
                for branch in branches:
                    yield from self._branch(branch)
                yield from self._suite(otherwise or ())
            case syntax.Match(subject, cases):
                yield from self._conditions(subject)
                for case in cases:
                    yield from self._pattern(case.pattern)
                    yield from self._suite(case.body)
            case syntax.For(binder, body):
                yield from self._conditions(binder)
                yield from self._suite(body)
            case syntax.Assert() | syntax.Skip():
                pass

    def _branch(self, branch: syntax.Branch) -> Iterator[Mutant]:
        condition = branch.condition
        for taken, word in ((False, "never"), (True, "always")):
            new = syntax.Boolean(taken, span=condition.span)
            change = f"{word} take the branch `if {_quoted(condition)}`"
            yield self._made("branch", condition, new, change)
        yield from self._conditions(condition)
        yield from self._suite(branch.body)

    def _pattern(self, pattern: syntax.Pattern) -> Iterator[Mutant]:
        for argument in pattern.arguments or ():
            if isinstance(argument, syntax.Equals):
                new = syntax.Ignore(span=argument.span)
                change = f"accept any value for `{_quoted(argument)}`"
                yield self._made("guard", argument, new, change)

    def _conditions(self, root: object) -> Iterator[Mutant]:
        """Yields the changes of conditions inside expressions."""
        for node in walk(root):
            match node:
                case syntax.Binary("and" | "or" as word, left, right):
                    for part, rest in ((left, right), (right, left)):
                        # In a chain of the same operator, each operand is dropped separately.
                        if not (isinstance(part, syntax.Binary) and part.operator == word):
                            change = f"drop `{_quoted(part)}` from `{_quoted(node)}`"
                            yield self._made("condition", node, rest, change)
                case syntax.Conjunction(lines):
                    for index, line in enumerate(lines):
                        kept = (*lines[:index], *lines[index + 1 :])
                        new = kept[0] if len(kept) == 1 else replace(node, lines=kept)
                        yield self._made("condition", node, new, f"drop the line `{_quoted(line)}`")
                case syntax.Binary(operator, left, right) if operator in BOUNDARIES:
                    other = BOUNDARIES[operator]
                    new = syntax.Binary(other, left, right, span=node.span)
                    change = f"`{operator}` becomes `{other}` in `{_quoted(node)}`"
                    yield self._made("condition", node, new, change)
                case syntax.Conditional(condition, then, otherwise):
                    quoted = f"`if {_quoted(condition)}`"
                    change = f"never take the branch {quoted}"
                    yield self._made("branch", node, otherwise, change)
                    change = f"always take the branch {quoted}"
                    yield self._made("branch", node, then, change)
                case syntax.ValueCase(pattern):
                    yield from self._pattern(pattern)
                case _ if isinstance(node, Filtered) and node.condition is not None:
                    any_value = replace(node, condition=None)
                    change = f"drop the condition `{_quoted(node.condition)}`"
                    yield self._made("guard", node, any_value, change)
                case _:
                    pass

    def _removed(self, kind: Kind, node: Removed) -> Mutant:
        new = syntax.Skip(span=node.span)
        return self._made(kind, node, new, f"remove `{_quoted(node)}`")

    def _made(self, kind: Kind, old: syntax.Node, new: syntax.Node, change: str) -> Mutant:
        return Mutant(kind, old.span, self.where, change, self.path, old, new)


def _quoted(node: syntax.Node) -> str:
    text = " ".join(node.span.text.split())
    return text if len(text) <= TEXT else f"{text[: TEXT - 3]}..."


def same(left: ir.Model, right: ir.Model) -> bool:
    """Returns whether two models are structurally equal in their states, steps and properties.

    Models that are not structurally equal may still be equivalent.
    """
    return _essence(left) == _essence(right)


def _essence(model: ir.Model) -> tuple[object, ...]:
    actions: Iterable[object] = tuple((a.name, a.kind, a.body) for a in model.actions)
    properties = tuple(
        (p.name, p.kind, p.body, p.formula, p.abstract and _essence(p.abstract))
        for p in model.properties
    )
    assumptions = tuple(assumption.condition for assumption in model.assumptions)
    types = tuple((v.name, v.type, v.ghost) for v in model.variables)
    return types, model.initial, actions, model.fairness, properties, assumptions
