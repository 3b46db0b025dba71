"""Small random modules, and specs derived from them by encoding the state differently.

Most of the specs refine their module; some are broken by one change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fencepost.spec.core.types import State


@dataclass(frozen=True, slots=True)
class Refining:
    """The texts of a module ``m`` and of a spec with ``refinement R: m``.

    ``image`` maps the states of the spec to states of the module.
    """

    module: str
    spec: str
    image: Callable[[State], State]


def refining(random: Random) -> Refining:
    """Generates a module and a spec that may refine it."""
    top = random.choice((1, 2, 3))
    first = random.choice(("0", "0", str(top), "any"))
    actions = [_action(random, top) for _ in range(random.randint(1, 3))]
    module = [f"var x: 0..{top} = {first}", "var b: bool = false"]
    for number, action in enumerate(actions):
        module += _written(f"a{number}", action, "x = {}")
    # The spec has the same actions, with x reversed or not, and a variable that is not in the
    # module.
    turned = random.random() < 0.5
    store = f"y = {top} - ({{}})" if turned else "y = {}"
    value = f"{top} - y" if turned else "y"
    broken = random.choice(("", "", "", "guard", "value", "image", "start"))
    start = first if first == "any" or not turned else str(top - int(first))
    if broken == "start":
        start = random.choice(("any", "0", str(top)))
    spec = ["import m", f"var y: 0..{top} = {start}", "var b: bool = false", "var z: 0..2 = 0"]
    spec += [f"def x: 0..{top} = {value}", "action noise: z = (z + 1) % 3"]
    for number, (parameter, guards, updates) in enumerate(actions):
        kept = [*guards, *random.choice(([], [], ["z != 1"]))]
        changed = list(updates)
        if broken == "guard" and kept:
            kept.remove(random.choice(kept))
        if broken == "value" and random.random() < 0.6:
            changed[0] = f"(x + 1) % {top + 1}"
        spec += _written(f"c{number}", (parameter, kept, changed), store)
        if random.random() < 0.3:
            spec.append("    z = 0")
    shift = int(broken == "image")
    image = f"({value} + {shift}) % {top + 1}" if shift else value
    spec.append(f"refinement R: m where x = {image}, b = b")

    def of(state: State) -> State:
        y = state[0]
        assert isinstance(y, int)
        return ((top - y if turned else y) + shift) % (top + 1), state[1]

    return Refining("\n".join(module) + "\n", "\n".join(spec) + "\n", of)


_Action = tuple[bool, list[str], list[str]]
"""Whether the action has a parameter, its conditions, and the new values of ``x``; "" changes
``b``.
"""


def _action(random: Random, top: int) -> _Action:
    tests = (f"x < {top}", "x > 0", "b", "not b", f"x != {random.randint(0, top)}")
    guards = [random.choice(tests) for _ in range(random.randint(0, 2))]
    values = ["0", f"{top} - x", f"(x + 1) % {top + 1}", f"if b then {top} else 0", ""]
    # A failing step does not count, and x leaves its range unless a guard prevents it.
    values += ["x + 1"] if f"x < {top}" in guards or random.random() < 0.2 else []
    parameter = random.random() < 0.3
    updates = [random.choice(values) for _ in range(random.randint(1, 2))]
    return parameter, guards, ["n", *updates[1:]] if parameter else updates


def _written(name: str, action: _Action, store: str) -> list[str]:
    parameter, guards, updates = action
    lines = [f"action {name}{'(n in {0, 1})' if parameter else ''}:"]
    lines += [f"    require {guard}" for guard in guards]
    return lines + [f"    {store.format(update) if update else 'b = not b'}" for update in updates]
