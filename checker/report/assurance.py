"""Remarks that qualify a result, such as how much of the model was searched and what never
happened.

The text report and the notes of the JSON report both use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from fencepost.checker.estimate import estimated
from fencepost.checker.outcome import POSTCONDITION, Fact, Outcome, Verdict
from fencepost.checker.report.growth import grows_with
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, Exit, counts_compared, open_beyond_constraints
from fencepost.checker.run.range_search import found_ranges
from fencepost.checker.run.words import constraints, ended, plural, resumed, unproved
from fencepost.checker.temporal.verdict import expanded_levels
from fencepost.checker.trace.excerpts import place, quoted
from fencepost.spec.core import types
from fencepost.spec.core.ir import (
    BOOL,
    Assign,
    CoverageMark,
    Guard,
    Model,
    Node,
    SymbolicConstant,
)
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import variables_read, walk
from fencepost.spec.records import dataclass, replace
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.text.problem import listing
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on a result, under one of a small set of topics.

    A ``routine`` remark describes something that every run reports; other remarks deserve
    attention. An ``allowed`` remark does not fail a check under --strict, because the spec asks for
    what the remark reports. If ``listed`` is set, the text is a list and wraps after commas. A
    nonempty ``brief`` replaces a long ``text`` on a page.
    """

    topic: str
    text: str
    routine: bool = False
    listed: bool = False
    brief: str = ""
    allowed: bool = False


def remarks(result: CheckResult) -> tuple[Remark, ...]:
    """Returns everything that a reader should know before trusting the verdict, in reading
    order.
    """
    if result.job.scenario is not None:
        return (*_played(result), *_bounds(result.job), *_noted(result))
    return (
        *_resumed(result.outcome),
        *_searched(result),
        *(Remark("grows with", line, routine=True) for line in grows_with(result)),
        *_bounds(result.job),
        *_ranges(result),
        *_symbolic(result.job.model),
        *_cut(result),
        *_undecided(result),
        *_not_checked(result),
        *_never(result),
        *_blocked(result),
        *_no_room(result),
        *_stuck(result),
        *_noted(result),
    )


NO_CHECKS = "the spec declares no checks"


def strictly(
    result: CheckResult, is_known: Callable[[CheckResult, Remark], bool] | None = None
) -> CheckResult:
    """Applies --strict: makes the result unexpected if a remark deserves attention and is not
    known, or if the spec has no checks.
    """
    if not (result.job.settings.strict and result.as_expected):
        return result
    reasons = [NO_CHECKS] if result.job.check.span is None else []
    reasons += [
        f"{remark.topic}: {remark.text}"
        for remark in remarks(result)
        if not (remark.routine or remark.allowed)
        and not (is_known is not None and is_known(result, remark))
    ]
    if not reasons:
        return result
    message = f"--strict allows no remarks ({'; '.join(reasons)})"
    return replace(result, explanation=message, exit=Exit.NOT_FOUND, remarked=True)


def of_runs(result: CheckResult) -> tuple[Remark, ...]:
    """Returns the remarks that apply to random runs, except those on the runs that were made."""
    return (
        *_bounds(result.job),
        *_not_checked(result),
        *_never(result),
        *_blocked(result),
        *_no_room(result),
        *_noted(result),
    )


def _noted(result: CheckResult) -> Iterator[Remark]:
    return (Remark("note", str(n), allowed=isinstance(n, Fact)) for n in result.outcome.notes)


def _ranges(result: CheckResult) -> Iterator[Remark]:
    ranges = found_ranges(result.job.model)
    if ranges:
        text = ", ".join(f"{item.name}: {item.low}..{item.high}" for item in ranges)
        restarts = plural(result.outcome.restarts, "restart")
        yield Remark("int ranges", f"{text} (found with {restarts})", routine=True, listed=True)


def _resumed(outcome: Outcome) -> Iterator[Remark]:
    if outcome.resumed is not None:
        yield Remark("resumed", resumed(outcome).removeprefix("resumed "), outcome.resumed.signed)


def _played(result: CheckResult) -> Iterator[Remark]:
    """Describes which runs were searched for one that fits the scenario."""
    outcome = result.outcome
    if outcome.verdict is Verdict.ASSUMPTION:
        yield from _searched(result)
    elif outcome.limit is not None:
        levels = plural(outcome.statistics.depth, "level")
        message = f"{levels}, then cut by {outcome.limit}: a longer run may fit"
        yield Remark("searched", message, allowed=True)
    elif outcome.verdict is Verdict.OK:
        yield Remark("searched", "all runs up to the first that fits", routine=True)
    else:
        inside = " within the constraints" if outcome.coverage.cut else ""
        yield Remark("searched", f"all runs{inside}, without failing steps", routine=True)


