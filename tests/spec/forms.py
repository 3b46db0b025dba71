"""What is written becomes this tree: every form of the language, in its short form."""

from __future__ import annotations

EXPRESSIONS = """
a or b and c
=> Binary(or a Binary(and b c))

a and b or c
=> Binary(or Binary(and a b) c)

not a and b
=> Binary(and Unary(not a) b)

not a == b
=> Unary(not Binary(== a b))

a implies b implies c
=> Binary(implies a Binary(implies b c))

a implies b iff c
=> Binary(implies a Binary(iff b c))

a or b implies c and d
=> Binary(implies Binary(or a b) Binary(and c d))

a + b - c
=> Binary(- Binary(+ a b) c)

a + b * c // d % e
=> Binary(+ a Binary(% Binary(// Binary(* b c) d) e))

a | b & c - d
=> Binary(- Binary(| a Binary(& b c)) d)

-a * b
=> Binary(* Unary(- a) b)

-a.b
=> Unary(- Attribute(a b))

a - -1
=> Binary(- a Unary(- 1))

1..N - 1
=> Range(1 Binary(- N 1))

x in 0..3
=> Binary(in x Range(0 3))

x not in {1, 2}
=> Binary(not in x Collection({} [1 2]))

x == y + 1
=> Binary(== x Binary(+ y 1))

x is Marker
=> Is(x Marker False)

x is not m.Marker
=> Is(x Attribute(m Marker) True)

a..b == c
=> Binary(== Range(a b) c)

forall x in S: a and b
=> Quantifier(forall [Binder(x S)] Binary(and a b))

a and forall x in S: b or c
=> Binary(and a Quantifier(forall [Binder(x S)] Binary(or b c)))

exists x in S, y in 0..3: x == y
=> Quantifier(exists [Binder(x S) Binder(y Range(0 3))] Binary(== x y))

1 + if a then b else c + 2
=> Binary(+ 1 Conditional(a b Binary(+ c 2)))

if a then b else if c then d else e
=> Conditional(a b Conditional(c d e))

not forall x in S: x
=> Unary(not Quantifier(forall [Binder(x S)] x))

-if a then b else c
=> Unary(- Conditional(a b c))

choose x in S where p and q
=> Choose(Binder(x S) Binary(and p q))

choose x in S
=> Choose(Binder(x S) -)

1 + choose x in S where p + 1
=> Binary(+ 1 Choose(Binder(x S) Binary(+ p 1)))

r with f: e + 1
=> With(r f Binary(+ e 1))

r with f: 1 == s with g: 2
=> With(r f Binary(== 1 With(s g 2)))

a + r with f: 1
=> Binary(+ a With(r f 1))

f()
=> Call(f [])

f(a, b,)
=> Call(f [a b])

Meta(pid: 0, epoch: e + 1)
=> Call(Meta [Argument(pid 0) Argument(epoch Binary(+ e 1))])

a.b[i, j].c(x)!
=> Unwrap(Call(Attribute(Index(Attribute(a b) [i j]) c) [x]))

a!.b!
=> Unwrap(Attribute(Unwrap(a) b))

a[0..3]
=> Index(a [Range(0 3)])

seq[Entry?, 3]
=> Index(seq [Optional(Entry) 3])

map[K, V]?
=> Optional(Index(map [K V]))

(0..3)?
=> Optional(Range(0 3))

0..3?
=> Optional(Range(0 3))

(a + b) * c
=> Binary(* Binary(+ a b) c)

[]
=> Collection([] [])

{}
=> Collection({} [])

[1, 2,]
=> Collection([] [1 2])

{a}
=> Collection({} [a])

[e for x in S]
=> Comprehension([] e Binder(x S) -)

[e + 1 for x in 0..3 if x > 1]
=> Comprehension([] Binary(+ e 1) Binder(x Range(0 3)) Binary(> x 1))

{if a then b else c for x in S}
=> Comprehension({} Conditional(a b c) Binder(x S) -)

true
=> true

none
=> none

1_000
=> 1000

enabled(R.a) and quiescent
=> Binary(and Call(enabled [Attribute(R a)]) quiescent)

next(x) >= x
=> Binary(>= Call(next [x]) x)

len(q) == 0
=> Binary(== Call(len [q]) 0)

(forall x in S: a) and b
=> Binary(and Quantifier(forall [Binder(x S)] a) b)

x == (not y)
=> Binary(== x Unary(not y))

forall x in if a then S else T: x
=> Quantifier(forall [Binder(x Conditional(a S T))] x)
"""

