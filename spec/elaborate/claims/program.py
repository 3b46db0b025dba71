"""A spec as the user runs it, with its files, its checks, and the model of each check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Literal, assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import NO_RANGES, Range, Ranges
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.recording import Recording
from fencepost.spec.core.scenario import Scenario
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.actions.fairness import without_fairness
from fencepost.spec.elaborate.base.context import Elaboration, Recorder, Stop
from fencepost.spec.elaborate.base.files import Files, Trees, read_files
from fencepost.spec.elaborate.base.symbols import BrokenEntity, ConstEntity, Instance, ModuleEntity
from fencepost.spec.elaborate.claims.model import Assembly
from fencepost.spec.elaborate.claims.module_state import Written, paths
from fencepost.spec.elaborate.claims.modules import Modules
from fencepost.spec.elaborate.values.expressions import Checker
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse_expression
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion_or_all
from fencepost.spec.text.source import Source, Span

Verdict = Literal["ok", "violated", "deadlock", "assertion", "error", "inconclusive"]
Count = Literal["states", "generated", "depth"]


@dataclass(frozen=True, slots=True)
class Check:
    """A named run of a spec. The name is empty if the spec is run without a check.

    ``properties`` is None if all properties are selected. ``verdict``, ``property`` and ``counts``
    are the expected results. If ``within`` is given, the verdict ``ok`` is expected for this number
    of steps. ``constants`` are the overrides of constants. ``without`` names the actions and roles
    that are not fair in this check. A check that searches for a run of a ``scenario`` has no
    properties.
    """

    name: str
    slow: bool = False
    engine: str | None = None
    depth: int | None = None
    properties: tuple[str, ...] | None = None
    verdict: Verdict = "ok"
    property: str | None = None
    within: int | None = None
    counts: tuple[tuple[Count, int], ...] = ()
    constants: tuple[syntax.CheckConst, ...] = ()
    without: tuple[str, ...] = ()
    span: Span | None = None
    scenario: syntax.ScenarioDecl | None = None
    spans: Mapping[str, Span] = field(default_factory=dict[str, Span])


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A spec that has been read. Its models are built one check at a time.

    ``scenarios`` run in addition to ``checks``. All builds share ``written``.
    """

    path: Path
    name: str
    docstring: str | None
    checks: tuple[Check, ...]
    warnings: tuple[Problem, ...]
    files: Files
    scenarios: tuple[Check, ...] = ()
    written: Written = field(default_factory=Written)

    @property
    def runs(self) -> tuple[Check, ...]:
        """The checks and scenarios in file order. If the spec has no check, the run of the spec
        itself comes first.
        """
        every = (*self.checks, *self.scenarios)
        return tuple(
            sorted(every, key=lambda check: -1 if check.span is None else check.span.start)
        )


def load(
    path: Path,
    search: Sequence[Path] = (),
    engines: Mapping[str, bool] | None = None,
    trees: Trees | None = None,
) -> Program:
    """Reads a spec and everything that it imports. Raises Rejected with all problems found.

    ``engines`` maps each engine that a check may name to whether it counts states. If ``engines``
    is None, a check may name any engine. See `read_files` for ``trees``.
    """
    program, problems = scanned(path, read_files(path, search, trees=trees), engines)
    if not all(problem.warning for problem in problems):
        # Mistakes found while building the models are reported in the same pass.
        whole = program.files.whole
        for check, stated in (
            [(check, ()) for check in program.runs] if whole else representative_builds(program)
        ):
            try:
                select(build(program, check, stated=stated, ranges={}), check)
            except Rejected as rejected:
                problems += rejected.problems
        raise Rejected(problems)
    return program


def scanned(
    path: Path, files: Files, engines: Mapping[str, bool] | None = None
) -> tuple[Program, list[Problem]]:
    """Returns the program for files that have been read, and the problems found in the files and
    checks.
    """
    tree = files.files[files.root]
    problems = list(files.problems)
    runs = _checks(tree, engines, problems)
    checks = tuple(run for run in runs if run.scenario is None) or (Check(""),)
    scenarios = tuple(run for run in runs if run.scenario is not None)
    warnings = tuple(problem for problem in problems if problem.warning)
    program = Program(path, path.stem, tree.docstring, checks, warnings, files, scenarios)
    return program, problems


