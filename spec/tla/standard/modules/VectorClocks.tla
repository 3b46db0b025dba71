---- MODULE VectorClocks ----
EXTENDS Naturals, Sequences, Functions
LOCAL INSTANCE _VectorClocks

LOCAL At(c, x) == IF x \in DOMAIN c THEN c[x] ELSE 0
LOCAL IsBefore(c, d) ==
  LET S == DOMAIN c \cup DOMAIN d
  IN (\A x \in S : At(c, x) <= At(d, x)) /\ (\E x \in S : At(c, x) < At(d, x))
LOCAL IsConcurrent(c, d) ==
  LET S == DOMAIN c \cup DOMAIN d
  IN (\E x \in S : At(c, x) < At(d, x)) /\ (\E x \in S : At(c, x) > At(d, x))

IsCausalOrder(log, clock(_)) ==
  \A i \in 1 .. Len(log) : \A j \in 1 .. i - 1 :
    \/ IsBefore(clock(log[j]), clock(log[i]))
    \/ IsConcurrent(clock(log[j]), clock(log[i]))
CausalOrder(log, clock(_), node(_), domain(_)) == InCausalOrder(log, clock)
====
