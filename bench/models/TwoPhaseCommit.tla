-------------------------- MODULE TwoPhaseCommit --------------------------
(* What models/classics/two_phase_commit.fence is, for TLC to be measured   *)
(* by: the same states, and the same steps.                                 *)
EXTENDS Naturals

CONSTANT N

VARIABLES phase, decision, prepared, net

Manager == 1..N
vars == <<phase, decision, prepared, net>>

TypeOK ==
    /\ phase \in [Manager -> {"working", "prepared", "committed", "aborted"}]
    /\ decision \in {"undecided", "commit", "abort"}
    /\ prepared \subseteq Manager

Init ==
    /\ phase = [m \in Manager |-> "working"]
    /\ decision = "undecided"
    /\ prepared = {}
    /\ net = {}

Decide(what) ==
    /\ decision = "undecided"
    /\ decision' = what
    /\ net' = net \union {[kind |-> what]}
    /\ UNCHANGED <<phase, prepared>>

Hear(m) ==
    /\ decision = "undecided"
    /\ [kind |-> "prepared", from |-> m] \in net
    /\ prepared' = prepared \union {m}
    /\ UNCHANGED <<phase, decision, net>>

Prepare(m) ==
    /\ phase[m] = "working"
    /\ phase' = [phase EXCEPT ![m] = "prepared"]
    /\ net' = net \union {[kind |-> "prepared", from |-> m]}
    /\ UNCHANGED <<decision, prepared>>

Become(m, what) ==
    /\ phase' = [phase EXCEPT ![m] = what]
    /\ UNCHANGED <<decision, prepared, net>>

Next ==
    \/ prepared = Manager /\ Decide("commit")
    \/ Decide("abort")
    \/ \E m \in Manager :
        \/ Hear(m)
        \/ Prepare(m)
        \/ phase[m] = "working" /\ Become(m, "aborted")
        \/ [kind |-> "commit"] \in net /\ Become(m, "committed")
        \/ [kind |-> "abort"] \in net /\ Become(m, "aborted")

Spec == Init /\ [][Next]_vars

Consistent ==
    \A a, b \in Manager : ~(phase[a] = "committed" /\ phase[b] = "aborted")
============================================================================
