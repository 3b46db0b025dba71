(() => {
  const { actions, element, keys } = view;
  const byId = (id) => document.getElementById(id);
  const options = byId("options");
  const condition = byId("condition");
  const expression = byId("expression");
  let now;
  let waiting = false;

  // Markup that the server has made, all text in it escaped; no script in it would run here.
  function markup(text) {
    return [...new DOMParser().parseFromString(text, "text/html").body.childNodes];
  }

  // In the playground there is no server; the page around this one answers.
  function relay(body) {
    const channel = new MessageChannel();
    parent.postMessage(body, "*", [channel.port2]);
    return new Promise((done) => { channel.port1.onmessage = (event) => done(JSON.parse(event.data)); });
  }

  async function send(words) {
    if (location.protocol === "about:") return relay(JSON.stringify({ at: now.at, ...words }));
    const answer = await fetch("do", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ at: now.at, ...words }),
    });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }

  // One thing after the other: what is clicked meanwhile was meant for another state.
  async function ask(words) {
    if (waiting) return false;
    waiting = true;
    document.body.classList.add("waiting");
    byId("stop").hidden = words.do !== "goto";
    try {
      show(await send(words));
      return true;
    } catch {
      byId("said").textContent = "the explorer does not answer: it has ended, or its page is another one by now";
      byId("said").className = "bad";
      return false;
    } finally {
      waiting = false;
      document.body.classList.remove("waiting");
      byId("stop").hidden = true;
    }
  }

  function button(text, className, called) {
    const made = element("button", text, className);
    made.type = "button";
    made.addEventListener("click", called);
    return made;
  }

  function option(one) {
    const item = element("li");
    const made = button(undefined, one.bad ? "take bad" : one.same ? "take same" : "take", () => ask({ do: "take", number: one.number }));
    made.dataset.number = one.number;
    // The group has said who takes it.
    const label = one.label.startsWith(`${one.group}.`) ? one.label.slice(one.group.length + 1) : one.label;
    made.append(element("span", String(one.number), "number"), element("span", label, "label"));
    for (const note of one.notes) made.append(element("span", note, "note"));
    item.append(made);
    return item;
  }

  function showOptions() {
    const groups = new Map();
    for (const one of now.options) {
      if (!groups.has(one.group)) groups.set(one.group, []);
      groups.get(one.group).push(one);
    }
    const parts = [];
    for (const [name, members] of groups) {
      const group = element("section", undefined, "group");
      const list = element("ul");
      list.append(...members.map(option));
      group.append(element("h3", name), list);
      parts.push(group);
    }
    if (now.more) parts.push(element("p", `and ${now.more} more, which are not listed`, "why"));
    if (!now.options.length) parts.push(element("p", now.nothing, "bad"));
    options.replaceChildren(...parts);
  }

  function showWatched(step) {
    const rows = now.watched.map((one, number) => {
      const row = element("tr");
      const value = element("td", one.values[step] ?? "");
      if (step > 0 && one.values[step] !== one.values[step - 1]) row.className = "changed";
      const remove = button("×", "remove", () => ask({ do: "unwatch", number }));
      remove.setAttribute("aria-label", `no longer watch ${one.text}`);
      const last = element("td");
      last.append(remove);
      row.append(element("th", one.text), value, last);
      return row;
    });
    byId("watched").replaceChildren(...rows);
  }

  function showWays() {
    const items = now.ways.map((way, number) => {
      const item = element("li");
      const here = number === now.way;
      const made = button(`${way.steps} ${way.steps === 1 ? "state" : "states"}, last ${way.last}`, "way", () => ask({ do: "go", way: number, steps: way.steps }));
      if (here) made.setAttribute("aria-current", "true");
      const other = way.parts ? `separates after step ${way.parts - 1}` : "another initial state";
      const where = here ? "this way" : other;
      item.append(made, " ", element("span", where, "why"));
      return item;
    });
    byId("ways").querySelector("ul").replaceChildren(...items);
    byId("ways").hidden = items.length < 2;
  }

  // From any step of the way another one can be taken.
  function addReturns() {
    const items = [...document.querySelectorAll("#steps > li")];
    items.slice(0, -1).forEach((item, step) => {
      const open = item.querySelector(".open");
      const made = button("Go on from here", "here", () => ask({ do: "go", way: now.way, steps: step + 1 }));
      if (open) open.after(" ", made);
    });
  }

  function show(fresh) {
    now = fresh;
    byId("said").textContent = now.said;
    byId("said").className = /^error\[/.test(now.said) ? "bad" : "";
    byId("caption").textContent = now.caption;
    byId("wrong").replaceChildren(...now.wrong.map((text) => element("p", text, "bad")));
    byId("diagram").replaceChildren(...markup(now.diagram));
    byId("steps").replaceChildren(...markup(`<ol>${now.steps}</ol>`)[0].childNodes);
    byId("found").querySelector("div").replaceChildren(...markup(now.found));
    byId("found").hidden = !now.found;
    byId("found").querySelector("summary").textContent = now.wrong.length ? "What is wrong, and the constants" : "Constants";
    const begun = now.data.steps.length > 0;
    byId("back").disabled = byId("start").disabled = !now.behind;
    byId("forward").disabled = !now.ahead;
    byId("save").hidden = !begun || location.protocol === "about:";
    byId("choice").textContent = begun ? "What can happen" : "Where to begin";
    showOptions();
    showWays();
    addReturns();
    view.load(now.data, now.data.steps.length - 1, "diagram");
    showWatched(view.chosen());
    // A state without steps before it is shown in full.
    if (now.data.steps.length === 1) document.querySelector("#steps .open")?.click();
  }

  function back() {
    if (!byId("back").disabled) ask({ do: "back", count: 1 });
  }

  function forward() {
    if (now.ahead) ask({ do: "go", way: now.way, steps: now.data.steps.length + 1 });
  }

  byId("back").addEventListener("click", back);
  byId("forward").addEventListener("click", forward);
  byId("start").addEventListener("click", () => ask({ do: "back", count: now.data.steps.length }));
  byId("stop").addEventListener("click", () => send({ do: "stop" }));
  // What was understood is done with, and keys mean steps again; what was not can be mended.
  function done(input) {
    if (!now.said.startsWith("error[")) input.blur();
  }

  byId("goto").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (condition.value.trim() && await ask({ do: "goto", text: condition.value })) done(condition);
  });
  byId("watch").addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = expression.value;
    if (!asked.trim() || !await ask({ do: "watch", text: asked })) return;
    if (!now.said) expression.value = "";
    done(expression);
  });
  Object.assign(actions, {
    b: back, f: forward,
    g: () => condition.focus(), w: () => expression.focus(),
  });
  for (let number = 1; number <= 9; number++) {
    actions[number] = () => options.querySelector(`[data-number="${number}"]`)?.click();
  }
  for (const input of [condition, expression]) {
    input.addEventListener("keydown", (event) => { if (event.key === "Escape") input.blur(); });
  }
  view.watch((step) => { if (now) showWatched(step); });
  keys.addEventListener("close", () => document.body.focus());
  show(JSON.parse(byId("data").textContent));
})();
