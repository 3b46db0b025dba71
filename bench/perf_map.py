"""One check whose machine code has names, for a profiler that samples addresses.

    perf record -e cpu-clock:u -F 997 -o FILE python -m bench.perf_map check SPEC --check NAME
    perf report -i FILE --sort sym

The code of a search is in no file that `perf` could look into; where it is and what its functions
are called is written to /tmp/perf-PID.map, which `perf` looks for. A name begins with the number of
the code: quick and better code of the model, and of compressed sets, in the order in which they
came. What LLVM has put inside another function has that one's name: for a search, the actions of
the model are in `step_state`, its step invariants in `emit`, its other properties in `examine`.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.checker.cli.main import entry
from fencepost.checker.native.machine import build

FOLDER = Path("/tmp")
SYMBOL_TABLE, FUNCTION = 2, 2
"""What ELF calls a section with symbols, and a symbol that is a function."""


class Symbol(NamedTuple):
    """A function in an object file: where in which section it is, and its size in bytes."""

    name: str
    section: int
    start: int
    size: int


def functions(image: bytes) -> Iterator[Symbol]:
    """The functions of an object file of 64-bit ELF, those that only it can name, too."""
    (at,) = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at + size * n) for n in range(count)]
    for _, kind, _, _, start, length, names, _, _, each in headers:
        if kind != SYMBOL_TABLE:
            continue
        for place in range(start, start + length, each):
            name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", image, place)
            if info & 15 == FUNCTION:
                begin = headers[names][4] + name
                text = image[begin : image.index(b"\0", begin)].decode()
                yield Symbol(text, section, value, extent)


def mapped(image: bytes, code: build.Code | build.SetCode) -> Iterator[tuple[int, int, str]]:
    """Address, size and name of each function of an object file that was loaded as ``code``."""
    found = [*functions(image)]
    moved: dict[int, int] = {}
    for one in found:
        # Only what others may name has an address to ask for; the rest of its section moved along.
        address = code.engine.get_function_address(one.name)
        if address:
            moved[one.section] = address - one.start
    for one in found:
        if one.section in moved:
            yield moved[one.section] + one.start, one.size, one.name


def install() -> None:
    """Has all code that is loaded from now on written to the map of this process."""
    load, number = build.load, 0

    def watched(image: bytes, target: Any, kind: Any) -> Any:
        nonlocal number
        code = load(image, target, kind)
        with (FOLDER / f"perf-{os.getpid()}.map").open("a", encoding="utf-8") as file:
            for address, size, name in mapped(image, code):
                file.write(f"{address:x} {size:x} {number}:{name}\n")
        number += 1
        return code

    # Types hold this name for a constant, which it is everywhere else.
    engine: Any = build
    engine.load = watched


if __name__ == "__main__":
    install()
    sys.argv[0] = "fencepost"
    entry()
