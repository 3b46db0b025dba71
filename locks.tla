------------------------------- MODULE locks -------------------------------
\* The lock server of the tutorial, against the log lines of a real one.
\*
\* locks, check locks.fence: expect ok.
EXTENDS Integers, Sequences, FiniteSets, Bags, TLC

VARIABLES
    m_net,
    m_Server_line,
    m_Server_holder,
    m_Server_issued,
    m_Writer_lease,
    m_Store_newest

\* A value that is stored where only those of the range are held.
Within(value, range) ==
    IF value \in range
    THEN value
    ELSE Assert(FALSE, <<"evaluation error: a value leaves its range", value, range>>)

\* TRUE, once the value is known: TLC evaluates a LET only where it is used.
Defined(value) == value = value

Server_vars == <<m_Server_line, m_Server_holder, m_Server_issued>>

vars == <<m_net, m_Server_line, m_Server_holder, m_Server_issued, m_Writer_lease, m_Store_newest>>

TypeOK ==
    /\ BagCardinality(m_net) <= 4
    /\ \A item \in DOMAIN m_net :
           /\ item.tag = "Granted" => item.client \in {"Alice", "Bob"} /\ item.token \in 1..2
           /\ item.tag = "Write" => item.client \in {"Alice", "Bob"} /\ item.token \in 1..2
    /\ Len(m_Server_line) <= 2
    /\ \A i \in DOMAIN m_Server_line : m_Server_line[i] \in {"Alice", "Bob"}
    /\ m_Server_holder = <<>> \/ m_Server_holder[1] \in {"Alice", "Bob"}
    /\ m_Server_issued \in 0..2
    /\ \A k \in {"Alice", "Bob"} : m_Writer_lease[k] = <<>> \/ m_Writer_lease[k][1] \in 1..2
    /\ m_Store_newest \in 0..2

Init ==
    /\ m_net = EmptyBag
    /\ m_Server_line = <<"Alice", "Bob">>
    /\ m_Server_holder = <<>>
    /\ m_Server_issued = 0
    /\ m_Writer_lease = [k \in {"Alice", "Bob"} |-> <<>>]
    /\ m_Store_newest = 0

m_Server_grant ==
    /\ m_Server_holder = <<>>
    /\ Len(m_Server_line) > 0
    /\ LET m_Server_holder_2 == <<m_Server_line[1]>>
       IN  /\ Defined(m_Server_holder_2)
           /\ LET m_Server_line_2 ==
                      IF 0 < Len(m_Server_line)
                      THEN Tail(m_Server_line)
                      ELSE Assert(FALSE, "evaluation error: the sequence is empty (20:9)")
              IN  /\ Defined(m_Server_line_2)
                  /\ LET m_Server_issued_2 == Within(m_Server_issued + 1, 0..2)
                         v_2 ==
                             [tag |-> "Granted",
                              client |-> m_Server_holder_2[1],
                              token |-> Within(m_Server_issued_2, 1..2)]
                     IN  /\ Defined(v_2)
                         /\ Assert(
                                BagCardinality(m_net) < 4,
                                "evaluation error: net is full: its capacity is 4 (22:9)")
                         /\ m_net' = m_net (+) SetToBag({v_2})
                         /\ m_Server_line' = m_Server_line_2
                         /\ m_Server_holder' = m_Server_holder_2
                         /\ m_Server_issued' = m_Server_issued_2
                         /\ UNCHANGED <<m_Writer_lease, m_Store_newest>>

m_Server_expire ==
    /\ m_Server_holder /= <<>>
    /\ m_Server_holder' = <<>>
    /\ UNCHANGED <<m_net, m_Server_line, m_Server_issued, m_Writer_lease, m_Store_newest>>

m_Writer_granted(me) ==
    \E message \in BagToSet(m_net) :
        /\ message.tag = "Granted"
        /\ message.client = me
        /\ m_net' = m_net (-) SetToBag({message})
        /\ m_Writer_lease' = [m_Writer_lease EXCEPT ![me] = <<message.token>>]
        /\ UNCHANGED <<Server_vars, m_Store_newest>>

m_Writer_write(me) ==
    /\ m_Writer_lease[me] /= <<>>
    /\ LET v == [tag |-> "Write", client |-> me, token |-> m_Writer_lease[me][1]]
       IN  /\ Defined(v)
           /\ Assert(
                  BagCardinality(m_net) < 4,
                  "evaluation error: net is full: its capacity is 4 (36:9)")
           /\ m_net' = m_net (+) SetToBag({v})
           /\ m_Writer_lease' = [m_Writer_lease EXCEPT ![me] = <<>>]
           /\ UNCHANGED <<Server_vars, m_Store_newest>>

m_Store_on_write ==
    \E message \in BagToSet(m_net) :
        /\ message.tag = "Write"
        /\ m_net' = m_net (-) SetToBag({message})
        /\ m_Store_newest' = message.token
        /\ UNCHANGED <<Server_vars, m_Writer_lease>>

Next ==
    \/ m_Server_grant
    \/ m_Server_expire
    \/ \E me \in {"Alice", "Bob"} : m_Writer_granted(me)
    \/ \E me \in {"Alice", "Bob"} : m_Writer_write(me)
    \/ m_Store_on_write

Spec == Init /\ [][Next]_vars

============================================================================
