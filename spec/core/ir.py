"""The typed core: a model with every name, type, bound and position resolved.

Each node's docstring is its meaning; `semantics/fold.py` says the same in code, for any domain of
values. Every expression is *total* where it occurs: anything that may be undefined (an index, a
range, a division) is guarded by an enclosing `Demand` or `Ensure`, built by
`elaborate/partiality.py`, so that no engine decides the value of an undefined operation. Two
consequences: engines must not evaluate the body of a `Demand` whose condition is false, and must
evaluate operands left to right.

Locals are numbered *slots*; a slot is bound exactly once in the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import Enum as PythonEnum
from typing import Literal as OneOf
from typing import TypeAlias

from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.properties import PropertyKind, SearchedProperties
from fencepost.spec.core.types import Bool, Option, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span

BOOL = Bool()

# Roles of operands: how the operand's type relates to that of the node. `signatures` reads these
# names from the annotations.
Condition: TypeAlias = "Expr"
"""An expression of type bool."""
Integer: TypeAlias = "Expr"
"""An integer of any type."""
Body: TypeAlias = "Expr"
"""An expression whose value may become the node's, so its type must be assignable to the node's."""
Alike: TypeAlias = "Expr"
"""An expression of the node's type, up to ranges and capacities."""
Element: TypeAlias = "Expr"
"""A part of the node's value: an element of a collection, the value of a map at a key, or the
content of an option.
"""
Collection: TypeAlias = "Expr"
"""A set, sequence or bag."""
Member: TypeAlias = "Expr"
"""A value of the element type of the preceding collection, up to ranges and capacities."""


@dataclass(frozen=True, slots=True)
class Node:
    """Any node. ``span`` is its position in the text, None if it is not in the text."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Typed(Node):
    """An expression that carries its type."""

    type: Type


@dataclass(frozen=True, slots=True)
class Test(Node):
    """An expression of type bool."""

    @property
    def type(self) -> Type:
        return BOOL


# ---------------------------------------------------------------- leaves and binding


@dataclass(frozen=True, slots=True)
class Literal(Typed):
    """A value of the type."""

    value: Value


@dataclass(frozen=True, slots=True)
class Symbol(Typed):
    """The value of symbolic constant number ``index``: constant during a run, and any value of its
    type that satisfies its condition.
    """

    index: int


@dataclass(frozen=True, slots=True)
class Variable(Typed):
    """The value of state variable ``index``; with ``next``, its value after the step.

    In an action it is the current value, earlier assignments of the step included. ``next``
    occurs in step invariants only.
    """

    index: int
    next: bool = False


@dataclass(frozen=True, slots=True)
class Local(Typed):
    """The value bound to a slot by an enclosing node."""

    slot: int


@dataclass(frozen=True, slots=True)
class Let(Typed):
    """``body`` with ``slot`` bound to ``value``, which is evaluated once, before the body."""

    slot: int
    value: Expr
    body: Body


@dataclass(frozen=True, slots=True)
class Demand(Typed):
    """``body`` if ``condition`` holds; otherwise the evaluation error ``site``."""

    condition: Condition
    site: int
    body: Body


# ---------------------------------------------------------------- truth


@dataclass(frozen=True, slots=True)
class Not(Test):
    """The opposite truth value."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class And(Test):
    """True if all parts are; evaluation goes left to right and stops at the first false part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or(Test):
    """True if some part is; evaluation goes left to right and stops at the first true part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Typed):
    """``then`` if ``condition`` holds, else ``otherwise``; the other arm is not evaluated."""

    condition: Condition
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Witness(Test):
    """``body``; if it is true, coverage mark ``mark`` is set."""

    mark: int
    body: Condition


@dataclass(frozen=True, slots=True)
class Observe(Typed):
    """``body``. If ``condition`` holds, the values of ``operands`` (integers and truth values, at
    most four) are first passed to the observer, as observation number ``number``.

    Observation has no effect: the value is the body's. Specs do not contain this node; the region
    search inserts it into its models.
    """

    number: int
    condition: Condition
    operands: tuple[Expr, ...]
    body: Body


# ---------------------------------------------------------------- numbers and comparison


