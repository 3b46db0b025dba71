"""A check as a TLA+ module and the configuration with which TLC runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.checker.run import Job, expected
from fencepost.checker.tla.expressions import Names, Scope, elements, expression, is_rest, joined
from fencepost.checker.tla.kinds import NotExported
from fencepost.checker.tla.statements import (
    Formula,
    Leaf,
    bare,
    conjunction,
    formula,
    lines,
    members,
    unchanged,
)
from fencepost.spec import ir, types
from fencepost.spec.walk import walk

HELPERS = {
    "FloorDiv": [
        "FloorDiv(dividend, divisor) ==",
        "    IF divisor > 0 THEN dividend \\div divisor ELSE (-dividend) \\div (-divisor)",
    ],
    "FloorMod": [
        "FloorMod(dividend, divisor) ==",
        "    dividend - (divisor *",
        "        (IF divisor > 0 THEN dividend \\div divisor ELSE (-dividend) \\div (-divisor)))",
    ],
    "Wrap": ["Wrap(number, half) == ((number + half) % (2 * half)) - half"],
    "Sum": [
        "RECURSIVE Sum(_, _)",
        "Sum(amounts, domain) ==",
        "    IF domain = {} THEN 0",
        "    ELSE LET chosen == CHOOSE other \\in domain : TRUE",
        "         IN  amounts[chosen] + Sum(amounts, domain \\ {chosen})",
    ],
    "Ascending": [
        "RECURSIVE Ascending(_)",
        "Ascending(domain) ==",
        "    IF domain = {} THEN <<>>",
        "    ELSE LET least == CHOOSE chosen \\in domain : \\A other \\in domain : chosen <= other",
        "         IN  <<least>> \\o Ascending(domain \\ {least})",
    ],
}
"""Definitions that a module has where it uses them."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A module and its configuration: the name of both files, and their texts."""

    name: str
    module: str
    configuration: str


def exported(job: Job, name: str) -> Exported:
    """A check in TLA+. Raises `NotExported` where TLA+ would not mean the same."""
    if job.limits.depth is not None:
        raise NotExported("a search to a limited depth, which TLC does not have")
    writer = _Writer(job, name)
    return Exported(name, writer.module(), writer.configuration())


