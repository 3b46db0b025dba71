"""TLC as a program that is measured: one run of a module of somebody's own, as its users run it."""

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
) -> tuple[Ran, Answer]:
    """Runs TLC on a module, beside which are those of its folder; ``options`` are Java's, and the
    modules of ``library`` may be extended, too. Raises `Broken`, and `Failed` where the search did
    not end well.
    """
    with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as scratch:
        place = Path(scratch)
        for file in module.parent.glob("*.tla"):
            (place / file.name).write_bytes(file.read_bytes())
        (place / "measured.cfg").write_text(configuration, encoding="utf-8")
        command = [
            tlc.java, *options, f"-Djava.io.tmpdir={place}",
            f"-DTLA-Library={':'.join(map(str, library))}", "-cp", str(tlc.jar), "tlc2.TLC",
            "-tool", "-nowarning", "-workers", str(workers), "-fp", "0",
            "-metadir", str(place / "states"), "-config", "measured.cfg", module.name,
        ]  # fmt: skip
        ran = run(command, folder=place, codes=range(256))
    found = answer(ran.output, ran.code)
    if found.ended != "ok":
        raise Failed(f"{' '.join(ran.command)}: {found}")
    return ran, found
