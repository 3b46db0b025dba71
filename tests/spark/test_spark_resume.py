"""A killed driver leaves a checkpoint, and another driver resumes from it."""

from __future__ import annotations

import sys
import time
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from subprocess import DEVNULL

import pytest
from pyspark import SparkContext
from tests.spark.resumed import outcome_of, saved
from tests.support.agreement import assert_same, run_of
from tests.support.paths import ROOT
from tests.support.processes import started

from fencepost.checker.native.search import Local
from fencepost.checker.request import Saving
from fencepost.checker.user_key import Key, read_key
from fencepost.spec.text.problem import Rejected

TWO_PHASES = ROOT / "models/classics/two_phase_commit.fence"
VERIFICATION = ROOT / "models/kafka/verification_race.fence"


def levels(folder: Path) -> int:
    """Returns the number of saved levels."""
    return len([*folder.glob("manifest-*.json")])


@pytest.mark.parametrize(
    ("path", "name", "partitions"),
    [(TWO_PHASES, "three", 5), (VERIFICATION, "unchecked_s12", 2)],
)
def test_a_killed_driver(path: Path, name: str, partitions: int, tmp_path: Path) -> None:
    run = run_of(path, name)
    wanted = run.by(Local())
    words = ("-m", "tests.spark.resumed", str(tmp_path), "checkpoint", str(path), name)
    with started(sys.executable, *words, folder=ROOT, errors=DEVNULL, patience=240) as driver:
        while levels(tmp_path) < 3:
            assert driver.poll() is None
            time.sleep(0.05)
    before = levels(tmp_path)
    assert before < wanted.depth - 1
    # Incomplete files are skipped.
    (tmp_path / "manifest-999999.json").write_bytes(b'{"crc32": 1, "manifest": "{')
    (tmp_path / "states-000009-left").mkdir()
    assert_same(wanted, saved(run, str(tmp_path), "resume", partitions), "resumed")
    assert levels(tmp_path) > before
    assert not (tmp_path / "states-000009-left").exists()
    # Another run resumes from the last saved level.
    assert_same(wanted, saved(run, str(tmp_path), "resume", 1), "resumed again")


def test_a_checkpoint_of_another_check(tmp_path: Path) -> None:
    folder = str(tmp_path / "saved")
    run = run_of(TWO_PHASES, "three")
    run = run.within(depth=5)
    assert saved(run, folder, "checkpoint").limit == "--depth 5"
    with pytest.raises(Rejected, match=r"F035.*there already is one"):
        saved(run, folder, "checkpoint")
    with pytest.raises(Rejected, match=r"F035.*made with N = 3, but now it is 5"):
        saved(run_of(TWO_PHASES, "five"), folder, "resume")
    with pytest.raises(Rejected, match=r"F035.*it looks for .*, and continues after problems"):
        saved(replace(run, keep_going=True), folder, "resume")
    with pytest.raises(Rejected, match=r"F035.*it belongs to the spec "):
        saved(run_of(VERIFICATION, "unchecked_s12"), folder, "resume")
    # The folder was not changed, and the depth limit is not part of the checkpoint.
    deeper = run.within(depth=None)
    assert_same(deeper.by(Local()), saved(deeper, folder, "resume"), "deeper")


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    run = run_of(TWO_PHASES, "three")
    run = run.within(depth=4)
    saved(run, str(folder), "checkpoint")
    part = next(part for part in folder.glob("states-*/part-*") if part.stat().st_size > 200)
    data = bytearray(part.read_bytes())
    data[-3] ^= 1
    part.write_bytes(data)
    part.with_name(f".{part.name}.crc").unlink()  # The checksum file of Hadoop's local file system.
    with pytest.raises(Rejected, match=r"F035.*a record of the checkpoint is damaged"):
        saved(run, str(folder), "resume")


def test_the_signature_of_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint signed with another key is refused unless it is accepted explicitly; no setting
    of Spark contains the key.
    """
    folder = str(tmp_path / "saved")
    run = run_of(TWO_PHASES, "three")
    saved(run.within(depth=4), folder, "checkpoint")
    key = read_key()
    assert isinstance(key, Key)
    context = SparkContext.getOrCreate()
    settings = str(context.getConf().getAll())
    assert key.secret.hex() not in settings
    assert b64encode(key.secret).decode() not in settings
    start = outcome_of(run.within(depth=5), Saving(folder, True)).resumed
    assert start is not None
    assert (start.levels, start.signed) == (5, True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with pytest.raises(Rejected, match=r"F035.*it was not signed with the key of this user"):
        saved(run, folder, "resume")
    for depth, unsigned in ((6, True), (7, False)):
        # When the search is resumed a second time, the checkpoint is signed with this key, but the
        # mark stays.
        start = outcome_of(run.within(depth=depth), Saving(folder, True, unsigned=unsigned)).resumed
        assert start is not None
        assert not start.signed
