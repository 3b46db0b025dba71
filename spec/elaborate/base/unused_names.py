"""Finds the declarations of a file that nothing uses.

Names are compared as text. If several declarations have the same name, such as variables of two
roles, a use of the name counts for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from fencepost.spec.core.traverse import Node, children, walk
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Problem

_Type: TypeAlias = (
    syntax.TypeDecl | syntax.SymmetricType | syntax.EnumDecl | syntax.RecordDecl | syntax.UnionDecl
)
_Removable: TypeAlias = (
    syntax.Const | syntax.DefDecl | syntax.ProcedureDecl | syntax.ChannelDecl | syntax.VarDecl
    | _Type
)  # fmt: skip
"""The declarations that have no effect unless something uses them."""


def unused(file: syntax.File, others: Collection[str] = ()) -> Iterator[Problem]:
    """Yields a note (F421) for each declaration that nothing uses, and a note (F422) for each
    message that nothing sends or receives. ``others`` holds the names that other files may use.

    A use inside a declaration counts only if that declaration is itself used. If it is not, it has
    the only note; what it uses has none. A variable must be read; a method such as ``add`` or an
    assignment such as ``x += 1`` does not read it.
    """
    idle: list[_Removable] = []
    used = set(others)
    for node in _declarations(file.declarations):
        if isinstance(node, _Removable) and not _acts(node):
            idle.append(node)
        else:
            used |= _names(node.index if isinstance(node, syntax.RoleDecl) else node)
    while True:
        live = [node for node in idle if any(name.text in used for name in _named(node))]
        if not live:
            break
        idle = [node for node in idle if node not in live]
        for node in live:
            used |= _inner_names(node)
    for node in _first_unused(idle):
        yield _note("F421", node.name, f"nothing {_verb(node)} the {_kind(node)} {node.name.text}")
    yield from _unmentioned(file, used)


def _first_unused(idle: Sequence[_Removable]) -> Iterator[_Removable]:
    """Yields the declarations that no other one of ``idle`` uses. Of declarations that use one
    another, yields the first.
    """
    uses = [
        [n for n, other in enumerate(idle) if {name.text for name in _named(other)} & names]
        for names in map(_inner_names, idle)
    ]
    used = {other for number, others in enumerate(uses) for other in others if other != number}
    covered = set[int]()
    for number in sorted(range(len(idle)), key=lambda n: n in used):
        if number not in covered:
            yield idle[number]
        covered.update(_reachable(number, uses))


def _reachable(start: int, edges: Sequence[Sequence[int]]) -> set[int]:
    reached, todo = {start}, [start]
    while todo:
        fresh = [n for n in edges[todo.pop()] if n not in reached]
        reached.update(fresh)
        todo += fresh
    return reached


def _declarations(nodes: Iterable[syntax.Declaration]) -> Iterator[syntax.Declaration]:
    """Yields declarations and, after each role, its members."""
    for node in nodes:
        yield node
        if isinstance(node, syntax.RoleDecl):
            yield from node.members


def _acts(node: _Removable) -> bool:
    """Returns whether a channel may lose or duplicate messages that it contains at the start."""
    if not isinstance(node, syntax.ChannelDecl) or node.content is None:
        return False
    return any(isinstance(option, syntax.Fault) for option in node.options)


def _note(code: str, name: syntax.Name, message: str) -> Problem:
    return Problem(code, name.span, message, warning=True, minor=True)


def _verb(node: _Removable) -> str:
    return "reads" if isinstance(node, syntax.VarDecl) else "uses"


def _kind(node: _Removable) -> str:
    match node:
        case syntax.Const():
            return "constant"
        case syntax.DefDecl():
            return "def"
        case syntax.ProcedureDecl():
            return "procedure"
        case syntax.ChannelDecl():
            return "channel"
        case syntax.VarDecl(ghost=ghost):
            return "ghost variable" if ghost else "variable"
        case _:
            return "type"


def _named(node: _Removable) -> tuple[syntax.Name, ...]:
    """Returns the names that a declaration declares for the whole file."""
    match node:
        case syntax.EnumDecl(members=members) | syntax.SymmetricType(members=members):
            return (node.name, *members)
        case syntax.UnionDecl(variants=variants):
            return (node.name, *(variant.name for variant in variants))
        case _:
            return (node.name,)


# ---------------------------------------------------------------- the names that nodes use


def _names(tree: Node | None) -> set[str]:
    """Returns the names that a node uses, except those of variables that it only assigns."""
    match tree:
        case None:
            return set()
        case syntax.Name(text=text):
            return {text}
        case syntax.Assign(target=target, operator=operator, value=value):
            own = set[str]() if operator == "=" else _path(target)
            return _of((*_keys(target),)) | (_names(value) - own)
        case syntax.Do(call=syntax.Call(function=syntax.Attribute(base=base, name=name)) as call):
            # In a call of another module's procedure, `base` is the module.
            return {name.text} | _of((*_keys(base), *call.arguments))
        case _:
            return _of(children(tree))


def _of(nodes: Iterable[Node]) -> set[str]:
    return set[str]().union(*map(_names, nodes))


def _inner_names(node: _Removable) -> set[str]:
    """Returns the names that a declaration uses."""
    match node:
        case syntax.UnionDecl(variants=variants):
            return _of(field for variant in variants for field in variant.fields)
        case syntax.EnumDecl() | syntax.SymmetricType():
            return set()
        case _:
            return _of(part for part in children(node) if part is not node.name)


def _path(target: syntax.Expr) -> set[str]:
    """Returns the names along an assignment target, without those in its keys."""
    match target:
        case syntax.Attribute(base=base, name=name):
            return {name.text} | _path(base)
        case syntax.Index(base=base) | syntax.Unwrap(operand=base):
            return _path(base)
        case syntax.Name(text=text):
            return {text}
        case _:
            return set()


def _keys(target: syntax.Expr) -> Iterator[syntax.Expr]:
    """Yields the keys in an assignment target, as in ``f[key].g = e``."""
    match target:
        case syntax.Index(base=base, arguments=keys):
            yield from _keys(base)
            yield from keys
        case syntax.Attribute(base=base) | syntax.Unwrap(operand=base):
            yield from _keys(base)
        case syntax.Name():
            pass
        case _:
            yield target


# ---------------------------------------------------------------- messages


def _unmentioned(file: syntax.File, used: Collection[str]) -> Iterator[Problem]:
    """Yields a note for each variant of a message type whose name does not occur in ``used``. If
    the type supplies arbitrary values, all its variants may occur.
    """
    nodes = list(walk(file.declarations))
    channels = {
        node.message.text: node.name.text
        for node in nodes
        if isinstance(node, syntax.ChannelDecl) and isinstance(node.message, syntax.Name)
    }
    domains = [node.domain for node in nodes if isinstance(node, syntax.Binder)]
    domains += [node.type for node in nodes if isinstance(node, syntax.VarDecl) and not node.value]
    arbitrary = _of(domains)
    for node in file.declarations:
        if isinstance(node, syntax.UnionDecl) and node.name.text in channels.keys() - arbitrary:
            for variant in node.variants:
                if variant.name.text not in used:
                    channel = channels[node.name.text]
                    message = f"nothing sends {variant.name.text} to {channel} or receives it"
                    yield _note("F422", variant.name, message)
