"""The symbolic domain: represents the execution of core code as terms, under the condition that the
code is reached.

`path` is the condition under which execution reaches the current point. A failure at that point is
recorded with this condition. Statements change `store`, which contains the values of the variables.
The callbacks of the fold are pure, so loops call them once for each element.

An explicit search tries the choices of a step (parameters, picks, messages, losses) one by one.
Here, a choice consists of a few unknown truth values that select one of the alternatives (`Bits`).
Only where unknowns are not allowed, as for the question whether an action is enabled, does an
`Odometer` enumerate the alternatives.

`predicate` says where a condition holds, where it is false, and where it is undefined. The value of
the fold is arbitrary where evaluation fails, so this value is never returned alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from types import MappingProxyType

from fencepost.checker.request import RangeNeeded, Unsupported, required_by
from fencepost.checker.symbolic import order, terms, unknowns, values
from fencepost.checker.symbolic.collections import SymbolicCollections
from fencepost.checker.symbolic.expressions import Failure, Path, tree_of
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Origin, Tree, V
from fencepost.spec.core import ir
from fencepost.spec.core.ir import Expr
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.traverse import may_fail
from fencepost.spec.core.types import Int, Type, as_collection, describe
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.domain import Place
from fencepost.spec.semantics.fold import evaluate, updated


@dataclass(slots=True)
class Odometer:
    """The choices of one run: the index of each choice, and the number of its alternatives."""

    indices: list[int] = field(default_factory=list[int])
    counts: list[int] = field(default_factory=list[int])
    position: int = 0

    def take(self, count: int) -> int:
        """Returns the index of the next choice among ``count`` alternatives. There must be at least
        one alternative.
        """
        if self.position == len(self.indices):
            self.indices.append(0)
            self.counts.append(count)
        self.position += 1
        return self.indices[self.position - 1]

    def advance(self) -> bool:
        """Moves to the next vector of choices. Returns False if all vectors have been tried."""
        self.position = 0
        while self.indices:
            if self.indices[-1] + 1 < self.counts[-1]:
                self.indices[-1] += 1
                return True
            self.indices.pop()
            self.counts.pop()
        return False


@dataclass(slots=True)
class Bits:
    """Unknown truth values for the choices of a step. A step takes only one action, so all actions
    share the unknowns; each action starts again with the first unknown (see `again`).
    """

    known: list[Truth] = field(default_factory=list[Truth])
    position: int = 0

    def again(self) -> Bits:
        """Rewinds this object for another action, and returns it."""
        self.position = 0
        return self

    def take(self, count: int) -> list[Truth]:
        """Returns the unknowns that are needed to select one of ``count`` alternatives (see
        `values.picked`).
        """
        need = (count - 1).bit_length()
        start, self.position = self.position, self.position + need
        while len(self.known) < self.position:
            self.known.append(terms.fresh_truth("choice"))
        return self.known[start : self.position]


NONE_GIVEN: Mapping[int, V] = MappingProxyType({})


@dataclass(slots=True)
class _Leave:
    """A way to leave a block: the path condition at that point, and the store."""

    path: Path | None
    store: list[Tree]


class SymbolicDomain(SymbolicCollections):
    """Implements `Domain`. V is `values.V`, and C is None because statements change the store.

    ``choices`` makes the choices, except for the slots in ``given``. The other arguments are
    described in `SymbolicExpressions`.
    """

    def __init__(
        self,
        kinds: Sequence[Type],
        store: Sequence[Tree],
        after: Sequence[Tree] | None = None,
        enabled_in: Callable[[int, Sequence[V]], Truth] | None = None,
        choices: Bits | Odometer | None = None,
        given: Mapping[int, V] = NONE_GIVEN,
        symbols: Sequence[Tree] = (),
    ) -> None:
        super().__init__(kinds, store, after, enabled_in, symbols)
        self._choices = choices
        self._given = given
        self._leaves: dict[int, list[_Leave]] = {}

    # ------------------------------------------------------------ statements

    def sequence(self, parts: Sequence[Callable[[], None]]) -> None:
        for part in parts:
            if self._path is None:
                return
            part()

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> None:
        kind = self._kinds[variable]
        base = V(kind, self.store[variable])
        self.store[variable] = updated(self, base, kind, path, value).tree

    def bind(self, value: V, body: Callable[[V], None]) -> None:
        body(value)

    def require(self, condition: V, guard: int) -> None:
        self._go_on(condition.tree)

    def affirm(self, condition: V, site: int) -> None:
        self._fail_unless(condition.tree, site, True)

    def ensure(self, condition: V, site: int) -> None:
        self._fail_unless(condition.tree, site, False)

    def branch(self, condition: V, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        truth = condition.tree
        if self._path is None:
            return
        if isinstance(truth, bool):
            (then if truth else otherwise)()
            return
        path, store = self._path, list(self.store)
        self._go_on(truth)
        then()
        yes = _Leave(self._path, self.store)
        self._path, self.store = path, store
        self._go_on(terms.negation(truth))
        otherwise()
        self._join(yes)

    def _join(self, other: _Leave) -> None:
        """Continues at a point that another path reaches as well. No choices lead to both paths."""
        if other.path is None:
            return
        if self._path is None:
            self._path, self.store = other.path, other.store
            return
        common = 0
        for mine, theirs in zip(self._path, other.path, strict=False):
            if not terms.identical(mine, theirs):
                break
            common += 1
        # If neither path is taken, the store is not read. The condition of the merge can therefore
        # omit the common prefix.
        mine_rest, their_rest = self._path[common:], terms.both(*other.path[common:])
        self._merge(their_rest, other.store, self.store)
        self._path = self._path[:common]
        self._go_on(terms.one_of(terms.both(*mine_rest), their_rest))

    def _merge(self, condition: Truth, then: list[Tree], otherwise: list[Tree]) -> None:
        columns = zip(then, otherwise, self._kinds, strict=True)
        self.store = [values.chosen(condition, a, b, kind) for a, b, kind in columns]

    def each(self, collection: V, body: Callable[[V], None]) -> None:
        for present, item in self.in_order(collection):
            self.branch(V(ir.BOOL, present), partial(body, item), lambda: None)

    def block(self, label: int, body: Callable[[], None]) -> None:
        # A label may occur in a loop. It then has a separate list in each iteration.
        outer = self._leaves.get(label)
        self._leaves[label] = []
        body()
        # The last one is joined first, because it has the longest prefix in common with the path to
        # the end.
        for leave in reversed(self._leaves[label]):
            self._join(leave)
        if outer is not None:
            self._leaves[label] = outer

    def leave(self, label: int) -> None:
        self._leaves[label].append(_Leave(self._path, list(self.store)))
        self._path = None

    def mark(self, mark: int) -> None:
        """Does nothing, because only explicit searches measure coverage."""

    # ------------------------------------------------------------ choices

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        with required_by(pick.span):
            if isinstance(collection.tree, values.Described):
                self._pick_unknown(collection.type, collection.tree, condition, body, pick)
            else:
                self._pick_listed(collection, condition, body, pick)

    def _pick_unknown(
        self,
        whole: Type,
        described: values.Described,
        condition: Callable[[V], V] | None,
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        """Chooses an unknown value of a large type, which is constrained to satisfy the
        condition.
        """
        kind = as_collection(whole).element
        if may_fail(pick.condition):
            clause = f"it does not evaluate a condition for all values of {describe(kind)}"
            raise Unsupported(f"{clause}, which it must because the condition can fail")
        item, valid = self._given.get(pick.slot), True
        if item is None and not isinstance(self._choices, Bits):
            clause = f"it does not ask whether an action with a choice from {describe(kind)} is"
            clause = f"{clause} enabled, as a search for deadlocks does"
            raise RangeNeeded(clause) if is_open(kind) else Unsupported(clause)
        if item is None:
            tree, valid = unknowns.fresh(kind, pick.label or "choice")
            item = V(kind, tree)
        self._go_on(terms.both(valid, described.contains(item.tree)))
        if condition is not None:
            self._go_on(condition(item).tree)
        body(item)

    def _pick_listed(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        offered: list[tuple[Truth, V]] = []
        indices: list[int] = []
        given_value = self._given.get(pick.slot)
        for position, (present, item) in enumerate(self.elements(collection)):
            truth: Truth = present
            if condition is not None:
                fits = self._under(present, tree_of(partial(condition, item)))
                truth = terms.both(present, fits)
            if given_value is not None:
                truth = terms.both(truth, order.equal(item.tree, given_value.tree, item.type))
            if truth is not False:
                offered.append((truth, item))
                indices.append(position)
        if not offered:
            self._path = None
            return
        kind = offered[0][1].type
        match self._choices:
            case Odometer() as odometer:
                truth, item = offered[odometer.take(len(offered))]
                self._go_on(truth)
                body(item)
            case Bits() as bits:
                selectors = bits.take(len(offered))
                valid = values.picked(ir.BOOL, selectors, [truth for truth, _ in offered])
                self._go_on(valid)
                chosen = values.picked(kind, selectors, [item.tree for _, item in offered])
                index = values.picked(Int(0, len(indices)), selectors, indices)
                body(V(kind, chosen, Origin(collection.tree, index)))
            case None:
                raise AssertionError("there is nothing to choose by")


# ---------------------------------------------------------------- predicates


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a predicate: it ``holds``, it is ``violated``, or one of the ``failures`` makes
    it undefined. Exactly one of these is the case.
    """

    holds: Truth
    violated: Truth
    failures: tuple[Failure, ...]

    def under(self, condition: Truth) -> tuple[Failure, ...]:
        """Returns the failures that remain if the predicate is only evaluated where a condition
        holds.
        """
        return tuple(
            Failure(wrong, failure.site, failure.assertion)
            for failure in self.failures
            if (wrong := terms.both(condition, failure.condition)) is not False
        )


def predicate(domain: SymbolicDomain, condition: Expr) -> Answer:
    """Evaluates a condition in a domain that is used for nothing else."""
    truth = evaluate(domain, {}, condition).tree
    defined = domain.path
    return Answer(
        terms.both(defined, truth),
        terms.both(defined, terms.negation(truth)),
        tuple(domain.failures),
    )
