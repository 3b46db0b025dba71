"""Defines the request of a run, which contains the values of all options."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from fencepost.checker import options
from fencepost.checker.request import Cluster, Limits, Saving, Solving
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import is_folder, short_name


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that apply to every check. A value that is None or empty leaves the choice to the
    check.
    """

    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """New values of constants as text, by path."""
    invariants: tuple[str, ...] = ()
    """Names of the properties that are checked instead of the check's own."""
    engine: str | None = None
    limits: Limits = field(default_factory=Limits)
    keep_going: bool = False
    counterexamples: int | None = None
    """The maximum number of counterexamples of a violated property."""
    cluster: Cluster | None = None
    """Settings for an engine that runs on a cluster."""
    cross_check: tuple[str, ...] | None = None
    """Names of the engines to compare with. An empty tuple selects an engine of another kind. None
    means that results are not compared.
    """
    profile: bool = False
    """Whether the report describes the visited states."""
    symmetry: bool = True
    """Whether only one of several symmetric states is explored."""
    saving: Saving | None = None
    """The folder for checkpoints."""
    strict: bool = False
    """Whether a check fails because of a remark that deserves attention."""
    configs: tuple[Path, ...] = ()
    """The configurations of a TLA+ module. If there are none, it is the file with its name."""
    readable: tuple[Path, ...] = ()
    """The folders that a TLA+ module may read files in."""

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, by flag."""
        return options.given(Request((), settings=self), DEFAULT)


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `fencepost check`. ``specs`` may include folders, and ``search`` is the
    value of --path.
    """

    specs: tuple[Path, ...]
    checks: tuple[str, ...] = ()
    slow: bool = False
    search: tuple[Path, ...] = ()
    settings: Settings = field(default_factory=Settings)
    jobs: int | None = None
    """The maximum number of checks that run side by side (--jobs). If None, the number depends on
    the machine.
    """

    @property
    def single(self) -> bool:
        """Whether the request names one file. In this case the JSON report is an object, otherwise
        it is an array.
        """
        return len(self.specs) == 1 and not is_folder(self.specs[0])


DEFAULT = Request((), settings=Settings(cluster=Cluster(), saving=Saving("")))
"""The defaults. Every part that may store an option is present."""


def request_of(specs: tuple[Path, ...], values: Mapping[str, Any]) -> Request:
    """Builds a request from the values of options, by their Python names. Values that are None,
    False or () are ignored.
    """
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    for option in options.OPTIONS:
        value = values.get(option.name)
        if options.asked(option, value):
            part, _, name = option.field.rpartition(".")
            parts[part][name] = value if option.stored is None else option.stored(value)
    limits = Limits(**parts["settings.limits"], solving=Solving(**parts["settings.limits.solving"]))
    settings = Settings(
        **parts["settings"],
        limits=limits,
        cluster=Cluster(**parts["settings.cluster"]) if parts["settings.cluster"] else None,
        saving=_saving(**parts["settings.saving"]),
    )
    return Request(specs, **parts[""], settings=settings)


def _saving(
    checkpoint: str | None = None, resume: str | None = None, unsigned: bool = False
) -> Saving | None:
    if resume is not None:
        return Saving(resume, True, unsigned=unsigned)
    return None if checkpoint is None else Saving(checkpoint)


def command_line(request: Request) -> str:
    """Returns the command line that repeats a request. A search that was saved is resumed, since
    another search cannot be saved in its folder.
    """
    settings = request.settings
    if settings.saving is not None and settings.saving.checkpoint:
        saving = replace(settings.saving, resumed=True)
        request = replace(request, settings=replace(settings, saving=saving))
    words = ["fencepost", "check", *(short_name(spec) for spec in request.specs)]
    return shlex.join([*words, *options.repeated(options.given(request, DEFAULT))])
