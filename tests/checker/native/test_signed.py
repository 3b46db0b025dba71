"""A checkpoint that another user may have written is refused, or the result says that it relies on
an unsigned checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.agreement import loaded
from tests.support.command import Ran, run
from tests.support.saved_searches import assert_refused, closed, closed_before_signatures

from fencepost.checker import api
from fencepost.checker.layout import Layout
from fencepost.checker.native.saving import blocks
from fencepost.checker.native.saving.blocks import HEAD
from fencepost.checker.user_key import Key, Purpose, Unusable
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

SPEC = """
var n: 0..40 = 0
var m: 0..40 = 0
action up:
    require n < 40
    n += 1
action down:
    require 0 < n and n < 40
    n -= 1
    m = 0
invariant Odd: n < 30
terminal: n == 40
"""
"""The invariant of this spec is violated after 30 steps, beyond the saved levels."""
CHECK = ("check", "spec.fence", "--no-progress", "--workers", "1", "--format", "json")
OTHER_KEY = Key(bytes(32))


@pytest.fixture(scope="module", name="saved")
def _saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "spec.fence").write_text(SPEC, encoding="utf-8")
    run(*CHECK, "--checkpoint", "saved", "--depth", "4", folder=folder)
    run(*CHECK, "--resume", "saved", "--depth", "6", folder=folder)
    return folder


@pytest.fixture(name="copy")
def _copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def inside(folder: Path) -> Path:
    return folder / "saved" / "spec-spec.fence"


def outer(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((inside(folder) / "manifest.json").read_bytes())
    return read


def notes(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(outer(folder)["manifest"])
    return read


def write(folder: Path, content: bytes) -> None:
    (inside(folder) / "manifest.json").write_bytes(content)


def blocks_of(folder: Path, files: list[str]) -> list[tuple[int, int, bytes]]:
    saved_blocks: list[tuple[int, int, bytes]] = []
    for name in files:
        data = (inside(folder) / name).read_bytes()
        while data:
            level, count, size = HEAD.unpack_from(data)
            states = zlib.decompress(data[HEAD.size : HEAD.size + size])
            saved_blocks.append((level, count, states))
            data = data[HEAD.size + size :]
    return saved_blocks


def with_another_last_level(folder: Path) -> dict[str, Any]:
    """Replaces the last level with a lawful but unreachable state that leads to no problem; all
    digests and counts fit.
    """
    manifest = notes(folder)
    names = [file[0] for _, files in manifest["parts"] for file in files]
    kept = sorted(blocks_of(folder, names))
    last = max(level for level, _, _ in kept)
    words = Layout(program.build(loaded(SPEC), None)).encode((40, 0))
    state = b"".join(word.to_bytes(8, "little") for word in words)
    kept = [block for block in kept if block[0] < last] + [(last, 1, state)]
    data = b""
    for level, count, states in kept:
        packed = blocks.packed(states)
        data += HEAD.pack(level, count, len(packed)) + packed
    for name in names[1:]:
        (inside(folder) / name).unlink()
    (inside(folder) / names[0]).write_bytes(data)
    manifest["parts"] = [[last, [[names[0], len(data), hashlib.sha256(data).hexdigest()]]]]
    manifest["account"]["levels"][-1] = 1
    manifest["seen"] = sum(manifest["account"]["levels"])
    return manifest


def older(folder: Path) -> None:
    """Rewrites the manifest in the format used before signatures were introduced."""
    manifest = notes(folder)
    manifest["format"] = 1
    del manifest["unsigned"]
    for _, files in manifest["parts"]:
        for file in files:
            file[2] = zlib.crc32((inside(folder) / file[0]).read_bytes())
    write(folder, closed_before_signatures(manifest))


def swapped_files(folder: Path) -> None:
    first, second = sorted(inside(folder).glob("states-*"))[:2]
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    second.write_bytes(content[0])


def with_another_state(folder: Path) -> None:
    """Replaces the last state with a lawful but unreachable one in a file of the same size, and
    keeps the manifest.
    """
    words = Layout(program.build(loaded(SPEC), None)).encode((40, 0))
    packed = blocks.packed(b"".join(word.to_bytes(8, "little") for word in words))
    last = max(level for _, files in notes(folder)["parts"] for level, _, _ in
               blocks_of(folder, [file[0] for file in files]))  # fmt: skip
    for path in inside(folder).glob("states-*"):
        content, offset = bytearray(path.read_bytes()), 0
        while offset < len(content):
            level, count, size = HEAD.unpack_from(content, offset)
            offset += HEAD.size
            if level == last:
                assert (count, size) == (1, len(packed))
                content[offset : offset + size] = packed
            offset += size
        path.write_bytes(content)


def with_outer(folder: Path, **values: object) -> None:
    manifest = outer(folder) | values
    write(folder, json.dumps({k: v for k, v in manifest.items() if v is not None}).encode())


def forged(folder: Path, **values: object) -> None:
    """Writes the forged last level into a manifest with the old MAC, or with ``values``."""
    mac = outer(folder)["mac"]
    content = json.loads(closed(with_another_last_level(folder), key=Unusable("none")))
    manifest = content | {"mac": mac} | values
    write(folder, json.dumps({k: v for k, v in manifest.items() if v is not None}).encode())


NOT_OURS = "it was not signed with the key of this user"
WITHOUT = "it is not signed"
DAMAGED = "it is damaged: "
FORGERIES: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "the last level, under the old MAC": (forged, NOT_OURS, True),
    "the last level, without a MAC": (lambda f: forged(f, mac=None), WITHOUT, True),
    "the last level, with an empty MAC": (lambda f: forged(f, mac=""), NOT_OURS, True),
    "the last level, with a number": (lambda f: forged(f, mac=0), NOT_OURS, True),
    "the last level, signed by another": (
        lambda f: write(f, closed(with_another_last_level(f), key=OTHER_KEY)), NOT_OURS, True,
    ),
    "the last level, signed for another purpose": (
        lambda f: write(f, closed(with_another_last_level(f), Purpose.CACHE)), NOT_OURS, True,
    ),
    "a truncated MAC": (lambda f: with_outer(f, mac=outer(f)["mac"][:-2]), NOT_OURS, True),
    "a longer MAC": (lambda f: with_outer(f, mac=outer(f)["mac"] + "00"), NOT_OURS, True),
    "no MAC": (lambda f: with_outer(f, mac=None), WITHOUT, True),
    "another key": (lambda f: write(f, closed(notes(f), key=OTHER_KEY)), NOT_OURS, True),
    "an older format": (older, "it has an older, unsigned format", True),
    "no mark": (
        lambda f: write(f, closed(notes(f) | {"unsigned": True}, key=OTHER_KEY)), NOT_OURS, True,
    ),
    "no digest of the manifest": (lambda f: with_outer(f, sha256=None), "is damaged", False),
    "a wrong digest of the manifest": (lambda f: with_outer(f, sha256="0"), "is damaged", False),
    "swapped files": (swapped_files, DAMAGED, False),
    "another state": (with_another_state, "the checksum of states-", False),
    "the files of another save": (
        lambda f: with_another_last_level(f), "cannot be used: ", False,
    ),
}  # fmt: skip


def resumed(folder: Path) -> Ran:
    return run(*CHECK, "--resume", "saved", folder=folder)


def resumed_unsigned(folder: Path) -> Ran:
    return run(*CHECK, "--resume", "saved", "--resume-unsigned", folder=folder)


def check_of(ran: Ran) -> dict[str, Any]:
    (check,) = json.loads(ran.stdout)["checks"]
    read: dict[str, Any] = check
    return read


def test_an_unmodified_checkpoint_is_signed(copy: Path) -> None:
    check = check_of(resumed(copy))
    assert check["verdict"] == "violated"
    assert check["resumed"]["signed"] is True
    assert check["resumed"]["levels"] == 7
    assert not any("unsigned" in note for note in check["notes"])


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries(forgery: str, copy: Path) -> None:
    forge, reason, resumable = FORGERIES[forgery]
    forge(copy)
    assert_refused(resumed, copy, reason)
    if not resumable:
        assert_refused(resumed_unsigned, copy, reason)
        return
    # The mark stays in every later save and report, even in signed ones.
    for depth in ("8", "9", None):
        ended = () if depth is None else ("--depth", depth)
        ran = run(*CHECK, "--resume", "saved", "--resume-unsigned", *ended, folder=copy)
        check = check_of(ran)
        assert check["resumed"]["signed"] is False
        assert any("it relies on an unsigned checkpoint" in note for note in check["notes"])
    text = run(*CHECK[:-2], "--resume", "saved", "--resume-unsigned", folder=copy).stdout
    assert "relies on an unsigned checkpoint" in text


def test_the_mark_stays_without_the_option(copy: Path) -> None:
    """A save after --resume-unsigned is signed and resumable, but keeps the mark."""
    older(copy)
    ran = run(*CHECK, "--resume", "saved", "--resume-unsigned", "--depth", "8", folder=copy)
    assert check_of(ran)["resumed"]["signed"] is False
    assert notes(copy)["format"] == 2
    for depth in ("9", "10"):
        ran = run(*CHECK, "--resume", "saved", "--depth", depth, folder=copy)
        assert check_of(ran)["resumed"]["signed"] is False
        assert notes(copy)["unsigned"] is True
    check = check_of(resumed(copy))
    assert (check["verdict"], check["resumed"]["signed"]) == ("violated", False)


def test_a_forged_level_can_hide_a_violation(copy: Path) -> None:
    """Without the warning, the invariant seems to hold, so the forgeries above matter."""
    forged(copy, mac=None)
    check = check_of(resumed_unsigned(copy))
    assert (check["verdict"], check["resumed"]["signed"]) == ("ok", False)


def test_without_a_usable_key(copy: Path, tmp_path: Path) -> None:
    variables = {"XDG_DATA_HOME": str(tmp_path / "data")}
    key = tmp_path / "data" / "fencepost" / "key"
    key.mkdir(parents=True)
    ran = run(*CHECK, "--resume", "saved", folder=copy, environment=variables)
    assert ran.code == 151
    assert "error[F035]" in ran.stderr
    assert f"its signature cannot be verified: no usable key ({key} is not" in ran.stderr
    words = (*CHECK, "--depth", "9", "--resume", "saved", "--resume-unsigned")
    ran = run(*words, folder=copy, environment=variables)
    assert check_of(ran)["resumed"]["signed"] is False
    assert any("up to level 10, unsigned: no usable key" in n for n in check_of(ran)["notes"])
    assert "mac" not in outer(copy)
    assert_refused(resumed, copy, "it is not signed")


def test_the_python_interface(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    older(copy)
    with pytest.raises(Rejected, match=r"F035.*older, unsigned format"):
        api.check("spec.fence", workers=1, resume="saved")
    result = api.check("spec.fence", workers=1, resume="saved", resume_unsigned=True)
    assert result.resumed is not None
    assert not result.resumed.signed
    assert "--resume saved --resume-unsigned" in str(result)
    with pytest.raises(Rejected, match="resume_unsigned"):
        api.check("spec.fence", resume_unsigned=True)
    ran = run(*CHECK, "--resume-unsigned", folder=copy)
    assert (ran.code, "--resume is not given" in ran.stderr) == (151, True)
