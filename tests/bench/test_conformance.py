"""In a synthetic day, undamaged histories are allowed, and each kind of damage is detected."""

from __future__ import annotations

from pathlib import Path

from bench.conformance import CHECK, PAGE, SPEC, kept, page
from bench.day import EVENTS, history, write

from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.spec.elaborate.claims.program import load, mapped


def mapping(**constants: str) -> MappedModel:
    program = load(SPEC)
    check = next(item for item in program.checks if item.name == CHECK)
    model, recording = mapped(program, check, constants)
    assert recording is not None
    return MappedModel(model, recording)


def test_the_page_has_the_measurements() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept()) == text


def test_damage_is_detected(tmp_path: Path) -> None:
    compared = mapping()
    # In a day of 40 histories, every other one is damaged; the first histories have each kind of
    # damage.
    for first, count in ((0, 16), (100, 4)):
        day = [history(n, 40, 3) for n in range(first, first + count)]
        assert [entries.hurt for entries in day] == [
            first == 0 and n % 2 == 0 for n in range(count)
        ]
        recorded = read(compared.recording, write(tmp_path, first, day, 3))
        events = sum(len(entries.events) for entries in day)
        assert (recorded.problems, recorded.events, recorded.strays) == ([], events, 0)
        assert events >= count * (EVENTS - 3)
        verdicts = {
            item.key: judge(compared, item, Effort()).verdict for item in recorded.histories
        }
        assert verdicts == {
            entries.key: "not allowed" if entries.hurt else "allowed" for entries in day
        }


def test_four_under_way(tmp_path: Path) -> None:
    """Requests arrive while up to four messages are in flight; the mapping is given no other
    information.
    """
    day = [history(n, 10_000, 3, under_way=4) for n in range(1, 6)]
    compared = mapping(UnderWay="4")
    histories = read(compared.recording, write(tmp_path, 0, day, 3)).histories
    results = [judge(compared, item, Effort(20_000)) for item in histories]
    assert [(result.verdict, result.read) for result in results] == 5 * [("allowed", EVENTS)]
    assert all(result.states < 5_000 for result in results)


def test_a_day_is_reproducible(tmp_path: Path) -> None:
    """A day does not depend on earlier runs or on their seeds."""
    paths = [write(tmp_path, 7, [history(n, 40, seed) for n in (7, 8)], 5) for seed in (3, 4)]
    (tmp_path / "again").mkdir()
    again = write(tmp_path / "again", 7, [history(n, 40, 4) for n in (7, 8)], 5)
    assert [path.read_bytes() for path in paths[1]] == [path.read_bytes() for path in again]
