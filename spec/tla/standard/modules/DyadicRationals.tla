---- MODULE DyadicRationals ----
\* A fraction whose denominator is a power of 2.
LOCAL INSTANCE Sequences
LOCAL INSTANCE Integers
LOCAL INSTANCE TLC

LOCAL Fraction(n, d) == [num |-> n, den |-> d]
RECURSIVE Reduced(_, _)
LOCAL Reduced(n, d) ==
  IF d > 1 /\ n % 2 = 0 THEN Reduced(n \div 2, d \div 2) ELSE Fraction(n, d)

IsDyadicRational(p) == \E i \in 0 .. p.den : 2 ^ i = p.den
Zero == Fraction(0, 1)
One == Fraction(1, 1)
Add(p, q) ==
  IF p = Zero THEN q
  ELSE LET d == IF p.den >= q.den THEN p.den ELSE q.den
       IN Reduced(p.num * (d \div p.den) + q.num * (d \div q.den), d)
Half(p) == Reduced(p.num, p.den * 2)
PrettyPrint(p) ==
  IF p = Zero THEN "0"
  ELSE IF p = One THEN "1"
  ELSE ToString(p.num) \o "/" \o ToString(p.den)
====
