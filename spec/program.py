"""A spec as a user runs it: its files, its checks, and the model of each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fencepost.spec import ir, syntax
from fencepost.spec.assemble import Assembly
from fencepost.spec.check import Checker
from fencepost.spec.elaboration import Elaboration, Stop
from fencepost.spec.entities import ConstEntity, Instance, ModuleEntity
from fencepost.spec.files import Files, read_files
from fencepost.spec.modules import Modules
from fencepost.spec.parse import parse_expression
from fencepost.spec.problem import Problem, Rejected, listing, suggestion
from fencepost.spec.source import Source, Span

Verdict = Literal["ok", "violated", "deadlock", "assertion", "error"]
Count = Literal["states", "generated", "depth"]

ENGINES = ("local", "interpreter")
"""The engines that a check may name."""

SELECTABLE = ("invariant", "step invariant", "lemma", "reachable")


@dataclass(frozen=True, slots=True)
class Check:
    """A named run; the empty name is the spec as it stands.

    ``properties`` is None for all. ``verdict`` and ``property`` are what is expected, ``counts``
    what else is. ``constants`` are new values by path.
    """

    name: str
    slow: bool = False
    engine: str | None = None
    depth: int | None = None
    properties: tuple[str, ...] | None = None
    verdict: Verdict = "ok"
    property: str | None = None
    counts: tuple[tuple[Count, int], ...] = ()
    constants: tuple[syntax.CheckConst, ...] = ()
    span: Span | None = None
    spans: Mapping[str, Span] = field(default_factory=dict[str, Span])


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A spec that has been read; its models are built one check at a time."""

    path: Path
    name: str
    docstring: str | None
    checks: tuple[Check, ...]
    warnings: tuple[Problem, ...]
    files: Files


def load(path: Path, search: Sequence[Path] = ()) -> Program:
    """Reads a spec and all that it imports. Raises Rejected with every problem that is found."""
    files = read_files(path, search)
    tree = files.files[files.root]
    problems = list(files.problems)
    checks = _checks(tree, problems)
    program = Program(
        path,
        path.stem,
        tree.docstring,
        checks or (Check(""),),
        tuple(problem for problem in problems if problem.warning),
        files,
    )
    if any(not problem.warning for problem in problems):
        # What else is wrong is told in the same pass.
        try:
            build(program, None)
        except Rejected as rejected:
            problems += rejected.problems
        raise Rejected(problems)
    return program


def build(
    program: Program, check: Check | None, overrides: Mapping[str, str] | None = None
) -> ir.Model:
    """The model of a check (None: the spec as it stands).

    ``overrides`` are the texts of new values of constants, by path; they win over the check's.
    Raises Rejected with every problem that is found.
    """
    work = Elaboration(Checker())
    new: dict[tuple[str, ...], tuple[syntax.Expr, Instance | None]] = {}
    for item in check.constants if check else ():
        new[tuple(part.text for part in item.path)] = (item.value, None)
    for path, text in (overrides or {}).items():
        source = Source(f"--const {path}", text)
        new[tuple(path.split("."))] = (parse_expression(source), None)
    assembly: Assembly | None = None
    model: ir.Model | None = None
    try:
        root = Modules(work, program.files).root(new)
        for item in check.constants if check else ():
            _known_constant(work, root, [part.text for part in item.path], item.span)
        for path in overrides or {}:
            _known_constant(work, root, path.split("."), None)
        assembly = Assembly(work, root, program.name)
        model = assembly.model()
    except Stop:
        pass
    errors = [problem for problem in work.problems if not problem.warning]
    if errors or model is None:
        raise Rejected(work.problems)
    return model


def _known_constant(
    work: Elaboration, root: Instance, path: Sequence[str], span: Span | None
) -> None:
    instance = root
    for part in path[:-1]:
        entity = instance.imports.get(part)
        if not isinstance(entity, ModuleEntity):
            modules = [n for n, e in instance.imports.items() if isinstance(e, ModuleEntity)]
            _no_constant(work, f'no module "{part}" is imported', part, modules, span)
            return
        instance = entity.instance
    entities = {**instance.imports, **instance.names}
    if not isinstance(entities.get(path[-1]), ConstEntity):
        known = [name for name, e in entities.items() if isinstance(e, ConstEntity)]
        where = f"module {path[-2]}" if len(path) > 1 else "this spec"
        _no_constant(work, f'{where} has no constant "{path[-1]}"', path[-1], known, span)


def _no_constant(
    work: Elaboration, message: str, word: str, known: Sequence[str], span: Span | None
) -> None:
    hint = suggestion(word, known) or (f"; it has {listing(known, 'and')}" if known else "")
    code = "F821" if span is not None else "F009"
    work.problems.append(Problem(code, span, message + hint))


