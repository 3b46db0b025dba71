# pyright: basic
"""Compiles modules of LLVM text to functions that Python can call, if this machine can run them."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import llvmlite
import llvmlite.binding as llvm

from fencepost import __version__
from fencepost.checker.native.codegen.packed import DIGEST
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.spec.records import dataclass


def library() -> str:
    """Returns the name and version of the compiler library."""
    return f"llvmlite {llvmlite.__version__}"


def obstacle() -> str | None:
    """Returns the reason why machine code cannot be compiled or run here, or None."""
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
    """Releases memory that only the compiler needs: unmodified pages of LLVM's code. On demand, the
    system reads these pages from the file again.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            # Releases only pages that are never written to.
            if "libllvmlite" in line and " r-xp " in line:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                advise(start, end - start, mmap.MADV_DONTNEED)
    except OSError:
        return


MIN_SAVING = 0.3
"""Optimization starts once the search has used this share of the processor time that optimization
takes.
"""
MIN_SAVING_IN_PARALLEL = 1.0
"""The same share for a search with a single worker, whose processor also runs the compiler."""
ADDRESS, WORD = ctypes.c_void_p, ctypes.c_int64
PARAMETERS = {
    "initial": (ADDRESS,),
    "expand": (ADDRESS, ADDRESS, WORD, WORD),
    "route": (ADDRESS, ADDRESS, WORD),
    "merge": (ADDRESS, ADDRESS, WORD),
    "rehash": (ADDRESS, WORD, ADDRESS, WORD),
    "spread": (ADDRESS, ADDRESS, WORD, WORD, ADDRESS, WORD),
    "examine": (ADDRESS, ADDRESS, WORD, ADDRESS, WORD, ADDRESS),
    "gather": (ADDRESS, ADDRESS, WORD, ADDRESS),
}

COMPRESSED = {
    "add": (ADDRESS, ADDRESS, ADDRESS, WORD),
    "decode": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS),
    "move": (ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    "reindex": (ADDRESS,),
    "distinct": (
        ADDRESS, ADDRESS, WORD, WORD, WORD, ADDRESS, WORD, ADDRESS, WORD, WORD, WORD, WORD, ADDRESS,
    ),
}  # fmt: skip
"""The kernels of compressed visited sets."""
GRAPH = {
    "number": (ADDRESS, ADDRESS, WORD, WORD, ADDRESS),
    "ambiguous": (ADDRESS, WORD),
    "find": (ADDRESS, ADDRESS, WORD, ADDRESS),
    "label": (ADDRESS, ADDRESS, WORD, ADDRESS, WORD),
    "edges": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, WORD),
    "advance": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, ADDRESS, ADDRESS, WORD),
    "inside": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    "least": (ADDRESS, ADDRESS, WORD, WORD, WORD),
    "components": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, ADDRESS),
}
"""Additional kernels of a model with properties of behaviours."""
APART = {"apart": (ADDRESS, WORD, ADDRESS, WORD)}
"""The additional kernel of a model with a profile."""
FOLLOW = {"follow": (ADDRESS, ADDRESS, ADDRESS, WORD), "precedes": (ADDRESS, ADDRESS, ADDRESS)}
"""The kernels for comparing recordings."""
LAWFUL = {"lawful": (ADDRESS, WORD, ADDRESS)}
"""The kernel that validates states from a file."""
KERNELS = {
    **PARAMETERS, **GRAPH, **APART, **FOLLOW, **LAWFUL,
    "walk": (ADDRESS, WORD, WORD, WORD),
}  # fmt: skip
"""All kernels; the purpose of the code determines which of them exist."""


@dataclass(frozen=True, slots=True)
class Code:
    """The kernels of a model, to be called with addresses and integers. Calls release the GIL. A
    kernel is None if the code lacks it.

    ``engine`` owns the memory of the code, and must outlive all uses of the code. ``size`` is the
    size of the object file in bytes.
    """

    engine: Any
    size: int
    initial: Any = None
    expand: Any = None
    route: Any = None
    merge: Any = None
    rehash: Any = None
    spread: Any = None
    examine: Any = None
    gather: Any = None
    number: Any = None
    ambiguous: Any = None
    find: Any = None
    label: Any = None
    edges: Any = None
    advance: Any = None
    inside: Any = None
    least: Any = None
    components: Any = None
    walk: Any = None
    follow: Any = None
    precedes: Any = None
    apart: Any = None
    lawful: Any = None


@dataclass(frozen=True, slots=True)
class SetCode:
    """The kernels of compressed visited sets, like `Code`."""

    engine: Any
    size: int
    add: Any
    decode: Any
    move: Any
    reindex: Any
    distinct: Any


def set_number(code: Code, name: str, value: int) -> None:
    """Sets a number in the memory of the code (see `Unit.number`), if the code has a number with
    this name.
    """
    address = code.engine.get_global_value_address(name)
    if address:
        ctypes.c_int64.from_address(address).value = value


def digest(code: Code) -> str:
    """Returns the digest that all code made from one text shares, regardless of the salts; see
    `packed.salted`.
    """
    address = code.engine.get_global_value_address(DIGEST)
    if not address:
        raise LookupError("code that hashes nothing")
    return ctypes.string_at(address, 32).hex()


class _Cancelled(Exception):
    """The code is no longer needed."""


K = TypeVar("K", Code, SetCode)


