const byId = (id) => document.getElementById(id);
const [editor, models, checks, limit, status, report, frame] =
  ["editor", "models", "checks", "limit", "status", "report", "frame"].map(byId);
const MAX_TEXT = 200_000;
const FIRST = "classics/die_hard";
let shipped = {};
let worker, waiting, number = 0, timer = 0;

function start() {
  worker?.terminate();
  for (const { fail } of waiting?.values() ?? []) fail(new Error("stopped"));
  waiting = new Map();
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    const asked = waiting.get(data.number);
    waiting.delete(data.number);
    if (data.failed) (asked?.fail ?? say)(asked ? new Error(data.failed) : data.failed);
    else asked?.done(JSON.parse(data.result));
  };
}

function ask(request) {
  number += 1;
  return new Promise((done, fail) => {
    waiting.set(number, { done, fail });
    worker.postMessage({ number, request: JSON.stringify(request) });
  });
}

function say(text) { status.textContent = text; }

function spec() {
  return { name: models.value, text: editor.value, check: checks.value, limit: Math.max(1, Number(limit.value) || 1) };
}

function changed() {
  const names = [...editor.value.matchAll(/^(?:check|scenario) +(\w+)/gm)].map((match) => match[1]);
  const before = checks.value;
  checks.replaceChildren(...["", ...names].map((name) => new Option(name || "all checks", name)));
  checks.value = names.includes(before) ? before : "";
  clearTimeout(timer);
  timer = setTimeout(diagnose, 300);
}

async function diagnose() {
  const asked = editor.value;
  const problems = await ask({ do: "diagnose", ...spec() });
  if (asked !== editor.value) return;
  byId("problems").replaceChildren(...problems.map(({ line, column, code, kind, message }) => {
    const item = document.createElement("li");
    const link = document.createElement("button");
    link.textContent = `${line}:${column} ${kind}[${code}] ${message}`;
    link.className = kind;
    link.onclick = () => select(line, column);
    item.append(link);
    return item;
  }));
}

function select(line, column) {
  const lines = editor.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  editor.focus();
  editor.setSelectionRange(at, at + 1);
}

async function show(verb) {
  say(`${verb}: running…`);
  byId("stop").hidden = false;
  const begun = performance.now();
  try {
    const result = await ask({ do: verb, ...spec() });
    report.textContent = result.report;
    report.hidden = !result.report;
    frame.hidden = !result.page;
    frame.srcdoc = result.page ?? "";
    say(`${verb}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  } catch (error) {
    say(String(error));
  } finally {
    byId("stop").hidden = true;
  }
}

// The explorer's page asks the page around it, which has no server either.
addEventListener("message", async ({ source, data, ports: [port] }) => {
  if (source !== frame.contentWindow || typeof data !== "string" || !port) return;
  port.postMessage(JSON.stringify(await ask({ do: "step", body: data })));
});

async function through(stream, bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let part; !(part = await reader.read()).done; parts.push(part.value)) {
    size += part.value.length;
    if (size > MAX_TEXT) throw new Error("the link is too long");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function link() {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(editor.value));
  const text = btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${new URLSearchParams({ model: models.value, spec: text })}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  say("the link in the address bar has the spec");
}

async function linked() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const packed = wanted.get("spec");
  models.value = Object.hasOwn(shipped, wanted.get("model") ?? "") ? wanted.get("model") : packed ? "" : FIRST;
  editor.value = shipped[models.value] ?? "";
  if (!packed) return;
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    editor.value = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
  } catch (error) {
    say(`this link has no spec: ${error.message}`);
  }
}

models.onchange = () => { editor.value = shipped[models.value] ?? ""; changed(); };
editor.oninput = changed;
for (const verb of ["check", "explore"]) byId(verb).onclick = () => show(verb);
byId("link").onclick = link;
byId("stop").onclick = () => { start(); say("stopped"); };
say("loading Python…");
start();
shipped = await ask({ do: "models" });
models.replaceChildren(...["", ...Object.keys(shipped)].map((name) => new Option(name || "own spec", name)));
await linked();
changed();
for (const id of ["check", "explore"]) byId(id).disabled = false;
say("ready");
if (!location.hash) await show("check");
