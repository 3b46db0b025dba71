"""Compares Fencepost and TLC on the models of tlaplus/Examples, for the table of docs/tla.md.

The user supplies a checkout of the examples at `COMMIT` (--examples), and the folders of the
modules that they extend: tlaplus/CommunityModules (modules/) and tlaplus/tlapm (library/), as
--modules, and the Java classes of CommunityModules as --classes. Results are kept per model and
per side in `KEPT`, so that the table can be built over several days: a run does what is missing,
or what --again names.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from bench import places
from bench.fence import PROGRAM, surroundings
from bench.machine import ROOT
from bench.places import line
from bench.process import Ran, run
from bench.tlc_run import Broken, NoTlc, Tlc, answer
from fencepost.checker.cli.atomic_files import replace

COMMAND: Final = "python -m bench.tla_corpus"
COMMIT: Final = "32a32c7b0b97562da2dd4b2e55b7f81cd6fea2b9"
"""The commit of tlaplus/Examples."""
KEPT: Final = ROOT / "bench" / "results" / "tla_corpus.json"
PAGE: Final = ROOT / "docs" / "tla.md"
HEAP: Final = "-Xmx4g"

Side: TypeAlias = Literal["tlc", "ours", "compiled"]
SIDES: Final[tuple[Side, ...]] = ("tlc", "ours", "compiled")
ENGINES: Final[Mapping[Side, str]] = {"ours": "evaluator", "compiled": "compiled"}
UNREAD: Final = re.compile(
    r"^[ \t]*(ALIAS|POSTCONDITION)\b[^\n]*\n?([ \t]+[A-Za-z_]\w*[ \t]*(?:\n|\Z))?", re.MULTILINE
)
"""Lines of a configuration that this version of TLC does not read."""
KINDS: Final = {
    "ok": "ok",
    "invariant": "safety",
    "step": "safety",
    "start": "safety",
    "deadlock": "deadlock",
    "behaviour": "liveness",
    "assumption": "assumption",
    "error": "error",
}
"""The verdicts of the table, by the ends of a run of TLC."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the examples, and what the manifest says about it."""

    name: str
    """The path of the configuration below ``specifications``, without the suffix."""
    module: str
    """The path of the module below the checkout."""
    configuration: str
    mode: str
    result: str
    distinct: int | None
    generated: int | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one side. ``verdict`` is a word of `KINDS`, "refused", "inconclusive" or
    "broken"; ``note`` is the message then. Counts are None unless the search was complete.
    """

    verdict: str
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    length: int | None = None
    seconds: float = 0.0
    name: str = ""
    note: str = ""
    widened: int | None = None
    """The number of times that the search began again, with wider types of variables."""
    share: float | None = None
    """The share of the evaluator in the processor time, if the report has it."""


Kept: TypeAlias = "dict[str, dict[Side, Result]]"


def models(examples: Path) -> Iterator[Model]:
    """Yields the models that TLC checks, in the order of their names. Symbolic models are left
    out.
    """
    for manifest in sorted((examples / "specifications").glob("*/manifest.json")):
        for module in json.loads(manifest.read_text(encoding="utf-8"))["modules"]:
            for model in module["models"]:
                mode = model["mode"] if isinstance(model["mode"], str) else "simulation"
                if mode != "symbolic":
                    yield Model(
                        model["path"].removeprefix("specifications/").removesuffix(".cfg"),
                        module["path"],
                        model["path"],
                        mode,
                        model["result"],
                        model.get("distinctStates"),
                        model.get("totalStates"),
                        model.get("stateDepth"),
                    )


# ---------------------------------------------------------------- running


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the models and their modules are, and how many seconds of processor time a run may
    take.
    """

    examples: Path
    modules: Sequence[Path]
    classes: Sequence[Path]
    seconds: float


def judge(tlc: Tlc, model: Model, around: Surroundings) -> Result:
    """Runs TLC on a model in a copy of its folder."""
    module = around.examples / model.module
    text = (around.examples / model.configuration).read_text(encoding="utf-8", errors="replace")
    library = ":".join(str(folder.absolute()) for folder in around.modules)
    loaded = ":".join(str(path.absolute()) for path in (tlc.jar, *around.classes))
    with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as scratch:
        copy = Path(scratch)
        _copied(module.parent, copy)
        (copy / "judged.cfg").write_text(UNREAD.sub("", text), encoding="utf-8")
        ran = run(
            [
                *_limited(around.seconds), tlc.java, "-XX:+UseSerialGC", HEAP,
                f"-Djava.io.tmpdir={copy}", f"-DTLA-Library={library}", "-cp", loaded, "tlc2.TLC",
                "-tool", "-nowarning", "-workers", "1", "-fp", "0", "-lncheck", "final",
                "-metadir", str(copy / "states"), "-config", "judged.cfg", module.name,
            ],
            folder=copy,
            codes=range(-64, 256),
        )  # fmt: skip
    seconds = _seconds(ran)
    if ran.code in TIMED_OUT:
        return Result("inconclusive", seconds=seconds, note=f"no answer in {around.seconds:g} s")
    try:
        result = answer(ran.output, ran.code)
    except Broken as problem:
        return Result("broken", seconds=seconds, note=_short(str(problem)))
    complete = result.ended == "ok"
    found = Result(
        KINDS[result.ended],
        length=result.length,
        seconds=seconds,
        name=result.name,
        note="" if complete else _short(result.message),
    )
    if not complete:
        return found
    return dataclasses.replace(
        found, distinct=result.distinct, generated=result.generated, depth=result.depth
    )


