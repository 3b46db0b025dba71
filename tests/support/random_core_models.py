"""Random models in core: a few variables of random types, and actions that work on them.

The strategies grow small specs; here types, and so states, are of every size (see `drawn`).
"""

from __future__ import annotations

from random import Random

from tests.support import random_values
from tests.support.core_builders import PLACE
from tests.support.random_core_expressions import MARKS, Cores
from tests.support.random_core_scope import POSITION, SITES

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.types import Bool, Int, Map, Record, Seq, Set, Type
from fencepost.spec.core.verify_model import problems

GUARDS = 6
MAX_CHOSEN = 9
"""A choice is made among at most so many elements."""


def grown_core(seed: int) -> ir.Model:
    """A random model."""
    return _Grower(Random(seed)).model()


class _Grower:
    def __init__(self, random: Random) -> None:
        self.random = random
        types = random_values.Types(random)
        kinds: list[Type] = [types.any() for _ in range(random.randint(1, 3))]
        kinds += random.sample(kinds, random.randint(0, len(kinds)))
        if random.random() < 0.6:
            kinds.append(types.scalar())
        if random.random() < 0.5:
            kinds.append(POSITION)
        random.shuffle(kinds)
        self.kinds = tuple(kinds)
        self.cores = Cores(random, self.kinds)
        self.labels = 0
        self.open: list[int] = []

    def model(self) -> ir.Model:
        random = self.random
        count = random.randint(3, 7)
        actions = [self._statement(3, 2) for _ in range(count)]
        self.cores.property, self.cores.actions = True, count
        tests = [self.cores.truth(3) for _ in range(4)]
        properties = [
            ir.Property("", PropertyKind.INVARIANT, tests[0], PLACE),
            ir.Property("", PropertyKind.CONSTRAINT, tests[1], PLACE),
            ir.Property("", PropertyKind.TERMINAL, tests[2], PLACE),
            ir.Property("", PropertyKind.REACHABLE, tests[3], PLACE),
            ir.Property("", PropertyKind.STEP_INVARIANT, self._moves(), PLACE),
        ]
        made = ir.Model(
            "core",
            tuple(
                ir.StateVariable(f"v{index}", kind, "variable", "", False, PLACE)
                for index, kind in enumerate(self.kinds)
            ),
            ir.Sequence(
                tuple(
                    ir.Assign(index, (), ir.Literal(kind, random_values.value(random, kind)))
                    for index, kind in enumerate(self.kinds)
                )
            ),
            tuple(
                ir.Action(f"a{index}", "", random.choice(["ordinary", "lose"]), body, PLACE)
                for index, body in enumerate(actions)
            ),
            tuple(properties),
            (),
            (),
            tuple(ir.Site("F900", PLACE, str(index)) for index in range(SITES)),
            tuple(
                ir.Guard("capacity" if index % 2 else "require", PLACE, -1)
                for index in range(GUARDS)
            ),
            tuple(ir.CoverageMark("branch", PLACE, 0, "") for _ in range(MARKS)),
            self.cores.slots,
            self.labels,
        )
        found = problems(made)
        assert not found, found
        return made

    def _moves(self) -> ir.Expr:
        index = self.random.randrange(len(self.kinds))
        kind = self.kinds[index]
        before, after = ir.Variable(kind, index), ir.Variable(kind, index, True)
        if self.random.random() < 0.3:
            return ir.Equal(before, after)
        return ir.Less(after, before, self.random.random() < 0.5)

    # ------------------------------------------------------------ statements

    def _statement(self, depth: int, picks: int) -> ir.Statement:
        """A statement with at most so many choices inside each other or in a row."""
        random = self.random
        if depth <= 0:
            return self._simple()
        match random.randrange(10):
            case 0 | 1 | 2:
                parts = [self._statement(depth - 1, picks if n == 0 else 0) for n in range(2)]
                parts.append(self._simple())
                random.shuffle(parts)
                return ir.Sequence(tuple(parts))
            case 3 | 4 if picks:
                return self._pick(depth, picks)
            case 5:
                arms = [self._statement(depth - 1, picks // 2) for _ in range(2)]
                return ir.If(self.cores.truth(2), *arms)
            case 6:
                return self._loop(depth)
            case 7:
                value = self.cores.any(2)
                slot = self.cores.fresh(value.type)
                self.cores.locals.append(slot)
                body = self._statement(depth - 1, picks)
                self.cores.locals.remove(slot)
                return ir.Bind(slot.slot, value, body)
            case 8:
                label = self.labels
                self.labels += 1
                self.open.append(label)
                body = self._statement(depth - 1, picks)
                self.open.remove(label)
                return ir.Block(label, body)
            case _:
                return self._simple()

    def _simple(self) -> ir.Statement:
        random = self.random
        match random.randrange(12):
            case 0:
                yes = ir.Literal(Bool(), random.random() < 0.6)
                return ir.Require(ir.Or((yes, self.cores.truth(1))), random.randrange(GUARDS))
            case 1:
                return ir.Assert(
                    ir.Or((ir.Literal(Bool(), random.random() < 0.6), self.cores.truth(1))),
                    self.cores.site(),
                )
            case 2:
                return ir.Ensure(
                    ir.Or((ir.Literal(Bool(), random.random() < 0.6), self.cores.truth(1))),
                    self.cores.site(),
                )
            case 3:
                return ir.Mark(random.randrange(MARKS))
            case 4 if self.open:
                return ir.If(
                    self.cores.truth(1), ir.Leave(random.choice(self.open)), ir.Sequence(())
                )
            case 5:
                return ir.Sequence(())
            case _:
                return self._assign()

    def _assign(self) -> ir.Statement:
        random, cores = self.random, self.cores
        index = random.randrange(len(self.kinds))
        kind = self.kinds[index]
        path: list[ir.Step] = []
        whole: ir.Expr | None = ir.Variable(kind, index)
        tests: list[ir.Statement] = []
        while random.random() < 0.7:
            match kind:
                case Record(fields=fields):
                    place = random.randrange(len(fields))
                    path.append(ir.FieldStep(place))
                    kind = fields[place].type
                    whole = whole and ir.GetField(kind, whole, place)
                case Map(key, value):
                    # A key is known, or the path would be another one than what was tested.
                    at = ir.Literal(key, random_values.value(random, key))
                    path.append(
                        ir.KeyStep(at if random.random() < 0.7 else cores.expression(key, 1))
                    )
                    whole = (
                        whole and ir.Get(value, whole, at) if path[-1] == ir.KeyStep(at) else None
                    )
                    kind = value
                case Seq(element, capacity) if whole is not None and capacity:
                    position = ir.Literal(Int(0, capacity), random.randrange(capacity))
                    tests.append(ir.Ensure(cores.is_position(position, whole), cores.site()))
                    path.append(ir.IndexStep(position))
                    whole = ir.At(element, whole, position)
                    kind = element
                case _:
                    break
        assign = ir.Assign(index, tuple(path), cores.expression(kind, 3))
        return ir.Sequence((*tests, assign)) if tests else assign

    def _few(self) -> ir.Expr:
        """A collection with few elements."""
        random, cores = self.random, self.cores
        kinds = [
            kind for kind in self.kinds if isinstance(kind, Set | Seq) and most(kind) <= MAX_CHOSEN
        ]
        if kinds and random.random() < 0.5:
            return cores.expression(random.choice(kinds), 2)
        element = random.choice(self.kinds)
        few: list[Type] = [Seq(element, 3), Set(Bool()), Set(Int(0, 2)), Set(element, 2)]
        return cores.expression(random.choice(few), 2)

    def _pick(self, depth: int, picks: int) -> ir.Statement:
        domain = self._few()
        cores, random = self.cores, self.random
        assert isinstance(domain.type, Set | Seq)
        slot = cores.fresh(domain.type.element)
        cores.locals.append(slot)
        test = cores.truth(2) if random.random() < 0.5 else None
        body = self._statement(depth - 1, picks - 1)
        cores.locals.remove(slot)
        return ir.Pick(slot.slot, domain, test, random.randrange(GUARDS), "x", body)

    def _loop(self, depth: int) -> ir.Statement:
        cores, random = self.cores, self.random
        # Choices multiply: a loop that makes some is short.
        choosing = random.random() < 0.3
        domain: ir.Expr
        if choosing:
            domain = ir.Literal(Seq(Int(0, 3), 3), random_values.value(random, Seq(Int(0, 3), 3)))
        else:
            domain = self._few()
        assert isinstance(domain.type, Set | Seq)
        slot = cores.fresh(domain.type.element)
        cores.locals.append(slot)
        if choosing:
            inner = cores.fresh(Int(0, 2))
            few = ir.Literal(Set(Int(0, 2)), random_values.value(random, Set(Int(0, 2))))
            cores.locals.append(inner)
            body: ir.Statement = ir.Pick(inner.slot, few, None, 0, "x", self._simple())
            cores.locals.remove(inner)
            if random.random() < 0.5:
                body = ir.Sequence((body, self._simple()))
        else:
            body = self._statement(depth - 1, 0)
        cores.locals.remove(slot)
        return ir.ForEach(slot.slot, domain, body)
