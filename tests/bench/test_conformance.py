"""A synthetic day: what is made so is allowed, and each kind of damage is found."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from bench.conformance import CHECK, SPEC, histories, written

from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import Effort, judge
from fencepost.spec.elaborate.program import load, mapped


def test_what_is_damaged_is_found(tmp_path: Path) -> None:
    program = load(SPEC)
    check = next(one for one in program.checks if one.name == CHECK)
    model, recording = mapped(program, check, {})
    assert recording is not None
    # The first have one kind of damage each, and every other one of the second some.
    days = [*histories(8, 3)], [*islice(histories(40, 4), 4)]
    for number, part in enumerate(days):
        path = tmp_path / f"{number}.jsonl"
        events = written(path, part, 5)
        read_ = read(recording, [path])
        assert (read_.problems, read_.events, read_.strays) == ([], events, 0)
        compared = Mapped(model, recording)
        verdicts = {one.key: judge(compared, one, Effort()).verdict for one in read_.histories}
        assert verdicts == {key: "not allowed" if hurt else "allowed" for key, _, hurt in part}
        assert {hurt for _, _, hurt in part} == ({True} if number == 0 else {True, False})
