"""A search that is saved and resumed gives the results of an undisturbed one. An unusable folder is
refused, and its files are kept.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import pickle
import random
import shutil
import signal
import time
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.checker.test_symmetry import SPECS
from tests.strategies import grown
from tests.support.agreement import Run, assert_same, model_of, run_of_model
from tests.support.amounts import numbers
from tests.support.command import Ran, run
from tests.support.comparisons import translated_once
from tests.support.compressed_canary import canaries
from tests.support.paths import ROOT
from tests.support.processes import COMMAND, finished, started
from tests.support.saved_searches import assert_refused, closed, figures

from fencepost.checker.native import explorer
from fencepost.checker.native.saving import blocks, saver
from fencepost.checker.native.saving.blocks import HEAD
from fencepost.checker.native.search import Local
from fencepost.checker.native.worker import Worker
from fencepost.checker.request import Limits, Saving
from fencepost.spec.text.problem import Rejected

CONSTRAINED = """
enum Colour: Red, Green, Blue
union Message: Say(c: Colour)
channel net: Message unordered capacity 2 or block
var n: 0..4 = 0
var chosen: set[0..4] = {}
var last: Colour? = none
action up(k in 0..1):
    require n < 4
    n += 1
    chosen.add(k + n // 2)
action say(c in Colour): send Say(c) to net
action hear on Say(c) from net: last = c
environment action forget: last = none
reachable Sad: last == Blue
invariant Few: len(chosen) < 4
invariant Never: not (n == 3 and last == Green and 0 in chosen)
step invariant Back: next(n) >= n and (last == Red implies next(last) != Blue)
terminal: n == 4
constraint Small: n < 3 or 1 in chosen
"""


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes even small searches use threads."""
    monkeypatch.setattr(explorer, "MIN_PARALLEL", 0)
    monkeypatch.setattr(saver, "MIN_PARALLEL", 0)
    monkeypatch.setattr(saver, "TOGETHER", 1)


def whole(text: str, keep_going: bool = True) -> Run:
    """Returns a search of a spec for all its properties."""
    return run_of_model(model_of(text), limits=Limits(workers=1), keep_going=keep_going)


def at(run: Run, folder: Path, resumed: bool, workers: int, **limits: Any) -> Run:
    run = run.within(workers=workers, **limits)
    return replace(run, saving=Saving(str(folder), resumed))


def every_level(seconds: float = 0) -> Local:
    return Local("quick", seconds=seconds)


STOPPED = [
    ("constrained", CONSTRAINED, True, True),
    ("the first problem", CONSTRAINED, False, False),
    *((spec.name, spec.text, True, True) for spec in SPECS if spec.name == "cut"),
    *((spec.name, spec.text, False, False) for spec in SPECS if spec.name == "least_trace"),
]


@pytest.mark.parametrize(
    ("name", "text", "going", "canary"), STOPPED, ids=[case[0] for case in STOPPED]
)
def test_stopped_after_any_level(
    name: str, text: str, going: bool, canary: bool, tmp_path: Path
) -> None:
    """With ``canary``, states are compressed, and also kept whole for comparison."""
    run = whole(text, going)
    with translated_once(False), canaries(4) if canary else nullcontext():
        wanted = run.by("interpreter")
        assert wanted.limit is None
        pairs = [(first, second) for first in (1, 2, 3) for second in (1, 2, 3)]
        for depth in range(len(wanted.transitions)):
            # Each level tests a third of the pairs, so the levels together test all pairs.
            for number, (before, after) in [*enumerate(pairs)][depth % 3 :: 3]:
                folder = tmp_path / f"{depth}-{number}"
                cut = at(run, folder, False, before, depth=depth).by(every_level())
                assert cut.limit in (None, f"--depth {depth}")
                again = at(run, folder, True, after).by(every_level(60))
                assert_same(wanted, again, f"{name}, {before} to {after} at {depth}")


@pytest.mark.parametrize("canary", [False, True], ids=["whole", "compressed"])
def test_stopped_again_and_again(canary: bool, tmp_path: Path) -> None:
    """Each run searches one more level, and adds its new states to the files."""
    run = whole(CONSTRAINED)
    with translated_once(False), canaries(20) if canary else nullcontext():
        wanted = run.by("interpreter")
        for depth in range(len(wanted.transitions)):
            saved = at(run, tmp_path, depth > 0, 1 + depth % 3, depth=depth)
            saved.by(every_level(60 if depth % 2 else 0))
        assert len([*tmp_path.glob("states-*")]) > len(wanted.transitions)
        assert_same(wanted, at(run, tmp_path, True, 2).by(every_level()), "the last")


def test_stopped_by_a_limit_on_states(tmp_path: Path) -> None:
    """The same limit ends a resumed search at the same level, and a larger limit lets it
    continue.
    """
    run = whole(CONSTRAINED)
    chance = random.Random(1)
    with translated_once(False):
        wanted = run.by("interpreter")
        for number in range(12):
            folder, limit = tmp_path / str(number), chance.randrange(2, wanted.distinct)
            asked = at(run, folder, False, 1 + number % 3, max_states=limit)
            cut = asked.outcome(every_level(60))
            assert str(cut.cut) == f"--max-states {limit}"
            again = at(run, folder, True, 1, max_states=limit).outcome(every_level(60))
            assert (again.cut, again.statistics.levels) == (cut.cut, cut.statistics.levels)
            continued = at(run, folder, True, 1 + number % 2).by(every_level())
            assert_same(wanted, continued, f"{limit} states")


REAL_TICK = explorer.Crew.tick


def test_interrupted_at_any_moment(tmp_path: Path) -> None:
    """The signal arrives at some tick, and the last completed level is saved."""
    run = whole(CONSTRAINED)
    with translated_once(False):
        wanted = run.by("interpreter")
        for number, moment in enumerate((3, 10, 20, 40, 80, 160)):
            folder, ticks = tmp_path / str(number), 0

            def tick(crew: explorer.Crew, worker: Worker, moment: int = moment) -> None:
                nonlocal ticks
                ticks += 1
                if ticks == moment:
                    signal.raise_signal(signal.SIGTERM)
                REAL_TICK(crew, worker)

            asked = at(run, folder, False, 1)
            with mock.patch.object(explorer.Crew, "tick", tick):
                cut = asked.outcome(every_level(60))
            assert cut.interrupted is (ticks >= moment)
            again = at(run, folder, True, 1 + number % 3).by(every_level())
            assert_same(wanted, again, f"tick {moment}")


def test_random_specs(tmp_path: Path) -> None:
    resumed = 0
    for number in numbers(4):
        text = grown(number)
        try:
            run = whole(text)
        except Rejected:
            continue
        run = replace(run, limits=Limits(depth=5, workers=1))
        with translated_once(False), canaries(8) if number % 2 else nullcontext():
            wanted = run.by("interpreter")
            for depth in range(min(len(wanted.transitions), 4)):
                folder = tmp_path / f"{number}-{depth}"
                at(run, folder, False, 1 + number % 3, depth=depth).by(every_level())
                resumed += 1
                again = at(run, folder, True, 1 + depth % 3).by(every_level())
                assert_same(wanted, again, f"{number} at {depth}:\n{text}")
    assert resumed > 2


# ---------------------------------------------------------------- the command

TWO_PHASES = str(ROOT / "models/classics/two_phase_commit.fence")
COUNT = "8,832 distinct, 58,146 generated, depth 17"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process(number: int, tmp_path: Path) -> None:
    """The search continues from the files, no matter when the signal arrived."""
    asked = (*COMMAND, "check", TWO_PHASES, "--check", "five", "--no-progress")
    with started(*asked, "--checkpoint", "saved", folder=tmp_path) as process:
        while not [*tmp_path.rglob("lock")] and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
    ran = finished(*asked, "--resume", "saved", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert COUNT in ran.stdout


def test_the_command(tmp_path: Path) -> None:
    words = ("check", TWO_PHASES, "--check", "five", "--no-progress", "--workers", "2")
    ran = run(*words, "--checkpoint", "saved", "--depth", "6", folder=tmp_path)
    assert ran.code == 3
    assert "The search is saved in saved/two_phase_commit-five up to level 7." in ran.stdout
    assert "--depth 6 --workers 2 --resume saved" in ran.stdout
    for extra, message in (
        (("--checkpoint", "saved"), "cannot be used: there already is one"),
        (("--resume", "nowhere"), "cannot be used: there is no such folder"),
        (("--resume", "saved", "--depth", "3"), "it is 6 steps deep, but --depth allows 3"),
        (("--resume", "saved", "--max-states", "9"), "but --max-states allows 9"),
        (("--resume", "saved", "--const", "N=4"), "made with N = 5, but now it is 4"),
        (("--resume", "saved", "--continue"), "and continues after problems"),
        (("--checkpoint", "hdfs://a/b"), "saves a search in a local folder"),
        (("--checkpoint", "saved", "--resume", "saved"), "leave out --checkpoint"),
        (("--checkpoint", "a", "--engine", "interpreter"), "has no meaning for the engine"),
    ):
        refused = run(*words, *extra, folder=tmp_path)
        assert refused.code == 151
        assert message in refused.stderr
        assert "Traceback" not in refused.stderr
    assert not (tmp_path / "nowhere").exists()
    ran = run(*words, "--resume", "saved", "--cross-check=interpreter", folder=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert COUNT in ran.stdout


# ---------------------------------------------------------------- folders that cannot be used

# With one worker there is one file of states.
CHECK = ("check", "spec.fence", "--no-progress", "--continue", "--workers", "1")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a folder with a spec and a saved search of that spec."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "spec.fence").write_text(CONSTRAINED, encoding="utf-8")
    ran = run(*CHECK, "--checkpoint", "saved", "--depth", "4", folder=folder)
    assert "is saved in" in ran.stdout, ran
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """Copies the folder, so that a test may change it."""
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    return folder


def inside(folder: Path) -> Path:
    (checkpoint,) = (path.parent for path in folder.rglob("manifest.json"))
    return checkpoint


def states(folder: Path) -> Path:
    (path,) = inside(folder).glob("states-*")
    return path


def manifest(folder: Path) -> dict[str, Any]:
    outer = json.loads((inside(folder) / "manifest.json").read_bytes())
    notes: dict[str, Any] = json.loads(outer["manifest"])
    return notes


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Changes the manifest, and signs it again."""
    notes = manifest(folder)
    edit(notes)
    (inside(folder) / "manifest.json").write_bytes(closed(notes))


def resumed(folder: Path) -> Ran:
    return run(*CHECK, "--resume", "saved", folder=folder)


def test_a_check_that_was_not_saved_starts_over_with_a_note(copy: Path) -> None:
    shutil.rmtree(inside(copy))
    plain, ran = run(*CHECK, folder=copy), resumed(copy)
    assert (ran.code, ran.stderr) == (plain.code, "")
    report = " ".join(ran.stdout.split())
    assert "Nothing was saved in saved/" in report
    assert "the search began from the initial states" in report


def test_an_unmodified_folder(copy: Path) -> None:
    left = inside(copy) / "states-000009-0-0123456789ab"
    left.write_bytes(b"half of a ")
    plain = run(*CHECK, folder=copy)
    ran = resumed(copy)
    assert ran.code == plain.code
    assert figures(ran) == figures(plain)
    assert not left.exists()


def rewritten(data: bytes, edit: Callable[[bytes], bytes]) -> bytes:
    """Changes the states of the first block, and adapts the header of the block."""
    level, count, length = HEAD.unpack_from(data)
    block = edit(zlib.decompress(data[HEAD.size : HEAD.size + length]))
    packed = blocks.packed(block)
    return HEAD.pack(level, count, len(packed)) + packed + data[HEAD.size + length :]


def head(
    level: int | None = None, count: int | None = None, more: int = 0
) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        was = HEAD.unpack_from(data)
        level_, count_ = was[0] if level is None else level, was[1] if count is None else count
        return HEAD.pack(level_, count_, was[2] + more) + data[HEAD.size :]

    return changed


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a bit": (lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], "it is damaged: states-"),
    "shorter": (lambda data: data[:-1], "is shorter than it was"),
    "longer": (lambda data: data + b"\0", "is longer than it was"),
    "empty": (lambda data: b"", "is shorter than it was"),
}
FORGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "states that are missing": (
        lambda data: data[HEAD.size + HEAD.unpack_from(data)[2] :],
        "at level 1, not",
    ),
    "a level twice": (
        lambda data: data + data[: HEAD.size + HEAD.unpack_from(data)[2]],
        "has states of level 1, out of order",
    ),
    "another level": (head(level=7), "at level 1, not"),
    "too many": (head(count=1 << 20), "has a block of 1048576 states"),
    "none": (head(count=0), "has a block of 0 states"),
    "more than there are": (head(count=2), "has a block of another size than it says"),
    "a length beyond the file": (head(more=1 << 30), "is shorter than it was"),
    "a free bit": (
        lambda data: rewritten(data, lambda block: block[:-1] + bytes([block[-1] ^ 64])),
        "is not a state of this spec",
    ),
    "a pickle": (
        lambda data: rewritten(
            data, lambda block: pickle.dumps(Path)[: len(block)].ljust(len(block), b".")
        ),
        "is not a state of this spec",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged(damage: str, copy: Path) -> None:
    edit, message = DAMAGES[damage]
    states(copy).write_bytes(edit(states(copy).read_bytes()))
    assert_refused(resumed, copy, message)


@pytest.mark.parametrize("damage", FORGED)
def test_forged_with_checksums_that_fit(damage: str, copy: Path) -> None:
    edit, message = FORGED[damage]
    path = states(copy)
    data = edit(path.read_bytes())
    path.write_bytes(data)

    def fit(notes: dict[str, Any]) -> None:
        for _, files in notes["parts"]:
            for file in files:
                if file[0] == path.name:
                    file[1:] = [len(data), hashlib.sha256(data).hexdigest()]

    change(copy, fit)
    assert_refused(resumed, copy, message)


UNREACHED = """\
var x: 0..20 = 0
var y: 0..20 = 0
action up:
    require x < 20
    x += 1
invariant Small: x + y < 26
"""


def test_a_state_that_no_step_leads_to(tmp_path: Path) -> None:
    """A forged state is detected when a trace leads through it: the run ends with an error and
    without a verdict.
    """
    (tmp_path / "spec.fence").write_text(UNREACHED, encoding="utf-8")
    assert run(*CHECK, "--depth", "4", "--checkpoint", "saved", folder=tmp_path).code == 3
    path = states(tmp_path)
    data, starts = path.read_bytes(), [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + HEAD.size + HEAD.unpack_from(data, starts[-1])[2])
    # The last level is replaced by the word with x = 5, y = 20 and the occupied bit.
    forged = (1 << 63 | 5 | 20 << 5).to_bytes(8, "little")
    data = data[: starts[-2]] + rewritten(data[starts[-2] :], lambda _: forged)
    path.write_bytes(data)

    def fit(notes: dict[str, Any]) -> None:
        notes["parts"][0][1][0][1:] = [len(data), hashlib.sha256(data).hexdigest()]

    change(tmp_path, fit)
    ran = resumed(tmp_path)
    assert ran.code == 151, ran
    assert "error[F035]" in ran.stderr
    assert "no step leads from its level 4 to a state of level 5" in ran.stderr


def test_a_missing_file(copy: Path) -> None:
    states(copy).unlink()
    assert_refused(resumed, copy, "No such file or directory")


WRONG: list[tuple[tuple[str | int, ...], object]] = [
    (("format",), 0),
    (("fencepost",), "0.0.1"),
    (("model",), "another"),
    (("code",), "0"),
    (("seen",), 3),
    (("seen",), "many"),
    (("parts",), []),
    (("parts",), None),
    (("parts", 0, 0), 3),
    (("parts", 0, 1, 0, 0), "../../elsewhere"),
    (("parts", 0, 1, 0, 0), "manifest.json"),
    (("parts", 0, 1, 0, 1), -1),
    (("parts", 0, 1, 0, 2), 1.5),
    (("parts", 0, 1, 0, 2), "00"),
    (("account",), None),
    (("account", "levels"), [1]),
    (("account", "levels", 2), 10**30),
    (("account", "orbits"), [1, 2]),
    (("account", "tally"), "00"),
    (("account", "outside"), 1_000),
    (("account", "stuck"), 7),
    (("account", "transitions", 0), 99),
    (("account", "problems"), [[1, 9, 0, [1], None, 0]]),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=str)
def test_a_manifest_with_a_wrong_value(
    path: tuple[str | int, ...], value: object, copy: Path
) -> None:
    def replace_value(notes: Any) -> None:
        for name in path[:-1]:
            notes = notes[name]
        assert notes[path[-1]] != value
        notes[path[-1]] = value

    change(copy, replace_value)
    assert_refused(resumed, copy, "the checkpoint ")


@pytest.mark.parametrize("content", [b"", b"\x80\x04.", b"[" * 50_000, b'{"crc32": 1, "mani'])
def test_a_damaged_manifest(content: bytes, copy: Path) -> None:
    (inside(copy) / "manifest.json").write_bytes(content)
    assert_refused(resumed, copy, "its manifest is damaged")


def test_a_spec_that_has_changed(copy: Path) -> None:
    changed = CONSTRAINED.replace("require n < 4", "require n < 3")
    (copy / "spec.fence").write_text(changed, encoding="utf-8")
    assert_refused(resumed, copy, "the spec has changed")


def test_a_folder_with_other_files(copy: Path) -> None:
    (inside(copy) / "thesis.txt").write_text("all of it")
    assert_refused(resumed, copy, "it contains another file, thesis.txt")


def test_a_folder_that_another_run_uses(copy: Path) -> None:
    with (inside(copy) / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_refused(resumed, copy, "another run is using it")
    assert resumed(copy).code != 151


class Full:
    """A disk with space for ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def writing(self) -> Any:
        """Writes files to this disk within the block."""

        def add(writer: blocks.Writer, level: int, count: int, data: bytes) -> None:
            self.room -= len(data)
            if self.room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            REAL_ADD(writer, level, count, data)

        return mock.patch.object(blocks.Writer, "add", add)


REAL_ADD = blocks.Writer.add


@pytest.mark.parametrize("room", [0, 100, 300])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk(room: int, workers: int, tmp_path: Path) -> None:
    """The search continues with a note, and keeps what was saved before."""
    run = whole(CONSTRAINED)
    full = Full(room)
    with translated_once(False):
        wanted = run.by("interpreter")
        with full.writing():
            asked = at(run, tmp_path, False, workers)
            assert_same(wanted, asked.by(every_level()), "full")
        left = {path.name for path in tmp_path.glob("states-*")}
        named = set[str]()
        if (tmp_path / "manifest.json").exists():
            outer = json.loads((tmp_path / "manifest.json").read_bytes())
            parts = json.loads(outer["manifest"])["parts"]
            named = {file[0] for _, files in parts for file in files}
        assert left == named
        assert bool(named) is (room > 0)
        assert_same(wanted, at(run, tmp_path, True, 2).by(every_level()), "resumed")


@pytest.mark.parametrize(
    ("room", "good"),
    [
        (0, "no earlier save of this search exists"),
        (100, "the save up to level LEVEL is still valid"),
    ],
)
def test_the_note_about_a_full_disk(room: int, good: str, tmp_path: Path) -> None:
    """The note names the save that can be resumed."""
    run = whole(CONSTRAINED)
    with Full(room).writing():
        result = at(run, tmp_path, False, 1, depth=3).outcome(every_level())
    level = 0
    if room:
        outer = json.loads((tmp_path / "manifest.json").read_bytes())
        level = json.loads(outer["manifest"])["parts"][-1][0]
        assert level > 0
    note = f"The search could not be saved in {tmp_path}: No space left on device; {good}."
    assert list(result.notes) == [note.replace("LEVEL", str(level))]
