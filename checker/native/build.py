# pyright: basic
"""From a module of machine code in LLVM's text to functions that Python can call.

It does not know what the functions do.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

LEVEL = 2
"""How hard LLVM works on the code."""

ADDRESS, WORD = ctypes.c_void_p, ctypes.c_int64
PARAMETERS = {
    "initial": (ADDRESS,),
    "expand": (ADDRESS, ADDRESS, WORD),
    "merge": (ADDRESS, ADDRESS, WORD),
    "rehash": (ADDRESS, WORD, ADDRESS, WORD),
    "examine": (ADDRESS, ADDRESS, WORD, ADDRESS),
}


@dataclass(frozen=True, slots=True)
class Code:
    """The kernels, ready to be called with addresses and numbers; each call leaves the GIL.

    ``engine`` owns the memory of the code, and must outlive its use. ``size`` is that of the
    object, in bytes.
    """

    engine: Any
    size: int
    initial: Any
    expand: Any
    merge: Any
    rehash: Any
    examine: Any


def machine() -> Any:
    """What code is made for: this processor, with all that it can do."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=LEVEL,
        reloc="pic",
        codemodel="default",
    )


def compiled(text: str, target: Any) -> bytes:
    """The object file of a module."""
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    made: bytes = target.emit_object(module)
    return made


def load(image: bytes, target: Any) -> Code:
    """The kernels of an object file made by `compiled` for the same target."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(image))
    engine.finalize_object()
    functions = {
        name: ctypes.CFUNCTYPE(None, *parameters)(engine.get_function_address(name))
        for name, parameters in PARAMETERS.items()
    }
    return Code(engine, len(image), **functions)
