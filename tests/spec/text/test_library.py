"""Readable and unreadable files, modules inside their roots, and the specs in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.syntax_trees import problem_line

import fencepost
from fencepost.spec.text.library import MAX_BYTES, find_module, read, specs_below
from fencepost.spec.text.problem import Rejected


def refused(path: Path) -> str:
    with pytest.raises(Rejected) as caught:
        read(path)
    (problem,) = caught.value.problems
    return problem_line(problem).replace(str(path.parent), "DIR")


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.fence", b"\xef\xbb\xbfvar x: int = 1\r\n# \xc3\xa4\n")
    source = read(path)
    assert (source.name, source.text) == (str(path), "var x: int = 1\r\n# ä\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("modle.fence", "F001 there is no file DIR/modle.fence; did you mean DIR/model.fence?"),
        ("model", "F001 there is no file DIR/model; did you mean DIR/model.fence?"),
        ("Model.fence", "F001 there is no file DIR/Model.fence; did you mean DIR/model.fence?"),
        ("zzz.fence", "F001 there is no file DIR/zzz.fence"),
        ("x" * 300, f"F002 DIR/{'x' * 300} cannot be read: File name too long"),
        ("sub", "F003 DIR/sub is a folder, not a spec"),
    ],
)
def test_files_that_are_not_there(tmp_path: Path, name: str, expected: str) -> None:
    written(tmp_path / "model.fence", b"")
    (tmp_path / "sub").mkdir()
    assert refused(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"var x\xff", "F006 1:6 this file is not UTF-8 text: byte 0xff has no meaning here"),
        (b"\n\xc3\xa4\xc3", "F006 2:2 this file is not UTF-8 text: byte 0xc3 has no meaning here"),
        ("var x".encode("utf-16"), "F006 1:1 this file is UTF-16 text; save it as UTF-8"),
        (b"a\nb\0", "F007 2:2 this file contains a NUL character, so it is not text"),
        (b"#" * (MAX_BYTES + 1), "F005 DIR/a.fence has more than 4,194,304 bytes"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, expected: str) -> None:
    assert refused(written(tmp_path / "a.fence", data)) == expected


def test_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "F004 DIR/pipe is not a regular file"


def test_odd_paths(tmp_path: Path) -> None:
    assert refused(tmp_path / "a\0b").startswith("F00")
    assert refused(tmp_path / "missing" / "a.fence") == "F001 there is no file DIR/a.fence"
    assert refused(written(tmp_path / "a.fence", b"") / "b").startswith("F00")


# ---------------------------------------------------------------- modules


def module(text: str, beside: Path, *search: Path) -> Path | None:
    return find_module(text.split("."), beside, search)


def test_modules_are_found_in_order(tmp_path: Path) -> None:
    main = tmp_path / "one" / "main.fence"
    own = written(tmp_path / "one" / "a" / "b.fence", b"")
    other = written(tmp_path / "two" / "a" / "b.fence", b"")
    late = written(tmp_path / "three" / "c.fence", b"")
    search = (tmp_path / "two", tmp_path / "three")
    assert module("a.b", main, *search) == own
    assert module("a.b", tmp_path / "elsewhere.fence", *search) == other
    assert module("c", main, *search) == late
    assert module("c", main) is None
    assert module("a", main, *search) is None


def test_the_shipped_library() -> None:
    beside = Path("/nowhere/main.fence")
    path = module("models.classics.die_hard", beside)
    assert path == Path(fencepost.__file__).parent / "models" / "classics" / "die_hard.fence"
    assert module("spec.grammar", beside) is None
    assert module("models.no_such_model", beside) is None


def test_imports_stay_inside_their_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = written(tmp_path / "outside" / "m.fence", b"")
    main = written(root / "main.fence", b"")
    (root / "m.fence").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)
    assert module("m", main) is None
    assert module("folder.m", main) is None
    inside = written(root / "real.fence", b"")
    (root / "link.fence").symlink_to(inside)
    assert module("link", main) == root / "link.fence"
    # A root may itself be a link.
    (tmp_path / "alias").symlink_to(root)
    assert module("real", tmp_path / "alias" / "main.fence") == tmp_path / "alias" / "real.fence"


def test_specs_below(tmp_path: Path) -> None:
    for name in ("b.fence", "a.fence", "a/z.fence", "x.txt", ".hidden/c.fence", "d.fence/e.txt"):
        written(tmp_path / name, b"")
    (tmp_path / "loop").symlink_to(tmp_path)
    names = [str(path.relative_to(tmp_path)) for path in specs_below(tmp_path)]
    assert names == ["a/z.fence", "a.fence", "b.fence"]
    assert specs_below(tmp_path / "nothing") == []
