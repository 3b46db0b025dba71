"""The command: measures parts and prints tables; ``--write`` saves the results.

    python -m bench                    measures everything; over an hour on an idle machine
    python -m bench two-phase --sizes 8
    python -m bench --write            also writes bench/results/ and docs/performance.md
    python -m bench --before FOLDER    compares with another version, checked out in FOLDER
    python -m bench --pages            regenerates the page from bench/results/, without measuring

When a case is measured again, the new results replace its earlier ones in ``bench/results``.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from bench import machine, page, results, spin, suite, tables
from bench.process import Failed
from bench.tlc_run import NoTlc, Tlc

RESULTS = machine.ROOT / "bench" / "results"
PAGE = machine.ROOT / "docs" / "performance.md"


def main() -> int:
    options = _parser().parse_args()
    # Turns the signal into an exit, so that the measured processes end together with this command.
    signal.signal(signal.SIGTERM, _end)
    measurements = results.load(RESULTS, machine.this_machine(), anywhere=options.pages)
    if not options.pages:
        chosen = options.parts or [*suite.PARTS]
        if not options.write:
            measurements = results.Results(machine.this_machine())
        if options.spin and not spin.available():
            print("spin or gcc is not installed; see --no-spin", file=sys.stderr)
            return 2
        try:
            tlc = Tlc.locate() if options.tlc else None
        except NoTlc as reason:
            print(f"{reason}; see --no-tlc", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
            settings = suite.Settings(
                options.sizes,
                options.spin_tables,
                options.workers,
                options.runs,
                options.patience,
                options.spin,
                tlc,
                options.before,
                Path(folder),
                lambda line: print(line, file=sys.stderr, flush=True),
            )
            for part in chosen:
                try:
                    _measure(part, measurements, settings)
                except Failed as failure:
                    print(f"{part}: {failure}", file=sys.stderr)
                    return 1
                if options.write:
                    results.save(measurements, RESULTS)
        print(tables.terminal(measurements))
    if options.write or options.pages:
        (RESULTS / "tables.md").write_text(tables.markdown(measurements), encoding="utf-8")
        for name, text in page.files(measurements).items():
            (PAGE.parent / name).write_text(text, encoding="utf-8")
    return 0


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


def _measure(part: str, measurements: results.Results, settings: suite.Settings) -> None:
    """Measures a part, and adds the results to ``measurements``."""
    load, began = machine.load(), time.monotonic()
    when = datetime.now().astimezone().isoformat(timespec="minutes")
    rows: list[results.Row] = []
    searches: list[results.Search] = []
    if part == "searches":
        searches += suite.searches(settings)
    else:
        rows += suite.ROW_PARTS[part](settings)
    if not rows and not searches:
        return
    session = results.Session(part, when, load, time.monotonic() - began)
    measurements.replace(session, rows, searches)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m bench",
        description="Measures Fencepost, compared with SPIN and TLC, on this machine.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(suite.PARTS))
    parser.add_argument(
        "--sizes",
        type=_numbers,
        default=[8, 9, 10],
        metavar="8,9,10",
        help="sizes of two-phase commit",
    )
    parser.add_argument(
        "--workers", type=_numbers, default=[1, 2], metavar="1,2", help="workers of Fencepost"
    )
    parser.add_argument(
        "--spin-tables",
        type=_numbers,
        default=[*range(26, 31)],
        metavar="26,27,28,29,30",
        help="hash tables (-w) for SPIN, whose best one counts",
    )
    parser.add_argument("--no-spin", dest="spin", action="store_false", help="without SPIN")
    parser.add_argument("--no-tlc", dest="tlc", action="store_false", help="without TLC")
    parser.add_argument(
        "--before", type=_checkout, metavar="FOLDER", help="a checkout of another version"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of short cases")
    parser.add_argument(
        "--patience",
        type=float,
        default=120,
        help="seconds after which a case is not repeated",
    )
    parser.add_argument("--write", action="store_true", help="save the results and write the page")
    parser.add_argument("--pages", action="store_true", help="only rewrite the page")
    parser.epilog = "A part is one of " + ", ".join(suite.PARTS) + "; all, if none is named."
    return parser


def _checkout(text: str) -> Path:
    folder = Path(text).resolve()
    if not (folder / ".dev" / "fencepost").is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no checkout of Fencepost")
    return folder


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
