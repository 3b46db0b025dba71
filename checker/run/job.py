"""Defines a check that is ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.run.settings import Settings
from fencepost.spec.core.ir import Model
from fencepost.spec.core.scenario import Scenario
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """A check that is ready to run. ``limits.workers`` is never None."""

    program: Program
    check: Check
    model: Model
    engine: str
    properties: frozenset[int]
    deadlock: bool
    limits: Limits
    settings: Settings
    model_name: str | None = None
    """A name that is derived from the content of the model and is the same in every run. None if
    the model has no such name.
    """
    scenario: Scenario | None = None
    """The scenario to play. None if properties are checked instead."""
    busy: bool = False
    """Whether there are fewer workers than processors because other programs use the processors."""

    @property
    def title(self) -> str:
        """The name of the check, or the name of the spec if the check has none."""
        return self.check.name or Path(self.program.path).name

    @property
    def folder(self) -> str:
        """The name of the folder of the check. It is unique among checks of different specs."""
        return f"{Path(self.program.path).stem}-{self.title}"

    @property
    def workers(self) -> int:
        """The number of search workers."""
        return self.limits.workers or 1

    def request(self, progress: Callable[[Progress], None]) -> Request:
        """Returns the request that the engine receives."""
        name, saving = self.model_name, self.settings.saving
        return Request(
            self.model,
            self.properties,
            self.deadlock,
            self.limits,
            self.settings.keep_going,
            progress,
            self.settings.profile,
            self.settings.symmetry,
            saving=None if saving is None else replace(saving, title=self.folder),
            named=None if name is None else (self.model, name),
        )
