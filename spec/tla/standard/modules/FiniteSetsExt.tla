---- MODULE FiniteSetsExt ----
\* FoldSet, ReduceSet, Quantify, kSubset, Max and Min are in the extended module.
EXTENDS Integers, FiniteSets, Folds, _FiniteSetsExt
LOCAL INSTANCE Functions

SumSet(S) == FoldSet(LAMBDA x, y : x + y, 0, S)
ProductSet(S) == FoldSet(LAMBDA x, y : x * y, 1, S)
MapThenSumSet(Op(_), S) == FoldSet(LAMBDA x, y : Op(x) + y, 0, S)
FlattenSet(S) == UNION S
SymDiff(S, T) == (S \ T) \cup (T \ S)
Choices(S) == {Range(f) : f \in {g \in [S -> UNION S] : \A T \in S : g[T] \in T}}
ChooseUnique(S, Test(_)) == CHOOSE x \in S : Test(x) /\ \A y \in S : Test(y) => y = x
====
