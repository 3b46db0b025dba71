"""A change of a rule that only the properties of acknowledged batches notice."""

from __future__ import annotations

from dataclasses import replace

from bench.machine import ROOT

from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import load, perform
from fencepost.checker.run.settings import Settings
from fencepost.checker.tools.mutate import attempt, campaign, changes, jobs


def test_an_acknowledgement_without_a_log_entry_is_noticed() -> None:
    """A late batch of an earlier epoch is mistaken for a copy.

    Its transaction is not committed, so S15 is the only property of logs that notices the mistake.
    The answer itself is checked, too.
    """
    program = load(ROOT / "models" / "kafka" / "txn_core_v2.fence")
    checks = [check for check in program.checks if check.name == "fixed"]
    ready = jobs(program, checks, Settings(limits=Limits(workers=1)))
    (change,) = (
        mutant
        for mutant in changes(ready, ("condition",))
        if mutant.where == "is_duplicate"
        and mutant.change == "drop the line `entry.epoch == batch.epoch`"
    )
    for selection, property_ in ((None, "ToldOfLog"), (("S15",), "S15")):
        named = [
            check if selection is None else replace(check, properties=selection) for check in checks
        ]
        these = jobs(program, named, Settings(limits=Limits(workers=1)))
        trial = attempt(campaign([perform(job, ignored) for job in these], [change]), change)
        assert trial is not None
        assert (trial.check, trial.found) == ("fixed", f"violated {property_}")
