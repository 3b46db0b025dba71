---- MODULE SequencesExt ----
\* The names of Functions and Bags are not visible to modules that extend this one, so that these
\* may define a Range of their own. The extended module _SequencesExt has the operators that go
\* through a sequence.
EXTENDS Sequences, Naturals, FiniteSets, FiniteSetsExt, TLC, _SequencesExt
LOCAL INSTANCE Functions

ToBag(s) == [x \in ToSet(s) |-> Cardinality({i \in DOMAIN s : s[i] = x})]
SetToAllKPermutations(S) == UNION {SetToSeqs(T) : T \in SUBSET S}
TupleOf(S, n) == [1 .. n -> S]
SeqOf(S, n) == UNION {[1 .. m -> S] : m \in 0 .. n}
BoundedSeq(S, n) == SeqOf(S, n)

Contains(s, x) == \E i \in DOMAIN s : s[i] = x
IsSorted(s, Op(_, _)) == \A i, j \in DOMAIN s : i < j => Op(s[i], s[j])
Remove(s, x) == SelectSeq(s, LAMBDA y : y # x)
ReplaceAll(s, old, new) == [i \in DOMAIN s |-> IF s[i] = old THEN new ELSE s[i]]
SelectInSubSeq(s, from, to, Test(_)) == SelectInSeq(SubSeq(s, from, to), Test)
SelectLastInSubSeq(s, from, to, Test(_)) == SelectLastInSeq(SubSeq(s, from, to), Test)

InsertAt(s, i, x) == SubSeq(s, 1, i - 1) \o <<x>> \o SubSeq(s, i, Len(s))
ReplaceAt(s, i, x) == [s EXCEPT ![i] = x]
RemoveAt(s, i) == SubSeq(s, 1, i - 1) \o SubSeq(s, i + 1, Len(s))
RemoveFirstMatch(s, Test(_)) ==
  LET i == SelectInSeq(s, Test)
  IN IF i = 0 THEN s ELSE RemoveAt(s, i)
RemoveFirst(s, x) == RemoveFirstMatch(s, LAMBDA y : y = x)
Cons(x, s) == <<x>> \o s
Snoc(x, s) == Append(s, x)
Front(s) == SubSeq(s, 1, Len(s) - 1)
Last(s) == s[Len(s)]

IsStrictPrefix(s, t) == IsPrefix(s, t) /\ s # t
IsSuffix(s, t) == IsPrefix(Reverse(s), Reverse(t))
IsStrictSuffix(s, t) == IsSuffix(s, t) /\ s # t
Prefixes(s) == {SubSeq(s, 1, i) : i \in 0 .. Len(s)}
CommonPrefixes(S) == {s \in UNION {Prefixes(t) : t \in S} : \A t \in S : IsPrefix(s, t)}
LongestCommonPrefix(S) ==
  LET common == CommonPrefixes(S)
  IN CHOOSE s \in common : \A t \in common : Len(t) <= Len(s)
Suffixes(s) == {SubSeq(s, i, Len(s)) : i \in 1 .. Len(s) + 1}

SeqMod(a, b) == IF a % b = 0 THEN b ELSE a % b
FoldSeq(Op(_, _), base, s) == FoldFunction(Op, base, s)
FoldLeftDomain(Op(_, _), base, s) == FoldLeft(Op, base, [i \in DOMAIN s |-> i])
FoldRightDomain(Op(_, _), s, base) == FoldRight(Op, [i \in DOMAIN s |-> i], base)
Zip(s, t) == [i \in 1 .. Min({Len(s), Len(t)}) |-> <<s[i], t[i]>>]
Interleave(s, t) ==
  CASE Len(s) = Len(t) /\ Len(s) > 0 -> FlattenSeq([i \in DOMAIN s |-> << <<s[i]>>, <<t[i]>> >>])
    [] Len(s) = Len(t) /\ Len(s) = 0 -> << <<>>, <<>> >>

AllSubSeqs(s) == {FoldLeft(Append, <<>>, [i \in 1 .. Cardinality(I) |-> s[SetToSeq(I)[i]]]) :
                  I \in SUBSET DOMAIN s}
IndexFirstSubSeq(s, t) ==
  CHOOSE i \in 1 .. Len(t) - Len(s) + 1 :
    /\ SubSeq(t, i, i + Len(s) - 1) = s
    /\ \A j \in 1 .. i - 1 : SubSeq(t, j, j + Len(s) - 1) # s
ReplaceSubSeqAt(i, r, s, t) == SubSeq(t, 1, i - 1) \o r \o SubSeq(t, i + Len(s), Len(t))
ReplaceFirstSubSeq(r, s, t) ==
  IF s \in SubSeqs(t) THEN ReplaceSubSeqAt(IndexFirstSubSeq(s, t), r, s, t) ELSE t
RECURSIVE ReplaceEverySubSeq(_, _, _)
LOCAL ReplaceEverySubSeq(r, s, t) ==
  IF s \in SubSeqs(t)
  THEN LET i == IndexFirstSubSeq(s, t)
       IN SubSeq(t, 1, i - 1) \o r \o ReplaceEverySubSeq(r, s, SubSeq(t, i + Len(s), Len(t)))
  ELSE t
ReplaceAllSubSeqs(r, s, t) ==
  CASE s = t -> r
    [] r = s -> t
    [] s # t /\ s = <<>> -> FlattenSeq([i \in DOMAIN t |-> r \o <<t[i]>>])
    [] OTHER -> ReplaceEverySubSeq(r, s, t)
====
