--------------------------- MODULE little_little ---------------------------
\* A little of everything, to be read.
\*
\* little, check little: expect ok.
EXTENDS Integers, Sequences, FiniteSets, Bags, TLC

VARIABLES
    \* What has been moved, oldest first.
    log,
    turn,
    net,
    seen,
    Player_moves

\* A value that is stored where only those of the range are held.
Within(value, range) ==
    IF value \in range
    THEN value
    ELSE Assert(FALSE, <<"evaluation error: a value leaves its range", value, range>>)

\* TRUE, once the value is known: TLC evaluates a LET only where it is used.
Defined(value) == value = value

\* The elements of a set as a sequence.
Ordered(elements, Before(_, _)) ==
    [index \in 1..Cardinality(elements) |->
        CHOOSE member \in elements :
            Cardinality({other \in elements : Before(other, member)}) = index - 1]

vars == <<log, turn, net, seen, Player_moves>>

TypeOK ==
    /\ Len(log) <= 2
    /\ \A i \in DOMAIN log : log[i].side \in {"Left", "Right"} /\ log[i].n \in 0..3
    /\ turn \in {"Left", "Right"}
    /\ Len(net) <= 2
    /\ \A i_2 \in DOMAIN net : net[i_2].side \in {"Left", "Right"} /\ net[i_2].n \in 0..3
    /\ \A item \in seen : item \in 0..3
    /\ \A k \in {"Left", "Right"} : Player_moves[k] \in 0..3

Init ==
    /\ log = <<>>
    /\ turn = "Left"
    /\ net = <<>>
    /\ seen = {}
    /\ Player_moves = [k \in {"Left", "Right"} |-> 0]

open(q) == q = <<>> \/ q[Len(q)].n < 3

\* The other side.
other_2(s) == IF s = "Left" THEN "Right" ELSE "Left"

\* Moves, and tells the other one.
Player_move(p) ==
    /\ turn = p
    /\ open(log) = TRUE
    /\ LET Player_moves_2 == [Player_moves EXCEPT ![p] = Within(Player_moves[p] + 1, 0..3)]
       IN  /\ Defined(Player_moves_2)
           /\ Len(net) < 2
           /\ turn' = other_2(p)
           /\ net' = Append(net, [side |-> p, n |-> Player_moves_2[p]])
           /\ Player_moves' = Player_moves_2
           /\ UNCHANGED <<log, seen>>

Player_hear(p) ==
    /\ 0 < Len(net)
    /\ LET e == [side |-> other_2(net[1].side), n |-> net[1].n]
           Rest(log_2, seen_2) ==
               LET RECURSIVE Loop(_, _)
                   Loop(rest, turn_2) ==
                       IF rest = <<>>
                       THEN /\ log' = log_2
                            /\ turn' = turn_2
                            /\ net' = Tail(net)
                            /\ seen' = seen_2
                            /\ UNCHANGED Player_moves
                       ELSE /\ (Head(rest) <= net[1].n \/ Len(log_2) < 2) = TRUE
                            /\ Loop(
                                   Tail(rest),
                                   IF Head(rest) = net[1].n THEN net[1].side ELSE turn_2)
               IN  Loop(Ordered(seen_2, <), turn)
       IN  IF Len(log) = 2
           THEN Rest(log, seen)
           ELSE LET log_3 ==
                        IF Len(log) < 2
                        THEN Append(log, e)
                        ELSE Assert(
                                 FALSE,
                                 "evaluation error: log is full: its capacity is 2 (18:5)")
                IN  Defined(log_3) /\ Rest(log_3, seen \cup {e.n})

Next ==
    (\E p \in {"Left", "Right"} : Player_move(p)) \/ (\E p \in {"Left", "Right"} : Player_hear(p))

Spec == Init /\ [][Next]_vars

Known == \A i \in DOMAIN log : log[i].n \in seen

Grows == [][Len(log') >= Len(log)]_vars

\* Can be reached: TLC finds this violated.
NotFull == Len(log) /= 2

Terminal == net = <<>>

NoDeadlock == ENABLED Next \/ Terminal

============================================================================
