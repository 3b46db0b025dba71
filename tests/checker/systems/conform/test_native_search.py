"""The interpreter and machine code agree on verdicts, runs, visited states and reports."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.support.damage import DAMAGE, Event
from tests.support.kafka_text import MODELS
from tests.support.lease import HISTORIES, folder_with, written

from fencepost.checker.native.follower import Follower
from fencepost.checker.request import Unsupported
from fencepost.checker.systems.conform import native_search
from fencepost.checker.systems.conform.lines import History, read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.native_search import PackedMapping
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort, Judgement
from fencepost.spec.elaborate.claims.program import load, mapped

RECORDINGS = Path(__file__).parents[3] / "models" / "recordings"
EFFORT = Effort(2_000)


@dataclass(frozen=True, slots=True)
class Recorded:
    spec: str
    check: str
    file: str

    def __str__(self) -> str:
        return f"{self.file}-{self.check}"

    @property
    def path(self) -> Path:
        return RECORDINGS / f"{self.file}.jsonl.gz"


ALL = (
    Recorded("conform_kafka", "r4_4_0", "java-4.4.0-tv1"),
    Recorded("conform_kafka", "r4_4_0", "java-4.4.0-tv2"),
    Recorded("conform_kafka", "r4_2_0_outages", "java-4.4.0-tv2-kill"),
    Recorded("conform_answers_v1", "r4_4_0", "answers-4.4.0-tv1"),
    Recorded("conform_answers_v2", "r4_4_0", "events-4.4.0-tv2"),
)


@cache
def engines(recorded: Recorded) -> tuple[MappedModel, PackedMapping]:
    program = load(MODELS / f"{recorded.spec}.fence")
    check = next(each for each in program.checks if each.name == recorded.check)
    model, recording = mapped(program, check, {})
    assert recording is not None
    # The engines share no caches.
    return MappedModel(model, recording), PackedMapping(MappedModel(model, recording))


def same(recorded: Recorded, path: Path) -> list[Judgement]:
    """Returns the results on the first two histories, which must be equal in both engines."""
    compared, machine = engines(recorded)
    histories = read(compared.recording, [path]).histories[:2]
    results = [judge(compared, history, EFFORT) for history in histories]
    assert [machine.judge(history, EFFORT, runs=True) for history in histories] == results
    return results


def test_steps_that_are_inputs_and_show_choices(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    path.write_text(written({name: rows for name, (rows, _, _) in HISTORIES.items()}), "utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    compared, machine = MappedModel(model, recording), PackedMapping(MappedModel(model, recording))
    for history in read(recording, [path]).histories:
        expected = judge(compared, history, EFFORT)
        assert machine.judge(history, EFFORT, runs=True) == expected
        assert (expected.verdict, expected.read) == HISTORIES[str(history.key)][1:]


def mapping_in(
    folder: Path, model: str, rules: str, events: list[Event]
) -> tuple[MappedModel, History]:
    """Returns a mapped model and the only history of its recording."""
    (folder / "m.fence").write_text(model, "utf-8")
    (folder / "map.fence").write_text(f"import m as m\nrecording:\n    key h\n{rules}", "utf-8")
    path = folder / "r.jsonl"
    path.write_text("".join(json.dumps({"h": 1, **event}) + "\n" for event in events), "utf-8")
    program = load(folder / "map.fence")
    parsed, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    (history,) = read(recording, [path]).histories
    return MappedModel(parsed, recording), history


def compare(
    folder: Path, model: str, rules: str, events: list[Event], effort: Effort = EFFORT
) -> tuple[Judgement, ...]:
    """Returns the results on one history, which must be equal in both engines."""
    compared, history = mapping_in(folder, model, rules, events)
    machine = PackedMapping(MappedModel(compared.model, compared.recording))
    # The initial capacity is small, so that the table has to grow.
    machine._follower = Follower(machine.followed, room=1)  # pyright: ignore[reportPrivateUsage]
    results = judge(compared, history, effort), machine.judge(history, effort, runs=True)
    assert results[0] == results[1]
    return results


def test_the_row_table_grows(tmp_path: Path) -> None:
    branches = "    if x < 100: n = x\n    elif x < 700: n = x - 1\n    else: n = 2\n"
    model = f"var n: 0..2000 = 0\naction a(x in 0..900):\n    require n == 0\n{branches}"
    rules = "    source s ordered\nevent e(x: int) from s\nshows e(x) on m.a(x)\n"
    for x, verdict in ((5, "allowed"), (500, "allowed"), (901, "not allowed")):
        event = {"source": "s", "event": "e", "x": x}
        result, _ = compare(tmp_path, model, rules, [event])
        assert result.verdict == verdict


def test_branches_of_a_mapping_do_not_count_as_coverage(tmp_path: Path) -> None:
    model = "var n: 0..9 = 0\naction take:\n    if n == 3: n = 4\n    else: n = 5\n"
    rules = (
        "    source s ordered\ninput e(x: 0..9) from s:\n"
        + "".join(f"    if x == {n}: m.n = {n}\n" for n in range(10)) * 9
        + "event f(x: int) from s\nshows f(next(m.n)) on m.take\n"
    )
    events = [{"source": "s", "event": "e", "x": 3}, {"source": "s", "event": "f", "x": 4}]
    result, _ = compare(tmp_path, model, rules, events)
    assert result.verdict == "allowed"


def test_many_messages_in_flight(tmp_path: Path) -> None:
    model = (
        "union Msg:\n    V(x: 0..1)\n    W\nchannel net: Msg unordered capacity 130\n"
        "var n: 0..9 = 0\naction take on W from net:\n    n = 1\n"
    )
    rules = (
        "    source s ordered\n    source t ordered\nat most 120 under way\n"
        "event f(x: int) from s\nahead e(x: 0..1) from t when x < 10:\n"
        "    send m.V(x) to m.net\nshows f(next(m.n)) on m.take\n"
    )
    events = [{"source": "s", "event": "f", "x": 1}, {"source": "t", "event": "e", "x": 1}]
    result, _ = compare(tmp_path, model, rules, events)
    assert result.verdict == "not allowed"


def test_the_prefix_that_has_more_of_the_first_source_is_reported(tmp_path: Path) -> None:
    rules = (
        "    source s ordered\n    source t ordered\nevent e from s\nevent f from t\n"
        "input e when m.n == 0:\n    m.n = 5\ninput f when m.n == 0:\n    m.n = 1\n"
    )
    model = "var n: 0..9 = 0\naction never:\n    require n == 9\n    n = 0\n"
    events: list[Event] = [{"source": "s", "event": "e"}, {"source": "t", "event": "f"}]
    result, _ = compare(tmp_path, model, rules, events)
    assert result.verdict == "not allowed"
    assert [(source.source, source.read) for source in result.waiting] == [("s", 1), ("t", 0)]
    assert result.way[-1][0] == (5,)


@pytest.mark.parametrize(("x", "verdict", "read"), [(0, "allowed", 1), (1, "not allowed", 0)])
def test_an_event_waiting_for_its_answer_is_not_shown(
    x: int, verdict: str, read: int, tmp_path: Path
) -> None:
    model = (
        "union Msg:\n    Ask\n    Reply(x: 0..1)\nchannel net: Msg unordered capacity 4\n"
        "var n: 0..3 = 0\naction take on Ask from net: send Reply(0) to net\n"
        "action show:\n    require net != [] and n == 0\n    n = 1\n"
    )
    rules = (
        "    source s ordered\nevent e(x: 0..1) from s\n"
        "answers e on m.Reply(==x) from m.net: send m.Ask to m.net\nshows e(1) on m.show\n"
    )
    result, _ = compare(tmp_path, model, rules, [{"source": "s", "event": "e", "x": x}])
    assert (result.verdict, result.read) == (verdict, read)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ({"event": "e", "x": 2, "who": "a"}, "x of e lies outside 0..1"),
        ({"event": "e", "x": 1, "who": "c"}, "client: 3 names, and 0..1 has 2 values"),
        ({"event": "f", "x": 1, "who": "c"}, "client: 3 names, and 0..1 has 2 values"),
    ],
)
def test_unexpanded_states_report_no_cuts(second: Event, why: str, tmp_path: Path) -> None:
    model = "var n: 0..9 = 0\naction take:\n    require n == 1\n    n = 2\n"
    rules = (
        "    source s ordered\n    bind client: 0..1\nat most 0 under way\n"
        "event e(x: 0..1, who: client, whom: client) from s\n"
        "event f(x: 0..1, who: client, whom: client) from s\n"
        "input e when who == 0 and whom == 1 and m.n == 0:\n    m.n = x\n"
        "shows f(1, 0, 1) on m.take\n"
    )
    events: list[Event] = [{"event": "e", "x": 1, "who": "a"}, second]
    events = [{"source": "s", "whom": "b", **event} for event in events]
    for states, cuts in ((1, ()), (2, (why,))):
        result, _ = compare(tmp_path, model, rules, events, Effort(states))
        assert (result.verdict, result.read) == ("unknown", 1)
        assert [event for event in result.cuts if "--max-states" not in event] == [*cuts]


COUNTING = "var n: 0..9 = 0\naction up:\n    require n < 9\n    n += 1\n"
DOWN = "action down(k in 1..3):\n    require n > k\n    n = 0\n"
AGAIN = (
    "var n: 0..9 = 0\nprocedure again():\n    pick x in 1..3 where x != n\n    n = x\n"
    "action a(x in 1..3):\n    n = x\n    for y in 1..2:\n        again()\n"
)
FAMILY = (
    "union Msg:\n    V(x: 0..1)\nchannel net[k: 0..99]: Msg unordered capacity 4\n"
    "var n: 0..9 = 0\naction take(k in 0..99) on V(x) from net[k]:\n    n = x\n"
)
SHOWN = "event e(n: int) from s\nshows e(next(m.n)) on m.up"
PUT_AHEAD = (
    "    source t ordered\nat most 1 under way\nevent f(n: int) from s\n"
    "ahead e(k: 0..99, x: 0..1) from t: send m.V(x) to m.net[k]\n"
    "shows f(next(m.n)) on m.take\n"
)


def shown(event: str, *numbers: int) -> list[Event]:
    return [{"source": "s", "event": event, "n": n} for n in numbers]


def sent(*keys: int) -> list[Event]:
    return [{"source": "t", "event": "e", "k": k, "x": k % 2} for k in keys]


@pytest.mark.parametrize(
    ("model", "rules", "events", "read", "cut"),
    [
        pytest.param(
            f"{COUNTING}constraint small: n < 2\n", f"{SHOWN}\n", shown("e", 1, 2, 3),
            2, "a constraint ends here", id="constraint",
        ),
        pytest.param(
            f"var l: seq[0..9, 3] = [1]\n{COUNTING}    if n == 2: l = []\n"
            "constraint small: l[0] < 2\n", f"{SHOWN}\n", shown("e", 1, 2, 3),
            2, "the index is outside", id="constraint without a value",
        ),
        pytest.param(
            f"{COUNTING}constraint small: n < 2\n", "input e(n: 0..9) from s: m.up\n",
            [*shown("e", 1, 2, 3), {"source": "s", "event": "e", "n": 10}],
            3, "a constraint ends here", id="constraint where all steps are events",
        ),
        pytest.param(
            COUNTING + DOWN,
            f"{SHOWN} when not enabled(m.down)\nevent f(n: int) from s\n"
            "shows f(next(m.n)) on m.up when enabled(m.down)\n",
            [*shown("e", 1, 2), *shown("f", 3), *shown("e", 4)],
            3, None, id="enabled in what a step shows",
        ),
        pytest.param(
            f"var t: map[1..2, map[1..2, 0..9]] = [1: [1: 0, 2: 0], 2: [1: 0, 2: 0]]\n{COUNTING}"
            "action down(k in 1..2):\n    require n > k\n    t[k][2] = 1\n    n = 0\n",
            f"{SHOWN} when enabled(m.down) == (m.n > 1)\n", shown("e", 1, 2, 3, 5),
            3, None, id="enabled with a nested assignment",
        ),
        pytest.param(
            AGAIN, "event e(n: int) from s\nshows e(x) on m.a(x)\n", shown("e", 1, 3, 4),
            2, None, id="choices of one name",
        ),
        pytest.param(
            FAMILY, PUT_AHEAD, [*shown("f", 1, 0), *sent(71, 72, 73, 74, 76)],
            1, None, id="more than 64 channels",
        ),
    ],
)  # fmt: skip
def test_both_engines_run_every_mapping(
    model: str, rules: str, events: list[Event], read: int, cut: str | None, tmp_path: Path
) -> None:
    result, _ = compare(tmp_path, model, f"    source s ordered\n{rules}", events)
    assert result.read == read < result.total
    assert result.verdict == ("not allowed" if cut is None else "unknown")
    assert any(cut in reason for reason in result.cuts) if cut else not result.cuts


def test_enabled_in_inputs(tmp_path: Path) -> None:
    """Machine code refuses `enabled` in a step; the interpreter evaluates it."""
    rules = (
        "    source s ordered\nevent e from s\nevent f from s\ninput e: m.up\n"
        "input f when enabled(m.down(2)): m.down(1)\ntolerate e when enabled(m.down(3))\n"
    )
    events = [{"source": "s", "event": name} for name in "eeefeef"]
    compared, history = mapping_in(tmp_path, COUNTING + DOWN, rules, events)
    with pytest.raises(Unsupported, match="what is enabled"):
        PackedMapping(compared)
    result = judge(compared, history, EFFORT)
    assert (result.verdict, result.read) == ("not allowed", 6)


def test_messages_under_way_without_a_bound(tmp_path: Path) -> None:
    """Drivers and random runs allow more messages in flight than a search does."""
    compared, _ = mapping_in(tmp_path, FAMILY, f"    source s ordered\n{PUT_AHEAD}", shown("f", 1))
    names = [variable.name for variable in compared.model.variables]
    number = next(n for n, name in enumerate(names) if name.endswith("net"))
    (state,) = compared.initial()
    state = (*state[:number], (((0, 0), (0, 0)),) * 100, *state[number + 1 :])
    assert compared.under_way(state) == 200
    entry = compared.input(0, (3, 1))
    bounded, free = compared.entered([entry], state, 100), compared.entered([entry], state)
    assert (bounded.moves, bounded.late) == ([], True)
    assert (len(free.moves), free.late, free.cuts) == (1, False, set())


def test_states_that_are_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, _ = engines(ALL[1])
    monkeypatch.setattr(native_search, "MAX_WORDS", 16)
    with pytest.raises(Unsupported, match="more than 16 words"):
        PackedMapping(compared)


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_recordings_of_brokers(recorded: Recorded) -> None:
    assert all(each.states > 10 for each in same(recorded, recorded.path))


def test_recordings_that_are_damaged(tmp_path: Path) -> None:
    recorded = ALL[1]
    with gzip.open(recorded.path, "rt", encoding="utf-8") as lines:
        events: list[Event] = [json.loads(line) for line in lines]
    verdicts: list[str] = []
    for number, damage in enumerate(DAMAGE):
        hurt = [dict(event) for event in events]
        damage(random.Random(number), hurt)
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in hurt), encoding="utf-8")
        verdicts += [result.verdict for result in same(recorded, path)]
    assert {"allowed", "not allowed"} <= set(verdicts)
