"use strict";
const view = (() => {
  const diagram = document.getElementById("diagram");
  const again = document.querySelector("#onward output");
  const boxes = new Map();
  let data, items, flights, needs, neededBy;
  let chosen = -1;
  let round = 1;
  let watcher = () => {};
  const main = document.querySelector("main");
  const play = document.getElementById("play");
  const seek = document.getElementById("seek");
  const now = document.getElementById("now");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const wide = matchMedia("(min-width: 800px)");
  const BEAT = 900, FLIGHT = 600;
  let timer = 0;
  let leader = "", led = 0;

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
    showNow();
    lead("step", 400);
    for (const [number, box] of boxes) {
      box.classList.toggle("on", number === step);
      box.classList.toggle("needed", needs[step].includes(number));
    }
    for (const flight of flights) {
      const ends = [Number(flight.dataset.from), Number(flight.dataset.to)];
      flight.classList.toggle("on", ends.includes(step));
    }
    if (scroll) reveal(scroll !== "diagram");
  }

  // Scrolls to the chosen step in the diagram, and perhaps in the list.
  function reveal(list) {
    if (list) items[chosen].scrollIntoView({ block: "nearest" });
    const box = boxes.get(chosen);
    if (!box) return;
    const inside = box.getBoundingClientRect();
    const frame = diagram.getBoundingClientRect();
    diagram.scrollTop += inside.top - frame.top - frame.height / 2;
    if (box.classList.contains("initial")) diagram.scrollTop = 0;
    else if (inside.left < frame.left || inside.right > frame.right) {
      diagram.scrollLeft += inside.left - frame.left - frame.width / 3;
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

  // The state after the chosen step, below the slider.
  function showNow() {
    if (!now) return;
    seek.value = chosen;
    seek.parentElement.querySelector("output").textContent = `step ${chosen} of ${items.length - 1}`;
    now.querySelector("summary").textContent = `State ${chosen}`;
    if (now.open) now.querySelector("div").replaceChildren(data.steps[chosen].state ? state(chosen) : element("p", "this step fails", "bad"));
  }

  // A message on its way moves along its line, unless motion is to be reduced.
  function fly(flight) {
    const path = flight.querySelector("path");
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    dot.setAttribute("class", "dot");
    dot.setAttribute("r", 6);
    const length = path.getTotalLength();
    const begun = performance.now();
    function move(time) {
      const part = Math.min(1, Math.max(0, time - begun) / FLIGHT);
      const at = path.getPointAtLength(length * part);
      dot.setAttribute("cx", at.x);
      dot.setAttribute("cy", at.y);
      if (part < 1 && timer) requestAnimationFrame(move);
      else dot.remove();
    }
    flight.append(dot);
    move(begun);
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    if (play) { play.textContent = "▶"; play.setAttribute("aria-pressed", "false"); }
  }

  function beat() {
    const turns = data.loop !== null && chosen === items.length - 1;
    if (chosen === items.length - 1 && !turns) { stop(); return; }
    const arriving = still.matches ? [] : flights.filter((flight) => Number(flight.dataset.to) === (turns ? data.loop : chosen + 1));
    arriving.forEach(fly);
    timer = setTimeout(() => { next(); timer = setTimeout(beat, BEAT); }, arriving.length ? FLIGHT : 0);
  }

  function toggleplay() {
    if (timer) { stop(); return; }
    if (!play) return;
    if (chosen === items.length - 1 && data.loop === null) turn(0, 0);
    play.textContent = "⏸";
    play.setAttribute("aria-pressed", "true");
    timer = setTimeout(beat, 300);
  }

  if (play) {
    play.addEventListener("click", toggleplay);
    seek.addEventListener("input", () => { stop(); turn(Number(seek.value), 0); });
    now.addEventListener("toggle", showNow);
  }
  for (const tab of document.querySelectorAll("#tabs button")) {
    tab.addEventListener("click", () => {
      main.dataset.tab = tab.dataset.tab;
      for (const other of document.querySelectorAll("#tabs button")) other.setAttribute("aria-pressed", String(other === tab));
      reveal(true);
    });
  }

  // Whichever of the list and the diagram is scrolled leads, and the other one follows.
  function lead(who, time = 200) {
    const at = performance.now();
    if (at < led && leader !== who && who !== "step") return false;
    leader = who;
    led = at + time;
    return true;
  }
  addEventListener("scroll", () => {
    if (!now || !wide.matches || !lead("list")) return;
    const item = items.find((one) => one.getBoundingClientRect().bottom > 80);
    const box = boxes.get(Number(item?.dataset.step));
    if (box) diagram.scrollTop += box.getBoundingClientRect().top - diagram.getBoundingClientRect().top - 60;
  });
  diagram.addEventListener("scroll", () => {
    if (!now || !wide.matches || !lead("diagram")) return;
    const top = diagram.getBoundingClientRect().top + 30;
    for (const [step, box] of boxes) {
      if (box.getBoundingClientRect().top < top) continue;
      items[step]?.scrollIntoView({ block: "start" });
      return;
    }
  });

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
    p: toggleplay, " ": toggleplay, t: theme, "?": () => keys.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.closest?.("input")) return;
    const onControl = event.target.closest?.("button, a, summary");
    if (onControl && (event.key === "Enter" || event.key === " ")) return;
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