class _Writer:
    def __init__(self, job: Job, name: str) -> None:
        self.job = job
        self.model = model = job.model
        self.name = name
        names = Names()
        self.variables = [names.fresh(variable.name) for variable in model.variables]
        self.actions = {n: names.fresh(action.name) for n, action in enumerate(model.actions)}
        self.properties = {
            index: names.fresh(prop.name or f"{prop.kind} line {prop.span.line}")
            for index, prop in enumerate(model.properties)
        }
        now = dict(enumerate(self.variables))
        after = {index: f"{name}'" for index, name in enumerate(self.variables)}
        self.scope = Scope(model, names, now, after, self.actions, {})
        self.families = {
            number: pick
            for number, action in enumerate(model.actions)
            if (pick := _instances(action.body)) is not None
        }
        sets = {n: elements(self.scope.local(), pick.domain) for n, pick in self.families.items()}
        self.scope = Scope(model, names, now, after, self.actions, sets)

    # ------------------------------------------------------------ the module

    def module(self) -> str:
        body: list[str] = []
        body += self._types()
        body += self._init()
        for number in self.actions:
            body += ["", *self._action(number)]
        body += self._next()
        body += self._properties()
        text = "\n".join(body)
        helpers = [[*told, ""] for word, told in HELPERS.items() if f"{word}(" in text]
        head = f" MODULE {self.name} "
        bar = "-" * max(4, (76 - len(head)) // 2)
        return "\n".join(
            [
                f"{bar}{head}{bar}",
                *self._about(),
                "EXTENDS Integers, Sequences, FiniteSets, Bags, TLC",
                "",
                f"VARIABLES {', '.join(self.variables)}",
                "",
                f"vars == <<{', '.join(self.variables)}>>",
                "",
                *(line for told in helpers for line in told),
                text,
                "=" * (2 * len(bar) + len(head)),
                "",
            ]
        )

    def _about(self) -> list[str]:
        job = self.job
        told = [f"\\* {job.program.name}, check {job.title}: expect {expected(job.check)}."]
        told += [f"\\* {c.path} = {types.show(c.value, c.type)}" for c in self.model.constants]
        renamed = [
            f"\\* {name} is {variable.name}"
            for name, variable in zip(self.variables, self.model.variables, strict=True)
            if name not in (variable.name, variable.name.replace(".", "_"))
        ]
        return [*told, *renamed]

    def _types(self) -> list[str]:
        pairs = [
            (name, variable.type)
            for name, variable in zip(self.variables, self.model.variables, strict=True)
        ]
        return _definition("TypeOK", members(pairs))

    def _init(self) -> list[str]:
        def end(now: Scope) -> Formula:
            values = [now.variables[index] for index in range(len(self.variables))]
            pairs = zip(self.variables, values, strict=True)
            return conjunction([f"({name} = {value})" for name, value in pairs])

        return ["", *_definition("Init", formula(self.scope.local(), self.model.initial, end, {}))]

    def _action(self, number: int) -> list[str]:
        action = self.model.actions[number]

        def end(now: Scope) -> Formula:
            parts: list[str] = []
            same: list[str] = []
            for index, name in enumerate(self.variables):
                if now.variables[index] == name:
                    same.append(name)
                else:
                    parts.append(f"({name}' = {now.variables[index]})")
            return conjunction([*parts, *([unchanged(same)] if same else [])])

        pick = self.families.get(number)
        head = self.actions[number]
        if pick is None:
            return _definition(head, formula(self.scope.local(), action.body, end, {}))
        scope = self.scope.local()
        inner = scope.bound(pick.slot, "self")
        return _definition(f"{head}(self)", formula(inner, pick.body, end, {}))

    def _next(self) -> list[str]:
        told = ["", "Next =="]
        for number, head in self.actions.items():
            if number in self.families:
                chosen = bare(self.scope.families[number])
                told.append(f"    \\/ \\E self \\in {chosen} : {head}(self)")
            else:
                told.append(f"    \\/ {head}")
        if not self.actions:
            told = ["", f"Next == FALSE /\\ {unchanged(self.variables)}"]
        return [*told, "", "Spec == Init /\\ [][Next]_vars"]

    def _rest(self) -> list[str]:
        """Where nothing can happen but what nobody owes, if a property asks for that."""
        bodies = [prop.body for prop in self.model.properties]
        found = next((n for n in walk(tuple(bodies)) if _quiescent(n)), None)
        if not isinstance(found, ir.And):
            return []
        parts = [expression(self.scope.local(), part) for part in found.parts]
        return ["", *_definition("Quiescent", conjunction(parts))]

    def _properties(self) -> list[str]:
        told = self._rest()
        terminal: list[str] = []
        for index, prop in enumerate(self.model.properties):
            name = self.properties[index]
            if prop.kind == "terminal":
                terminal.append(expression(self.scope.local(), prop.body))
                continue
            if index not in self.job.properties and prop.kind != "constraint":
                continue
            text = expression(self.scope.local(), prop.body)
            told.append("")
            if prop.kind == "step invariant":
                told += [f"{name} == [][{bare(text)}]_vars"]
            elif prop.kind == "reachable":
                told += [f"\\* Reachable: TLC reports a violation of Not{name} in every case."]
                told += _definition(f"Not{name}", Leaf(f"(~{text})"))
            else:
                told += _definition(name, Leaf(text))
        if self.job.deadlock:
            ended = joined(" \\/ ", terminal, "FALSE")
            told += ["", *_definition("Terminal", Leaf(ended))]
            told += ["", "NoDeadlock == Terminal \\/ ENABLED Next"]
        for assumption in self.model.assumptions:
            text = bare(expression(self.scope.local(), assumption.condition))
            told += ["", f"ASSUME {text}"]
        return told

    # ------------------------------------------------------------ the configuration

    def configuration(self) -> str:
        """What TLC is asked: the properties of the check, and deadlock as the language has it."""
        kinds_of = {index: prop.kind for index, prop in enumerate(self.model.properties)}
        chosen = sorted(self.job.properties)
        told = ["SPECIFICATION Spec", "INVARIANT TypeOK"]
        told += [
            f"INVARIANT {self.properties[index]}"
            for index in chosen
            if kinds_of[index] in ("invariant", "lemma")
        ]
        told += [
            f"PROPERTY {self.properties[index]}"
            for index in chosen
            if kinds_of[index] == "step invariant"
        ]
        told += [
            f"\\* INVARIANT Not{self.properties[index]}"
            for index in chosen
            if kinds_of[index] == "reachable"
        ]
        told += [
            f"CONSTRAINT {self.properties[index]}"
            for index, kind in kinds_of.items()
            if kind == "constraint"
        ]
        if self.job.deadlock:
            told.append("INVARIANT NoDeadlock")
        return "\n".join([*told, "CHECK_DEADLOCK FALSE", ""])


def _definition(head: str, body: Formula) -> list[str]:
    inside = lines(body)
    if len(inside) == 1 and len(head) + len(inside[0]) < 90:
        return [f"{head} == {inside[0]}"]
    return [f"{head} ==", *(f"    {line}" for line in inside)]


def _quiescent(node: object) -> bool:
    return isinstance(node, ir.And) and is_rest(node)


def _instances(body: ir.Statement) -> ir.Pick | None:
    """The choice of an instance, where an action begins with one."""
    match body:
        case ir.Pick(label="", condition=None):
            return body
        case ir.Sequence(statements=(only,)):
            return _instances(only)
        case _:
            return None


def names_of(stem: str, titles: Sequence[str]) -> dict[str, str]:
    """The names of the modules of some checks: words of letters, digits and underscores."""
    names = Names()
    return {title: names.fresh(f"{stem}_{title}" if title else stem) for title in titles}
