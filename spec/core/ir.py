"""The typed core: a model with every name, type, bound and position resolved.

The docstring of a node defines its meaning; `semantics/fold.py` expresses the same meaning in code,
for any domain of values. Every expression is *total* where it occurs: an operation that may be
undefined (an index, a range, a division) is guarded by an enclosing `Demand` or `Ensure`, built by
`elaborate/types/partiality.py`, so that no engine decides the value of an undefined operation. This
has two consequences: engines must not evaluate the body of a `Demand` whose condition is false, and
must evaluate operands from left to right.

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
from fencepost.spec.core.types import UNBOUNDED, Bool, Option, Type, Value
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
"""An expression whose value may become the node's value. Its type must be assignable to the node's
type.
"""
Alike: TypeAlias = "Expr"
"""An expression of the node's type, except that ranges and capacities may differ."""
Element: TypeAlias = "Expr"
"""A part of the node's value: an element of a collection, the value of a map at a key, or the
content of an option.
"""
Collection: TypeAlias = "Expr"
"""A set, sequence or bag."""
Member: TypeAlias = "Expr"
"""A value of the element type of the preceding collection, except that ranges and capacities may
differ.
"""


@dataclass(frozen=True, slots=True)
class Node:
    """The base of all nodes. ``span`` is the node's position in the source, or None if it has
    none.
    """

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
    """A value of type ``type``."""

    value: Value


@dataclass(frozen=True, slots=True)
class Symbol(Typed):
    """The value of symbolic constant number ``index``. It is constant during a run, and may be any
    value of its type that satisfies the constant's condition.
    """

    index: int


@dataclass(frozen=True, slots=True)
class Variable(Typed):
    """The value of state variable ``index``; with ``next``, its value after the step.

    In an action it is the current value, which includes earlier assignments of the same step.
    ``next`` occurs in step invariants only.
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


@dataclass(frozen=True, slots=True)
class Recursion(Typed):
    """``body`` with ``slots`` bound to ``arguments``, which are evaluated once, from left to right.

    A `Recall` inside the body evaluates the body again, with other values in the slots. Apart from
    ``slots``, the body has no free slots. Conditions in the body ensure that evaluations of the
    body are nested at most ``depth`` deep.
    """

    slots: tuple[int, ...]
    arguments: tuple[Expr, ...]
    depth: int
    body: Body


@dataclass(frozen=True, slots=True)
class Recall(Typed):
    """The value of the body of the enclosing `Recursion` with these ``slots``, bound to
    ``arguments``. The arguments have the types of the slots.
    """

    slots: tuple[int, ...]
    arguments: tuple[Expr, ...]


# ---------------------------------------------------------------- truth


@dataclass(frozen=True, slots=True)
class Not(Test):
    """The opposite truth value."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class And(Test):
    """True if all parts are true. Evaluation goes from left to right and stops at the first false
    part.
    """

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or(Test):
    """True if at least one part is true. Evaluation goes from left to right and stops at the first
    true part.
    """

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Typed):
    """``then`` if ``condition`` holds, else ``otherwise``; the other arm is not evaluated."""

    condition: Condition
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Witness(Test):
    """The value of ``body``. If it is true, coverage mark ``mark`` is set."""

    mark: int
    body: Condition


@dataclass(frozen=True, slots=True)
class Observe(Typed):
    """The value of ``body``. If ``condition`` holds, the values of ``operands`` (at most four, each
    an integer or a truth value) are first passed to the observer, as observation number ``number``.

    Observation does not affect the value. Specs do not contain this node; the region search inserts
    it into its models.
    """

    number: int
    condition: Condition
    operands: tuple[Expr, ...]
    body: Body


# ---------------------------------------------------------------- numbers and comparison


