"use strict";
const view = (() => {
  const diagram = document.getElementById("diagram");
  const again = document.querySelector("#onward output");
  const boxes = new Map();
  let data, items, flights, needs, neededBy;
  let chosen = -1;
  let round = 1;
  let watcher = () => {};

  // What stands in the page now, and what there is to show of it on demand; chooses a step.
  function load(fresh, step, scroll) {
    data = fresh;
    chosen = -1;
    items = [...document.querySelectorAll("#steps > li")];
    boxes.clear();
    for (const box of diagram.querySelectorAll(".step")) boxes.set(Number(box.dataset.step), box);
    flights = [...diagram.querySelectorAll(".flight")];
    needs = items.map(() => []);
    neededBy = items.map(() => []);
    items.forEach((item, step) => {
      for (const span of item.querySelectorAll(".why span")) {
        const into = span.textContent.startsWith("needs ") ? needs : neededBy;
        for (const link of span.querySelectorAll("a")) into[step].push(Number(link.hash.slice(6)));
      }
    });
    select(step, scroll);
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function source(step) {
    const found = data.actions[data.steps[step].action];
    if (!found) return null;
    const figure = element("figure", undefined, "source");
    figure.append(element("figcaption", found.place), element("pre", found.text));
    return figure;
  }

  function state(step) {
    const table = element("table", undefined, "state");
    const changed = new Set(data.steps[step].changed);
    for (const [name, value] of data.steps[step].state) {
      const row = table.insertRow();
      if (changed.has(name)) row.className = "changed";
      const head = element("th");
      for (const part of data.names[name].split(/(?<=\.)/)) {
        head.append(part, document.createElement("wbr"));
      }
      row.append(head, element("td", data.texts[value]));
    }
    return table;
  }

  function fill(step) {
    const item = items[step];
    const more = item.querySelector(".more");
    const parts = [];
    if (item.dataset.open && data.steps[step].state) parts.push(state(step));
    const shown = step === chosen ? source(step) : null;
    if (shown) parts.push(shown);
    more.replaceChildren(...parts);
    more.classList.toggle("two", parts.length > 1);
    const button = item.querySelector(".open");
    if (button) button.setAttribute("aria-expanded", item.dataset.open ? "true" : "false");
  }

  function toggle(step) {
    const item = items[step];
    if (!item) return;
    if (item.dataset.open) delete item.dataset.open;
    else item.dataset.open = "yes";
    fill(step);
  }

  function select(step, scroll) {
    step = Math.max(0, Math.min(items.length - 1, step));
    if (!items.length || step === chosen) return;
    const before = chosen;
    chosen = step;
    if (before >= 0) {
      items[before].removeAttribute("aria-current");
      fill(before);
    }
    items[step].setAttribute("aria-current", "step");
    fill(step);
    watcher(step);
    for (const [number, box] of boxes) {
      box.classList.toggle("on", number === step);
      box.classList.toggle("needed", needs[step].includes(number));
    }
    for (const flight of flights) {
      const ends = [Number(flight.dataset.from), Number(flight.dataset.to)];
      flight.classList.toggle("on", ends.includes(step));
    }
    if (scroll) {
      if (scroll !== "diagram") items[step].scrollIntoView({ block: "nearest" });
      const box = boxes.get(step);
      if (box) {
        const inside = box.getBoundingClientRect();
        const frame = diagram.getBoundingClientRect();
        diagram.scrollTop += inside.top - frame.top - frame.height / 2;
        if (inside.left < frame.left || inside.right > frame.right) {
          diagram.scrollLeft += inside.left - frame.left - frame.width / 3;
        }
      }
    }
  }

  // Where steps repeat for ever, the first of them follows the last, in the next round.
  function turn(to, by) {
    round = by ? Math.max(1, round + by) : 1;
    if (again) again.textContent = round > 1 ? `(round ${round})` : "";
    select(to, true);
  }

  function next() {
    const turns = data.loop !== null && chosen === items.length - 1;
    if (turns) turn(data.loop, 1);
    else select(chosen + 1, true);
  }

  function previous() {
    if (round > 1 && chosen === data.loop) turn(items.length - 1, -1);
    else select(chosen - 1, true);
  }

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  // A label that is cut, in full, beside what has the pointer or the focus.
  const label = element("p");
  label.id = "label";
  label.setAttribute("role", "tooltip");
  label.hidden = true;
  document.body.append(label);

  let explained = null;

  function place() {
    label.hidden = !explained?.isConnected;
    if (label.hidden) return;
    label.textContent = explained.dataset.full;
    const at = (explained.querySelector("text") ?? explained).getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - label.offsetWidth - 8);
    const below = at.bottom + 8 + label.offsetHeight <= innerHeight;
    label.style.left = `${Math.max(8, left)}px`;
    label.style.top = `${Math.max(8, below ? at.bottom + 8 : at.top - 8 - label.offsetHeight)}px`;
  }

  function explain(part) {
    explained = part;
    place();
  }

  const focused = () => diagram.querySelector("[data-full]:focus");
  for (const name of ["pointerover", "focusin"]) {
    diagram.addEventListener(name, (event) => explain(event.target.closest?.("[data-full]") ?? focused()));
  }
  diagram.addEventListener("pointerleave", () => explain(focused()));
  diagram.addEventListener("focusout", () => explain(null));
  // What gets the focus is scrolled into sight after that.
  document.addEventListener("scroll", place, true);
  addEventListener("resize", place);

  const keys = document.getElementById("keys");
  const actions = {
    Escape: () => explain(null),
    ArrowDown: next, j: next, ArrowUp: previous, k: previous,
    Home: () => turn(0, 0), End: () => turn(items.length - 1, 0),
    s: () => toggle(chosen), Enter: () => toggle(chosen),
    n: () => { if (neededBy[chosen]?.length) select(neededBy[chosen][0], true); },
    t: theme, "?": () => keys.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.closest?.("input")) return;
    const onControl = event.target.closest?.("button, a, summary");
    if (onControl && event.key === "Enter") return;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#step-"]');
    if (!link) return;
    event.preventDefault();
    if (link.closest("#onward")) turn(data.loop, 1);
    else turn(Number(link.hash.slice(6)), 0);
  });
  document.getElementById("steps").addEventListener("click", (event) => {
    const item = event.target.closest("li[data-step]");
    if (!item || event.target.closest("a")) return;
    select(Number(item.dataset.step), false);
    if (event.target.closest(".open")) toggle(Number(item.dataset.step));
  });
  diagram.addEventListener("click", (event) => {
    const box = event.target.closest(".step");
    if (box) select(Number(box.dataset.step), true);
  });
  document.getElementById("theme").addEventListener("click", theme);
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  const wanted = /^#step-(\d{1,6})$/.exec(location.hash);
  load(JSON.parse(document.getElementById("data").textContent), wanted ? Number(wanted[1]) : 0, Boolean(wanted));
  return {
    actions, element, keys, load,
    chosen: () => chosen,
    watch: (called) => { watcher = called; },
  };
})();
