"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const diagram = document.getElementById("diagram");
  const panel = document.getElementById("panel");
  const circles = [...diagram.querySelectorAll(".vertex")];
  const paths = [...diagram.querySelectorAll(".edge")];
  const out = data.vertices.map(() => []);
  const into = data.vertices.map(() => []);
  data.edges.forEach((edge, number) => {
    out[edge.source].push(number);
    into[edge.target].push(number);
  });
  const levels = [];
  const place = (number) => Number(circles[number].querySelector("circle").getAttribute("cx"));
  data.vertices.forEach((vertex, number) => (levels[vertex.level] ??= []).push(number));
  for (const level of levels) level.sort((a, b) => place(a) - place(b));
  let chosen = -1;

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // The edge by which a shortest way comes in; none into an initial state.
  function parent(number) {
    const level = data.vertices[number].level;
    return into[number].find((edge) => data.vertices[data.edges[edge].source].level === level - 1);
  }

  function steps(title, edges, end) {
    const box = element("div");
    box.append(element("h2", title));
    const list = element("ul");
    for (const number of edges) {
      const edge = data.edges[number];
      const item = element("li");
      const link = element("a", `${edge.labels.join(", ")} ${end === "target" ? "→" : "←"} ${edge[end]}`);
      link.href = `#${edge[end]}`;
      item.append(link);
      for (const note of edge.notes) item.append(element("p", note, "bad"));
      list.append(item);
    }
    box.append(list);
    return edges.length ? [box] : [];
  }

  function show(number) {
    const vertex = data.vertices[number];
    const table = element("table", undefined, "state");
    const edge = parent(number);
    const before = edge === undefined ? null : data.vertices[data.edges[edge].source].state;
    vertex.state.forEach((text, variable) => {
      const row = table.insertRow();
      if (before && before[variable] !== text) row.className = "changed";
      row.append(element("th", data.names[variable]), element("td", data.texts[text]));
    });
    const where = vertex.level ? `${vertex.level} steps from the start` : "initial state";
    panel.replaceChildren(
      element("h2", `state ${number}: ${where}`),
      ...vertex.notes.map((note) => element("p", note, "bad")), table,
      ...steps("what can follow", out[number], "target"),
      ...steps("what leads here", into[number], "source"));
  }

  function select(number, scroll) {
    if (number === undefined || number < 0 || number >= data.vertices.length) return;
    chosen = number;
    const way = new Set();
    for (let at = number, edge; (edge = parent(at)) !== undefined; at = data.edges[edge].source) way.add(edge);
    circles.forEach((circle, other) => circle.classList.toggle("on", other === number));
    paths.forEach((path, edge) => {
      path.classList.toggle("way", way.has(edge));
      path.classList.toggle("on", data.edges[edge].source === number);
    });
    for (const name of document.querySelectorAll(".action")) {
      name.classList.toggle("on", data.edges[name.dataset.names].source === number);
    }
    show(number);
    if (scroll) {
      const inside = circles[number].getBoundingClientRect();
      const frame = diagram.getBoundingClientRect();
      diagram.scrollTop += inside.top - frame.top - frame.height / 2;
      diagram.scrollLeft += inside.left - frame.left - frame.width / 2;
    }
  }

  function beside(by) {
    const level = levels[data.vertices[chosen].level];
    select(level[level.indexOf(chosen) + by], true);
  }

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  function problem() {
    const count = data.vertices.length;
    for (let by = 1; by <= count; by++) {
      if (data.vertices[(chosen + by) % count].bad) return select((chosen + by) % count, true);
    }
  }

  const actions = {
    ArrowDown: () => {
      const level = data.vertices[chosen].level;
      const down = out[chosen].find((edge) => data.vertices[data.edges[edge].target].level > level);
      if (down !== undefined) select(data.edges[down].target, true);
    },
    ArrowUp: () => { const edge = parent(chosen); if (edge !== undefined) select(data.edges[edge].source, true); },
    ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    Home: () => select(0, true), v: problem, t: theme,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || chosen < 0) return;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  });
  diagram.addEventListener("click", (event) => {
    const vertex = event.target.closest(".vertex");
    if (vertex) select(Number(vertex.dataset.vertex), false);
  });
  panel.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    select(Number(link.hash.slice(1)), true);
  });
  document.getElementById("theme").addEventListener("click", theme);
  select(0, true);
})();