@dataclass(frozen=True, slots=True)
class Arithmetic(Typed):
    """``left operator right``. Both operands are of the same kind of integer as the result.

    On an `Int`, the operation is mathematical, and the result lies in the type by construction. On
    a `Machine` integer, + - * wrap in two's complement, and so does the quotient of the minimum and
    -1. ``//`` and ``%`` are floor operations on every integer. The divisor is never zero here.
    """

    operator: Operator
    left: Alike
    right: Alike


@dataclass(frozen=True, slots=True)
class Negate(Typed):
    """The negation of ``operand``; it wraps on a `Machine` type."""

    operand: Alike


@dataclass(frozen=True, slots=True)
class Equal(Test):
    """Whether two values of one type are equal. The ranges and capacities of the types may
    differ.
    """

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Less(Test):
    """Whether ``left`` precedes ``right`` in the order of values, or with ``or_equal``, precedes or
    equals it.
    """

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
    """The record with these field values, one for each field, in declaration order."""

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
# A collection is a set, a sequence or a bag. A sequence determines the order of its elements; the
# elements of a set or bag are in ascending order (a bag repeats equal elements).


@dataclass(frozen=True, slots=True)
class Universe(Typed):
    """The set of all values of a finite type. The node's type is ``Set(element)``."""


@dataclass(frozen=True, slots=True)
class Subsets(Typed):
    """The set of all subsets of the set ``collection``. The node's type is ``Set`` of the type of
    ``collection``.
    """

    collection: Collection


@dataclass(frozen=True, slots=True)
class Interval(Typed):
    """The set of the integers ``low`` to ``high``, both included; empty if ``low > high``."""

    low: Integer
    high: Integer


Computed: TypeAlias = Universe | Subsets | Interval
"""Sets whose elements are computed one at a time. They may be too large to be stored."""


@dataclass(frozen=True, slots=True)
class Build(Typed):
    """The collection of ``elements``, added from left to right. They fit the capacity."""

    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Add(Typed):
    """``collection`` with ``element`` added. A sequence receives it at the end, and a set is
    unchanged if it already contains the element.
    """

    collection: Alike
    element: Element


@dataclass(frozen=True, slots=True)
class Remove(Typed):
    """A set or bag with one occurrence of ``element`` removed; unchanged if the element is
    absent.
    """

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
    """The number of elements of a collection. In sequences and bags, repetitions are counted."""

    collection: Collection


class SetOperator(PythonEnum):
    """Operations on two sets."""

    UNION = "|"
    INTERSECTION = "&"
    DIFFERENCE = "-"


@dataclass(frozen=True, slots=True)
class SetAlgebra(Typed):
    """``left operator right``. The element types of the operands may differ in ranges."""

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
    """The map whose value at each key is ``body``, evaluated with ``slot`` bound to the key. The
    keys are visited in ascending order.
    """

    slot: int
    body: Element


@dataclass(frozen=True, slots=True)
class Quantified(Test):
    """Whether ``body`` holds for every element of ``domain`` (with ``every``) or for some element.

    Elements are visited in order, and evaluation stops at the first element that decides the
    result. ``name`` is the name of the element in the spec, for reports of a failing instance; it
    is empty if reports are not to show the element.
    """

    every: bool
    slot: int
    domain: Collection
    body: Condition
    name: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Collect(Typed):
    """The collection of the values of ``element`` for the elements of ``domain`` that satisfy
    ``condition``.

    The domain is visited in order; for each element, the condition is evaluated before ``element``.
    The node's type determines the kind of the result, whose capacity always suffices.
    """

    slot: int
    domain: Collection
    condition: Condition | None
    element: Element


@dataclass(frozen=True, slots=True)
class Gather(Typed):
    """The elements of all ``parts``, as one collection. ``parts`` has a value for each element of
    ``domain``.

    The elements follow the order of the domain and, for each element of the domain, the order of
    its part. Kind and capacity are as for `Collect`; the parts have the same kind and element type.
    """

    slot: int
    domain: Collection
    parts: Alike