DECLARATIONS = """
import a.b as x with N = 4, net = net, T = 0..3?
=> Import([a b] x - [ModuleArgument(N 4) ModuleArgument(net net) ModuleArgument(T
   Optional(Range(0 3)))])

import m
=> Import([m] - - [])

from a.b import c, d with T = X
=> Import([a b] - [c d] [ModuleArgument(T X)])

from a.b import (
    c,
    d,
) with (T = X, U = Y,)
=> Import([a b] - [c d] [ModuleArgument(T X) ModuleArgument(U Y)])

const N: int = 3
=> Const(N int 3 False -)

const E: int16 = any where 0 <= E
=> Const(E int16 - True Binary(<= 0 E))

const E: int16 = any
=> Const(E int16 - True -)

param const N: 0..3
=> Param(const N Range(0 3))

param type T
=> Param(type T -)

param channel c: M
=> Param(channel c M)

param channel c
=> Param(channel c -)

assume N > 0
=> Assume(Binary(> N 0))

type T = 0..N
=> TypeDecl(T Range(0 N))

type T = (0..3)?
=> TypeDecl(T Optional(Range(0 3)))

symmetric type C = {a, b}
=> SymmetricType(C [a b])

enum E: A, B
=> EnumDecl(E [A B])

enum E:
  A,
  B, C
=> EnumDecl(E [A B C])

record R: f: T, ghost g: U?
=> RecordDecl(R [FieldDecl(f T False) FieldDecl(g Optional(U) True)])

record R:
  f: T, g: U
  h: V
=> RecordDecl(R [FieldDecl(f T False) FieldDecl(g U False) FieldDecl(h V False)])

union M: A(x: T, ghost y: U), B
=> UnionDecl(M [VariantDecl(A [FieldDecl(x T False) FieldDecl(y U True)]) VariantDecl(B [])])

union M:
  A(x: T)
  B, C
=> UnionDecl(M [VariantDecl(A [FieldDecl(x T False)]) VariantDecl(B []) VariantDecl(C [])])

channel c: M
=> ChannelDecl(c [] M [])

channel c[a: A, b: B]: seq[M, 3] ordered lossy(P, m.Q) at most 1 duplicating capacity N + 1 or block
=> ChannelDecl(c [Parameter(a A) Parameter(b B)] Index(seq [M 3]) [Discipline(ordered)
   Fault(lossy [P Attribute(m Q)] 1) Fault(duplicating - -) Capacity(Binary(+ N 1) True)])

channel c: M persistent
=> ChannelDecl(c [] M [Discipline(persistent)])

channel c: M unordered lossy at most N capacity 2
=> ChannelDecl(c [] M [Discipline(unordered) Fault(lossy - N) Capacity(2 False)])

var x: 0..3 = 1
=> VarDecl(False x Range(0 3) value 1 -)

ghost var x: T? = none
=> VarDecl(True x Optional(T) value none -)

var x: T = any
=> VarDecl(False x T any - -)

var x: T in 0..3 where x > y
=> VarDecl(False x T member Range(0 3) Binary(> x y))

var x: T in S
=> VarDecl(False x T member S -)

initially: p
=> Initially(p)

role R:
  var x: T = e
=> RoleDecl(R - [VarDecl(False x T value e -)])

role R[i: 0..3]:
  ghost var x: T = e
  action a: skip
=> RoleDecl(R Parameter(i Range(0 3)) [VarDecl(True x T value e -) ActionDecl(a '' False [] -
   [Skip()])])

action a: skip
=> ActionDecl(a '' False [] - [Skip()])

action a(): skip; skip;
=> ActionDecl(a '' False [] - [Skip() Skip()])

action a(x in S, y in 0..3) on P(_, z, ==x + 1) as r from net[x, y]: skip
=> ActionDecl(a '' False [Binder(x S) Binder(y Range(0 3))] Receive(Pattern(P [Ignore() Bind(z)
   Equals(Binary(+ x 1))] r) Index(net [x y])) [Skip()])

fair action a: skip
=> ActionDecl(a fair False [] - [Skip()])

strongly fair action a: skip
=> ActionDecl(a strongly fair False [] - [Skip()])

environment action a on Empty from net: skip
=> ActionDecl(a '' True [] Receive(Pattern(Empty - -) net) [Skip()])

action a on _ as m from net: skip
=> ActionDecl(a '' False [] Receive(Pattern(- - m) net) [Skip()])

def f(x: T, y: seq[E]): U = x
=> DefDecl(f [Parameter(x T) Parameter(y Index(seq [E]))] U x)

def f(): U = x
=> DefDecl(f [] U x)

def f: U = x
=> DefDecl(f [] U x)

procedure p(x: T): skip
=> ProcedureDecl(p [Parameter(x T)] [Skip()])

procedure p: skip
=> ProcedureDecl(p [] [Skip()])

invariant I: e
=> PropertyDecl(invariant I e)

step invariant I: next(x) == x
=> PropertyDecl(step invariant I Binary(== Call(next [x]) x))

lemma L: e
=> PropertyDecl(lemma L e)

reachable W: e
=> PropertyDecl(reachable W e)

terminal: e
=> PropertyDecl(terminal - e)

terminal T: e
=> PropertyDecl(terminal T e)

constraint: e
=> PropertyDecl(constraint - e)

constraint C: e
=> PropertyDecl(constraint C e)

property P: a leads to b or c
=> LivenessDecl(P leads to a Binary(or b c))

property P: always eventually a
=> LivenessDecl(P always eventually a -)

property P: eventually always a
=> LivenessDecl(P eventually always a -)

check c: expect ok
=> CheckDecl(c False [ExpectVerdict(ok - -)])

check c slow:
  const N = 4
  const x.V = {1}
  engine bmc, depth 20
  engine spark
  depth 3
=> CheckDecl(c True [CheckConst([N] 4) CheckConst([x V] Collection({} [1])) CheckEngine(bmc 20)
   CheckEngine(spark -) CheckEngine(- 3)])

check c:
  properties: A, x.B
  expect violated x.A
  expect ok within 5
  expect deadlock
=> CheckDecl(c False [CheckProperties([A Attribute(x B)]) ExpectVerdict(violated Attribute(x A)
   -) ExpectVerdict(ok - 5) ExpectVerdict(deadlock - -)])

check c:
  expect assertion
  expect error
  expect depth == 10
  expect states == 1_000
  expect generated == 3
=> CheckDecl(c False [ExpectVerdict(assertion - -) ExpectVerdict(error - -) ExpectCount(depth
   10) ExpectCount(states 1000) ExpectCount(generated 3)])
"""

