"""TLA+ values.

| TLA+ | Python | notes |
| --- | --- | --- |
| integer | `int` | |
| string | `str` | |
| TRUE, FALSE | `TRUE`, `FALSE` | objects of `Boolean`, never Python's `bool`, which equals 0 or 1 |
| model value | `ModelValue` | equal to itself only |
| sequence, tuple | `tuple` | also every function whose domain is 1..n |
| any other function, record | `Function` | a tuple `(domain, value, ...)`, in the domain's order |
| finite set | `frozenset` | |
| SUBSET S, [S -> T], Nat, ... | `LazySet` | not hashable: never in a frozenset or a state |
| function on an infinite set | `LazyFunction` | not hashable |

Hashable values are in normal form: two of them denote the same TLA+ value if and only if `==`
holds. Tuples and functions may contain lazy values; `Universe.normalise` replaces these, and
checks that the elements of each set can be compared, as TLC does when it stores a state.

`Universe` holds what depends on the order of names: TLC orders strings and model values by their
first appearance. Its methods are the operations on values; each raises `EvaluationError` where
TLC reports an error. They are bound once by the evaluator:

- `rank(name)` registers a name; call it for each identifier and string as modules are read.
- `model_value(name)`.
- `equal(a, b)`, `compare(a, b)`, `contains(s, x)`, `subset(a, b)` return Python's `bool` or `int`.
- `set_of(values)`, `union(a, b)`, `intersection(a, b)`, `difference(a, b)`, `big_union(s)`.
- `elements(s)`: the elements in TLC's order, a cached tuple for a frozenset, else an iterator;
  `finite(s)`: the frozenset; `cardinality(s)`.
- `domain_of(s)`: the `Domain` for `[x \\in s |-> e]`: compute e for each of `domain.elements`, then
  `domain.function(values)`. For a record constructor take `domain_of(frozenset(names))` once.
- `apply(f, x)`, `domain(f)`, `updated(f, x, v)` for one step of EXCEPT, `merge(f, g)` for `@@`,
  `single(x, v)` for `:>`.
- `normalise(v)`: the normal form, interned.

`symmetry.py` permutes the model values in a value.

Constructors of lazy sets: `interval(low, high)`, `PowerSet(s)`, `FunctionSet(s, t)`,
`RecordSet({"a": s})`, `Product((s, t))`, `SequenceSet(s)`, `Filter(s, predicate)`; constants `NAT`,
`INT`, `STRING`, `BOOLEAN`. `show(value)` writes a value as TLC does.
"""