def representative_builds(
    program: Program,
) -> Iterator[tuple[Check, tuple[syntax.ScenarioDecl, ...]]]:
    """Yields the builds that together find almost every mistake outside the values of constants: of
    the first check, of each other check that gives a constant a value by name, and of the
    scenarios, which run with their own constants or with those of the spec.
    """
    first, *others = program.checks
    plain = tuple(s.scenario for s in program.scenarios if s.scenario and not s.constants)
    yield first, () if first.constants else plain
    if plain and first.constants:
        yield Check(""), plain
    for check in (*others, *program.scenarios):
        own = check.constants if check.scenario is not None else ()
        if own or any(
            isinstance(node, syntax.Name) for item in check.constants for node in walk(item.value)
        ):
            yield check, ()


def build(
    program: Program,
    check: Check | None,
    overrides: Mapping[str, str] | None = None,
    asked: str | None = None,
    recorder: Recorder | None = None,
    *,
    of_any_type: bool = False,
    stated: Sequence[syntax.ScenarioDecl] = (),
    ranges: Ranges | None = None,
) -> ir.Model:
    """Builds the model of a check, or of the spec itself if ``check`` is None.

    ``overrides`` maps paths of constants to the texts of their new values, which take precedence
    over those of the check. ``asked`` is the text of a condition on states, as in an invariant of
    the spec. It becomes the last property of the model. With ``of_any_type``, it may be an
    expression of any type; such a model is only for `Runner.value`. ``recorder`` records the
    meanings of names, even if the spec is wrong. The scenarios in ``stated`` are checked as well.
    ``ranges`` are assumed for integers without a declared range, or none with `NO_RANGES`; if it
    is None, such integers are refused. The ranges in the model are wider if constants of the spec
    require it. Raises Rejected with all problems found.
    """
    model = _assembled(program, check, overrides, asked, recorder, of_any_type, stated, ranges)[1]
    return model if ranges is not None else _closed(model)


def mapped(
    program: Program, check: Check | None, overrides: Mapping[str, str] | None = None
) -> tuple[ir.Model, Recording | None]:
    """Builds the model of a check, together with the spec's mapping of recordings. Integers without
    a declared range have no bounds. Raises Rejected like `build`.
    """
    assembly, model = _assembled(program, check, overrides, ranges=NO_RANGES)
    return model, assembly.recording


def staged(
    program: Program,
    check: Check,
    overrides: Mapping[str, str] | None = None,
    ranges: Ranges | None = None,
) -> tuple[ir.Model, Scenario]:
    """Builds a scenario and its model. Raises Rejected like `build`."""
    assembly, model = _assembled(program, check, overrides, ranges=ranges)
    (scenario,) = assembly.scenarios
    return model if ranges is not None else _closed(model), scenario


def _closed(model: ir.Model) -> ir.Model:
    """Returns ``model``. Raises Rejected (F810) if it contains integers without a declared
    range.
    """
    for item in model.open_ranges:
        message = f"{item.name or 'this'} is an int, and its range must be declared here"
        raise Rejected([Problem("F810", item.span, f"{message}: 0..10, for example")])
    return model


def _assembled(
    program: Program,
    check: Check | None,
    overrides: Mapping[str, str] | None,
    asked: str | None = None,
    recorder: Recorder | None = None,
    of_any_type: bool = False,
    stated: Sequence[syntax.ScenarioDecl] = (),
    ranges: Ranges | None = None,
) -> tuple[Assembly, ir.Model]:
    """Builds an assembly and its model, again if the constants of the spec do not fit into the
    assumed ``ranges``.
    """
    known = dict(ranges or {})
    while True:
        work = Elaboration(Checker(), recorder, ranges=known)
        try:
            return _attempted(work, program, check, overrides, asked, of_any_type, stated)
        except _Narrow:
            known |= work.needed


