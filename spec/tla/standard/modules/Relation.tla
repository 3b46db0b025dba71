---- MODULE Relation ----
\* A relation on S is a function from S \X S to BOOLEAN, or an operator.
EXTENDS Naturals, FiniteSets
LOCAL INSTANCE _Graphs

LOCAL AsFunction(Op(_, _), S) == [p \in S \X S |-> Op(p[1], p[2])]

IsReflexive(R, S) == \A x \in S : R[x, x]
IsReflexiveUnder(Op(_, _), S) == IsReflexive(AsFunction(Op, S), S)
IsIrreflexive(R, S) == \A x \in S : ~R[x, x]
IsIrreflexiveUnder(Op(_, _), S) == IsIrreflexive(AsFunction(Op, S), S)
IsSymmetric(R, S) == \A x, y \in S : R[x, y] <=> R[y, x]
IsSymmetricUnder(Op(_, _), S) == IsSymmetric(AsFunction(Op, S), S)
IsAntiSymmetric(R, S) == \A x, y \in S : R[x, y] /\ R[y, x] => x = y
IsAntiSymmetricUnder(Op(_, _), S) == IsAntiSymmetric(AsFunction(Op, S), S)
IsAsymmetric(R, S) == \A x, y \in S : ~(R[x, y] /\ R[y, x])
IsAsymmetricUnder(Op(_, _), S) == IsAsymmetric(AsFunction(Op, S), S)
IsTransitive(R, S) == \A x, y, z \in S : R[x, y] /\ R[y, z] => R[x, z]
IsTransitiveUnder(Op(_, _), S) == IsTransitive(AsFunction(Op, S), S)
IsStrictlyPartiallyOrdered(R, S) ==
  IsIrreflexive(R, S) /\ IsAntiSymmetric(R, S) /\ IsTransitive(R, S)
IsStrictlyPartiallyOrderedUnder(Op(_, _), S) == IsStrictlyPartiallyOrdered(AsFunction(Op, S), S)
IsPartiallyOrdered(R, S) == IsReflexive(R, S) /\ IsAntiSymmetric(R, S) /\ IsTransitive(R, S)
IsPartiallyOrderedUnder(Op(_, _), S) == IsPartiallyOrdered(AsFunction(Op, S), S)
IsStrictlyTotallyOrdered(R, S) ==
  IsStrictlyPartiallyOrdered(R, S) /\ \A x, y \in S : x # y => R[x, y] \/ R[y, x]
IsStrictlyTotallyOrderedUnder(Op(_, _), S) == IsStrictlyTotallyOrdered(AsFunction(Op, S), S)
IsTotallyOrdered(R, S) == IsPartiallyOrdered(R, S) /\ \A x, y \in S : R[x, y] \/ R[y, x]
IsTotallyOrderedUnder(Op(_, _), S) == IsTotallyOrdered(AsFunction(Op, S), S)

TransitiveClosure(R, S) ==
  LET pairs == {p \in S \X S : R[p]}
      reached == [x \in S |-> ReachableFrom(pairs, x)]
  IN [x, y \in S |-> y \in reached[x]]
ReflexiveTransitiveClosure(R, S) ==
  LET closure == TransitiveClosure(R, S)
  IN [x, y \in S |-> x = y \/ closure[x, y]]
IsConnected(R, S) ==
  LET closure == ReflexiveTransitiveClosure(R, S)
  IN \A x, y \in S : closure[x, y]
====