def valued(choices: Sequence[Choice]) -> str:
    """Formats choices as ``i = 3, E0 = 32766``."""
    return ", ".join(f"{c.label} = {show(c.value, c.type)}" for c in choices)


def symbolic(symbol: SymbolicConstant) -> str:
    """Formats a symbolic constant as ``E0: int16 where 0 <= E0``."""
    kind = types.describe(symbol.type)
    spans = [part.span for part in walk(symbol.condition) if isinstance(part, Node) and part.span]
    where = f" where {' '.join(spans[0].text.split())}" if spans else ""
    return f"{symbol.path}: {kind}{where}"


def _symbolic(model: Model) -> Iterator[Remark]:
    for symbol in model.symbols:
        yield Remark("for every", symbolic(symbol), routine=True)


def _searched(result: CheckResult) -> Iterator[Remark]:
    outcome = result.outcome
    cut = outcome.search_cut
    levels = plural(outcome.statistics.depth, "level")
    exactly = "" if outcome.exact else " (not exact: states may have been merged)"
    if outcome.verdict is Verdict.ASSUMPTION:
        yield Remark("searched", "nothing: the constants break an assumption", routine=True)
    elif result.job.model.is_opaque and not result.job.model.actions:
        yield Remark("searched", "nothing: the module has no behaviour", routine=True)
    elif outcome.proofs:
        yield from _proofs(result)
    elif not outcome.statistics.counted:
        complete = outcome.limit is None or outcome.cut_by_constraint
        yield Remark("searched", _paths(outcome), routine=complete, allowed=True)
    elif cut is not None and not outcome.findings:
        message = f"{levels}, then {ended(cut)}: later levels are unknown{exactly}"
        yield Remark("searched", message, allowed=True)
        whole = expanded_levels(outcome)
        estimate = estimated(outcome.statistics.levels[: None if whole is None else whole + 1])
        if estimate is not None:
            message = f"perhaps {estimate} states, if levels keep shrinking"
            yield Remark("in all", message, allowed=True)
    elif outcome.findings and not searched_whole(result):
        message = f"{levels}, up to the first problem; later levels were not visited{exactly}"
        if outcome.regions:
            message = f"every region, up to its first problem{exactly}"
        yield Remark("searched", message, routine=True)
    else:
        inside = " within the constraints" if outcome.coverage.cut else ""
        message = f"every reachable state{inside}{_for_all(result)}{exactly or ' (exact)'}"
        yield Remark("searched", message, routine=outcome.exact)


def _proofs(result: CheckResult) -> Iterator[Remark]:
    """Lists what was proved, what was not, and the lemmas that were used."""
    proofs = result.outcome.proofs
    proved = [proof.subject for proof in proofs if proof.reason is None]
    if proved:
        every = " and every value of the symbolic constants" if result.job.model.symbols else ""
        message = f"for every depth{every}: {', '.join(proved)}"
        yield Remark("proved", message, routine=True, listed=True)
    for proof in proofs:
        if proof.reason is not None:
            yield Remark("not proved", f"{proof.subject} ({unproved(proof)})")
    if result.outcome.lemmas:
        yield Remark("lemmas found", "; ".join(result.outcome.lemmas), routine=True)


def _paths(outcome: Outcome) -> str:
    """Describes the paths that a search without states covered."""
    depth = outcome.statistics.depth
    steps = plural(max(depth - 1, 0), "step")
    if outcome.limit is not None and not depth:
        return f"nothing ({outcome.limit})"
    if outcome.limit is not None and not outcome.cut_by_constraint:
        rest = "longer ones are unknown"
        if outcome.undecided is not None:
            rest = "not every lasso among the longest; longer ones are unknown"
        return f"every path of at most {steps}; {rest} ({outcome.limit})"
    if outcome.findings:
        return "every shorter path: none leads to a problem"
    inside = " within the constraints" if outcome.coverage.cut else ""
    return f"every path{inside}; none is longer than {steps}"


def _for_all(result: CheckResult) -> str:
    """Describes the values of the symbolic constant that a search by regions covered."""
    if not result.outcome.regions:
        return ""
    symbol = result.job.model.symbols[0]
    where = "" if symbol.condition is None else " that meets its condition"
    return f" for every value of {symbol.path}{where}; the regions provably cover all of them"