class _Narrow(Exception):
    """Raised if a constant of the spec is outside an assumed range."""


def _attempted(
    work: Elaboration,
    program: Program,
    check: Check | None,
    overrides: Mapping[str, str] | None,
    asked: str | None,
    of_any_type: bool,
    stated: Sequence[syntax.ScenarioDecl],
) -> tuple[Assembly, ir.Model]:
    title = "the expression" if of_any_type else "the condition"
    condition = None if asked is None else parse_expression(Source(title, asked))
    new: dict[tuple[str, ...], tuple[syntax.Expr, Instance | None]] = {}
    for item in check.constants if check else ():
        new[tuple(part.text for part in item.path)] = (item.value, None)
    for path, text in (overrides or {}).items():
        source = Source(f"{OVERRIDE}{path}", text)
        try:
            new[tuple(path.split("."))] = (parse_expression(source), None)
        except Rejected as rejected:
            raise Rejected(list(map(_explained, rejected.problems))) from None
    assembly: Assembly | None = None
    model: ir.Model | None = None

    def begun(work: Elaboration) -> Assembly:
        root = Modules(work, program.files).root(new)
        return Assembly(work, root, program.name, program.files.whole, program.written)

    try:
        assembly = begun(work)
        root = assembly.root
        for item in check.constants if check else ():
            _known_constant(work, root, [part.text for part in item.path], item.span)
        for path in overrides or {}:
            _known_constant(work, root, path.split("."), None)
        assembly.asked, assembly.of_any_type = condition, of_any_type
        own = None if check is None else check.scenario
        assembly.stated = tuple(stated) if own is None else (own,)
        assembly.again = lambda: begun(Elaboration(Checker(), work.recorder, ranges=work.ranges))
        model = assembly.model()
    except Stop:
        pass
    if any(work.needed[key] != _assumed(work, key) for key in work.needed):
        raise _Narrow
    errors = [problem for problem in work.problems if not problem.warning]
    whole = program.files.whole
    if errors or model is None or assembly is None or not whole:
        tree = program.files.files[program.files.root]
        # A spec without its broken declarations has other warnings.
        problems = map(_explained, work.problems if whole else errors)
        raise Rejected([*problems, *_unknown_properties(tree, check)])
    if check is not None and check.without:
        model = without_fairness(model, check.without, check.spans, check.span)
    return assembly, model


def _assumed(work: Elaboration, key: str) -> Range:
    known = work.open_ranges[key]
    return known.low, known.high


OVERRIDE = "--const "
"""Prefix of the source name of a value that is given on the command line."""
SEVERAL_VALUES = re.compile(r"\s*-?\w+\s*(\.\.|,)\s*-?\w+.*")


def _explained(problem: Problem) -> Problem:
    """Returns the problem, with an additional note if several values are given for one constant."""
    source = None if problem.span is None else problem.span.source
    if source is None or not source.name.startswith(OVERRIDE):
        return problem
    if SEVERAL_VALUES.fullmatch(source.text) is None:
        return problem
    note = (None, '"fencepost sweep" runs a check once for each of several values')
    return replace(problem, notes=(*problem.notes, note))


