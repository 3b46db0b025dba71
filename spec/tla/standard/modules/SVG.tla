---- MODULE SVG ----
\* Elements of drawings. SVGElemToString, NodeOfRingNetwork and SVGSerialize are in the extended
\* module.
EXTENDS _SVG
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences
LOCAL INSTANCE TLC

SVGElem(_name, _attrs, _children, _innerText) ==
  [name |-> _name, attrs |-> _attrs, children |-> _children, innerText |-> _innerText]
LOCAL Shape(name, own, attrs, text) == SVGElem(name, own @@ attrs, <<>>, text)
Line(x1, y1, x2, y2, attrs) ==
  Shape("line", [x1 |-> ToString(x1), y1 |-> ToString(y1),
                 x2 |-> ToString(x2), y2 |-> ToString(y2)], attrs, "")
Circle(cx, cy, r, attrs) ==
  Shape("circle", [cx |-> ToString(cx), cy |-> ToString(cy), r |-> ToString(r)], attrs, "")
Rect(x, y, w, h, attrs) ==
  Shape("rect", [x |-> ToString(x), y |-> ToString(y),
                 width |-> ToString(w), height |-> ToString(h)], attrs, "")
Text(x, y, text, attrs) == Shape("text", [x |-> ToString(x), y |-> ToString(y)], attrs, text)
Image(x, y, width, height, href, attrs) ==
  Shape("image", ("xlink:href" :> href) @@ [x |-> ToString(x), y |-> ToString(y),
                 width |-> ToString(width), height |-> ToString(height)], attrs, "")
Group(children, attrs) == SVGElem("g", attrs, children, "")
Svg(children, attrs) == SVGElem("svg", attrs, children, "")
SVGDoc(children, x, y, w, h, attrs) ==
  LET box == ToString(x) \o " " \o ToString(y) \o " " \o ToString(w) \o " " \o ToString(h)
  IN Svg(<<children>>, ("xmlns:xlink" :> "http://www.w3.org/1999/xlink") @@
                       ("xmlns" :> "http://www.w3.org/2000/svg") @@
                       ("viewBox" :> box) @@ attrs)
PointOnLine(from, to, segment) ==
  [x |-> from.x + ((to.x - from.x) \div segment), y |-> from.y + ((to.y - from.y) \div segment)]
====
