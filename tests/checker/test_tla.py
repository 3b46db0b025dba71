"""Checks as TLA+: the modules are read and run by `tests.tla`, which knows TLA+ and nothing of us,
and must find what the interpreter finds: as many states, and a problem or none.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.agreement import loaded
from tests.command import run
from tests.examples import EXAMPLES
from tests.strategies import grown
from tests.tla.reading import read
from tests.tla.running import Found, Stopped, search

from fencepost.checker.engine import Progress
from fencepost.checker.result import Verdict
from fencepost.checker.run import CheckResult, Settings, perform, prepare
from fencepost.checker.tla.kinds import NotExported
from fencepost.checker.tla.module import exported
from fencepost.spec.program import Check, Program, load

ROOT = Path(__file__).resolve().parents[2]
MOST = 1500
"""Larger state graphs take the reader of TLA+ too long."""
SHIPPED = (
    ("classics/die_hard", "every_state"),
    ("classics/die_hard", "four_litres"),
    ("classics/peterson", "as_published"),
    ("classics/peterson", "writes_swapped"),
    ("classics/transaction_commit", "three"),
    ("kafka/verification_race", "timeout_unfenced"),
    ("kafka/verification_race", "unverified_s12"),
)
NOT_EXPORTED = re.compile(
    "a comprehension that makes a bag|a sequence of the elements of|a loop over a|the order of "
    "|a search to a limited depth|the set of all bags"
)


def ignore(_: Progress) -> None:
    """Nobody waits."""


def compared(program: Program, check: Check) -> bool:
    """Whether the module of a check was run, and came to what the interpreter comes to."""
    job = prepare(program, check, Settings(engine="interpreter"))
    ours = perform(job, ignore)
    if ours.outcome.statistics.generated > MOST:
        return False
    try:
        made = exported(job, "m")
    except NotExported as reason:
        if not NOT_EXPORTED.match(str(reason)):
            raise
        return False
    try:
        theirs = search(read(made.module), made.configuration)
    except Stopped:
        assert ours.outcome.verdict in (Verdict.ERROR, Verdict.ASSERTION), made.module
        return True
    agree(ours, theirs, made.module)
    return True


def agree(ours: CheckResult, theirs: Found, module: str) -> None:
    statistics = ours.outcome.statistics
    match ours.outcome.verdict:
        case Verdict.OK | Verdict.UNREACHED:
            assert theirs.violated == "", module
            assert theirs.distinct == statistics.distinct, module
            assert theirs.levels == statistics.depth, module
        case Verdict.VIOLATED | Verdict.DEADLOCK:
            assert theirs.violated not in ("", "TypeOK"), module
            assert theirs.distinct == statistics.distinct, module
        case Verdict.ERROR:
            # A value that leaves its range is an error of the language; here the next state has it.
            # A violation may come before it, since the language looks at errors first.
            assert theirs.violated, module
        case verdict:
            raise AssertionError(verdict)


@pytest.mark.parametrize("name", [example.name for example in EXAMPLES])
def test_examples(name: str) -> None:
    (example,) = [one for one in EXAMPLES if one.name == name]
    program = loaded(example.text)
    for check in program.checks:
        compared(program, check)


def test_most_examples_are_compared() -> None:
    """What is not exported is little."""
    refused = 0
    for example in EXAMPLES:
        program = loaded(example.text)
        for check in program.checks:
            try:
                exported(prepare(program, check, Settings(engine="interpreter")), "m")
            except NotExported:
                refused += 1
    assert refused <= len(EXAMPLES) // 10


@pytest.mark.parametrize("seed", range(24))
def test_random_specs(seed: int) -> None:
    program = loaded(grown(seed))
    for check in program.checks:
        compared(program, check)


@pytest.mark.parametrize(("spec", "name"), SHIPPED)
def test_shipped_models(spec: str, name: str) -> None:
    program = load(ROOT / "models" / f"{spec}.fence")
    (check,) = [one for one in program.checks if one.name == name]
    assert compared(program, check)


ODD = """\
enum Colour: Red, Green, Blue
union Message: Ping(key: 0..3), Pong(key: Colour), Stop
type Who = 0..1
var self: 0..3 = 0
var key: int8 = 127
var item0: Colour? = none
var seen: set[Colour] = {}
var order: seq[Who, 3] = []
var left: map[Colour, 0..2] = [1 for c in Colour]
channel line[w: Who]: Message ordered lossy at most 1 capacity 2 or block
channel said: Message persistent
procedure note(c: Colour):
    if c in seen: return
    seen.add(c)