def searched_whole(result: CheckResult) -> bool:
    """Returns whether the search was complete. Only then is it significant that something never
    happened.
    """
    outcome = result.outcome
    if outcome.search_cut is not None:
        return False
    if outcome.verdict in (Verdict.OK, Verdict.UNREACHED, Verdict.INCONCLUSIVE):
        return True
    site = outcome.findings[0].site if outcome.findings else None
    if site is not None and site.code == POSTCONDITION:
        return True
    number = outcome.findings[0].property if outcome.findings else None
    if number is not None and result.job.model.properties[number].kind.of_behaviours:
        return True
    passable = (Verdict.VIOLATED, Verdict.DEADLOCK)
    going = result.job.settings.keep_going
    return going and all(finding.verdict in passable for finding in outcome.findings)


MAX_SWITCHES = 8
"""If more bool constants than this were set neither by the check nor by the user, a page shows only
their number.
"""


def _bounds(job: Job) -> Iterator[Remark]:
    assigned = {".".join(part.text for part in constant.path) for constant in job.check.constants}
    assigned |= set(job.settings.overrides)
    constants = job.model.constants
    left = [c for c in constants if c.type == BOOL and c.path not in assigned]
    rest = [c for c in constants if c not in left] if len(left) > MAX_SWITCHES else constants
    bounds = [f"{c.path} = {show(c.value, c.type)}" for c in constants]
    short = [f"{c.path} = {show(c.value, c.type)}" for c in rest]
    if len(left) > MAX_SWITCHES:
        short.append(f"{len(left)} switches as declared")
    of_state = list(_bounds_of_state(job.model))
    if bounds + of_state:
        whole, brief = ", ".join(bounds + of_state), ", ".join(short + of_state)
        yield Remark("bounds", whole, routine=True, listed=True, brief=brief)


def _bounds_of_state(model: Model) -> Iterator[str]:
    for variable in model.variables:
        if variable.kind == "channel":
            capacity = _capacity(variable.type)
            if capacity is not None:
                each = "each " if isinstance(variable.type, types.Map) else ""
                yield f"{each}{variable.name} holds at most {capacity}"
        elif variable.kind == "budget" and isinstance(variable.type, types.Int):
            yield f"{variable.name} at most {variable.type.high}"


def _capacity(kind: types.Type) -> int | None:
    match kind:
        case types.Bag(capacity=most) | types.Seq(capacity=most):
            return most
        case types.Set(capacity=most):
            return most
        case types.Map(value=inner):
            return _capacity(inner)
        case _:
            return None


def _cut(result: CheckResult) -> Iterator[Remark]:
    cut = result.outcome.coverage.cut
    if cut:
        states = plural(cut, "state") if result.outcome.statistics.counted else "states"
        bounds = constraints(result.job.model)
        message = f"{states} outside {bounds}: checked, not expanded"
        yield Remark("cut", message, allowed=True)


def _undecided(result: CheckResult) -> Iterator[Remark]:
    """Lists the properties of behaviours that are undecided because of a limit."""
    outcome, properties = result.outcome, result.job.model.properties
    if outcome.undecided is not None:
        first, *rest = (properties[number].title for number in outcome.undecided.properties)
        yield Remark("not decided", "; ".join([f"{first} ({ended(outcome.cut)})", *rest]))
    if outcome.cut_by_constraint:
        message = f"{open_beyond_constraints(result.job)}; `property P within constraint: F` "
        message += "leaves these out"
        yield Remark("not decided", message, allowed=True)


FULL = ("F901", "F902", "F907")
"""The codes of evaluation errors that occur when a value does not fit."""


def _no_room(result: CheckResult) -> Iterator[Remark]:
    """Explains why a value can fail to fit although a constraint bounds its variable."""
    model = result.job.model
    for finding in result.outcome.findings:
        if finding.site is None or finding.site.code not in FULL:
            continue
        stored = _assigned(model, finding.site.span)
        for prop in model.properties:
            read = variables_read(prop.body)
            if prop.kind.bounds_search and stored & read:
                names = [model.variables[number].name for number in sorted(stored & read)]
                message = (
                    f"a state outside {prop.title} is still reached; only its successors are "
                    f"omitted: {listing(names, 'and')} needs room for a value or element more"
                    " than the constraint allows"
                )
                yield Remark(str(prop.kind), message)
                return


