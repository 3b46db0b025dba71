"""Runs TLC on a user's module once, as users run it, to measure it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.process import Failed, Ran, run
from bench.tlc_run import Answer, Tlc, answer


def search(
    tlc: Tlc,
    module: Path,
    configuration: str,
    *,
    workers: int = 1,
    options: Sequence[str],
    library: Sequence[Path] = (),
    classes: Sequence[Path] = (),
) -> tuple[Ran, Answer]:
    """Runs TLC on a module in a copy of its folder. ``options`` are options for Java. The module
    can also extend modules in the folders ``library``; ``classes`` has the Java classes that
    override operators of these. Raises `Broken`, and `Failed` if the search does not end properly.
    """
    extended = ":".join(str(folder.absolute()) for folder in library)
    loaded = ":".join(str(path.absolute()) for path in (tlc.jar, *classes))
    with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as scratch:
        copy = Path(scratch)
        for file in module.parent.glob("*.tla"):
            (copy / file.name).write_bytes(file.read_bytes())
        (copy / "measured.cfg").write_text(configuration, encoding="utf-8")
        command = [
            tlc.java, *options, f"-Djava.io.tmpdir={copy}",
            f"-DTLA-Library={extended}", "-cp", loaded, "tlc2.TLC",
            "-tool", "-nowarning", "-workers", str(workers), "-fp", "0",
            "-metadir", str(copy / "states"), "-config", "measured.cfg", module.name,
        ]  # fmt: skip
        ran = run(command, folder=copy, codes=range(256))
    result = answer(ran.output, ran.code)
    if result.ended != "ok":
        raise Failed(f"{' '.join(ran.command)}: {result}")
    return ran, result