@dataclass(frozen=True, slots=True)
class Fold(Typed):
    """The final value of an accumulator. It begins as ``start``. For each element of ``domain``, in
    order, it becomes the value of ``body``, with ``slot`` bound to the element and ``accumulator``
    to the value so far.
    """

    slot: int
    accumulator: int
    domain: Collection
    start: Body
    body: Body


@dataclass(frozen=True, slots=True)
class Sum(Typed):
    """The sum of the integers in a collection, including repetitions; 0 if the collection is
    empty.
    """

    collection: Collection


@dataclass(frozen=True, slots=True)
class Extreme(Node):
    """The minimum of a collection, or with ``greatest`` its maximum; none if it is empty."""

    type: Option
    greatest: bool
    collection: Collection


@dataclass(frozen=True, slots=True)
class Find(Node):
    """The least element of ``domain`` that satisfies ``condition``, or none if no element does. If
    ``condition`` is None, every element satisfies it. A sequence, too, is searched in ascending
    order of values.
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
    """Whether action number ``action`` is enabled in this state: some vector of choices either runs
    to completion, or ends the run with an evaluation error or a failed assertion.

    Only vectors that begin with the values of ``choices`` count. These are the role's index,
    followed by the parameters. Each has the element type of its domain; a value outside the domain
    is never chosen. This node occurs in properties only.
    """

    action: int
    choices: tuple[Expr, ...] = ()


Structural: TypeAlias = (
    MakeRecord | GetField | WithField | MakeVariant | HasTag | Payload | Some | IsSome | Content
)
"""Expressions about records, unions and options."""

Collecting: TypeAlias = (
    Universe | Subsets | Interval | Build | Add | Remove | InsertAt | RemoveAt | Contains | Size
    | SetAlgebra | At | Get | BuildMap | Quantified | Collect | Gather | Fold | Sum | Extreme | Find
    | Occurrences
)  # fmt: skip
"""Expressions about collections and maps."""

Expr: TypeAlias = (
    Literal | Symbol | Variable | Local | Let | Demand | Recursion | Recall | Not | And | Or
    | Conditional | Witness | Observe | Arithmetic | Negate | Equal | Less | Fits | Convert
    | Structural | Collecting | Enabled
)  # fmt: skip


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class FieldStep:
    """Enters field number ``index`` of a record."""

    index: int


@dataclass(frozen=True, slots=True)
class KeyStep:
    """Enters a map at ``key``."""

    key: Expr


@dataclass(frozen=True, slots=True)
class IndexStep:
    """Enters a sequence at position ``index`` (0 to length - 1)."""

    index: Integer


Step: TypeAlias = FieldStep | KeyStep | IndexStep


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """Runs the statements in order. An empty sequence does nothing."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """Assigns ``value`` to state variable ``variable``, or to the part of it at ``path``.

    The steps of the path are evaluated from left to right, and then the value.
    """

    variable: int
    path: tuple[Step, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """Runs ``body`` with ``slot`` bound to ``value``, which is evaluated once."""

    slot: int
    value: Expr
    body: Statement


@dataclass(frozen=True, slots=True)
class Pick(Node):
    """Binds ``slot`` to a chosen element of ``domain`` that satisfies ``condition``, and runs
    ``body``.

    Equal elements of a bag are one choice. If no element satisfies the condition, the action is not
    enabled, because guard ``guard`` was false. The choice is made in the current state, before
    ``body`` runs. ``label`` names the choice in traces: it is the name of a parameter or of a pick,
    "on" for the message, or "" for the index of a role. Traces hide a choice whose label is None.
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
    """Runs ``then`` if ``condition`` holds, and ``otherwise`` if not."""

    condition: Condition
    then: Statement
    otherwise: Statement


