---- MODULE UndirectedGraphs ----
\* An undirected graph is a record of a set of nodes and a set of edges, which are sets of one or
\* two nodes.
LOCAL INSTANCE Naturals
LOCAL INSTANCE Sequences
LOCAL INSTANCE _Graphs

LOCAL Pairs(G) == {p \in G.node \X G.node : {p[1], p[2]} \in G.edge}
LOCAL Component(G, n) == {n} \cup ReachableFrom(Pairs(G), n)

IsUndirectedGraph(G) ==
  /\ G = [node |-> G.node, edge |-> G.edge]
  /\ \A e \in G.edge : \E m, n \in G.node : e = {m, n}
IsLoopFreeUndirectedGraph(G) ==
  /\ G = [node |-> G.node, edge |-> G.edge]
  /\ \A e \in G.edge : \E m, n \in G.node : m # n /\ e = {m, n}
UndirectedSubgraph(G) ==
  {H \in [node : SUBSET G.node, edge : SUBSET G.edge] : IsUndirectedGraph(H)}
Path(G) ==
  {p \in Seq(G.node) : p # <<>> /\ \A i \in 1 .. Len(p) - 1 : {p[i], p[i + 1]} \in G.edge}
SimplePath(G) == PathsWithoutRepetition(G.node, Pairs(G))
AreConnectedIn(m, n, G) == m \in G.node /\ n \in Component(G, m)
ConnectedComponents(G) == {Component(G, n) : n \in G.node}
IsStronglyConnected(G) == ConnectedComponents(G) = {G.node}
UndirectedGraphs(S) == [node : {S}, edge : SUBSET {{m, n} : m, n \in S}]
====