def _known_constant(
    work: Elaboration, root: Instance, path: Sequence[str], span: Span | None
) -> None:
    instance = root
    for part in path[:-1]:
        entity = instance.imports.get(part)
        if isinstance(entity, BrokenEntity):
            return
        if not isinstance(entity, ModuleEntity):
            if instance.file.broken.may_declare(part):
                return
            modules = [n for n, e in instance.imports.items() if isinstance(e, ModuleEntity)]
            _no_constant(work, f'no module "{part}" is imported', part, modules, span)
            return
        instance = entity.instance
    entities = {**instance.imports, **instance.names}
    is_broken = instance.file.broken.may_declare(path[-1])
    if not is_broken and not isinstance(entities.get(path[-1]), ConstEntity | BrokenEntity):
        names = [name for name, e in entities.items() if isinstance(e, ConstEntity)]
        where = f"module {path[-2]}" if len(path) > 1 else "this spec"
        message = f'{where} has no constant "{path[-1]}"'
        elsewhere = sorted(
            f"{prefix}.{path[-1]}"
            for module, prefix in paths(root).items()
            if prefix and isinstance(module.names.get(path[-1]), ConstEntity)
        )
        if elsewhere:
            message += f"; there is {listing(elsewhere, 'and')}"
            work.problems.append(Problem("F009" if span is None else "F821", span, message))
        else:
            _no_constant(work, message, path[-1], names, span)


def _no_constant(
    work: Elaboration, message: str, word: str, names: Sequence[str], span: Span | None
) -> None:
    hint = suggestion_or_all(word, names)
    code = "F821" if span is not None else "F009"
    work.problems.append(Problem(code, span, message + hint))


def select(model: ir.Model, check: Check, invariants: Sequence[str] = ()) -> frozenset[int]:
    """Returns the properties to search for. These are the requested ones (``--invariant``), if
    there are any, and otherwise those of the check.

    ``expect violated A`` without a list of properties selects only A. Raises Rejected for an
    unknown name.
    """
    by_name = {
        prop.name: index
        for index, prop in enumerate(model.properties)
        if prop.kind.selectable and prop.name
    }
    problems: list[Problem] = []

    def index_of(name: str, span: Span | None) -> int | None:
        if name not in by_name:
            problems.append(_no_property(name, list(by_name), span))
        return by_name.get(name)

    selected: set[int | None] = set()
    if check.property is not None:
        selected.add(index_of(check.property, check.spans.get(check.property, check.span)))
    if invariants:
        selected = {index_of(name, None) for name in invariants}
    elif check.properties is not None:
        selected |= {index_of(name, check.spans.get(name, check.span)) for name in check.properties}
    elif check.property is None:
        selected = set(by_name.values())
    if problems:
        raise Rejected(problems)
    return frozenset(index for index in selected if index is not None)


def _no_property(name: str, names: Sequence[str], span: Span | None) -> Problem:
    hint = suggestion_or_all(name, names, "there is") or "; it has none"
    code = "F822" if span is not None else "F008"
    return Problem(code, span, f'the spec has no property "{name}"{hint}')


def _unknown_properties(tree: syntax.File, check: Check | None) -> Iterator[Problem]:
    """Yields the problems that `select` would report, for a spec whose model could not be built."""
    if check is None:
        return
    members = [
        member
        for node in tree.declarations
        for member in (node.members if isinstance(node, syntax.RoleDecl) else (node,))
    ]
    selectable = [
        member.name.text
        for member in members
        if isinstance(member, syntax.RefinementDecl)
        or (
            isinstance(member, syntax.PropertyDecl)
            and PropertyKind.declared_by(member.kind).selectable
        )
        if member.name
    ]
    imported = {
        name.text
        for node in members
        if isinstance(node, syntax.Import)
        for name in node.names or ()
    }
    named = [*(check.properties or ()), *([check.property] if check.property else [])]
    for name in named:
        is_known = name in (*selectable, *imported) or tree.broken.may_declare(name)
        if not is_known and "." not in name:
            yield _no_property(name, selectable, check.spans.get(name))


# ---------------------------------------------------------------- checks


