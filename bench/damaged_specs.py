"""Runs thousands of damaged specs through check, fmt and the language server.

    python -m bench.damaged_specs FIRST COUNT --file damaged.jsonl

Specs run in batches, each in a child process with limits on memory and processor time. The result
for each seed is a line of the file, so that a campaign can be resumed. Prints each distinct failure
with a shrunk spec, and the totals at the end. The exit code is 1 if there are failures.
"""

from __future__ import annotations

import argparse
import base64
import faulthandler
import gc
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from tests.support.damaged_runs import PHASES, Failure, Trials, place_in
from tests.support.damaged_specs import Damaged, damaged
from tests.support.processes import environment

BATCH = 500
"""Number of specs that one child process tries."""
MEMORY = 6 << 30
"""Address space of a child process, in bytes."""
SECONDS = 20
"""Maximum processor time of one phase of a spec, in seconds."""
COMMAND = (sys.executable, "-m", "bench.damaged_specs", "--child")
WALL_SECONDS = 180.0
"""A phase that takes this long, in seconds of wall time, counts as hanging, regardless of the
machine's load.
"""
LOCAL_EVERY = 100
"""One in this many specs is checked by machine code."""
PROCESS_EVERY = 200
"""One in this many specs is also checked by the command in a separate process."""
MAX_ATTEMPTS = 400
"""Maximum number of texts that are tried to shrink a failure."""
SHRINKING_SECONDS = 90

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A spec for the child process: the damaged spec of a seed, or ``text`` instead of it."""

    seed: int
    text: bytes | None = None
    phases: tuple[str, ...] = PHASES

    def dumps(self) -> bytes:
        text = None if self.text is None else base64.b64encode(self.text).decode()
        return json.dumps({"seed": self.seed, "text": text, "phases": self.phases}).encode() + b"\n"

    @staticmethod
    def loads(line: bytes) -> Task:
        row = json.loads(line)
        text = None if row["text"] is None else base64.b64decode(row["text"])
        return Task(row["seed"], text, tuple(row["phases"]))

    @property
    def spec(self) -> Damaged:
        spec = damaged(self.seed)
        return spec if self.text is None else replace(spec, text=self.text)


# ---------------------------------------------------------------- the child


def child() -> None:
    """Tries the specs of the tasks read from standard input. Writes a line for each phase and for
    each result.
    """
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Profiling time is the processor time of the whole process. Its signal ends the process, after
    # the stacks of all threads have been written.
    faulthandler.enable(all_threads=True)
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)

    def begun(phase: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        output.write(json.dumps({"phase": phase}).encode() + b"\n")

    with Trials(begun) as trials:
        for line in sys.stdin.buffer:
            task = Task.loads(line)
            began = time.process_time()
            failures = trials.failures(
                task.spec,
                task.seed,
                task.phases,
                "local" if task.seed % LOCAL_EVERY == 1 else "interpreter",
                task.seed % PROCESS_EVERY == 2 and task.text is None,
            )
            signal.setitimer(signal.ITIMER_PROF, 0)
            row = {
                "codes": trials.codes,
                "failures": [asdict(failure) for failure in failures],
                "worked": round(time.process_time() - began, 3),
            }
            output.write(json.dumps(row).encode() + b"\n")


# ---------------------------------------------------------------- the parent


class Child:
    """A child process that tries specs. It is replaced after a crash and after each batch."""

    def __init__(self, words: Sequence[str] = COMMAND, patience: float = WALL_SECONDS) -> None:
        self._words = words
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._left = 0

    def run(self, task: Task) -> Row:
        """Returns the result for a spec. If the process dies, that counts as a failure."""
        if self._left == 0:
            self.close()
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._left -= 1
        phase = "start"
        try:
            process.stdin.write(task.dumps())
            process.stdin.flush()
            while True:
                line = self._line(process.stdout)
                if line is None:
                    return self._died(phase, "hangs")
                if not line:
                    return self._died(phase, "")
                row = json.loads(line)
                if "phase" not in row:
                    return dict(row)
                phase = row["phase"]
        except BrokenPipeError:
            return self._died(phase, "")

    def close(self) -> None:
        """Closes the standard input of the process and waits for the process to end; kills it after
        a timeout.
        """
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._release()

    def _release(self) -> None:
        """Closes the files of a process that has ended."""
        process = self._process
        assert process is not None
        for file in (process.stdin, process.stdout, self._errors):
            assert file is not None
            with suppress(BrokenPipeError):
                file.close()
        self._process = None

    def _start(self) -> None:
        self._errors = _file()
        self._process = subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(),
            bufsize=0,
        )
        self._left = BATCH

    def _line(self, stream: IO[bytes]) -> bytes | None:
        """Returns the next line, an empty line at the end, or None after a timeout."""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            return stream.readline() if selector.select(self._patience) else None

    def _died(self, phase: str, kind: str) -> Row:
        process = self._process
        assert process is not None
        if kind:
            # Requests the stacks of all threads; the signal then ends the process.
            process.send_signal(signal.SIGPROF)
        try:
            code = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        assert self._errors is not None
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 8_000))
        details = self._errors.read().decode(errors="replace")
        self._release()
        if not kind and code == -signal.SIGPROF:
            kind = f"more than {SECONDS} s"
        failure = Failure(phase, kind or f"process ends with {code}", place_in(details), details)
        return {"codes": {}, "failures": [asdict(failure)], "worked": SECONDS}


def _file() -> IO[bytes]:
    """Returns an anonymous file, which is deleted with its last user."""
    return os.fdopen(os.memfd_create("errors"), "w+b")


def shrunk(text: bytes, fails: Callable[[bytes], bool], seconds: float) -> bytes:
    """Returns a part of the text with the same failure: first removes lines, then parts of
    lines.
    """
    end = time.monotonic() + seconds
    attempts = 0
    for separator in (b"\n", b" ", b""):
        size = len(text)
        while size >= 1:
            parts = (
                text.split(separator) if separator else [text[n : n + 1] for n in range(len(text))]
            )
            size = min(size, len(parts))
            start, smaller = 0, False
            while start < len(parts):
                attempts += 1
                if attempts > MAX_ATTEMPTS or time.monotonic() > end:
                    return text
                left = separator.join(parts[:start] + parts[start + size :])
                if len(left) < len(text) and fails(left):
                    parts, text, smaller = parts[:start] + parts[start + size :], left, True
                else:
                    start += size
            size = size if smaller and size == 1 else size // 2
    return text


def shrunk_failure(tries: Child, seed: int, failure: Failure) -> bytes:
    """Returns a small text that fails like the spec of a seed."""
    text = Task(seed).spec.text
    if failure.phase not in PHASES:
        return text

    def fails(other: bytes) -> bool:
        row = tries.run(Task(seed, other, (failure.phase,)))
        return any(Failure(**fields).key == failure.key for fields in row["failures"])

    slow = failure.kind in ("hangs", "no answer") or failure.kind.startswith("more than")
    return text if slow else shrunk(text, fails, SHRINKING_SECONDS)


def tried(first: int, count: int, path: Path) -> Iterator[Row]:
    """Yields a row for each seed, read from the file or produced by a new run. New rows are
    appended to the file.
    """
    done: dict[int, Row] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            saved = json.loads(line)
            done[saved["seed"]] = saved
    tries = Child()
    reported = {key for row in done.values() for key in keys(row)}
    with path.open("a", encoding="utf-8") as file:
        for seed in range(first, first + count):
            if seed in done:
                yield done[seed]
                continue
            began = time.monotonic()
            row: Row = {"seed": seed, **tries.run(Task(seed))}
            row["kinds"] = damaged(seed).kinds
            row["seconds"] = round(time.monotonic() - began, 2)
            for fields in row["failures"]:
                failure = Failure(**fields)
                if failure.key not in reported:
                    reported.add(failure.key)
                    text = shrunk_failure(tries, seed, failure)
                    shown = text.decode("utf-8", "backslashreplace")
                    row["shrunk"] = {**row.get("shrunk", {}), failure.key: shown}
                    print(_shown(seed, failure, shown), flush=True)
            print(json.dumps(row), file=file, flush=True)
            yield row
    tries.close()


def keys(row: Row) -> set[str]:
    """Returns the keys of the failures in a row."""
    return {Failure(**fields).key for fields in row["failures"]}


def _shown(seed: int, failure: Failure, text: str) -> str:
    last = "\n".join(failure.details.strip().splitlines()[-12:])
    return f"---- seed {seed}: {failure.key}\n{text}\n---- details\n{last}\n"


def main() -> None:
    """Runs the campaign and prints its totals."""
    if sys.argv[1:] == ["--child"]:
        try:
            child()
        finally:
            # Exits without waiting for the threads of servers that were not shut down.
            os._exit(0)
    parser = argparse.ArgumentParser(prog="python -m bench.damaged_specs", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--file", type=Path, default=Path("damaged.jsonl"))
    options = parser.parse_args()
    kinds, codes, failures = Counter[str](), Counter[str](), Counter[str]()
    seeds: dict[str, int] = {}
    specs, seconds, worked = 0, 0.0, 0.0
    for row in tried(options.first, options.count, options.file):
        specs, seconds, worked = specs + 1, seconds + row["seconds"], worked + row["worked"]
        kinds.update(row["kinds"])
        codes.update(f"{phase} {code}" for phase, code in row["codes"].items())
        # A fault that occurs in several phases counts as one failure.
        for key in keys(row):
            failures[key] += 1
            seeds.setdefault(key, row["seed"])
    print(f"{specs} specs, {seconds:.0f} s, {worked:.0f} s of processor time,"
          f" load {os.getloadavg()[0]:.1f}")  # fmt: skip
    for title, counts in (("damage", kinds), ("exit codes", codes)):
        print(f"{title}: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items())))
    for key, count in failures.most_common():
        print(f"FAILURE {key}: {count} specs, the first with seed {seeds[key]}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