@dataclass(frozen=True, slots=True)
class ForEach(Node):
    """Runs ``body`` for each element of ``domain``, in order. The domain is evaluated once, before
    the first iteration.
    """

    slot: int
    domain: Expr
    body: Statement


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Runs ``body``. A `Leave` inside it with the same label continues after the block."""

    label: int
    body: Statement


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """Continues after the enclosing `Block` with this label. Assignments made so far are kept."""

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

    A site with ``leaves`` is not an error of the spec: a value is outside the `OpenRange` of this
    number, above it or, unless ``above`` is set, below it.
    """

    code: str
    span: Span
    message: str
    calls: tuple[Span, ...] = ()
    leaves: int | None = None
    above: bool = False


@dataclass(frozen=True, slots=True)
class OpenRange:
    """The range that a model assumes for an ``int`` in the spec, which declares none.

    ``key`` identifies the ``int`` in every model of the spec, and ``name`` names it in reports.
    Every store is checked (see `Site`). A search that leaves the range says nothing about the spec.
    A model that assumes nothing has the bounds of `UNBOUNDED`.
    """

    key: str
    name: str
    low: int
    high: int
    span: Span

    @property
    def unbounded(self) -> bool:
        """Whether the model assumes no range."""
        return self.high == UNBOUNDED


GuardKind: TypeAlias = OneOf["require", "choice", "message", "capacity", "budget"]


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition for an action to be enabled.

    ``kind`` is "require" for a require statement, "choice" if the set of a parameter or pick must
    not be empty, "message" if a message that matches the pattern must be present, "capacity" for an
    ``or block`` (reports count how many times it was false), and "budget" for a budget of losses or
    duplications.
    """

    kind: GuardKind
    span: Span
    action: int
    calls: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverageMark:
    """An event that a run is expected to cover. The report lists the marks that were not set.

    ``kind`` is "branch" for a branch of an if or match in an action, "guard" for a require that was
    true at least once, and "antecedent" for the antecedent of a property's outermost implication.
    ``owner`` is the number of the action, or with "antecedent" the number of the property.
    """

    kind: OneOf["branch", "guard", "antecedent"]
    span: Span
    owner: int
    text: str


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A variable of the state, in declaration order.

    ``name`` is the variable's name in reports: ``Leader.log``, ``net``, ``net.losses``. A variable
    of a role family is a `Map` from the role's index type. A channel family is a `Map` from its
    index types, nested with the first index outermost. ``role`` is the name of the role, or "" at
    the top level.
    """

    name: str
    type: Type
    kind: OneOf["variable", "channel", "budget"]
    role: str
    ghost: bool
    span: Span


