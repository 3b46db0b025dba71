# pyright: basic
"""From a module of machine code in LLVM's text to functions that Python can call.

It does not know what the functions do.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import llvmlite.binding as llvm

from fencepost import __version__
from fencepost.checker.native.codegen.packed import DIGEST
from fencepost.checker.native.machine import host
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.spec.records import dataclass

WORTH = 0.3
"""A search that has taken this share of the processor time that better code takes is worth it."""
WORTH_BESIDE = 1.0
"""The same of a search for which there is one processor: it is that one which makes the code, or
one that another search could use.
"""
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
        ADDRESS, ADDRESS, WORD, ADDRESS, WORD, ADDRESS, WORD, WORD, WORD, WORD, ADDRESS,
    ),
}  # fmt: skip
"""Those of compressed visited sets."""
GRAPH = {
    "number": (ADDRESS, ADDRESS, WORD, ADDRESS),
    "find": (ADDRESS, ADDRESS, WORD, ADDRESS),
    "label": (ADDRESS, ADDRESS, WORD, ADDRESS, WORD),
    "edges": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, WORD),
    "advance": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, ADDRESS, ADDRESS, WORD),
    "trim": (ADDRESS, ADDRESS, WORD, ADDRESS, WORD),
    "inside": (ADDRESS, ADDRESS, WORD, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    "least": (ADDRESS, ADDRESS, WORD, WORD, WORD),
}
"""Those of a model whose behaviours are asked for."""
APART = {"apart": (ADDRESS, WORD, ADDRESS, WORD)}
"""That of a model of which a profile is made."""
FOLLOW = {"follow": (ADDRESS, ADDRESS, ADDRESS, WORD), "precedes": (ADDRESS, ADDRESS, ADDRESS)}
"""Those of a mapping to which recordings are compared."""
LAWFUL = {"lawful": (ADDRESS, WORD, ADDRESS)}
"""That of what reads states from a file."""
KERNELS = {
    **PARAMETERS, **GRAPH, **APART, **FOLLOW, **LAWFUL,
    "walk": (ADDRESS, WORD, WORD, WORD),
}  # fmt: skip
"""All kernels; which of them code has depends on what it is for."""


@dataclass(frozen=True, slots=True)
class Code:
    """The kernels, ready to be called with addresses and numbers; each call leaves the GIL. None:
    the code has no such kernel.

    ``engine`` owns the memory of the code, and must outlive its use. ``size`` is that of the
    object, in bytes.
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
    find: Any = None
    label: Any = None
    edges: Any = None
    advance: Any = None
    trim: Any = None
    inside: Any = None
    least: Any = None
    walk: Any = None
    follow: Any = None
    precedes: Any = None
    apart: Any = None
    lawful: Any = None


@dataclass(frozen=True, slots=True)
class SetCode:
    """The kernels of compressed visited sets, as `Code`."""

    engine: Any
    size: int
    add: Any
    decode: Any
    move: Any
    reindex: Any
    distinct: Any


def set_number(code: Code, name: str, value: int) -> None:
    """Gives a number in the memory of the code (`Unit.number`) a value; nothing where the code has
    none of this name.
    """
    address = code.engine.get_global_value_address(name)
    if address:
        ctypes.c_int64.from_address(address).value = value


def digest(code: Code) -> str:
    """What salted code of the same text has in common, whoever made it: see `packed.salted`."""
    address = code.engine.get_global_value_address(DIGEST)
    if not address:
        raise LookupError("code that hashes nothing")
    return ctypes.string_at(address, 32).hex()


class _Cancelled(Exception):
    """The code is not wanted any more."""


K = TypeVar("K", Code, SetCode)


