"""TLC's output is read, results are compared, and the tables are written. These tests do not need
TLC.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from bench.places import END, fill
from bench.tlc import LISTING, PAGE
from bench.tlc_agree import (
    BEYOND,
    TLC_WRONG,
    Comparison,
    Counts,
    Run,
    Side,
    compare,
    compare_formulas,
    difference,
)
from bench.tlc_page import listing, summary
from bench.tlc_run import Answer, Broken, TimedOut, Tlc, answer
from tests.support.agreement import loaded

from fencepost.checker import engines
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Request
from fencepost.checker.run.check import prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import Export, exported

TOLD = {
    "starting": "2185:0\nStarting... (2026-01-01 00:00:00)\n",
    "computing": "2189:0\nComputing initial states...\n",
    "behaviour": "2121:1\nThe behavior up to this point is:\n",
    "counts": "2199:0\n1,195 states generated, 195 distinct states found, "
    "3 states left on queue.\n",
    "done": "2199:0\n1,195 states generated, 195 distinct states found, 0 states left on queue.\n",
    "depth": "2194:0\nThe depth of the complete state graph search is 2.\n",
    "success": "2193:0\nModel checking completed. No error has been found.\n",
    "one": "2217:4\n1: <Initial predicate>\nx = 0\n",
    "two": "2217:4\n2: <up line 14, col 5 to line 16, col 19 of module m>\nx = 1\n",
    "three": "2217:4\n3: <up line 14, col 5 to line 16, col 19 of module m>\nx = 1\n",
    "invariant": "2110:1\nInvariant Low is violated.\n",
    "initial": "2107:1\nInvariant Low is violated by the initial state:\nx = 0\n",
    "constant": "2230:1\nThe invariant of Low is equal to FALSE\n",
    "lazy": "2102:1\nAttempted to apply tuple\n<<>>\nto integer 1 which is out of domain.\n"
    "TLC was unable to fingerprint.\n",
    "step": "2112:1\nAction property Slow is violated.\n",
    "refined": "2112:1\nAction property line 25, col 17 to line 25, col 29 of module m_R is "
    "violated.\n",
    "start": "2108:1\nProperty line 9, col 9 to line 9, col 13 of module m_R is violated by the "
    "initial state:\nx = 0\n",
    "part": "2107:1\nInvariant line 57, col 6 to line 57, col 20 of module m is violated by the "
    "initial state:\nx = 0\n",
    "deadlock": "2114:1\nDeadlock reached.\n",
    "assumption": "2104:1\nAssumption line 6, col 8 to line 6, col 12 of module m is false.\n",
    "tail": "2184:1\nAttempted to apply Tail to the empty sequence.\n",
    "assert": "2132:1\nThe first argument of Assert evaluated to FALSE; the second argument was:\n"
    '<<"evaluation error: too much", 10, 0..9>>\n',
    "sorts": "1000:1\nTLC threw an unexpected exception.\nThe exception was a "
    'java.lang.RuntimeException\n: Attempted to check equality of string "a" with non-string:\n1\n',
    "unread": "3002:1\nParsing or semantic analysis failed.\n",
    "bug": "2128:2\nThis is a TLC bug.\n",
}


def output_of(*names: str) -> str:
    """Returns the output of a run in TLC's mode for tools."""
    blocks = [TOLD[name] for name in names]
    return "".join(
        f"@!@!@STARTMSG {text.partition(chr(10))[0]} @!@!@\n{text.partition(chr(10))[2]}"
        f"@!@!@ENDMSG {text.partition(':')[0]} @!@!@\n"
        for text in blocks
    )


NESTED = (
    "@!@!@STARTMSG 2111:1 @!@!@\nEvaluating invariant Low failed.\n@!@!@STARTMSG 2178:0 @!@!@\n"
    "Overflow when computing 2147483647+1\n@!@!@ENDMSG 2178 @!@!@\n@!@!@ENDMSG 2111 @!@!@\n"
)
UNFINISHED = "@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed."