@dataclass(frozen=True, slots=True)
class StepSet:
    """The steps of an action that a fairness constraint covers: all of them, or those whose first
    visible choices (see `Pick`) are ``choices``, such as the instance in a role family.
    """

    action: int
    choices: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Fairness:
    """A fairness constraint: a condition on steps, *taken*, and a condition on states, *enabled*.

    A step is taken for the constraint if it belongs to one of the ``members``, changes a non-ghost
    variable (ghost fields ignored), and starts in a state that satisfies ``condition``, the number
    of a predicate; None if there is no such condition. The constraint is enabled in the states from
    which such a step is possible. If it is enabled in every state from some point on, a fair
    behaviour takes infinitely many of these steps; with ``strong``, it already does so if the
    constraint is enabled infinitely often.

    A constraint of one member may be a family: with ``choices`` greater than 0, steps whose first
    ``choices`` visible choices (ghost fields ignored) are equal form one constraint. These choices
    are the instance in a role family and, with ``each``, also the parameters and the message.

    ``label`` is the name in reports, and ``name`` the one that checks refer to, or "" if there is
    none. The prefix of an action declares a constraint with the name of the action. A declaration
    `fair {...}` is a ``group``.

    A constraint of a TLA+ module has no members, but a ``pair`` of predicates: one of states, which
    is *enabled*, and one of steps, which is *taken* if the constraint is enabled as well.
    """

    name: str
    label: str
    strong: bool
    members: tuple[StepSet, ...]
    span: Span
    choices: int = 0
    each: bool = False
    group: bool = False
    condition: int | None = None
    pair: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """An atomic step. Each vector of choices of ``body`` yields a successor, and the order of the
    vectors is the order of the successors.

    ``name`` is ``Role.action``, ``action`` or ``net.lose``. In a role family the first choice is
    the instance, with label "". ``channel`` is the variable that the action receives from, or None;
    the message is the choice with label ``"on"``. The first ``head`` visible choices are declared
    in the action's head: the instance, the parameters (for a loss, the indices of the channel), and
    the message.
    """

    name: str
    role: str
    kind: OneOf["ordinary", "environment", "lose", "duplicate"]
    body: Statement
    span: Span
    channel: int | None = None
    head: int = 0


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a model. ``name`` is unique among named properties, and "" for an unnamed one.

    The kind determines the subject of the property. Only a property of steps contains
    `Variable.next`.

    A property of behaviours has a ``formula``. In the model, the property is followed by the
    predicates of its formula. The body of the property is a literal true, and is not evaluated. If
    the property is ``within`` the constraints, the formula must hold only for behaviours whose
    states all satisfy every constraint of the model.

    A refinement has an ``abstract`` model without ghosts and properties. Its body is a `MakeRecord`
    of the values of the abstract variables, which is the image of a state in the abstract model. An
    initial state satisfies the refinement if its image is an initial state of the abstract model. A
    step satisfies it if the two images are equal, or form a step of the abstract model that neither
    fails nor violates an assertion.
    """

    name: str
    kind: PropertyKind
    body: Expr
    span: Span
    formula: Formula | None = None
    abstract: Model | None = None
    within: bool = False

    @property
    def title(self) -> str:
        """The kind and name of the property, as in ``invariant A``, or its kind and line if it has
        no name.
        """
        return f"{self.kind} {self.name or f'at line {self.span.line}'}"

    def is_named(self, name: str) -> bool:
        """Returns whether this is the name of the property, or of the TLA+ property that it is a
        conjunct of: ``P!2`` is a part of ``P``.
        """
        return name in (self.name, self.name.partition("!")[0])


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant with its value in this model; ``path`` is its name in checks and options."""

    path: str
    type: Type
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class SymbolicConstant:
    """A constant that ranges over every value of its type that satisfies ``condition``.

    If ``condition`` is None, it ranges over all values of its type. The type is bool, a range, a
    machine integer or an enum. A condition may mention every symbolic constant. ``path`` is as for
    `Constant`.
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
    """A spec with fixed constants, in the form that engines run.

    ``initial`` assigns every variable. Each vector of its choices yields an initial state, unless a
    `Require` is false. ``slots`` is the number of slots, and ``labels`` the number of block labels.
    Actions and properties are in declaration order, which determines which of several problems is
    reported. ``warnings`` are problems that do not prevent a run. ``symbols`` are the constants
    without a value; `instantiate.instance` replaces them by values. ``fairness`` lists the
    constraints of actions, in the order of the actions, and then the groups. ``open_ranges`` are
    the ranges that are assumed.
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
    fairness: tuple[Fairness, ...] = ()
    open_ranges: tuple[OpenRange, ...] = ()

    @property
    def is_opaque(self) -> bool:
        """Whether the bodies of actions and properties are empty, because an engine of another
        language evaluates them.
        """
        return False

    @property
    def checks_deadlock(self) -> bool:
        """Whether a deadlock is a problem if the check does not say otherwise."""
        return True

    def searched(self, chosen: Iterable[int]) -> SearchedProperties:
        """Returns the properties that a search for the properties with the numbers ``chosen``
        evaluates. A search for a formula also evaluates the conditions of fairness constraints.
        """
        formulas = [self.properties[number].formula for number in chosen]
        parts = {part for formula in formulas if formula for part in predicates(formula)}
        if any(formulas):
            parts |= {item.condition for item in self.fairness if item.condition is not None}
        return SearchedProperties.of([part.kind for part in self.properties], {*chosen, *parts})
