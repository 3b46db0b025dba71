"""Defines the interface between the driver and a real system: an object with three methods that the
user writes.

The values of the interface are JSON, as in the lines of a recording. Since the object is foreign
code, its errors are reported as problems with their location.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast, runtime_checkable

from fencepost.checker.printing.json_values import Json
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

METHODS = ("reset", "send", "observe")
SHIPPED = {"kafka": "fencepost.checker.systems.kafka.brokers:Brokers"}
"""Systems that have a short name."""


@runtime_checkable
class System(Protocol):
    """A real system that can be driven.

    Requests and events have the fields that the mapping declares, as JSON.
    """

    def reset(self) -> None:
        """Begins a new history. The system must then be in a state that corresponds to the model's
        initial state.
        """
        ...

    def send(self, request: str, fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Performs the event of the mapping with the name ``request``, and returns when it is done.
        Returns the other fields of the event, which are the answer ({} if there are none). Returns
        None if the request is not possible now and nothing was done.
        """
        ...

    def observe(self) -> Iterable[Mapping[str, Json]]:
        """Returns the lines that the system has logged since the last call, in order for each
        source. Requests and their answers are not included.
        """
        ...


def system(where: str, options: Mapping[str, str]) -> System:
    """Creates the system ``FILE.py:NAME`` or ``MODULE:NAME`` with its options. Raises
    `Rejected`.
    """
    module_name, colon, name = SHIPPED.get(where, where).rpartition(":")
    if not colon or not module_name or not name:
        short = f"{listing(list(SHIPPED), 'and')}{suggestion(where, SHIPPED)}"
        message = f"{where} is not a system: FILE.py:NAME, MODULE:NAME, or {short}"
        raise Rejected([Problem("F853", None, message)])
    with _their_code(where):
        module = _module(module_name)
    names = [candidate for candidate in vars(module) if not candidate.startswith("_")]
    if name not in names:
        hint = suggestion(name, names)
        raise Rejected([Problem("F853", None, f"{module_name} has no {name}{hint}")])
    factory = getattr(module, name)
    if not callable(factory):
        raise Rejected([Problem("F853", None, f"{name} of {module_name} cannot be called")])
    signature = inspect.signature(factory)
    names = list(signature.parameters)
    for option in options:
        if option not in names and inspect.Parameter.VAR_KEYWORD not in _kinds(signature):
            hint = suggestion(option, names)
            message = f"{where} has no option {option}{hint}"
            raise Rejected([Problem("F853", None, message)])
    try:
        signature.bind(**options)
    except TypeError as error:
        message = f"{name} of {module_name} cannot be created with these options: {error}"
        raise Rejected([Problem("F853", None, message)]) from None
    with _their_code(where):
        instance = factory(**options)
    missing = [
        candidate for candidate in METHODS if not callable(getattr(instance, candidate, None))
    ]
    if missing:
        message = f"{name} of {module_name} has no {listing(missing, 'and')}"
        raise Rejected([Problem("F853", None, message)])
    return cast("System", instance)


def _kinds(signature: inspect.Signature) -> set[object]:
    return {parameter.kind for parameter in signature.parameters.values()}


class GuardedSystem:
    """A system whose errors are reported as F853. If the inner system has a method ``close``, it is
    called to close the system. If it has a method ``weight``, that method gives the frequency of
    each request.
    """

    def __init__(self, inner: System) -> None:
        self._inner = inner

    def reset(self) -> None:
        with _their_code("reset"):
            self._inner.reset()

    def close(self) -> None:
        with _their_code("close"):
            getattr(self._inner, "close", lambda: None)()

    def weight(self, request: str) -> float:
        """Returns the frequency of a request relative to others; 0 means never."""
        with _their_code(f"weight of {request}"):
            weigh: Callable[[str], object] | None = getattr(self._inner, "weight", None)
            weight = 1.0 if weigh is None else weigh(request)
        if not isinstance(weight, int | float) or not 0 <= weight < inf:
            message = f"weight of {request} gives {weight!r}; it must be a number, at least 0"
            raise Rejected([Problem("F853", None, message)])
        return float(weight)

    def send(self, request: str, fields: Mapping[str, Json]) -> dict[str, Json] | None:
        with _their_code(f"send of {request}"):
            answer = self._inner.send(request, fields)
        return None if answer is None else _object(answer, f"send of {request}")

    def observe(self) -> list[dict[str, Json]]:
        with _their_code("observe"):
            lines = list(self._inner.observe())
        return [_object(line, "observe") for line in lines]


def _object(value: object, caller: str) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        message = f"{caller} gives {type(value).__name__}; it must be an object with fields"
        raise Rejected([Problem("F853", None, message)])
    return dict(cast("Mapping[str, Json]", value))


def _module(module_name: str) -> ModuleType:
    if not module_name.endswith(".py"):
        return importlib.import_module(module_name)
    path = Path(module_name)
    name = f"fencepost_system_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{module_name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module in this table.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _their_code(caller: str) -> Generator[None]:
    try:
        yield
    except Rejected:
        raise
    except Exception as error:
        where = _where(traceback.extract_tb(error.__traceback__))
        message = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise Rejected([Problem("F853", None, f"{caller}: {message}{where}")]) from None


def _where(frames: Sequence[traceback.FrameSummary]) -> str:
    """Returns the location of the innermost frame in the foreign code."""
    theirs = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if len(theirs) > 1 else ""
