"""A check that is ready to run."""

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
    """A check that is ready to run. Of its limits, the number of workers is never None."""

    program: Program
    check: Check
    model: Model
    engine: str
    properties: frozenset[int]
    deadlock: bool
    limits: Limits
    settings: Settings
    model_name: str | None = None
    """Names ``model`` by its content, across runs; None: it has no such name."""
    scenario: Scenario | None = None
    """What some run is to fit; None: properties are checked."""

    @property
    def title(self) -> str:
        """The name of the check; of the spec, where the check has none."""
        return self.check.name or Path(self.program.path).name

    @property
    def folder(self) -> str:
        """The name of the check's folder among those of others."""
        return f"{Path(self.program.path).stem}-{self.title}"

    @property
    def workers(self) -> int:
        """How many workers search."""
        return self.limits.workers or 1

    def request(self, progress: Callable[[Progress], None]) -> Request:
        """What the engine is asked."""
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
