"""Accesses spec files: reads them, resolves imports, and lists folders.

In `spec`, only this module and `inputs` access the file system.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType

import fencepost
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span

SUFFIX = ".fence"
MODULE_SUFFIX = ".tla"
"""The suffix of TLA+ modules."""
CONFIG_SUFFIX = ".cfg"
"""The suffix of TLC's configurations of modules."""

MAX_BYTES = inputs.Kind.SPEC.max_bytes
"""The maximum size of a spec file. Larger files are refused."""

MODELS = "models"
SHIPPED = (MODELS, "invariants")
"""The folders of the package that imports may refer to."""


NOTHING_UNSAVED: Mapping[Path, str] = MappingProxyType({})
"""The default for the parameters ``unsaved``: no file has unsaved text."""


def is_folder(path: Path) -> bool:
    """Returns whether ``path`` is a folder; False for invalid and inaccessible paths."""
    return os.path.isdir(path)


def is_file(path: Path) -> bool:
    """Returns whether ``path`` is a file; False for invalid and inaccessible paths."""
    return os.path.isfile(path)


def real(path: Path) -> Path:
    """Resolves the links in ``path``. Components that do not exist are kept."""
    return Path(os.path.realpath(path))


def read(path: Path, unsaved: Mapping[Path, str] = NOTHING_UNSAVED) -> Source:
    """Reads a spec file. Raises `Rejected` if the file cannot be a spec.

    ``unsaved`` maps resolved paths to texts that replace the contents of the files.
    """
    name = str(path)
    text = unsaved.get(real(path)) if unsaved else None
    data = _stored(path, name) if text is None else text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        raise _refused("F005", f"{name} has more than {MAX_BYTES:,} bytes")
    return _decoded(name, data)


def _stored(path: Path, name: str) -> bytes:
    """Returns the content of a file, but at most one byte more than `MAX_BYTES`."""
    try:
        # Only regular files are accepted, since reading a device or pipe may never end.
        if path.is_dir():
            raise _refused("F003", f"{name} is a folder, not a spec")
        if not path.exists():
            raise _refused("F001", absence(path) + ("" if path.is_symlink() else _sibling(path)))
        if not path.is_file():
            raise _refused("F004", f"{name} is not a regular file")
        if path.stat().st_size > MAX_BYTES:
            raise _refused("F005", f"{name} has more than {MAX_BYTES:,} bytes")
        with inputs.opened(path, inputs.Kind.SPEC) as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        # A ValueError is raised if the path contains a NUL character.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refused("F002", f"{name} cannot be read: {reason}") from None


def _decoded(name: str, data: bytes) -> Source:
    try:
        # Ignores a byte order mark.
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        shown = data.decode("utf-8", errors="replace")
        source = Source(name, shown)
        offset = len(data[: error.start].decode("utf-8", errors="replace"))
        message = f"this file is not UTF-8 text: byte {data[error.start]:#04x} has no meaning here"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            message = "this file is UTF-16 text; save it as UTF-8"
        raise Rejected([Problem("F006", Span(source, offset, offset + 1), message)]) from None
    if "\0" in text:
        offset = text.index("\0")
        span = Span(Source(name, text), offset, offset + 1)
        message = "this file contains a NUL character, so it is not text"
        raise Rejected([Problem("F007", span, message)])
    return Source(name, text)


def _refused(code: str, message: str) -> Rejected:
    return Rejected([Problem(code, None, message)])


def absence(path: Path) -> str:
    """Explains why ``path`` is not a file: no such entry exists, or it is a link without a
    target.
    """
    if path.is_symlink():
        return f"{path} is a link to {os.readlink(path)}, which does not exist"
    return f"there is no file {path}"


