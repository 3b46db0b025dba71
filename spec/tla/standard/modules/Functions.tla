---- MODULE Functions ----
\* Functions as sets of pairs. Range, FoldFunction, FoldFunctionOnSet, SumFunction and
\* SumFunctionOnSet are in the extended module.
EXTENDS Integers, Folds, _Functions
LOCAL INSTANCE FiniteSets

Restrict(f, S) == [x \in S |-> f[x]]
RestrictDomain(f, Test(_)) == [x \in {y \in DOMAIN f : Test(y)} |-> f[x]]
RestrictValues(f, Test(_)) == [x \in {y \in DOMAIN f : Test(f[y])} |-> f[x]]
IsRestriction(f, g) ==
  /\ DOMAIN f \subseteq DOMAIN g
  /\ \A x \in DOMAIN f : f[x] = g[x]
Pointwise(f, g, Op(_, _)) == [x \in DOMAIN f |-> Op(f[x], g[x])]
Inverse(f, S, T) == [t \in T |-> CHOOSE s \in S : t \in Range(f) => f[s] = t]
AntiFunction(f) == Inverse(f, DOMAIN f, Range(f))
IsInjective(f) == \A x, y \in DOMAIN f : f[x] = f[y] => x = y
Injection(S, T) == {f \in [S -> T] : IsInjective(f)}
Surjection(S, T) == {f \in [S -> T] : T \subseteq Range(f)}
Bijection(S, T) == {f \in Injection(S, T) : T \subseteq Range(f)}
ExistsInjection(S, T) == Cardinality(S) <= Cardinality(T)
ExistsSurjection(S, T) == Cardinality(S) >= Cardinality(T) /\ (T = {} => S = {})
ExistsBijection(S, T) == Cardinality(S) = Cardinality(T)
====
