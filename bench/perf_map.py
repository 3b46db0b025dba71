"""Runs one check with named machine code, for a profiler that samples addresses.

    perf record -e cpu-clock:u -F 997 -o FILE python -m bench.perf_map check SPEC --check NAME
    perf report -i FILE --sort sym

The code of a search is not in a file that `perf` could read. So the addresses and names of its
functions are written to /tmp/perf-PID.map, where `perf` looks for them. A name begins with the
number of the code, in the order of loading: quick and optimized code of the model, and code of
compressed sets. A function that LLVM inlined is counted in its caller. In a search, the actions of
the model are inlined in `step_state`, its step invariants in `emit`, and its other properties in
`examine`.
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
"""ELF's numbers for the type of a symbol table section, and for the type of a function symbol."""


class Symbol(NamedTuple):
    """A function in an object file: its section, its offset in the section, and its size in
    bytes.
    """

    name: str
    section: int
    start: int
    size: int


def functions(image: bytes) -> Iterator[Symbol]:
    """Yields the functions of a 64-bit ELF object file, including local ones."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + size * n) for n in range(count)]
    for _, kind, _, _, start, length, names, _, _, each in headers:
        if kind != SYMBOL_TABLE:
            continue
        for at in range(start, start + length, each):
            name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", image, at)
            if info & 15 == FUNCTION:
                begin = headers[names][4] + name
                text = image[begin : image.index(b"\0", begin)].decode()
                yield Symbol(text, section, value, extent)


def mapped(image: bytes, code: build.Code | build.SetCode) -> Iterator[tuple[int, int, str]]:
    """Yields the address, size and name of each function of an object file that was loaded as
    ``code``.
    """
    symbols = [*functions(image)]
    moved: dict[int, int] = {}
    for symbol in symbols:
        # Only the addresses of exported functions can be queried. Other functions of a section move
        # by the same distance.
        address = code.engine.get_function_address(symbol.name)
        if address:
            moved[symbol.section] = address - symbol.start
    for symbol in symbols:
        if symbol.section in moved:
            yield moved[symbol.section] + symbol.start, symbol.size, symbol.name


def install() -> None:
    """Makes this process write all code that it loads later to its map."""
    load, number = build.load, 0

    def watched(image: bytes, target: Any, kind: Any) -> Any:
        nonlocal number
        code = load(image, target, kind)
        with (FOLDER / f"perf-{os.getpid()}.map").open("a", encoding="utf-8") as file:
            for address, size, name in mapped(image, code):
                file.write(f"{address:x} {size:x} {number}:{name}\n")
        number += 1
        return code

    # The module declares this name as a constant, and nothing else reassigns it.
    engine: Any = build
    engine.load = watched


if __name__ == "__main__":
    install()
    sys.argv[0] = "fencepost"
    entry()