def _sibling(path: Path) -> str:
    """Returns a suggestion for a missing file, or "". It names a shipped model with the same last
    part, a similarly named spec or folder next to it, or a similarly named shipped model.
    """
    shipped_names = () if path.suffix else shipped_models()
    if path.as_posix() in shipped_names:
        return "; a model with that name comes with Fencepost"
    close = [name for name in shipped_names if name.rpartition("/")[2] == path.name]
    if close:
        return f"; did you mean {close[0]}, which comes with Fencepost?"
    try:
        near = (p for p in path.parent.iterdir() if p.name != path.name)
        suffixes = (SUFFIX, MODULE_SUFFIX)
        siblings = [p for p in near if (p.suffix in suffixes and is_file(p)) or is_folder(p)]
    except OSError:
        siblings = []
    # Names are compared without the suffix, which would make all of them similar.
    stems = {p.stem: p.name for p in sorted(siblings)}
    close = get_close_matches(path.stem, stems, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {path.with_name(stems[close[0]])}?"
    close = get_close_matches(path.as_posix(), shipped_names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}, which comes with Fencepost?" if close else ""


def package_root() -> Path:
    """Returns the folder of the package, which contains the shipped specs."""
    return Path(fencepost.__file__).parent


@cache
def _homes() -> tuple[Path, ...]:
    return tuple(real(package_root() / folder) for folder in (MODELS, "invariants"))


def is_shipped(path: Path) -> bool:
    """Returns whether a resolved path is part of the package."""
    return any(path.is_relative_to(home) for home in _homes())


def shipped_models() -> dict[str, Path]:
    """Returns the paths of the shipped models by name. The name of a model is its path below the
    folder of models, without the suffix.
    """
    home = package_root() / MODELS
    return {
        path.relative_to(home).with_suffix("").as_posix(): path
        for path in specs_below(home)
        if "lib" not in path.relative_to(home).parts
    }


def shipped(name: str) -> Path | None:
    """Returns the path of the shipped model, or folder of models, with this name, or None."""
    relative = Path(name)
    if relative.is_absolute() or relative.suffix or ".." in relative.parts:
        return None
    home = package_root() / MODELS
    model_path = (home / relative).with_suffix(SUFFIX)
    if is_file(model_path):
        return model_path
    return home / relative if relative.parts and is_folder(home / relative) else None


def short_name(path: Path) -> str:
    """Returns the name that `shipped` resolves to ``path``, or else the path itself."""
    home = package_root() / MODELS
    if not path.is_relative_to(home):
        return str(path)
    name = path.relative_to(home)
    name = name.with_suffix("") if name.suffix == SUFFIX else name
    hidden = is_file(name) or is_folder(name) or shipped(str(name)) != path
    return str(path) if hidden else name.as_posix()


def find_module(
    words: Sequence[str],
    importer: Path,
    search: Sequence[Path],
    unsaved: Mapping[Path, str] = NOTHING_UNSAVED,
) -> Path | None:
    """Resolves the import of module ``a.b`` in the file ``importer`` to a path, or returns None.

    The function tries ``a/b.fence`` in the folder of the importer, then below each folder of
    ``search``, and then in the shipped library. A link must not lead out of the folder that is
    being searched. ``unsaved`` maps resolved paths to texts that replace files; these files need
    not exist.
    """
    relative = Path(*words[:-1], words[-1] + SUFFIX)
    for root in (importer.parent, *search):
        candidate = root / relative
        there = is_file(candidate) or (bool(unsaved) and real(candidate) in unsaved)
        if there and real(candidate).is_relative_to(real(root)):
            return candidate
    shipped = package_root()
    candidate = shipped / relative
    # In a checkout, the package's folders are links.
    if words[0] in SHIPPED and is_file(candidate):
        inside = real(candidate).is_relative_to(real(shipped / words[0]))
        return candidate if inside else None
    return None


def _hidden(folder: Path) -> bool:
    return folder.name.startswith(".")


def specs_below(
    folder: Path, skips: Callable[[Path], bool] = _hidden, suffixes: tuple[str, ...] = (SUFFIX,)
) -> list[Path]:
    """Returns every file below a folder with one of the suffixes, sorted. Links to folders are not
    entered, nor is a folder if ``skips`` returns true for it. ``skips`` is called once per folder.
    """
    candidates: list[Path] = []
    for parent, folders, names in os.walk(folder):
        children = [Path(parent, name) for name in folders]
        folders[:] = [path.name for path in children if not path.is_symlink() and not skips(path)]
        candidates += (Path(parent, name) for name in names if name.endswith(suffixes))
    return sorted(path for path in candidates if is_file(path))