@dataclass(frozen=True, slots=True)
class Arithmetic(Typed):
    """``left operator right``, both of the same kind as the result.

    `Int`: mathematical, and the result lies in the type by construction. `Machine`: + - * wrap in
    two's complement, and so does the quotient of the minimum and -1; ``//`` and ``%`` are floor
    operations for every integer. A divisor is never zero here.
    """

    operator: Operator
    left: Alike
    right: Alike


@dataclass(frozen=True, slots=True)
class Negate(Typed):
    """Minus ``operand``; wraps on a `Machine` type."""

    operand: Alike


@dataclass(frozen=True, slots=True)
class Equal(Test):
    """Whether two values of one type (up to ranges and capacities) are equal."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Less(Test):
    """Whether ``left`` precedes ``right`` in the order of values, or (``or_equal``) equals it."""

    left: Expr
    right: Expr
    or_equal: bool = False


@dataclass(frozen=True, slots=True)
class Fits(Test):
    """Whether ``operand`` is also a value of ``target``, which differs from its type only in
    ranges, capacities, or the kind of an integer.
    """

    operand: Expr
    target: Type


@dataclass(frozen=True, slots=True)
class Convert(Typed):
    """``operand``, which fits (see `Fits`), as a value of the type."""

    operand: Expr


# ---------------------------------------------------------------- records, unions, options


@dataclass(frozen=True, slots=True)
class MakeRecord(Typed):
    """The record with these field values, in declaration order, all present."""

    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class GetField(Typed):
    """Field number ``index`` of a record."""

    record: Expr
    index: int


@dataclass(frozen=True, slots=True)
class WithField(Typed):
    """``record`` with field number ``index`` replaced by ``value``."""

    record: Body
    index: int
    value: Expr


@dataclass(frozen=True, slots=True)
class MakeVariant(Typed):
    """The union value with tag ``tag`` and these field values."""

    tag: int
    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class HasTag(Test):
    """Whether a union value has tag ``tag``."""

    union: Expr
    tag: int


@dataclass(frozen=True, slots=True)
class Payload(Typed):
    """Field number ``index`` of a union value that is known to have tag ``tag`` here."""

    union: Expr
    tag: int
    index: int


@dataclass(frozen=True, slots=True)
class Some(Typed):
    """``value`` as an option."""

    value: Element


@dataclass(frozen=True, slots=True)
class IsSome(Test):
    """Whether an option is not none."""

    option: Expr


@dataclass(frozen=True, slots=True)
class Content(Typed):
    """The content of an option that is known not to be none here."""

    option: Expr


# ---------------------------------------------------------------- collections and maps
# A collection is a set, a sequence or a bag. Its elements have an order: a sequence's own,
# otherwise ascending (bags repeat equal elements).


@dataclass(frozen=True, slots=True)
class Universe(Typed):
    """All values of a finite type as a set; the type is ``Set(element)``."""


@dataclass(frozen=True, slots=True)
class Interval(Typed):
    """The set of the integers ``low`` to ``high``, both included; empty if ``low > high``."""

    low: Integer
    high: Integer


@dataclass(frozen=True, slots=True)
class Build(Typed):
    """The collection of the elements, added from left to right; they fit its capacity."""

    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Add(Typed):
    """``collection`` with ``element`` added: at the end of a sequence; in a set, once."""

    collection: Alike
    element: Element


@dataclass(frozen=True, slots=True)
class Remove(Typed):
    """A set or bag without one ``element``; unchanged if the element is absent."""

    collection: Alike
    element: Member


@dataclass(frozen=True, slots=True)
class InsertAt(Typed):
    """A sequence with ``element`` inserted at position ``index`` (0 to length); later elements move
    up.
    """

    sequence: Alike
    index: Integer
    element: Element


@dataclass(frozen=True, slots=True)
class RemoveAt(Typed):
    """A sequence without the element at position ``index`` (0 to length - 1)."""

    sequence: Alike
    index: Integer


@dataclass(frozen=True, slots=True)
class Contains(Test):
    """Whether an element occurs in a collection."""

    collection: Collection
    element: Member


@dataclass(frozen=True, slots=True)
class Size(Typed):
    """The number of elements of a collection (repetitions counted in sequences and bags)."""

    collection: Collection


class SetOperator(PythonEnum):
    """Operations on two sets."""

    UNION = "|"
    INTERSECTION = "&"
    DIFFERENCE = "-"


@dataclass(frozen=True, slots=True)
class SetAlgebra(Typed):
    """``left operator right``; the operands' element types may differ in ranges."""

    operator: SetOperator
    left: Alike
    right: Alike