role Node[w: Who]:
    var at: 0..2 = 0
    action speak:
        require at < 2
        at += 1
        send if at == 1 then Ping(key: 3) else Pong(key: Green) to line[w]
    action hear on Ping(k) from line[1 - w]:
        key += 1
        self = (-7 // 2 + k) % 3
        order.append(w)
        for c in {x for x in Colour if x != Red}:
            left[c] = if left[c] > 0 then left[c] - 1 else 0
        note(Blue)
        note(Red)
    action hear_pong on Pong as p from line[1 - w]:
        pick c in seen where left[c] == 0
        item0 = c
        send p to said
        if sum([left[d] for d in Colour]) < 2 and len(order) > 0:
            order.pop_first()
terminal: true
constraint Short: len(order) < 3
invariant Rest: quiescent implies Node[0].at == 2 or Node[1].at == 2 or key < 0
invariant Least: len(order) > 0 implies min(order) <= last(order) and key in {127, -128, -127}
step invariant Forward: Node[0].at <= next(Node[0].at)
check odd:
    expect ok
"""


def test_much_of_the_language_in_one_spec(tmp_path: Path) -> None:
    """Names of ours that the modules use, wrapping, options, loops, families, choices, returns."""
    program = loaded(ODD)
    result = perform(prepare(program, program.checks[0], Settings(engine="interpreter")), ignore)
    assert result.as_expected, result.explanation
    assert compared(program, program.checks[0])


def test_the_reader_can_fail() -> None:
    program = loaded(ODD)
    made = exported(prepare(program, program.checks[0], Settings(engine="interpreter")), "m")
    whole = search(read(made.module), made.configuration).distinct
    assert search(read(made.module.replace("< 2", "< 1", 1)), made.configuration).distinct != whole
    with pytest.raises(AssertionError, match="defined twice"):
        read(made.module.replace("Init ==", "TypeOK ==", 1))


def test_the_page_shows_what_is_written(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    spec = re.search(r"^```fence check file=turns.fence\n(.*?)^```$", page, re.M | re.S)
    shown = re.search(r"^```tla\n(.*?)^```$", page, re.M | re.S)
    assert spec is not None
    assert shown is not None
    (tmp_path / "turns.fence").write_text(spec[1], encoding="utf-8")
    run("export", "turns.fence", "--to", "tla", folder=tmp_path)
    assert (tmp_path / "turns_fair.tla").read_text(encoding="utf-8").startswith(shown[1])


# ---------------------------------------------------------------- the command


def test_files(tmp_path: Path) -> None:
    (tmp_path / "odd.fence").write_text(ODD, encoding="utf-8")
    ran = run("export", "odd.fence", "--to", "tla", "--output", "made", folder=tmp_path)
    assert ran.code == 0
    assert ran.stdout == "written made/odd_odd.tla\nwritten made/odd_odd.cfg\n"
    text = (tmp_path / "made" / "odd_odd.tla").read_text(encoding="utf-8")
    module = read(text)
    assert module.name == "odd_odd"
    # One variable for each that is declared, and one for the budget of losses.
    assert module.variables == (
        "self_2", "key_2", "item0_2", "seen", "order", "left", "line", "line_lost", "said",
        "Node_at",
    )  # fmt: skip
    assert "\\* self_2 is self\n" in text
    configuration = (tmp_path / "made" / "odd_odd.cfg").read_text(encoding="utf-8")
    assert configuration.splitlines() == [
        "SPECIFICATION Spec",
        "INVARIANT TypeOK",
        "INVARIANT Rest",
        "INVARIANT Least",
        "PROPERTY Forward",
        "CONSTRAINT Short",
        "INVARIANT NoDeadlock",
        "CHECK_DEADLOCK FALSE",
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["odd.fence"], 151, "--to"),
        (["odd.fence", "--to", "promela"], 151, "--to"),
        (["odd.fence", "--to", "tla", "--check", "od"], 151, 'did you mean "odd"?'),
        (["bag.fence", "--to", "tla"], 151, "error[F045]: c cannot be written as TLA+: a loop"),
        (["odd.fence", "--to", "tla", "--output", "odd.fence"], 151, "F027"),
    ],
)
def test_refusals(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    (tmp_path / "odd.fence").write_text(ODD, encoding="utf-8")
    (tmp_path / "bag.fence").write_text(
        "var b: bag[0..1, 2] = [0]\nvar x: 0..9 = 0\naction a:\n    for y in b: x = y\n"
        "check c:\n    expect ok\n",
        encoding="utf-8",
    )
    ran = run("export", *words, folder=tmp_path)
    assert ran.code == code
    assert said in ran.stderr
    assert not list(tmp_path.glob("*.tla"))
