# pyright: basic
"""Whether this machine can compile and run machine code."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm


def library() -> str:
    """The compiler library and its version."""
    return f"llvmlite {llvmlite.__version__}"


def obstacle() -> str | None:
    """Why machine code cannot be compiled or run here, or None."""
    if sys.platform == "win32":
        return "it does not run on Windows"
    if sys.maxsize < 1 << 62:
        return "it needs a 64-bit Python"
    if sys.byteorder != "little":
        return "it needs a little-endian processor"
    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.Target.from_default_triple()
    except RuntimeError as error:
        return f"{library()} makes no code for this processor: {error}"
    return None


def rest() -> None:
    """Releases memory that only the compiler needs: unmodified pages of LLVM's code, which are read
    from its file again on demand.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            # Only pages that are never written to.
            if "libllvmlite" in line and " r-xp " in line:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                advise(start, end - start, mmap.MADV_DONTNEED)
    except OSError:
        return