@dataclass(frozen=True, slots=True)
class At(Typed):
    """The element of a sequence at position ``index`` (0 to length - 1)."""

    sequence: Expr
    index: Integer


@dataclass(frozen=True, slots=True)
class Get(Typed):
    """The value of a map at ``key`` (a value of the key type)."""

    map: Expr
    key: Expr


@dataclass(frozen=True, slots=True)
class BuildMap(Typed):
    """The map with value ``body`` at each key, where ``slot`` is the key; keys ascending."""

    slot: int
    body: Element


@dataclass(frozen=True, slots=True)
class Quantified(Test):
    """Whether ``body`` holds for every (``every``) or some element of ``domain``.

    Elements in order; evaluation stops at the element that decides. ``name`` is the element's name
    in the spec, for reports of a failing instance; "" hides it.
    """

    every: bool
    slot: int
    domain: Collection
    body: Condition
    name: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Collect(Typed):
    """The collection of ``element`` for the elements of ``domain`` that satisfy ``condition``.

    In the order of the domain; for each element, the condition is evaluated before ``element``. The
    result's kind is the type's. The capacity always suffices.
    """

    slot: int
    domain: Collection
    condition: Condition | None
    element: Element


@dataclass(frozen=True, slots=True)
class Gather(Typed):
    """The elements of ``parts`` for the elements of ``domain``, as one collection.

    In the order of the domain, and within each of its elements in the order of its part. Kind and
    capacity as for `Collect`; the parts have the same kind and element type.
    """

    slot: int
    domain: Collection
    parts: Alike


@dataclass(frozen=True, slots=True)
class Sum(Typed):
    """The sum of the integers in a collection, with repetitions; 0 if it is empty."""

    collection: Collection


@dataclass(frozen=True, slots=True)
class Extreme(Node):
    """The minimum (or, with ``greatest``, the maximum) of a collection; none if it is empty."""

    type: Option
    greatest: bool
    collection: Collection


@dataclass(frozen=True, slots=True)
class Find(Node):
    """The first element of ``domain``, in ascending order of values, that satisfies ``condition``
    (any, if None), or none. A sequence is searched in ascending order of values, too.
    """

    type: Option
    slot: int
    domain: Collection
    condition: Condition | None


@dataclass(frozen=True, slots=True)
class Occurrences(Typed):
    """The number of occurrences of ``element`` in a sequence or bag."""

    collection: Collection
    element: Member


# ---------------------------------------------------------------- looking at the model


@dataclass(frozen=True, slots=True)
class Enabled(Test):
    """Whether action number ``action`` is enabled in this state: some vector of choices runs to its
    end, or into an evaluation error or failed assertion (a step that ends the run).

    Only vectors that begin with the values of ``choices`` count: the role's index, then the
    parameters. Each is of the element type of its domain; a value outside the domain is never
    chosen. Occurs in properties only.
    """

    action: int
    choices: tuple[Expr, ...] = ()


Structural: TypeAlias = (
    MakeRecord | GetField | WithField | MakeVariant | HasTag | Payload | Some | IsSome | Content
)
"""Expressions about records, unions and options."""

Collecting: TypeAlias = (
    Universe | Interval | Build | Add | Remove | InsertAt | RemoveAt | Contains | Size | SetAlgebra
    | At | Get | BuildMap | Quantified | Collect | Gather | Sum | Extreme | Find | Occurrences
)  # fmt: skip
"""Expressions about collections and maps."""

Expr: TypeAlias = (
    Literal | Symbol | Variable | Local | Let | Demand | Not | And | Or | Conditional | Witness
    | Observe | Arithmetic | Negate | Equal | Less | Fits | Convert | Structural | Collecting
    | Enabled
)  # fmt: skip


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class FieldStep:
    """Into field number ``index`` of a record."""

    index: int


