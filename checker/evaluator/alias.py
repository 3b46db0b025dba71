"""Shows the fields of a configuration's ALIAS in traces, instead of the variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost.checker.evaluator.model import TlaModel
from fencepost.checker.outcome import Fact, Outcome, Step, Trace
from fencepost.spec.semantics.stepper import Choice
from fencepost.spec.tla.evaluate.machine import Located
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.standard.rows import record
from fencepost.spec.tla.values.kinds import EvaluationError, Function, Value


def with_alias(outcome: Outcome, model: TlaModel) -> Outcome:
    """Returns the outcome with the values of the ALIAS in its traces. As in TLC, a trace shows the
    variables if the ALIAS is not a record in one of its states.
    """
    alias = model.specification.alias
    if alias is None or not outcome.findings:
        return outcome
    notes = list(outcome.notes)
    findings = list(outcome.findings)
    for number, finding in enumerate(findings):
        if finding.trace is None:
            continue
        try:
            trace = replace(finding.trace, steps=tuple(_steps(model, finding.trace)))
            findings[number] = replace(finding, trace=trace)
            notes.append(Fact(f"The trace shows the fields of {alias.name}, the ALIAS."))
        except EvaluationError as error:
            notes.append(f"The trace shows the variables, not the ALIAS {alias.name}: {error}")
    return replace(outcome, findings=tuple(findings), notes=tuple(dict.fromkeys(notes)))


def _steps(model: TlaModel, trace: Trace) -> Iterator[Step]:
    """Yields the steps with the fields of the ALIAS. The last state is its own successor, unless
    the trace returns to a state. Raises `EvaluationError`.
    """
    specification: Specification = model.specification
    universe, runtime = specification.universe, specification.universe.runtime
    names = [variable.name for variable in model.variables]
    states = [model.values(step.state) for step in trace.steps if step.state is not None]
    last = states[-1] if trace.loop is None else states[trace.loop]
    records = tuple(record(universe, dict(zip(names, state, strict=True))) for state in states)
    statistic, kind, number = runtime.statistic, model.value_type, model.table.number
    assert specification.alias is not None
    try:
        for position, step in enumerate(trace.steps):
            if step.state is None:
                yield step
                continue
            level = position + 1

            def of_state(name: str, level: int = level) -> Value:
                return level if name == "level" else statistic(name)

            def of_trace(level: int = level) -> Value:
                return records[:level]

            runtime.statistic, runtime.trace = of_state, of_trace
            after = states[level] if level < len(states) else last
            try:
                value = specification.value(specification.alias, states[position], after)
                if not isinstance(value, Function) or not value.domain.is_record:
                    raise universe.error("the value is {}, which is not a record", value)
                fields = value.items()
            except EvaluationError as error:
                where = f" ({error.span})" if isinstance(error, Located) else ""
                raise EvaluationError(f"state {position}: {error}{where}") from None
            shown = [Choice(str(name), kind, number(item)) for name, item in fields]
            yield replace(step, shown=tuple(shown))
    finally:
        runtime.statistic, runtime.trace = statistic, None
