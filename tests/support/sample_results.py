"""A small model built by hand and outcomes for it, used to test reports."""

from __future__ import annotations

from pathlib import Path

from fencepost.checker.outcome import (
    Coverage,
    Finding,
    Limit,
    Outcome,
    Statistics,
    Step,
    Trace,
    Verdict,
)
from fencepost.checker.request import Limits
from fencepost.checker.run.job import Job
from fencepost.checker.run.settings import Settings
from fencepost.spec.core import ir, types
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.claims.program import Check, Count, Program
from fencepost.spec.elaborate.claims.program import Verdict as Expected
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.text.source import Source, Span

SOURCE = Source(
    "sample.fence",
    """\
enum Phase: Ready, Busy
union Message: Ping, Answer(token: 1..3, last: bool)
channel net: Message capacity 4
role Client:
    var phase: Phase = Ready
    action begin:
        require phase == Ready
        phase = Busy
        send Ping to net
role Server[i: 1..2]:
    var log: seq[Message, 3] = []
    action serve(retry in bool) on Ping from net:
        log.append(Ping)
        send Answer(token: i, last: retry) to net
invariant Short: forall i in 1..2: len(Server[i].log) < 1
reachable Both: Client.phase == Busy
step invariant Keeps: next(Client.phase) >= Client.phase
check c:
    expect violated Short
""",
)


def span(text: str) -> Span:
    """Returns the span of the first occurrence of ``text`` in the sample."""
    start = SOURCE.text.index(text)
    return Span(SOURCE, start, start + len(text))


PHASE = types.Enum("Phase", ("Ready", "Busy"))
ANSWER = (types.Field("token", types.Int(1, 3)), types.Field("last", types.Bool()))
MESSAGE = types.Union("Message", (types.Variant("Ping"), types.Variant("Answer", ANSWER)))
NET = types.Bag(MESSAGE, 4)
LOG = types.Map(types.Int(1, 2), types.Seq(MESSAGE, 3))
TRUE = ir.Literal(types.Bool(), True)
SKIP = ir.Sequence(())
SERVE = ir.Pick(0, ir.Universe(types.Set(types.Int(1, 2))), None, 1, "", SKIP)
PING, ANSWER_1 = (0,), (1, 1, True)

MODEL = ir.Model(
    name="sample",
    variables=(
        ir.StateVariable("net", NET, "channel", "", False, span("net")),
        ir.StateVariable("Client.phase", PHASE, "variable", "Client", False, span("phase")),
        ir.StateVariable("Server.log", LOG, "variable", "Server", False, span("log")),
    ),
    initial=SKIP,
    actions=(
        ir.Action("Client.begin", "Client", "ordinary", SKIP, span("begin")),
        ir.Action("Server.serve", "Server", "ordinary", SERVE, span("serve"), 0, head=3),
    ),
    properties=(
        ir.Property("Short", PropertyKind.INVARIANT, ir.Variable(LOG, 2), span("invariant Short")),
        ir.Property("Both", PropertyKind.REACHABLE, TRUE, span("reachable Both")),
        ir.Property("Keeps", PropertyKind.STEP_INVARIANT, TRUE, span("step invariant Keeps")),
        ir.Property("", PropertyKind.CONSTRAINT, TRUE, span("check c")),
    ),
    assumptions=(),
    constants=(ir.Constant("N", types.Int(0, 9), 3, span("1..3")),),
    sites=(),
    guards=(
        ir.Guard("require", span("phase == Ready"), 0),
        ir.Guard("message", span("on Ping from net"), 1),
        ir.Guard("capacity", span("send Ping to net"), 0),
    ),
    marks=(
        ir.CoverageMark("branch", span("log.append(Ping)"), 1, "if retry"),
        ir.CoverageMark("antecedent", span("len(Server[i].log) < 1"), 0, "len(log) < 1"),
    ),
    slots=1,
    labels=0,
)
PROGRAM = Program(
    Path("sample.fence"), "sample", None, (), (), Files(Path("sample.fence"), {}, {}, [])
)
TRACE = Trace(
    (
        Step(None, (), ((), 0, ((), ()))),
        Step(0, (), ((PING,), 1, ((), ()))),
        Step(
            1,
            (
                Choice("", types.Int(1, 2), 2),
                Choice("retry", types.Bool(), True),
                Choice("on", MESSAGE, PING),
            ),
            ((PING, ANSWER_1), 1, ((), (PING,))),
        ),
    )
)
VIOLATED = Finding(
    Verdict.VIOLATED,
    0,
    3,
    TRACE,
    instance=(Choice("i", types.Int(1, 2), 2),),
    failing=span("len(Server[i].log) < 1"),
)
ALL = Coverage(taken=(3, 2), marks=frozenset({0, 1}), reached=frozenset({1}))


def check(
    verdict: Expected = "ok",
    prop: str | None = None,
    *,
    states: int | None = None,
    generated: int | None = None,
    depth: int | None = None,
) -> Check:
    """Creates a check of the sample with these expectations."""
    counts_: tuple[tuple[Count, int | None], ...] = (
        ("states", states),
        ("generated", generated),
        ("depth", depth),
    )
    counts: tuple[tuple[Count, int], ...] = tuple((w, n) for w, n in counts_ if n is not None)
    return Check("c", verdict=verdict, property=prop, counts=counts, span=span("check c"))


def job(wanted: Check, settings: Settings | None = None) -> Job:
    """Creates a job that runs the sample."""
    return Job(
        program=PROGRAM,
        check=wanted,
        model=MODEL,
        engine="interpreter",
        properties=frozenset({0, 1, 2}),
        deadlock=wanted.verdict != "violated",
        limits=Limits(),
        settings=settings or Settings(),
    )


def outcome(
    verdict: Verdict = Verdict.OK,
    *findings: Finding,
    distinct: int = 180,
    coverage: Coverage = ALL,
    limit: Limit | None = None,
) -> Outcome:
    """Creates an outcome with 346 successors and 15 levels."""
    statistics = Statistics(distinct, 346, 15, (), (), 0.5, 1000)
    return Outcome(verdict, findings, statistics, coverage, limit)
