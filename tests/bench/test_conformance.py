"""A synthetic day: what is made so is allowed, and each kind of damage is found."""

from __future__ import annotations

from pathlib import Path

from bench.conformance import CHECK, PAGE, SPEC, kept, page
from bench.day import EVENTS, history, write

from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import judge
from fencepost.checker.conform.verdicts import Effort
from fencepost.spec.elaborate.claims.program import load, mapped


def mapping(**constants: str) -> Mapped:
    program = load(SPEC)
    check = next(one for one in program.checks if one.name == CHECK)
    model, recording = mapped(program, check, constants)
    assert recording is not None
    return Mapped(model, recording)


def test_the_page_has_what_was_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept()) == text


def test_what_is_damaged_is_found(tmp_path: Path) -> None:
    compared = mapping()
    # Of a day of 40 every other one is damaged; the first of them have each kind of damage.
    for first, count in ((0, 16), (100, 4)):
        day = [history(n, 40, 3) for n in range(first, first + count)]
        assert [one.hurt for one in day] == [first == 0 and n % 2 == 0 for n in range(count)]
        found = read(compared.recording, write(tmp_path, first, day, 3))
        events = sum(len(one.events) for one in day)
        assert (found.problems, found.events, found.strays) == ([], events, 0)
        assert events >= count * (EVENTS - 3)
        verdicts = {one.key: judge(compared, one, Effort()).verdict for one in found.histories}
        assert verdicts == {one.key: "not allowed" if one.hurt else "allowed" for one in day}


def test_four_under_way(tmp_path: Path) -> None:
    """Requests come while as many as four messages are under way, and that is all that is known."""
    day = [history(n, 10_000, 3, under_way=4) for n in range(1, 6)]
    compared = mapping(UnderWay="4")
    histories = read(compared.recording, write(tmp_path, 0, day, 3)).histories
    found = [judge(compared, one, Effort(20_000)) for one in histories]
    assert [(one.verdict, one.read) for one in found] == 5 * [("allowed", EVENTS)]
    assert all(one.states < 5_000 for one in found)


def test_a_day_is_made_again(tmp_path: Path) -> None:
    """Whatever else was made before, and by whom."""
    made = [write(tmp_path, 7, [history(n, 40, seed) for n in (7, 8)], 5) for seed in (3, 4)]
    (tmp_path / "again").mkdir()
    again = write(tmp_path / "again", 7, [history(n, 40, 4) for n in (7, 8)], 5)
    assert [one.read_bytes() for one in made[1]] == [one.read_bytes() for one in again]
