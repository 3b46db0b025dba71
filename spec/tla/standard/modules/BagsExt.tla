---- MODULE BagsExt ----
\* FoldBag is in the extended module.
EXTENDS _BagsExt
LOCAL INSTANCE Bags
LOCAL INSTANCE Integers
LOCAL INSTANCE Folds

BagAdd(B, x) == B (+) SetToBag({x})
BagRemove(B, x) == IF x \in DOMAIN B THEN B (-) SetToBag({x}) ELSE B
BagRemoveAll(B, x) == [y \in DOMAIN B \ {x} |-> B[y]]
MapThenFoldBag(Op(_, _), base, f(_), choose(_), B) ==
  LET repeated(x) ==
        LET upTo[n \in 1 .. B[x]] == Op(IF n = 1 THEN base ELSE upTo[n - 1], f(x))
        IN upTo[B[x]]
  IN MapThenFoldSet(Op, base, repeated, choose, DOMAIN B)
SumBag(B) == FoldBag(LAMBDA x, y : x + y, 0, B)
ProductBag(B) == FoldBag(LAMBDA x, y : x * y, 1, B)
====