def _checks(
    tree: syntax.File, engines: Mapping[str, bool] | None, problems: list[Problem]
) -> tuple[Check, ...]:
    checks: dict[str, Check] = {}
    for node in tree.declarations:
        match node:
            case syntax.CheckDecl():
                check = _check(node, problems)
                problems += () if engines is None else _unfit_engines(node, engines)
            case syntax.ScenarioDecl():
                check = _scenario(node, problems)
            case _:
                continue
        other = checks.get(check.name)
        if other is not None:
            problems.append(
                Problem(
                    "F202",
                    node.name.span,
                    f'"{check.name}" is declared twice, as a check or scenario',
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
    check = Check(node.name.text, node.slow, span=node.name.span)
    expected: syntax.ExpectVerdict | None = None
    counts: dict[Count, int] = {}
    spans: dict[str, Span] = {}
    once = _Once(f"check {check.name}", problems)
    for item in node.items:
        match item:
            case syntax.CheckConst():
                check = once.constant(check, item)
            case syntax.CheckEngine(engine=engine, depth=depth):
                if engine is not None:
                    once.note("engine", item.span)
                    check = replace(check, engine=engine.text)
                if depth is not None:
                    once.note("depth", item.span)
                    check = replace(check, depth=depth)
            case syntax.CheckProperties(names=names):
                once.note("properties", item.span)
                spans |= {_dotted(name): name.span for name in names}
                check = replace(check, properties=tuple(map(_dotted, names)))
            case syntax.CheckWithout(names=names):
                once.note("what is not fair", item.span)
                spans |= {_dotted(name): name.span for name in names}
                check = replace(check, without=tuple(map(_dotted, names)))
            case syntax.ExpectVerdict(verdict=verdict, property=name, within=within):
                once.note("the expected verdict", item.span)
                expected = item
                check = replace(check, verdict=verdict, within=within, property=None)
                if name is not None:
                    spans[_dotted(name)] = name.span
                    check = replace(check, property=_dotted(name))
            case syntax.ExpectCount(what=what, count=count):
                once.note(f"the expected {what}", item.span)
                counts[what] = count
            case _:
                assert_never(item)
    if expected is not None and expected.within is not None:
        problems += _too_short(expected, expected.within, check.depth)
    return replace(check, counts=tuple(counts.items()), spans=spans)


def _scenario(node: syntax.ScenarioDecl, problems: list[Problem]) -> Check:
    check = Check(node.name.text, node.slow, properties=(), span=node.name.span, scenario=node)
    once = _Once(f"scenario {check.name}", problems)
    for item in node.items:
        if isinstance(item, syntax.CheckConst):
            check = once.constant(check, item)
    return check


class _Once:
    """Reports (F823) items that occur twice in ``owner``."""

    def __init__(self, owner: str, problems: list[Problem]) -> None:
        self.owner = owner
        self.problems = problems
        self.spans: dict[str, Span] = {}

    def note(self, item: str, span: Span) -> bool:
        """Records an item. Returns whether it occurs for the first time."""
        first = self.spans.setdefault(item, span)
        if first is not span:
            message = f"{item} is given twice in {self.owner}"
            self.problems.append(Problem("F823", span, message, ((first, "first given here"),)))
        return first is span

    def constant(self, check: Check, item: syntax.CheckConst) -> Check:
        """Adds a constant to a check."""
        path = ".".join(part.text for part in item.path)
        if self.note(f"const {path}", item.span):
            return replace(check, constants=(*check.constants, item))
        return check


def _too_short(expected: syntax.ExpectVerdict, within: int, depth: int | None) -> list[Problem]:
    if depth is None or depth >= within:
        return []
    text = f"the search ends after {depth} steps, but {within} requires more"
    return [Problem("F806", expected.span, text)]


def _unfit_engines(node: syntax.CheckDecl, engines: Mapping[str, bool]) -> Iterator[Problem]:
    """Yields the problems with the engines that a check names."""
    named = [
        item.engine for item in node.items if isinstance(item, syntax.CheckEngine) and item.engine
    ]
    for engine in named:
        if engine.text not in engines:
            hint = suggestion_or_all(engine.text, [*engines], "there is")
            yield Problem("F805", engine.span, f'there is no engine "{engine.text}"{hint}')
    for item in node.items if named and not engines.get(named[-1].text, True) else ():
        if isinstance(item, syntax.ExpectCount) and item.what != "depth":
            message = (
                f"the engine {named[-1].text} does not visit states one by one, so it counts none"
            )
            yield Problem("F809", item.span, message)
