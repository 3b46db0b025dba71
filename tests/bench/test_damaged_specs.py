"""The campaign of damaged specs detects failures; the child processes here fail on purpose."""

from __future__ import annotations

import signal
import sys
import traceback

import pytest
from bench.damaged_specs import Child, Row, Task, shrunk
from tests.support.damaged_runs import place_in

from fencepost.spec.syntax.parser import parse

ANSWER = """print('{"codes": {"check": 0}, "failures": [], "worked": 0.1}', flush=True)"""
BODIES = {
    "answers": ANSWER,
    "signal": "os.kill(os.getpid(), signal.SIGSEGV)",
    "exit": "os._exit(3)",
    "processor time": "signal.setitimer(signal.ITIMER_PROF, 0.1)\n    while True: pass",
    "hangs": "time.sleep(60)",
}
KINDS = {
    "answers": None,
    "signal": f"check: process ends with {-signal.SIGSEGV}",
    "exit": "check: process ends with 3",
    "processor time": "check: more than 20 s",
    "hangs": "check: hangs",
}


def ran(body: str, patience: float) -> tuple[Row, Row]:
    """Returns the rows of two specs, each from a new child, since the previous child has died."""
    script = "import os, signal, sys, time\nfor line in sys.stdin:\n"
    script += f"""    print('{{"phase": "check"}}', flush=True)\n    {body}\n"""
    child = Child((sys.executable, "-c", script), patience)
    rows = child.run(Task(1)), child.run(Task(2))
    child.close()
    return rows


@pytest.mark.parametrize("body", BODIES)
def test_deaths_and_hangs_are_failures(body: str) -> None:
    patience = 2 if body == "hangs" else 60
    for row in ran(BODIES[body], patience):
        kinds = [f"{failure['phase']}: {failure['kind']}" for failure in row["failures"]]
        assert kinds == ([] if KINDS[body] is None else [KINDS[body]])


@pytest.mark.parametrize(
    ("text", "needed", "expected"),
    [
        (b"one\ntwo words\nthree", [b"words"], b"words"),
        (b"a b c\nd e f\ng", [b"b", b"e"], b"be"),
        (b"xxxyxxx", [b"y"], b"y"),
        (b"abc", [], b""),
    ],
)
def test_texts_are_shrunk(text: bytes, needed: list[bytes], expected: bytes) -> None:
    def fails(other: bytes) -> bool:
        return all(part in other for part in needed)

    assert shrunk(text, fails, 20) == expected


def test_the_place_of_a_failure_is_in_the_package() -> None:
    with pytest.raises(AttributeError) as caught:
        parse(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    details = "".join(traceback.format_exception(caught.value))
    assert place_in(details) == "spec/syntax/parser.py parse AttributeError"
    assert place_in("ValueError: 3") == "ValueError"