STATEMENTS = """
require a == b
=> Require(Binary(== a b))

assert a
=> Assert(a -)

assert a, "why not"
=> Assert(a why not)

x = e
=> Assign(x = e)

x.f[i].g += 1
=> Assign(Attribute(Index(Attribute(x f) [i]) g) += 1)

x -= e + 1
=> Assign(x -= Binary(+ e 1))

let y = e
=> Let(y e)

pick y in 1..3
=> Pick(Binder(y Range(1 3)) -)

pick y in S where y > 1 and z
=> Pick(Binder(y S) Binary(and Binary(> y 1) z))

send A(x: 1) to net[i]
=> Send(Call(A [Argument(x 1)]) Index(net [i]))

p(x)
=> Do(Call(p [x]))

s.add(e)
=> Do(Call(Attribute(s add) [e]))

return
=> Return()

skip
=> Skip()

x = 1; return
=> Assign(x = 1) Return()

if a: x = 1
=> If([Branch(a [Assign(x = 1)])] -)

if a:
  x = 1
elif b: skip
elif c:
  skip
else: return
=> If([Branch(a [Assign(x = 1)]) Branch(b [Skip()]) Branch(c [Skip()])] [Return()])

for y in 0..3: s.add(y)
=> For(Binder(y Range(0 3)) [Do(Call(Attribute(s add) [y]))])

for y in S:
  skip
  skip
=> For(Binder(y S) [Skip() Skip()])

match e:
  case A: skip
  case m.B(x, _, ==y + 1) as r:
    skip
  case C(): skip
  case _: skip
=> Match(e [Case(Pattern(A - -) [Skip()]) Case(Pattern(Attribute(m B) [Bind(x) Ignore()
   Equals(Binary(+ y 1))] r) [Skip()]) Case(Pattern(C [] -) [Skip()]) Case(Pattern(- - -)
   [Skip()])])

match e:
  case true: skip
  case false: skip
=> Match(e [Case(Pattern(true - -) [Skip()]) Case(Pattern(false - -) [Skip()])])

match e:
  case none: skip
=> Match(e [Case(Pattern(none - -) [Skip()])])

require forall x in S:
  a
  b
=> Require(Quantifier(forall [Binder(x S)] Conjunction([a b])))
"""