class _Compilation(Generic[K]):
    """The compilation of a module. `quick` returns unoptimized code immediately; `better` provides
    optimized code some time after `begin`.

    Unoptimized code is half as fast, but available ten times sooner. Most searches end before
    optimized code would be available.
    """

    _kind: type[K]

    def __init__(self, text: str | Callable[[], str], size: int = 0, name: str = "") -> None:
        """``text`` may be a function that writes the module on demand. In this case ``size`` is the
        length of the module, and ``name`` identifies it in the cache.
        """
        self._text = text
        self._name = name
        self._cache = Cache()
        self._thread: threading.Thread | None = None
        self._cancelled = False
        self._better: K | None = None
        self._error: BaseException | None = None
        self.seconds = 2.2e-6 * (len(text) if isinstance(text, str) else size)
        """The estimated time for optimizing the code, in seconds."""

    @property
    def text(self) -> str:
        """The module as LLVM text."""
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def quick(self) -> K:
        """Returns unoptimized code."""
        target = _machine(0)
        return load(self._quick(target), target, self._kind)

    def _quick(self, target: Any) -> bytes:
        parts = [*self._parts(target), "quick"] if self._name else []
        image = self._cache.read(parts) if parts else None
        if image is None:
            image = target.emit_object(self._parsed())
            if parts:
                self._cache.write(parts, image)
        return image

    def kept(self) -> K | None:
        """Returns optimized code from the cache, or None."""
        target = _machine(2)
        image = self._cache.read(self._parts(target))
        return None if image is None else load(image, target, self._kind)

    def best(self) -> K:
        """Returns optimized code."""
        target = _machine(2)
        return load(self._improved(target), target, self._kind)

    def begin(self) -> None:
        """Starts to optimize the code in the background."""
        if self._thread is None:
            # The text is not written in the thread, since this needs a deep stack.
            assert self.text
            thread = threading.Thread(target=self._improve, name="fencepost compiler")
            # Without memory for the thread's stack, the code stays unoptimized.
            with suppress(RuntimeError):
                thread.start()
                self._thread = thread

    @property
    def better(self) -> K | None:
        """The optimized code once it is available, until then None."""
        if self._error is not None:
            raise self._error
        return self._better

    def wait(self) -> None:
        """Waits until the optimized code is available or has failed."""
        if self._thread is not None:
            self._thread.join()

    def cancel(self) -> None:
        """Cancels optimization. LLVM first completes its current step."""
        self._cancelled = True

    def _improve(self) -> None:
        try:
            target = _machine(2)
            parts = self._parts(target)
            # Only one of several processes with the same search compiles the code.
            with self._cache.turn(parts, self._go_on):
                image = self._cache.read(parts)
                if image is None:
                    image = self._improved(target)
                    self._cache.write(parts, image)
            self._better = load(image, target, self._kind)
            rest()
        except _Cancelled:
            return
        except BaseException as error:
            self._error = error

    def _improved(self, target: Any) -> bytes:
        """Compiles the module, checking for cancellation between steps."""
        module = self._parsed()
        self._go_on()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        self._go_on()
        image: bytes = target.emit_object(module)
        self._go_on()
        return image

    def _parts(self, target: Any) -> list[str]:
        """Returns the texts that determine the code."""
        return [
            __version__,
            library(),
            ".".join(map(str, llvm.llvm_version_info)),
            str(target.triple),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
            f"name {self._name}" if self._name else self.text,
        ]

    def _go_on(self) -> None:
        if self._cancelled:
            raise _Cancelled

    def _parsed(self) -> Any:
        module = llvm.parse_assembly(self.text)
        module.verify()
        return module


class Compilation(_Compilation[Code]):
    """The code of a model."""

    _kind = Code


class SetCompilation(_Compilation[SetCode]):
    """The code of compressed visited sets."""

    _kind = SetCode


class _InUse(Generic[K]):
    """The code of a search. It comes from the cache if possible. Otherwise the search begins with
    unoptimized code, and switches to optimized code if it takes long.
    """

    def __init__(
        self, compilation: _Compilation[K], code: K | None = None, workers: int | None = None
    ) -> None:
        """If ``code`` is given, it is always used. ``workers`` is the number of searching threads,
        if known.
        """
        self._worth = (MIN_SAVING_IN_PARALLEL if workers == 1 else MIN_SAVING) * compilation.seconds
        code = code or compilation.kept()
        self._code: K = code or compilation.quick()
        self._compilation: _Compilation[K] | None = compilation if code is None else None
        self._workers = workers or 1
        self._began = time.process_time()

    def now(self, searching: bool = True) -> K:
        """Returns the best code available. Code in use stays valid. ``searching`` tells whether the
        search continues, so that optimized code may pay off.
        """
        compilation = self._compilation
        if compilation is not None:
            if compilation.better is not None:
                self._code, self._compilation = compilation.better, None
            elif searching and self._searched() > self._worth:
                compilation.begin()
        return self._code

    def _searched(self) -> float:
        """Returns the processor time of the search per worker. Wall time would mislead: on a busy
        machine a small search takes long, but optimized code would come too late for it.
        """
        return (time.process_time() - self._began) / self._workers

    def cancel(self) -> None:
        """Cancels optimization."""
        if self._compilation is not None:
            self._compilation.cancel()


class CodeInUse(_InUse[Code]):
    """The code of a model."""


class SetCodeInUse(_InUse[SetCode]):
    """The code of compressed visited sets."""


def _machine(level: int) -> Any:
    """Returns the target: this processor with all its features. ``level`` is the optimization
    level.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="default",
    )


def load(image: bytes, target: Any, kind: type[K]) -> K:
    """Loads the kernels of an object file that was made for the same target."""
    # This memory manager allocates all sections together: LLVM aborts the process if sections are
    # more than 2 GB apart.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target, use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(image))
    engine.finalize_object()
    functions = {
        name: ctypes.CFUNCTYPE(None, *parameters)(engine.get_function_address(name))
        for name, parameters in (KERNELS if kind is Code else COMPRESSED).items()
        if engine.get_function_address(name)
    }
    return kind(engine, len(image), **functions)
