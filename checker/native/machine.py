# pyright: basic
"""Whether machine code can be made and run here, and what makes it.

It does not know what the code is for.
"""

from __future__ import annotations

import sys

import llvmlite
import llvmlite.binding as llvm


def library() -> str:
    """What makes the code, and its version."""
    return f"llvmlite {llvmlite.__version__}"


def obstacle() -> str | None:
    """Why no code can be made or run here; None: it can."""
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