def select(model: ir.Model, check: Check, invariants: Sequence[str] = ()) -> frozenset[int]:
    """The properties to search for: those asked for (``--invariant``), else the check's.

    Under ``expect violated A`` without a list, A alone. Raises Rejected for an unknown name.
    """
    by_name = {
        prop.name: index
        for index, prop in enumerate(model.properties)
        if prop.kind in SELECTABLE and prop.name
    }
    problems: list[Problem] = []

    def index_of(name: str, span: Span | None) -> int | None:
        if name in by_name:
            return by_name[name]
        hint = suggestion(name, by_name) or (
            f"; there is {listing(list(by_name), 'and')}" if by_name else "; it has none"
        )
        code = "F822" if span is not None else "F008"
        problems.append(Problem(code, span, f'the spec has no property "{name}"{hint}'))
        return None

    wanted: set[int | None] = set()
    if check.property is not None:
        wanted.add(index_of(check.property, check.spans.get(check.property, check.span)))
    if invariants:
        wanted = {index_of(name, None) for name in invariants}
    elif check.properties is not None:
        wanted |= {index_of(name, check.spans.get(name, check.span)) for name in check.properties}
    elif check.property is None:
        wanted = set(by_name.values())
    if problems:
        raise Rejected(problems)
    return frozenset(index for index in wanted if index is not None)


# ---------------------------------------------------------------- checks


def _checks(tree: syntax.File, problems: list[Problem]) -> tuple[Check, ...]:
    checks: dict[str, Check] = {}
    for node in tree.declarations:
        if not isinstance(node, syntax.CheckDecl):
            continue
        check = _check(node, problems)
        other = checks.get(check.name)
        if other is not None:
            problems.append(
                Problem(
                    "F202",
                    node.name.span,
                    f'check "{check.name}" is declared twice',
                    ((other.span, "first declared here"),),
                )
            )
            continue
        checks[check.name] = check
    return tuple(checks.values())


def _dotted(node: syntax.Expr) -> str:
    if isinstance(node, syntax.Attribute):
        return f"{_dotted(node.base)}.{node.name.text}"
    assert isinstance(node, syntax.Name)
    return node.text


def _check(node: syntax.CheckDecl, problems: list[Problem]) -> Check:
    constants: dict[tuple[str, ...], syntax.CheckConst] = {}
    engine: syntax.CheckEngine | None = None
    properties: tuple[str, ...] | None = None
    expected: syntax.ExpectVerdict | None = None
    counts: dict[Count, int] = {}
    spans: dict[str, Span] = {}

    def twice(what: str, span: Span) -> None:
        problems.append(Problem("F823", span, f"{what} is given twice in check {node.name.text}"))

    for item in node.items:
        match item:
            case syntax.CheckConst(path=path):
                key = tuple(part.text for part in path)
                if key in constants:
                    twice(f"const {'.'.join(key)}", item.span)
                constants[key] = item
            case syntax.CheckEngine():
                if engine is not None:
                    twice("engine", item.span)
                engine = item
                if item.engine is not None and item.engine.text not in ENGINES:
                    hint = suggestion(item.engine.text, ENGINES)
                    problems.append(
                        Problem(
                            "F805",
                            item.engine.span,
                            f'there is no engine "{item.engine.text}" yet; there is'
                            f" {listing(ENGINES, 'and')}{hint}",
                        )
                    )
            case syntax.CheckProperties(names=names):
                if properties is not None:
                    twice("properties", item.span)
                properties = tuple(_dotted(name) for name in names)
                spans |= {_dotted(name): name.span for name in names}
            case syntax.ExpectVerdict():
                if expected is not None:
                    twice("the expected verdict", item.span)
                expected = item
                if item.property is not None:
                    spans[_dotted(item.property)] = item.property.span
                if item.within is not None:
                    problems.append(
                        Problem(
                            "F806",
                            item.span,
                            "`ok within k` needs bounded model checking, which is not built yet",
                        )
                    )
            case syntax.ExpectCount(what=what, count=count):
                if what in counts:
                    twice(what, item.span)
                counts[what] = count
    named = _dotted(expected.property) if expected and expected.property else None
    return Check(
        name=node.name.text,
        slow=node.slow,
        engine=engine.engine.text if engine and engine.engine else None,
        depth=engine.depth if engine else None,
        properties=properties,
        verdict=expected.verdict if expected else "ok",
        property=named,
        counts=tuple(counts.items()),
        constants=tuple(constants.values()),
        span=node.name.span,
        spans=spans,
    )
