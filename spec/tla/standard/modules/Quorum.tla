---- MODULE Quorum ----
\* The sets of quorums: they intersect pairwise, and a set that contains a quorum is one.
QuorumSystem(S) ==
  {Q \in SUBSET SUBSET S :
     /\ Q # {}
     /\ \A q, r \in Q : q \cap r # {}
     /\ \A q \in Q : \A r \in SUBSET S : q \subseteq r => r \in Q}
====