@pytest.mark.parametrize(
    ("output", "code", "expected"),
    [
        (output_of("success", "done", "depth"), 0, Answer("ok", 195, 1195, 2)),
        (
            output_of("invariant", "behaviour", "one", "two", "counts", "depth"),
            12,
            Answer("invariant", 195, 1195, 2, 2, "Low", "Invariant Low is violated."),
        ),
        (
            output_of("initial"),
            12,
            Answer(
                "invariant", 0, 0, None, 1, "Low",
                "Invariant Low is violated by the initial state:\nx = 0",
            ),
        ),
        (
            output_of("constant"),
            151,
            Answer(
                "invariant", 0, 0, None, 1, "Low", "The invariant of Low is equal to FALSE",
                constant=True,
            ),
        ),
        (
            output_of("computing", "lazy", "counts"),
            75,
            Answer(
                "error", 195, 1195, None, None, "",
                "Attempted to apply tuple\n<<>>\nto integer 1 which is out of domain.\n"
                "TLC was unable to fingerprint.",
            ),
        ),
        (
            output_of("step", "behaviour", "one", "two", "counts"),
            13,
            Answer("step", 195, 1195, None, 2, "Slow", "Action property Slow is violated."),
        ),
        (
            output_of("refined", "behaviour", "one", "two", "counts"),
            13,
            Answer("step", 195, 1195, None, 2, "m_R", TOLD["refined"].partition("\n")[2].strip()),
        ),
        (
            output_of("part"),
            12,
            Answer("invariant", 0, 0, None, 1, "m", TOLD["part"].partition("\n")[2].strip()),
        ),
        (
            output_of("start"),
            13,
            Answer("start", 0, 0, None, 1, "m_R", TOLD["start"].partition("\n")[2].strip()),
        ),
        (
            output_of("deadlock", "behaviour", "one", "counts"),
            11,
            Answer("deadlock", 195, 1195, None, 1, "", "Deadlock reached."),
        ),
        (
            output_of("computing", "tail", "behaviour", "one", "two", "counts"),
            255,
            Answer(
                "error", 195, 1195, None, 2, "", "Attempted to apply Tail to the empty sequence."
            ),
        ),
        (
            output_of("computing") + NESTED + output_of("behaviour", "one", "counts"),
            76,
            Answer(
                "error", 195, 1195, None, 1, "",
                "Evaluating invariant Low failed.\nOverflow when computing 2147483647+1",
            ),
        ),
    ],
    ids=["ok", "invariant", "initial", "constant", "lazy", "step", "refined", "part", "start",
         "deadlock", "error", "nested"],
)  # fmt: skip
def test_results_of_tlc(output: str, code: int, expected: Answer) -> None:
    assert answer(output, code) == expected