def _assigned(model: Model, span: Span) -> frozenset[int]:
    """Returns the variables that the statement at ``span`` assigns."""
    statements = (
        part for action in model.actions for part in walk(action.body) if isinstance(part, Assign)
    )
    return frozenset(
        statement.variable
        for statement in statements
        if statement.span is not None
        and statement.span.source is span.source
        and statement.span.start <= span.start
        and span.end <= statement.span.end
    )


def _not_checked(result: CheckResult) -> Iterator[Remark]:
    job = result.job
    left: dict[str, list[str]] = {}
    proofs = result.outcome.proofs
    proved = {proof.property for proof in proofs}
    for index, prop in enumerate(job.model.properties):
        if prop.kind.selectable and index not in (proved if proofs else job.properties):
            left.setdefault(str(prop.kind), []).append(prop.name or f"at line {prop.span.line}")
    parts = [f"{kind} {', '.join(names)}" for kind, names in left.items()]
    if not job.deadlock:
        parts.append("deadlock")
    if parts:
        yield Remark("not checked", "; ".join(parts), routine=True)
    reason = counts_compared(job, result.outcome)
    if reason is not None:
        message = f"expected counts were not compared: {reason}"
        yield Remark("counts", message, allowed=True)


def _never(result: CheckResult) -> Iterator[Remark]:
    """Lists what never occurred, if the search was complete or ended at a limit. Otherwise the list
    would not be significant.
    """
    model, coverage, outcome = result.job.model, result.outcome.coverage, result.outcome
    cut = outcome.search_cut is not None
    so_far = cut and outcome.verdict in (Verdict.INCONCLUSIVE, Verdict.OK)
    if not so_far and not searched_whole(result):
        return
    never = "so far, never" if so_far else "never"
    counted = outcome.statistics.counted
    idle = [index for index, count in enumerate(coverage.taken) if counted and not count]
    if idle:
        names = ", ".join(model.actions[i].name for i in idle)
        yield Remark(f"{never} taken", names, listed=True, allowed=so_far)
    if outcome.verdict is not Verdict.UNREACHED:
        missed = [
            model.properties[number].title
            for number in model.searched(result.job.properties).reachables
            if number not in coverage.reached
        ]
        if missed:
            yield Remark(f"{never} reached", ", ".join(missed), listed=True, allowed=so_far)
    grouped: dict[tuple[str, str], dict[str, None]] = {}
    for mark in unset_marks(model, coverage.marks) if counted else ():
        text = described(mark, str(result.job.program.path))
        if mark.kind == "antecedent":
            if mark.owner in result.job.properties:
                name = model.properties[mark.owner].title
                grouped.setdefault(("vacuous", name), {})[f"{text} was never true"] = None
        elif mark.kind == "guard" or mark.owner not in idle:
            topic = f"{never} true" if mark.kind == "guard" else f"{never} entered"
            name = model.actions[mark.owner].name
            grouped.setdefault((topic, name), {})[text] = None
    for (topic, name), texts in grouped.items():
        yield Remark(topic, f"{name}: {', '.join(texts)}", allowed=so_far)


def unset_marks(model: Model, marked: Set[int]) -> Iterator[CoverageMark]:
    """Yields the coverage marks that were not set, once per location in an action or property.

    If an action calls a procedure twice, each mark of the procedure occurs twice at the same
    location. Such a mark counts as set if either occurrence is set.
    """
    seen = {(mark.kind, mark.owner, mark.span) for mark in map(model.marks.__getitem__, marked)}
    for mark in model.marks:
        location = (mark.kind, mark.owner, mark.span)
        if location not in seen:
            seen.add(location)
            yield mark


def described(mark: CoverageMark, path: str) -> str:
    """Returns the text of a mark and its location. ``path`` is the path of the spec."""
    text = " ".join(mark.text.split()) or quoted(mark.span)
    here = mark.span.source.name == path
    return f"`{text}` ({f'line {mark.span.line}' if here else place(mark.span)})"


def _blocked(result: CheckResult) -> Iterator[Remark]:
    model = result.job.model
    for number, count in sorted(result.outcome.coverage.blocked.items()):
        if count:
            guard: Guard = model.guards[number]
            owner = model.actions[guard.action].name
            times = plural(count, "time")
            message = f"{owner}: disabled {times} by a full channel ({place(guard.span)})"
            yield Remark("blocked", message, allowed=True)


def _stuck(result: CheckResult) -> Iterator[Remark]:
    count = result.outcome.coverage.stuck.count
    if count:
        verb = "state can" if count == 1 else "states can"
        message = (
            f"{count:,} {verb} only lose, duplicate or repeat, and `terminal` does not hold there"
        )
        yield Remark("stuck", message)