@dataclass(frozen=True, slots=True)
class KeyStep:
    """Into a map at ``key``."""

    key: Expr


@dataclass(frozen=True, slots=True)
class IndexStep:
    """Into a sequence at ``index`` (0 to length - 1)."""

    index: Integer


Step: TypeAlias = FieldStep | KeyStep | IndexStep


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """The statements in order. An empty sequence is "skip"."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """Assigns ``value`` to variable ``variable``, at ``path`` inside it.

    The steps of the path are evaluated left to right, then the value.
    """

    variable: int
    path: tuple[Step, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """``body`` with ``slot`` bound to ``value``, which is evaluated once."""

    slot: int
    value: Expr
    body: Statement


@dataclass(frozen=True, slots=True)
class Pick(Node):
    """A choice: ``slot`` is one of the elements of ``domain`` that satisfy ``condition``.

    Equal elements of a bag are one choice. Without such an element the action is not enabled (guard
    ``guard`` was false). The choice is made here, in the current state; then ``body`` runs.
    ``label`` names the choice in traces: a parameter's or picked name, or the message; None hides
    it.
    """

    slot: int
    domain: Expr
    condition: Condition | None
    guard: int
    label: str | None
    body: Statement


@dataclass(frozen=True, slots=True)
class Require(Node):
    """Unless ``condition`` holds, the action is not enabled with these choices (see `Guard`)."""

    condition: Condition
    guard: int


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """Unless ``condition`` holds, the run ends with a failed assertion at ``site``."""

    condition: Condition
    site: int


@dataclass(frozen=True, slots=True)
class Ensure(Node):
    """Unless ``condition`` holds, the run ends with an evaluation error at ``site``."""

    condition: Condition
    site: int


@dataclass(frozen=True, slots=True)
class If(Node):
    """``then`` if ``condition`` holds, else ``otherwise``."""

    condition: Condition
    then: Statement
    otherwise: Statement


@dataclass(frozen=True, slots=True)
class ForEach(Node):
    """``body`` for each element of ``domain``, in order; the domain is evaluated once, at the
    start.
    """

    slot: int
    domain: Expr
    body: Statement


@dataclass(frozen=True, slots=True)
class Block(Node):
    """``body``; a `Leave` inside it with the same label continues after the block."""

    label: int
    body: Statement


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """Leaves the enclosing `Block` with this label; assignments remain."""

    label: int


@dataclass(frozen=True, slots=True)
class Mark(Node):
    """Sets coverage mark ``mark`` if this step completes."""

    mark: int


Statement: TypeAlias = (
    Sequence | Assign | Bind | Pick | Require | Assert | Ensure | If | ForEach | Block | Leave
    | Mark
)  # fmt: skip


# ---------------------------------------------------------------- tables and the model


@dataclass(frozen=True, slots=True)
class Site:
    """A position at which evaluation can fail.

    ``message`` describes the failure as a sentence without values ("the index lies outside the
    sequence"). ``calls`` are the spans of the calls through which a def or procedure was reached,
    outermost first.
    """

    code: str
    span: Span
    message: str
    calls: tuple[Span, ...] = ()


GuardKind: TypeAlias = OneOf["require", "choice", "message", "capacity", "budget"]


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition for an action to be enabled.

    ``kind``: "require"; "choice" (the set of a parameter or pick is not empty); "message" (a
    message that matches the pattern is present); "capacity" (``or block``; reports count how often
    it was false); "budget" (of losses or duplications).
    """

    kind: GuardKind
    span: Span
    action: int
    calls: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverageMark:
    """An event that a run is expected to cover; the report lists those that did not occur.

    ``kind``: "branch" (of an if or match in an action), "guard" (a require that was true once),
    "antecedent" (of a property's outermost implication). ``owner`` is the number of the action, or
    of the property for "antecedent".
    """

    kind: OneOf["branch", "guard", "antecedent"]
    span: Span
    owner: int
    text: str


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A variable of the state, in declaration order.

    ``name`` is its name in reports: ``Leader.log``, ``net``, ``net.losses``. A role family's
    variable is a `Map` from its index type, a channel family a `Map` from its index types (nested,
    first index outermost). ``role`` is the role's name, or "" at the top level.
    """

    name: str
    type: Type
    kind: OneOf["variable", "channel", "budget"]
    role: str
    ghost: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Fairness:
    """The fairness requirement of an action. For each of its *units*, a fair behaviour takes
    infinitely many steps that count (steps that change a non-ghost variable, ghost fields ignored)
    if such a step is possible in every state from some point on; with ``strong``, if it is possible
    infinitely often.

    Steps with the same first ``choices`` visible choices (see `Pick`; ghost fields ignored) belong
    to one unit: the instance in a role family, and with ``each`` also the parameters and the
    message.
    """

    strong: bool
    choices: int
    each: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """An atomic step. Its successors are enumerated by the vectors of choices of ``body``, in
    order.

    ``name`` is ``Role.action``, ``action`` or ``net.lose``. In a role family the first choice is
    the instance, with label "". ``channel`` is the variable received from, or None; its message is
    the choice with label ``"on"``. The first ``head`` visible choices are those of its head: the
    instance, the parameters (for a loss, the indices of the channel), the message.
    """

    name: str
    role: str
    kind: OneOf["ordinary", "environment", "lose", "duplicate"]
    body: Statement
    span: Span
    channel: int | None = None
    fairness: Fairness | None = None
    head: int = 0


@dataclass(frozen=True, slots=True)
class Property:
    """A named or unnamed property; ``name`` is unique among the named, and "" without a name.

    The kind determines its subject; only a property of steps contains `Variable.next`. A property
    of behaviours has a ``formula``, whose predicates are the properties that follow it in the
    model; its body is a literal true, and is not evaluated. A refinement has an ``abstract`` model,
    without ghosts and properties; its body is the image of a state there, a record of the values of
    the variables, built by a `MakeRecord`. It holds in an initial state whose image is an initial
    state there, and for a step whose images are equal or form a step there that neither fails nor
    asserts.
    """

    name: str
    kind: PropertyKind
    body: Expr
    span: Span
    formula: Formula | None = None
    abstract: Model | None = None

    @property
    def title(self) -> str:
        """``invariant A``, or the line of an unnamed property."""
        return f"{self.kind} {self.name or f'at line {self.span.line}'}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant with its value in this model; ``path`` is its name in checks and options."""

    path: str
    type: Type
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class SymbolicConstant:
    """A constant that ranges over every value of its type that satisfies ``condition``, or
    over all of them if it is None. The type is bool, a range, a machine integer or an enum. A
    condition may mention every symbolic constant. ``path`` as for `Constant`.
    """

    path: str
    type: Type
    condition: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Assumption:
    """A condition on constants that must hold for a search to be meaningful."""

    condition: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Model:
    """A spec with its constants fixed, as an engine runs it.

    ``initial`` assigns every variable; its vectors of choices are the initial states, just as those
    of actions are successors (a false `Require` drops the state). ``slots`` is the number of slots,
    ``labels`` that of block labels. Actions and properties are in declaration order, which
    determines the problem that is reported. ``warnings`` are findings that do not prevent a run.
    ``symbols`` are the constants without a value; `instantiate.instance` gives them one.
    """

    name: str
    variables: tuple[StateVariable, ...]
    initial: Statement
    actions: tuple[Action, ...]
    properties: tuple[Property, ...]
    assumptions: tuple[Assumption, ...]
    constants: tuple[Constant, ...]
    sites: tuple[Site, ...]
    guards: tuple[Guard, ...]
    marks: tuple[CoverageMark, ...]
    slots: int
    labels: int
    warnings: tuple[Problem, ...] = ()
    symbols: tuple[SymbolicConstant, ...] = ()

    def searched(self, chosen: Iterable[int]) -> SearchedProperties:
        """The properties that a search for those with the ``chosen`` numbers evaluates."""
        formulas = (self.properties[number].formula for number in chosen)
        parts = {part for formula in formulas if formula for part in predicates(formula)}
        return SearchedProperties.of([part.kind for part in self.properties], {*chosen, *parts})