class _Compilation(Generic[K]):
    """The code of one module: `quick` at once, and `better` some time after `begin`.

    Code that LLVM hardly works on runs at half the speed, but is there ten times sooner; most
    searches are over by then.
    """

    _kind: type[K]

    def __init__(self, text: str | Callable[[], str], size: int = 0, name: str = "") -> None:
        """``text`` may be written when it is wanted: then ``size`` is its length, and ``name``
        names it, and the code that an earlier run has made of it.
        """
        self._text = text
        self._name = name
        self._cache = Cache()
        self._thread: threading.Thread | None = None
        self._cancelled = False
        self._better: K | None = None
        self._error: BaseException | None = None
        self.seconds = 2.2e-6 * (len(text) if isinstance(text, str) else size)
        """About how long better code takes."""

    @property
    def text(self) -> str:
        """The module."""
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def quick(self) -> K:
        """Code as it comes."""
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
        """Better code that an earlier run has left behind."""
        target = _machine(2)
        image = self._cache.read(self._parts(target))
        return None if image is None else load(image, target, self._kind)

    def best(self) -> K:
        """Code on which LLVM has worked."""
        target = _machine(2)
        return load(self._improved(target), target, self._kind)

    def begin(self) -> None:
        """Starts to make better code, beside what else goes on."""
        if self._thread is None:
            # Not in the thread: to write the text takes more of the stack than a thread may have.
            assert self.text
            thread = threading.Thread(target=self._improve, name="fencepost compiler")
            # Where there is no room for its stack, the code stays as it is.
            with suppress(RuntimeError):
                thread.start()
                self._thread = thread

    @property
    def better(self) -> K | None:
        """The better code, once it is there."""
        if self._error is not None:
            raise self._error
        return self._better

    def wait(self) -> None:
        """Until better code is there, or has failed."""
        if self._thread is not None:
            self._thread.join()

    def cancel(self) -> None:
        """Better code is wanted no more; what LLVM is about, it completes."""
        self._cancelled = True

    def _improve(self) -> None:
        try:
            target = _machine(2)
            parts = self._parts(target)
            # Of several processes that search the same, one makes the code.
            with self._cache.turn(parts, self._go_on):
                image = self._cache.read(parts)
                if image is None:
                    image = self._improved(target)
                    self._cache.write(parts, image)
            self._better = load(image, target, self._kind)
            host.rest()
        except _Cancelled:
            return
        except BaseException as error:
            self._error = error

    def _improved(self, target: Any) -> bytes:
        """The object file, worked on step by step."""
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
        """All that the code depends on."""
        return [
            __version__,
            host.library(),
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
    """The code of a search: what an earlier run has left; else code as it comes, until a search
    that goes on has better code. ``code`` is used for good.
    """

    def __init__(
        self, compilation: _Compilation[K], code: K | None = None, workers: int | None = None
    ) -> None:
        """``code``: what to use whatever there is; ``workers``: how many threads search, where that
        is known.
        """
        self._worth = (WORTH_BESIDE if workers == 1 else WORTH) * compilation.seconds
        code = code or compilation.kept()
        self._code: K = code or compilation.quick()
        self._compilation: _Compilation[K] | None = compilation if code is None else None
        self._workers = workers or 1
        self._began = time.process_time()

    def now(self, searching: bool = True) -> K:
        """What to go on with; code that is in use stays good. ``searching``: the search goes on, so
        that it may be worth to have better code.
        """
        compilation = self._compilation
        if compilation is not None:
            if compilation.better is not None:
                self._code, self._compilation = compilation.better, None
            elif searching and self._searched() > self._worth:
                compilation.begin()
        return self._code

    def _searched(self) -> float:
        """The seconds that the search has taken on processors of its own: while others have them
        too, a small one takes long, and better code would be too late for it.
        """
        return (time.process_time() - self._began) / self._workers

    def cancel(self) -> None:
        """Better code is wanted no more."""
        if self._compilation is not None:
            self._compilation.cancel()


class CodeInUse(_InUse[Code]):
    """The code of a model."""


class SetCodeInUse(_InUse[SetCode]):
    """The code of compressed visited sets."""


def _machine(level: int) -> Any:
    """What code is made for: this processor, with all that it can do."""
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
    """The kernels of an object file made for the same target."""
    # With the memory manager that takes room for all sections at once: sections that lie further
    # apart than 2 GB cannot reach each other, and LLVM ends the process.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target, use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(image))
    engine.finalize_object()
    functions = {
        name: ctypes.CFUNCTYPE(None, *parameters)(engine.get_function_address(name))
        for name, parameters in (KERNELS if kind is Code else COMPRESSED).items()
        if engine.get_function_address(name)
    }
    return kind(engine, len(image), **functions)