def check(model: Model, around: Surroundings, side: Side = "ours") -> Result:
    """Runs an engine of Fencepost on a model."""
    command = [
        *PROGRAM, "check", model.module, "--config", model.configuration,
        "--engine", ENGINES[side], "--no-progress", "--format", "json",
        "--allow-read", ".",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as cache:
        ran = run(
            [*_limited(around.seconds), *command],
            # Some modules read files by paths from the root of the examples.
            folder=around.examples,
            environment=surroundings(cache),
            codes=range(-64, 256),
        )
    seconds = _seconds(ran)
    if ran.code in TIMED_OUT:
        return Result("inconclusive", seconds=seconds, note=f"no answer in {around.seconds:g} s")
    try:
        (report,) = json.loads(ran.output)["checks"]
    except (ValueError, KeyError):
        return Result("refused", seconds=seconds, note=_short(ran.errors or ran.output))
    return dataclasses.replace(read(report), seconds=seconds)


def read(report: Mapping[str, Any]) -> Result:
    """Returns the result in a report of Fencepost."""
    verdict: str = report["verdict"]
    notes = "\n".join(report.get("notes", ()))
    again, share = WIDENED.search(notes), SHARE.search(notes)
    measured = Result(
        "ok",
        report.get("distinct"),
        report.get("generated"),
        report.get("depth"),
        widened=1 if again and again[1] is None else again and int(again[1]),
        share=share and int(share[1]) / 100,
    )
    if verdict == "ok":
        return measured
    if verdict == "violated":
        verdict = "liveness" if "loop" in report else "safety"
    states: Any = report.get("trace")
    return Result(
        "error" if verdict == "assertion" else verdict,
        length=len(states) if states else None,
        name=str(report.get("property") or ""),
        note=_short("; ".join(report.get("notes", ()))),
    )


WIDENED: Final = re.compile(r"The search began again (?:once|(\d+) times)")
SHARE: Final = re.compile(r"The evaluator took (\d+) ?% of")
TIMED_OUT: Final = (124, 137, -signal.SIGXCPU, 128 + signal.SIGXCPU, -signal.SIGKILL)
"""Exit codes of a command that reaches a limit of `_limited`."""
PATIENCE: Final = 6
"""Limit of the time of a run as a multiple of its processor time."""


def _limited(seconds: float) -> tuple[str, ...]:
    limit = int(seconds)
    return (
        "prlimit", f"--cpu={limit}:{limit + 10}", "--core=0",
        "timeout", "--kill-after=5", str(PATIENCE * limit),
    )  # fmt: skip


def _copied(folder: Path, copy: Path) -> None:
    for file in folder.iterdir():
        if file.is_file() and file.stat().st_size < 1 << 20:
            (copy / file.name).write_bytes(file.read_bytes())


def _seconds(ran: Ran) -> float:
    return round(ran.user + ran.system, 2)


def _short(text: str) -> str:
    """Returns the last lines of a message, without paths of this machine."""
    words = re.sub(r"(/[\w.+-]+)+/", "", text.strip())
    return " ".join(words[-400:].split())


# ---------------------------------------------------------------- results


def kept() -> Kept:
    """Returns the results of earlier runs."""
    if not KEPT.is_file():
        return {}
    return {
        name: {side: Result(**sides[side]) for side in SIDES if side in sides}
        for name, sides in json.loads(KEPT.read_text(encoding="utf-8")).items()
    }


def keep(results: Kept) -> None:
    """Writes the results, in the order of names and without empty fields."""
    data = {
        name: {
            side: {key: value for key, value in asdict(result).items() if value not in (None, "")}
            for side, result in sorted(sides.items())
        }
        for name, sides in sorted(results.items())
    }
    replace(KEPT, json.dumps(data, indent=1) + "\n")


def compare(model: Model, sides: Mapping[Side, Result], side: Side = "ours") -> str:
    """Returns the word for a row: "agrees", "differs", or the reason for no comparison."""
    ours = sides.get(side)
    theirs = sides.get("tlc")
    if ours is None:
        return "not run"
    if ours.verdict in ("refused", "inconclusive"):
        return ours.verdict
    theirs = _judged(model, theirs)
    if theirs is None:
        return "no judge"
    if ours.verdict != theirs.verdict:
        return "differs"
    if ours.verdict == "ok":
        # TLC says that the depth is 1 if there are no states.
        fields = COUNTS if ours.distinct else COUNTS[:2]
        pairs = ((getattr(ours, field), getattr(theirs, field)) for field in fields)
        return "agrees" if all(b is None or a == b for a, b in pairs) else "differs"
    lengths = ours.length, theirs.length
    return "differs" if None not in lengths and lengths[0] != lengths[1] else "agrees"


COUNTS: Final = ("distinct", "generated", "depth")


def _judged(model: Model, theirs: Result | None) -> Result | None:
    """Returns TLC's result, or the published one if TLC was not run to the end here."""
    ended = theirs is not None and theirs.verdict not in ("inconclusive", "broken")
    return theirs if ended else _published(model)


def _published(model: Model) -> Result | None:
    """Returns what the manifest says, if it says something."""
    verdicts = {
        "success": "ok",
        "safety failure": "safety",
        "liveness failure": "liveness",
        "deadlock failure": "deadlock",
        "assumption failure": "assumption",
    }
    if model.result not in verdicts:
        return None
    return Result(verdicts[model.result], model.distinct, model.generated, model.depth)


def judged(model: Model, sides: Mapping[Side, Result]) -> tuple[str, Result]:
    """Returns the word for a row about all engines, and the result of the engine that it is about.
    A difference comes first, so that no engine hides that of another.
    """
    words = [(compare(model, sides, side), sides.get(side, NOTHING)) for side in ENGINES]
    return min(words, key=lambda pair: [*WORDS].index(pair[0]))


def table(rows: Sequence[Model], results: Kept) -> str:
    """Returns the table in Markdown."""
    words = Counter(judged(model, results.get(model.name, {}))[0] for model in rows)
    counts = ", ".join(f"{count} {WORDS.get(word, word)}" for word, count in words.most_common())
    head = ["model", "verdict", "distinct", "generated", "depth", "TLC", *ENGINES.values()]
    head += ["evaluator's share", "widenings", "comparison"]
    lines = [line(head), line(["---"] * 2 + ["---:"] * (len(head) - 3) + ["---"])]
    for model in rows:
        sides = results.get(model.name, {})
        word, ours = judged(model, sides)
        ran, compiled = sides.get("tlc", NOTHING), sides.get("compiled", NOTHING)
        theirs = _judged(model, sides.get("tlc")) or ran
        cells = [model.name, _both(theirs.verdict, ours.verdict)]
        cells += [_both(*(_number(getattr(s, field)) for s in (theirs, ours))) for field in COUNTS]
        for side in SIDES:
            seconds = sides.get(side, NOTHING).seconds
            cells.append(f"{seconds:.1f} s" if seconds else "")
        cells.append("" if compiled.share is None else f"{compiled.share:.0%}")
        cells.append(_number(compiled.widened))
        note = compiled.note or ours.note
        if compare(model, sides, "compiled") == "refused" and word != "refused":
            cells.append(f"{word}; not compiled: {note}")
        else:
            cells.append(f"{word}: {note}" if note and word in ("refused", "differs") else word)
        lines.append(line([cell.replace("|", "\\|") for cell in cells]))
    return f"Of {len(rows)} models, {counts}.\n\n" + "\n".join(lines) + "\n"


WORDS: Final = {
    "differs": "differ",
    "agrees": "agree",
    "no judge": "have no judge",
    "inconclusive": "were not decided in time",
    "refused": "are refused",
    "not run": "were not run yet",
}
"""The words for a row, those that decide first, with the words for a number of rows."""
NOTHING: Final = Result("")


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _both(theirs: str, ours: str) -> str:
    """Returns a cell: one text if the sides agree, or both."""
    if not ours or theirs == ours:
        return theirs
    return f"{theirs or '?'} / {ours}"


def main() -> int:
    parser = argparse.ArgumentParser(COMMAND, description=__doc__)
    parser.add_argument("--examples", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--modules", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--classes", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--side", choices=[*SIDES, "all", "none"], default="all")
    parser.add_argument("--only", default="", help="a part of the names of models")
    parser.add_argument("--again", default="", help="verdicts that are found again, or all")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of a run")
    parser.add_argument("--page", action="store_true", help="rewrites the table of docs/tla.md")
    options = parser.parse_args()
    around = Surroundings(options.examples, options.modules, options.classes, options.seconds)
    rows = [model for model in models(options.examples) if model.mode == "exhaustive search"]
    results = kept()
    sides: list[Side] = [s for s in SIDES if options.side in (s, "all")]
    again = set(options.again.split(","))
    try:
        tlc = Tlc.locate()
    except NoTlc as reason:
        print(reason, file=sys.stderr)
        return 2
    for model in rows:
        if options.only not in model.name:
            continue
        for side in sides:
            old = results.get(model.name, {}).get(side)
            if old is not None and not again & {"all", old.verdict}:
                continue
            began = time.perf_counter()
            result = judge(tlc, model, around) if side == "tlc" else check(model, around, side)
            results = kept()
            results.setdefault(model.name, {})[side] = result
            keep(results)
            took = time.perf_counter() - began
            word = compare(model, results[model.name], "ours" if side == "tlc" else side)
            print(f"{model.name}: {side} {result.verdict} in {took:.1f} s, {word}", flush=True)
    if options.page:
        places.fill(PAGE, COMMAND, table(rows, results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
