"""Draws the state graph of a small model as DOT and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.dot import quoted
from fencepost.checker.report.html import embedded, local, page
from fencepost.checker.report.labels import cut
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.run.words import plural
from fencepost.checker.tools.property_values import sentences
from fencepost.checker.tools.state_graph import Edge, JudgedGraph, Vertex
from fencepost.checker.trace.value_tree import text, tree
from fencepost.spec.text.problem import printable

NAMED = 60
"""In a DOT graph with more states than this, states are labelled with numbers instead of values."""
MAX_LABEL = 40
MAX_NAME = 24
SPACE, LEVEL, RADIUS = 54, 92, 17
"""The distance between states, the distance between levels, and the radius of a state, in
pixels.
"""


def summary(graph: JudgedGraph) -> str:
    """Summarizes a graph: ``180 states, 345 steps, 15 levels, 2 states with a problem``."""
    if not graph.vertices:
        return "no initial state: 0 states"
    steps = sum(len(edge.labels) for edge in graph.edges)
    levels, states = plural(len(graph.levels), "level"), plural(len(graph.vertices), "state")
    bad = sum(vertex.bad for vertex in graph.vertices)
    broken = sum(edge.judgement.bad for edge in graph.edges)
    parts = [states, plural(steps, "step"), levels]
    if bad:
        parts.append(f"{plural(bad, 'state')} with a problem")
    if broken:
        parts.append(
            f"{plural(broken, 'edge')} that violate{'' if broken > 1 else 's'} a step invariant"
        )
    return ", ".join(parts)


def remarks(graph: JudgedGraph, vertex: Vertex) -> list[str]:
    """Returns remarks on the problems of a state."""
    texts = sentences(graph.model, vertex.judgement)
    if vertex.deadlock:
        texts.append("deadlock: no action can be taken, and no `terminal` holds")
    texts += [f"{label} fails: {message}" for label, message in vertex.failures]
    if vertex.outside:
        texts.append("outside a constraint: no step from here is shown")
    return texts


def rows(graph: JudgedGraph, vertex: Vertex) -> Iterator[tuple[str, str]]:
    """Yields the name of each variable and its value in a state."""
    for variable, value in zip(graph.model.variables, vertex.state, strict=True):
        yield variable.name, text(tree(value, variable.type))


# ---------------------------------------------------------------- DOT


def graph_dot(graph: JudgedGraph) -> str:
    """Returns the graph as DOT source text, with one rank per level and problems in red."""
    named = len(graph.vertices) <= NAMED
    lines = [
        f"digraph {quoted([graph.model.name])} {{",
        f"  label={quoted([summary(graph)])};",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="monospace",'
        " fontsize=10];",
        '  edge [fontname="sans-serif", fontsize=9, color=gray40];',
    ]
    for number, vertex in enumerate(graph.vertices):
        values = [f"{name} = {value}" for name, value in rows(graph, vertex)]
        shown = [cut(line, MAX_LABEL) for line in values] if named else []
        notes = remarks(graph, vertex)
        looks = [
            f"label={quoted([str(number), *shown, *(notes if named else [])])}",
            f"tooltip={quoted([*values, *notes])}",
        ]
        if vertex.level == 0:
            looks.append("penwidth=2")
        if vertex.bad:
            looks.append("color=red, fillcolor=mistyrose")
        if vertex.outside:
            looks.append('style="rounded,dashed"')
        lines.append(f"  n{number} [{', '.join(looks)}];")
    for level in graph.levels:
        lines.append(f"  {{ rank=same; {' '.join(f'n{n};' for n in level)} }}")
    for edge in graph.edges:
        lines.append(_edge(edge, named))
    lines.append("}")
    return "\n".join(lines) + "\n"


def _edge(edge: Edge, named: bool) -> str:
    looks = [f"tooltip={quoted(edge.labels)}"]
    if named:
        looks.append(f"label={quoted([cut(label, MAX_LABEL) for label in edge.labels])}")
    if edge.judgement.bad:
        looks.append("color=red, penwidth=2")
    return f"  n{edge.source} -> n{edge.target} [{', '.join(looks)}];"


# ---------------------------------------------------------------- HTML


def graph_html(graph: JudgedGraph, source: str) -> str:
    """Returns the graph as a self-contained page. The graph is drawn by levels, and the page shows
    the values of a state on demand.
    """
    places, width = _places(graph)
    height = LEVEL * len(graph.levels) + 10
    named = len(graph.vertices) <= NAMED
    drawn = [_drawn_edge(number, edge, places) for number, edge in enumerate(graph.edges)]
    drawn += [_drawn_vertex(n, vertex, places[n]) for n, vertex in enumerate(graph.vertices)]
    drawn += [_edge_name(n, edge, places) for n, edge in enumerate(graph.edges) if named]
    body = filled(
        '<header><p>{}<button id="theme" type="button" title="light or dark (t)">◐</button></p>'
        "<h1>{}</h1>"
        '<p class="why">click a state, or: ↓ to a successor, ↑ back, ← → along the level, v to the'
        " next problem, Home to the start</p></header>"
        '<main><section id="diagram" tabindex="0" aria-label="state graph">'
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}"'
        ' role="img" aria-label="state graph">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>{}</svg></section>'
        '<section id="panel" aria-live="polite"></section></main>{}',
        local(source),
        summary(graph),
        *(width, height, width, height),
        joined(drawn),
        embedded(_data(graph)),
    )
    return page(f"state graph of {local(source)}", body, "graph.js", "graph.css")


def _places(graph: JudgedGraph) -> tuple[dict[int, tuple[int, int]], int]:
    """Returns the positions of the vertices and the width of the drawing. Levels run from top to
    bottom, and each vertex is placed below its predecessors.
    """
    widest = max((len(level) for level in graph.levels), default=1)
    longest = max((len(_name(edge)) for edge in graph.edges), default=0)
    # The names of actions need space next to the edges.
    space = max(SPACE, longest * 7 + 24) if len(graph.vertices) <= NAMED else SPACE
    width = max(widest * space, 320) + space
    before: dict[int, list[int]] = {}
    for edge in graph.edges:
        before.setdefault(edge.target, []).append(edge.source)
    places: dict[int, tuple[int, int]] = {}
    for depth, level in enumerate(graph.levels):

        def centre(number: int) -> float:
            centres = [places[n][0] for n in before.get(number, ()) if n in places]
            return sum(centres) / len(centres) if centres else 0.0

        order = sorted(level, key=lambda number: (centre(number), number))
        gap = width / (len(order) + 1)
        for position, number in enumerate(order, 1):
            places[number] = (round(gap * position), LEVEL * depth + 28)
    return places, width


def _drawn_vertex(number: int, vertex: Vertex, position: tuple[int, int]) -> Markup:
    classes = ["vertex"]
    classes += [name for name in ("bad", "outside") if getattr(vertex, name)]
    if vertex.level == 0:
        classes.append("initial")
    x, y = position
    return filled(
        '<g class="{}" data-vertex="{}"><circle cx="{}" cy="{}" r="{}"/>'
        '<text x="{}" y="{}" text-anchor="middle">{}</text></g>',
        *(" ".join(classes), number, x, y, RADIUS, x, y + 4, number),
    )


def _drawn_edge(number: int, edge: Edge, places: dict[int, tuple[int, int]]) -> Markup:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    kind = "edge bad" if edge.judgement.bad else "edge"
    if edge.source == edge.target:
        path = f"M{x1 + 12} {y1 - 12} C{x1 + 36} {y1 - 26} {x1 + 36} {y1 + 26} {x1 + 13} {y1 + 13}"
    elif y2 == y1 + LEVEL:
        path = f"M{x1} {y1 + RADIUS} L{x2} {y2 - RADIUS - 1}"
    else:
        # Edges within a level or back to an earlier level bend around the vertices.
        bend = 40 + abs(y1 - y2) // 6
        path = f"M{x1 + RADIUS} {y1} C{x1 + bend} {y1} {x2 + bend} {y2} {x2 + RADIUS + 1} {y2}"
    template = '<path class="{}" data-edge="{}" marker-end="url(#tip)" d="{}"/>'
    return filled(template, kind, number, path)


def _name(edge: Edge) -> str:
    """Returns the label of an edge: its first action, and the number of further ones."""
    more = f" +{len(edge.labels) - 1}" if len(edge.labels) > 1 else ""
    return f"{cut(edge.labels[0], MAX_NAME)}{more}" if edge.labels else ""


def _edge_name(number: int, edge: Edge, places: dict[int, tuple[int, int]]) -> Markup:
    """Draws the name of an edge, which is visible while the source of the edge is selected."""
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    label = _name(edge)
    if edge.source == edge.target:
        x, y, anchor = x1 + 32, y1 + 4, "start"
    elif y2 == y1 + LEVEL:
        # Edges from one state part towards their targets.
        x, y, anchor = (2 * x1 + 3 * x2) // 5, (2 * y1 + 3 * y2) // 5, "middle"
    else:
        bend = 40 + abs(y1 - y2) // 6
        x, y, anchor = (x1 + x2) // 2 + bend * 3 // 4, (y1 + y2) // 2, "middle"
    half = len(label) * 3 + 3
    left = x - half if anchor == "middle" else x - 2
    return filled(
        '<g class="action" data-names="{}">'
        '<rect class="plate" x="{}" y="{}" width="{}" height="14"/>'
        '<text x="{}" y="{}" text-anchor="{}">{}</text></g>',
        *(number, left, y - 11, 2 * half, x, y, anchor, label),
    )


def _data(graph: JudgedGraph) -> Json:
    texts: dict[str, int] = {}
    vertices: list[Json] = [
        {
            "state": [texts.setdefault(value, len(texts)) for _, value in rows(graph, vertex)],
            "notes": [printable(note) for note in remarks(graph, vertex)],
            "level": vertex.level,
            "bad": vertex.bad,
        }
        for vertex in graph.vertices
    ]
    edges: list[Json] = [
        {
            "source": edge.source,
            "target": edge.target,
            "labels": [printable(label) for label in edge.labels],
            "notes": [printable(note) for note in sentences(graph.model, edge.judgement)],
        }
        for edge in graph.edges
    ]
    return {
        "names": [printable(variable.name) for variable in graph.model.variables],
        "texts": [printable(value) for value in texts],
        "vertices": vertices,
        "edges": edges,
    }