def test_the_message_of_an_assert() -> None:
    parsed = answer(output_of("computing", "assert", "behaviour", "one", "counts"), 14)
    assert (parsed.ended, parsed.asserted) == ("error", "evaluation error: too much")


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        ("", 0, "neither an error nor a success"),
        (output_of("success", "done", "depth"), 1, "exit code 1"),
        (output_of("success", "counts", "depth"), 0, "neither an error nor a success"),
        (output_of("success", "done"), 0, "neither an error nor a success"),
        (output_of("done", "depth"), 0, "neither an error nor a success"),
        (output_of("invariant", "behaviour", "one", "three", "counts"), 12, "a trace"),
        (output_of("invariant", "behaviour", "one", "counts"), 13, "after message 2110"),
        (output_of("computing", "sorts", "behaviour", "one", "counts"), 75, "check equality"),
        (output_of("unread"), 150, "after message 3002"),
        (output_of("bug", "success", "done", "depth"), 0, "an error of its own"),
        (output_of("tail", "counts"), 255, "after message 2184"),
        (UNFINISHED, 0, "a message without its end"),
        (output_of("success") + "@!@!@ENDMSG 2193 @!@!@\n", 0, "not nested"),
    ],
)
def test_unreadable_output(output: str, code: int, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        answer(output, code)


# ---------------------------------------------------------------- comparison

COUNTER = """\
var x: 0..9 = 0
action up:
    require x < 3
    x += 1
{more}
check c:
    expect ok
"""
LOW = "invariant Low: x < 2\ninvariant Lower: x < 2\nstep invariant Slow: next(x) < 2\n"
ENDS = "terminal: x == 9\n"
HALTS = (
    "action halt:\n    require x == 0\n    x = 5\n"
    "action on:\n    require x == 1\n    x = 9\ninvariant Even: x != 2\n"
)
FALSE_STEP = "action jump:\n    require x == 1\n    assert false\n"


def ran(more: str) -> tuple[Job, Outcome]:
    program = loaded(COUNTER.format(more=more))
    job = prepare(program, program.checks[0], Settings(engine="interpreter"))
    outcome = engines.load("interpreter").run(
        Request(job.model, properties=job.properties, deadlock=job.deadlock, keep_going=True)
    )
    return job, outcome


def violated(name: str, length: int) -> Answer:
    return Answer("invariant", 1, 1, 1, length, name)


def stopped(message: str | None, length: int | None) -> Answer:
    return Answer("error", 1, 1, 1, length, "", "", message)


@pytest.mark.parametrize(
    ("more", "reported", "expected"),
    [
        ("terminal: true", Answer("ok", 4, 4, 4), None),
        ("terminal: true", Answer("ok", 4, 5, 4), "counts: generated"),
        ("terminal: true", Answer("ok", 3, 4, 3), "counts: distinct, depth"),
        ("terminal: true", violated("Low", 3), "TLC finds a problem"),
        ("terminal: true", stopped(None, 1), "TLC finds a problem"),
        (LOW, violated("Low", 3), None),
        # TLC reports another problem at the same depth first.
        (LOW, violated("Lower", 3), None),
        (LOW, Answer("step", 1, 1, 1, 3, "Slow"), None),
        (LOW, violated("Low", 4), "lengths of the traces"),
        (LOW, violated("TypeOK", 3), "TLC finds TypeOK violated"),
        (LOW, Answer("ok", 4, 4, 4), "TLC finds no problem"),
        (LOW, Answer("assumption", 0, 0, None), "verdicts"),
        (LOW, stopped(None, 3), "verdicts"),
        # TLC reports the deadlock in the last state, which comes after the violation.
        (f"{LOW}{ENDS}", violated("NoDeadlock", 4), "which problem comes first"),
        (ENDS, violated("NoDeadlock", 4), None),
        (ENDS, violated("NoDeadlock", 3), "lengths of the traces"),
        ("", Answer("deadlock", 1, 1, 1, 4), None),
        (FALSE_STEP, stopped("assertion: false", 2), None),
        (FALSE_STEP, stopped("assertion: false", 3), "lengths of the traces"),
        (FALSE_STEP, stopped("evaluation error: false", 2), "verdicts"),
        (FALSE_STEP, stopped(None, 2), "verdicts"),
        # TLC may check for deadlocks itself, and then reports problems of the next level first.
        (HALTS, violated("Even", 3), None),
        (f"{HALTS}{ENDS}", violated("Even", 3), "which problem comes first"),
        # An error in an invariant that uses `enabled` is reported one level early.
        (f"{LOW}action jump:\n    require x == 2\n    x = x + 8\n", stopped(None, 3), None),
    ],
)
def test_differences(more: str, reported: Answer, expected: str | None) -> None:
    job, ours = ran(more)
    assert difference(job, ours, reported, exported(job, "m")) == expected


class Overflowing(Tlc):
    """A TLC that always stops with an overflow."""

    def run(self, exported: Export) -> Answer:
        return Answer("error", 1, 1, None, 1, "", "Overflow when computing 2147483647+1")


def test_an_overflow_is_no_difference() -> None:
    program = loaded(COUNTER.format(more="terminal: true"))
    comparison = compare(program, program.checks[0], Overflowing("java", Path("none")), 9)
    assert comparison == Comparison(refused=BEYOND)
    # The three states exceed a limit of two.
    few = compare(program, program.checks[0], Overflowing("java", Path("none")), 2)
    assert few == Comparison(refused="more than 2 states")


class Blind(Tlc):
    """A TLC that finds no problem among the four states of the counter."""

    def run(self, exported: Export) -> Answer:
        return Answer("ok", 4, 4, 4)


def test_a_reachable_is_compared_by_itself() -> None:
    """TLC does not evaluate a `reachable` in the run of the check, where it is a comment."""
    program = loaded(COUNTER.format(more="reachable Far: 1 // x > 5\nterminal: true"))
    comparison = compare(program, program.checks[0], Blind("java", Path("none")), 9)
    assert [run.difference for run in comparison.runs] == [None, "TLC finds no problem"]


class Patient(Tlc):
    """A TLC that is asked about one property at a time, and reports each of them as satisfied."""

    def run(self, exported: Export) -> Answer:
        if len(exported.properties) > 1:
            raise TimedOut("no answer within 1 s")
        return Answer("ok", 4, 4, 4)


def test_formulas_are_compared_one_by_one_if_tlc_times_out() -> None:
    formulas = (
        "terminal: true\nproperty A: eventually x == 3\nproperty B: x < 4 leads to x >= 0\n"
        "property C: always eventually x < 4\n"
    )
    program = loaded(COUNTER.format(more=formulas))
    tlc = Patient("java", Path("none"))
    comparisons = compare_formulas(program, program.checks[0], tlc, 9, "interpreter")
    # No action is fair, so A is violated; the oracle agrees.
    assert comparisons[0].refused == TLC_WRONG
    assert [str(comparison.runs[0].ours).partition(":")[0] for comparison in comparisons[1:]] == [
        "ok",
        "ok",
    ]
    assert [comparison.difference for comparison in comparisons[1:]] == [None, None]
    timed_out = compare(program, program.checks[0], Patient("java", Path("none")), 9)
    assert timed_out.refused == "TLC: no answer within 1 s"


def test_answers_of_tlc_are_cached(tmp_path: Path) -> None:
    """A module that has not changed runs only once; without Java, a second run would fail here."""
    module = Export("m", "module", "configuration")
    with pytest.raises(FileNotFoundError):
        Tlc("no java", tmp_path / "none", tmp_path / "kept").run(module)

    class Once(Tlc):
        def _run(self, exported: Export) -> tuple[str, int]:
            return output_of("success", "done", "depth"), 0

    answered = Once("no java", tmp_path / "none", tmp_path / "kept").run(module)
    assert Tlc("no java", tmp_path / "none", tmp_path / "kept").run(module) == answered
    with pytest.raises(FileNotFoundError):
        Tlc("no java", tmp_path / "none", tmp_path / "kept").run(Export("m", "other", ""))


def test_a_killed_run_is_not_cached(tmp_path: Path) -> None:
    class Killed(Tlc):
        def _run(self, exported: Export) -> tuple[str, int]:
            return "", -9

    with pytest.raises(Broken, match="exit code -9"):
        Killed("no java", tmp_path / "none", tmp_path / "kept").run(Export("m", "", ""))
    assert not (tmp_path / "kept").exists()


# ---------------------------------------------------------------- the table


def test_the_tables(tmp_path: Path) -> None:
    same = Side("ok", Counts(4, 5, 4))
    other = Side("ok", Counts(4, 1006, 4))
    results = [
        ("k/m", "c", Comparison((Run("the check", same, same),))),
        ("k/m", "d", Comparison((Run("the check", same, other, "counts: generated"),))),
        ("k/m", "e", Comparison(refused="more than 9 states")),
        ("k/m", "f", Comparison(refused="something")),
    ]
    text = summary(results, 9)
    assert text.splitlines() == [
        "Of 4 shipped checks, 1 have more than 9 distinct states, and 1 are not exported.",
        "TLC agrees on 1 of the other 2.",
        "",
        "| model | checks | searches | checks that agree |",
        "| --- | ---: | ---: | ---: |",
        "| k/m | 2 | 2 | 1 |",
    ]
    assert listing(results).splitlines()[2:] == [
        "| model | check | verdict | distinct | generated | depth | TLC | agree |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| k/m | c | ok | 4 | 5 | 4 | ok: 4 / 5 / 4 | yes |",
        "| k/m | d | ok | 4 | 5 | 4 | ok: 4 / 1,006 / 4 | no |",
    ]
    page = tmp_path / "page.md"
    begin = "<!-- by a command -->"
    page.write_text(f"before\n{begin}\nold\n{END}\nbehind\n", encoding="utf-8")
    fill(page, "a command", text)
    assert page.read_text(encoding="utf-8") == f"before\n{begin}\n{text}{END}\nbehind\n"


def test_the_page_has_the_numbers_of_the_listing() -> None:
    checks: Counter[str] = Counter()
    searches: Counter[str] = Counter()
    model = ""
    for row in LISTING.read_text(encoding="utf-8").splitlines()[4:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        model = cells[0] or model
        checks[model] += bool(cells[1])
        searches[model] += 1
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+/\w+) \| (\d+) \| (\d+) \| \d+ \|$", page, re.M)
    assert rows == [(model, str(n), str(searches[model])) for model, n in checks.items()]
    assert f"of the other {sum(checks.values())}.\n" in page
