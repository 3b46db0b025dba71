"""What is under way while one model is built: its tables, its problems, and the context of a place.

It knows no form of the language; the modules that do (`truth`, `statements`, ...) call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import DEEPEST, MOST_EXPANDED, MOST_NESTED
from fencepost.spec.core.types import Type
from fencepost.spec.elaborate.base.built_in import BUILT_IN, TYPE_WORDS, VALUE_WORDS
from fencepost.spec.elaborate.base.other_languages import ANYWHERE
from fencepost.spec.elaborate.base.recorder import Recorder
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    Ghost,
    Instance,
    LocalName,
    MemberEntity,
    Operand,
    RoleEntity,
    TypeEntity,
    kind_of,
)
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Note, Problem, suggestion
from fencepost.spec.text.source import Span

Place: TypeAlias = Literal["constant", "initial", "action", "property", "step"]
"""Where an expression stands: what it may look at depends on it."""


class Typer(Protocol):
    """The one entry to the checking of expressions and types, whatever stands in them."""

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """The checked expression, or None when it is wrong (and has been reported)."""
        ...

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """The type that ``node`` denotes, or None when it is wrong (and has been reported)."""
        ...


class Convert(Protocol):
    """See `conversion.converted`."""

    def __call__(
        self, context: Context, expr: ir.Expr, target: Type, span: Span, /
    ) -> ir.Expr | None: ...


class Stop(Exception):
    """Building cannot go on sensibly (a size that explodes); the problem has been recorded."""


@dataclass(slots=True, eq=False)
class Elaboration:
    """The tables of the model being built, and the problems found so far.

    ``sent`` and ``received`` are the messages, by channel and tag, that some action sends (and
    where) or receives. ``signatures`` are types of parameters and results, by syntax and module;
    ``resolving`` are the types and constants being worked out, each for the one before it;
    ``symbols`` the symbolic constants that nothing overrides, by their numbers; ``given``: one is
    overridden. ``quantified`` are the predicates and domains of formulas before their quantifiers
    are expanded. A ``muted`` elaboration records no problems of size (see `scratch`). What names
    mean is noted in ``recorder``, where there is one.
    """

    typer: Typer
    recorder: Recorder | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    sites: list[ir.Site] = field(default_factory=list[ir.Site])
    guards: list[ir.Guard] = field(default_factory=list[ir.Guard])
    marks: list[ir.CoverageMark] = field(default_factory=list[ir.CoverageMark])
    sent: dict[tuple[ChannelEntity, int], Span] = field(
        default_factory=dict[tuple[ChannelEntity, int], Span]
    )
    received: set[tuple[ChannelEntity, int]] = field(default_factory=set[tuple[ChannelEntity, int]])
    signatures: dict[tuple[int, Instance], Type | None] = field(
        default_factory=dict[tuple[int, Instance], "Type | None"]
    )
    resolving: list[TypeEntity | ConstEntity] = field(
        default_factory=list["TypeEntity | ConstEntity"]
    )
    symbols: list[ConstEntity] = field(default_factory=list[ConstEntity])
    quantified: list[ir.Expr] = field(default_factory=list[ir.Expr])
    action_kinds: list[str] = field(default_factory=list[str])
    slots: int = 0
    labels: int = 0
    expanded: int = 0
    nested: int = 0
    given: bool = False
    visited: int = 0
    muted: bool = False

    def scratch(self, muted: bool) -> Elaboration:
        """A copy whose tables are thrown away, for code that is checked and never runs.

        ``muted`` where the values of constants are what keeps it from running: the problems that
        depend on such values (F7xx) are then none.
        """
        return replace(
            self,
            sites=list(self.sites),
            guards=list(self.guards),
            marks=list(self.marks),
            sent=dict(self.sent),
            received=set(self.received),
            signatures=dict(self.signatures),
            muted=self.muted or muted,
        )

    def slot(self) -> int:
        """A slot that nothing else uses."""
        self.slots += 1
        return self.slots - 1

    def label(self) -> int:
        """A block label that nothing else uses."""
        self.labels += 1
        return self.labels - 1

    def report(
        self, code: str, span: Span, message: str, *notes: Note, warning: bool = False
    ) -> None:
        """Records a problem."""
        if not (self.muted and code.startswith("F7")):
            self.problems.append(Problem(code, span, message, notes, warning))

    def descend(self, span: Span, expanding: bool) -> None:
        """Enters a statement or expression, in a call's copy if ``expanding``; `ascend` leaves it.

        A model whose copies explode, or nest without end, goes no further.
        """
        self.nested += 1
        self.expanded += expanding
        self.visited += 1
        if not self.visited % 256:
            tick()
        if self.expanded > MOST_EXPANDED:
            self._explode(
                "F709",
                span,
                f"with every call written out, this spec has more than {MOST_EXPANDED} statements"
                " and expressions; a def that uses a call twice can take its value as a parameter",
            )
        if self.nested > MOST_NESTED:
            self._explode(
                "F711",
                span,
                f"with the calls around it, this is nested more than {MOST_NESTED} levels deep",
            )

    def circle(self, entity: TypeEntity | ConstEntity) -> str:
        """The way from a declaration back to itself, where it leads through others."""
        names = [known.name for known in self.resolving[self.resolving.index(entity) :]]
        return f": {', '.join(names)}, {entity.name}" if len(names) > 1 else ""

    def limit(self, count: int, span: Span) -> None:
        """Ends a model in which ``count`` things in a row would stand inside each other."""
        if count > DEEPEST:
            self._explode(
                "F711",
                span,
                f"each of these stands inside the one before it, and {count} are more than the"
                f" {DEEPEST} levels that engines follow",
            )

    def too_many_modules(self, span: Span) -> None:
        """Ends a model whose modules import one another with ever new arguments."""
        self._explode(
            "F609",
            span,
            "modules are imported with arguments too often here, counting what they import in turn;"
            " a module that is given the same arguments again costs nothing",
        )

    def ascend(self) -> None:
        """See `descend`."""
        self.nested -= 1

    def _explode(self, code: str, span: Span, message: str) -> None:
        self.problems.append(Problem(code, span, message))
        raise Stop


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """A place in a spec: which names it sees, and what is known there.

    ``facts``: which tags a union value can have here, by the core expression that reads it (see
    `flow`). ``returns``: the block that ``return`` ends. ``calls``: the calls being expanded.
    ``declared``: in an initial value, how many variables are declared above. ``after``: inside
    ``next(...)``. ``outermost``: nothing but foralls and conjunctions around, in property
    ``owner``. ``domain``: a set is wanted to be gone through or looked into, and may be large.
    ``symbolic``: what is constant here may be a symbolic constant. ``apart``: values of symmetric
    types are told apart, and may be named; records of any module are made by their names.
    ``convert`` makes values of another module's types, where those are wanted.
    """

    work: Elaboration
    module: Instance
    place: Place
    role: RoleEntity | None = None
    instance: ir.Expr | None = None
    locals: Mapping[str, LocalName] = field(default_factory=dict[str, LocalName])
    facts: Mapping[ir.Expr, frozenset[int]] = field(default_factory=dict[ir.Expr, frozenset[int]])
    calls: tuple[Span, ...] = ()
    expanding: tuple[object, ...] = ()
    action: int = -1
    returns: int | None = None
    declared: int | None = None
    after: bool = False
    outermost: bool = False
    owner: int = -1
    domain: bool = False
    symbolic: bool = False
    apart: bool = False
    convert: Convert | None = None

    @property
    def given(self) -> bool:
        """Whether what is evaluated here may come from a value that a symbolic constant was given.
        One that fits nowhere is an evaluation error then, as in a run for all values.
        """
        return self.work.given and (self.place != "constant" or self.symbolic)

    # ------------------------------------------------------------ shorthands

    def expression(self, node: syntax.Expr, expected: Type | None = None) -> Operand | None:
        """See `Typer.expression`."""
        return self.work.typer.expression(self, node, expected)

    def resolve(self, node: syntax.Expr) -> Type | None:
        """See `Typer.resolve`."""
        return self.work.typer.resolve(self, node)

    def report(self, code: str, span: Span, message: str, *notes: Note) -> None:
        """Records a problem; inside an expanded def or procedure it names the call."""
        calls: tuple[Note, ...] = tuple((call, "called from here") for call in self.calls[-1:])
        self.work.report(code, span, message, *notes, *calls)

    def site(self, code: str, span: Span, message: str) -> int:
        """The number of a new place where evaluation can fail."""
        self.work.sites.append(ir.Site(code, span, message, self.calls))
        return len(self.work.sites) - 1

    def guard(self, kind: ir.GuardKind, span: Span) -> int:
        """The number of a new guard of the current action."""
        self.work.guards.append(ir.Guard(kind, span, self.action, self.calls))
        return len(self.work.guards) - 1

    def mark(
        self, kind: Literal["branch", "guard", "antecedent"], span: Span, owner: int, text: str
    ) -> int:
        """The number of a new coverage mark."""
        self.work.marks.append(ir.CoverageMark(kind, span, owner, text))
        return len(self.work.marks) - 1

    # ------------------------------------------------------------ inner contexts

    def inner(self) -> Context:
        """The same place, no longer the outermost part of a property."""
        return replace(self, outermost=False) if self.outermost else self

    def of_any_size(self) -> Context:
        """The same place, where the set that is wanted next may be large (see ``domain``)."""
        return replace(self, domain=True)

    def unreached(self) -> Context:
        """The same place, for code that the values of constants keep from running."""
        return replace(self, work=self.work.scratch(muted=True))

    def bind(self, name: syntax.Name, operand: Operand | None) -> Context:
        """This context with one more local; shadowing is reported."""
        if name.text == "_":
            return self
        self._refuse_hiding(name)
        if operand is not None and self.work.recorder is not None:
            self.work.recorder.types.append((name, operand.type))
        return replace(self, locals={**self.locals, name.text: LocalName(operand, name.span)})

    def _refuse_hiding(self, name: syntax.Name) -> None:
        text = name.text
        if text in TYPE_WORDS or text in VALUE_WORDS:
            self.work.report("F204", name.span, reserved(text))
        elif text in self.locals:
            self.work.report("F203", name.span, *hiding(text, "a local", self.locals[text].span))
        else:
            entity = self.find(text) or next(iter(self.members(text)), None)
            if entity is not None and not isinstance(entity, BrokenEntity):
                what = kind_of(entity)
                self.work.report("F203", name.span, *hiding(text, what, entity.span))

    def learn(self, facts: Mapping[ir.Expr, frozenset[int]]) -> Context:
        """This context, knowing more about the tags of union values."""
        if not facts:
            return self
        merged = dict(self.facts)
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
        return replace(self, facts=merged)

    def with_locals_only(self) -> Context:
        """This context, where nothing is known of what may change."""
        facts: dict[ir.Expr, frozenset[int]] = {
            expr: tags for expr, tags in self.facts.items() if isinstance(expr, ir.Local)
        }
        return replace(self, facts=facts)

    # ------------------------------------------------------------ names

    def find(self, text: str) -> Entity | None:
        """The entity of a name: role, then module, then imports. Members and locals are apart."""
        if self.role is not None and text in self.role.names:
            return self.role.names[text]
        return self.module.names.get(text) or self.module.imports.get(text)

    def look_up(self, name: syntax.Name) -> Entity | None:
        """The entity that a written name means; see `find`."""
        entity = self.find(name.text)
        if entity is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, entity, self.module))
        return entity

    def local(self, name: syntax.Name) -> LocalName | None:
        """The local that a written name means."""
        known = self.locals.get(name.text)
        if known is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, known, self.module))
        return known

    def meant(
        self, name: syntax.Name, entity: Entity | None, module: Instance | None = None
    ) -> None:
        """Notes that a name means ``entity``, as ``module`` (None: this one) knows it."""
        if entity is not None and self.work.recorder is not None:
            self.work.recorder.names.append((name, entity, module or self.module))

    def stands_for(self, name: syntax.Name, span: Span) -> None:
        """Notes that a name means what is declared at ``span`` and is no entity."""
        if self.work.recorder is not None:
            self.work.recorder.names.append((name, LocalName(None, span), self.module))

    def part(self, name: syntax.Name, kind: Type, *path: str) -> None:
        """Notes that a name means a part of a type, which is no entity."""
        if self.work.recorder is not None:
            self.work.recorder.parts.append((name, kind, path))

    def members(self, text: str) -> list[MemberEntity]:
        """The members of enums and unions that go by this name."""
        return self.module.members.get(text, [])

    def known(self) -> Iterator[str]:
        """Every name that can be used here, for suggestions."""
        yield from self.locals
        if self.role is not None:
            yield from self.role.names
        yield from self.module.names
        yield from self.module.imports
        yield from self.module.members
        yield from ("true", "false", "none", *VALUE_WORDS)

    def unknown(
        self,
        name: syntax.Name,
        what: str = "name",
        also: tuple[str, ...] = (),
        kinds: tuple[type[Entity], ...] = (),
        meant: Mapping[str, str] | None = None,
        instead: Mapping[str, str] | None = None,
    ) -> None:
        """Reports a name that nothing here has, unless its declaration was broken.

        Things of these ``kinds`` are suggested before others; ``meant`` are what words of other
        languages stand for, and ``instead`` say what to write where nothing does.
        """
        if name.text in self.module.file.broken.names:
            return
        fitting = [text for text in self.known() if isinstance(self.find(text), kinds)]
        hint = suggestion(name.text, fitting) or suggestion(name.text, [*self.known(), *also])
        other = (meant or {}).get(name.text.lower())
        if other is not None:
            hint = f'; it is called "{other}"'
        elif (instead or {}).get(name.text.lower()):
            hint = f"; {(instead or {})[name.text.lower()]}"
        elif not hint and name.text in ANYWHERE:
            hint = f"; {ANYWHERE[name.text]}"
        self.report("F201", name.span, f'no {what} "{name.text}" is known here{hint}')


def hiding(text: str, what: str, span: Span) -> tuple[str, Note]:
    """The sentence and the note for a new name that would hide another one."""
    message = f'"{text}" is {what} here already, and a name has one meaning; choose another'
    return message, (span, f'"{text}" is declared here')


def reserved(text: str) -> str:
    """The sentence for a new name that the language has taken."""
    return f'"{text}" is a {BUILT_IN[text].kind} of the language; choose another name'


def first_ghost(*operands: Operand | None) -> Ghost | None:
    """The reason why any of the operands is a ghost."""
    for operand in operands:
        if operand is not None and operand.ghost is not None:
            return operand.ghost
    return None


def role_locals(role: RoleEntity | None, instance: ir.Expr | None) -> dict[str, LocalName]:
    """The index of a role family as a local: what every member of the role sees."""
    if role is None or role.decl.index is None or instance is None:
        return {}
    name = role.decl.index.name
    return {name.text: LocalName(Operand(instance), name.span)}
