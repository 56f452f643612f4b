"use strict";
// Text of models is data: it reaches the page through textContent only, never as markup.
const { items, worlds } = JSON.parse(document.getElementById("data").textContent);
const PAGE = 20;
const byId = (id) => document.getElementById(id);
const controls = { status: byId("status"), rule: byId("rule"), world: byId("world"), tool: byId("tool") };
let page = 0;

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const callsOf = (item) => (item.value?.messages ?? []).flatMap((message) => message.tool_calls ?? []);
const worldOf = (item) => worlds[item.value?.world]?.name ?? "";

// Indents JSON text without reading its values, so that 1.10 and 12345678901234567890 stay what they are.
function pretty(text) {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let out = "";
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const opened = out.endsWith("{") || out.endsWith("[");
    if (token === "}" || token === "]") {
      depth -= 1;
      out += opened ? token : line() + token;
      continue;
    }
    if (opened) out += line();
    if (token === "{" || token === "[") depth += 1;
    out += token === "," ? "," + line() : token === ":" ? ": " : token;
  }
  return out;
}

function words(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([key, inner]) => `${key} ${words(inner)}`).join("\n");
}

const haystacks = new Map();
function haystack(item) {
  if (!haystacks.has(item)) haystacks.set(item, `${item.key}\n${item.detail}\n${words(item.value)}`.toLowerCase());
  return haystacks.get(item);
}

function options(select, everything, values) {
  select.append(new Option(everything, ""));
  for (const value of [...new Set(values)].filter(Boolean).sort()) select.append(new Option(value, value));
  select.parentElement.hidden = select.options.length < 3;
}

function chosen() {
  const needles = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const { status, rule, world, tool } = controls;
  return items.filter((item) =>
    (!status.value || item.status === status.value) &&
    (!rule.value || item.rule === rule.value) &&
    (!world.value || worldOf(item) === world.value) &&
    (!tool.value || callsOf(item).some((call) => call.name === tool.value)) &&
    needles.every((needle) => haystack(item).includes(needle)));
}

function fold(title, content, className) {
  return make("details", className, make("summary", "", title), content);
}

function deltaNode(delta) {
  const box = make("div", "delta", make("div", "note", delta.changes.length ? "changed the state" : "changed nothing"));
  for (const change of delta.changes) {
    const path = change.path.join(" › ");
    const text = change.op === "put" ? `+ ${path} = ${JSON.stringify(change.value)}` : `− ${path}`;
    box.append(make("pre", change.op, text));
  }
  return box;
}

function turnNode(message, trajectory) {
  const box = make("div", `turn ${message.role}`);
  if (message.role === "tool") {
    const faults = (trajectory.faults ?? []).filter((fault) => fault.call_id === message.call_id);
    const planned = faults.map((fault) => ` · programmed fault: ${fault.kind}`).join("");
    if (message.is_error) box.classList.add("error");
    const title = `${message.is_error ? "Error from" : "Observation of"} ${message.name} (${message.call_id})${planned}`;
    box.append(make("div", "who", title), make("pre", "", pretty(message.content)));
    const delta = trajectory.deltas?.[message.call_id];
    if (delta) box.append(deltaNode(delta));
    return box;
  }
  box.append(make("div", "who", { user: "User", assistant: "Agent", system: "System" }[message.role] ?? message.role));
  if (message.reasoning) box.append(fold("reasoning", make("div", "text", message.reasoning), "reasoning"));
  if (message.content) box.append(make("div", "text", message.content));
  for (const call of message.tool_calls ?? []) {
    box.append(make("div", "call", make("span", "name", call.name), make("span", "note", ` ${call.id}`),
      make("pre", "", JSON.stringify(call.arguments, null, 2))));
  }
  for (const call of message.malformed_calls ?? []) {
    box.append(make("div", "call malformed", make("span", "name", call.name ?? "unreadable call"),
      make("div", "note", call.reason), make("pre", "", call.text)));
  }
  return box;
}

function table(pairs) {
  const list = make("dl", "origin");
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(make("dt", "", name), make("dd", "", String(value)));
  }
  return list;
}

function bodyOf(item) {
  const body = make("div", "body");
  const value = item.value;
  if (item.rule) {
    body.append(make("h3", "", item.status === "failed" ? "Why it failed" : "Why it was dropped"),
      table([["stage", item.stage], [item.status === "failed" ? "error" : "rule", item.rule], ["detail", item.detail]]));
  }
  if (!value) {
    body.append(make("p", "note", "The stage left no conversation for this item."));
    return body;
  }
  body.append(make("h3", "", "Task"), make("div", "text", value.task));
  if (value.plan) {
    body.append(fold("plan", table(Object.entries(value.plan))));
  }
  body.append(make("h3", "", "Conversation"));
  for (const message of value.messages) body.append(turnNode(message, value));
  if (value.reward) {
    body.append(make("h3", "", `Reward ${value.reward.value}`), make("div", "text", value.reward.reason));
    if (Object.keys(value.reward.parts).length) body.append(table(Object.entries(value.reward.parts)));
  }
  if (value.repairs?.length) {
    const list = make("ul", "");
    for (const repair of value.repairs) list.append(make("li", "", repair));
    body.append(make("h3", "", "Repairs"), list);
  }
  const origin = value.provenance ?? {};
  body.append(make("h3", "", "Provenance"), table([
    ["key", item.key], ["world", worldOf(item)], ["seed", origin.seed], ["attempt", origin.attempt],
    ["model", origin.model], ["licence", origin.licence], ["run", origin.run], ["stop reason", value.stop_reason],
    ["prompts", Object.entries(origin.prompts ?? {}).map(([name, sha]) => `${name} ${sha.slice(0, 12)}`).join(", ")],
  ]));
  if (value.initial_state) {
    body.append(fold("initial state", make("pre", "", JSON.stringify(value.initial_state, null, 2))));
  }
  if (Object.keys(value.metadata ?? {}).length) {
    body.append(fold("metadata", make("pre", "", JSON.stringify(value.metadata, null, 2))));
  }
  return body;
}

function itemNode(item) {
  const node = make("details", `item ${item.status}`);
  const calls = callsOf(item).length;
  const size = item.value ? `${plural(item.value.messages.length, "message")} · ${plural(calls, "call")}` : "";
  const task = item.value?.task || item.key;
  const summary = make("summary", "", make("span", `badge ${item.status}`, item.status), make("span", "task", task),
    make("span", "small", size));
  if (item.rule) summary.append(make("span", "why", item.detail ? `${item.rule}: ${item.detail}` : item.rule));
  node.append(summary);
  node.addEventListener("toggle", () => {
    if (node.open && node.children.length === 1) node.append(bodyOf(item));
  });
  return node;
}

function show() {
  const found = chosen();
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  const part = found.slice(page * PAGE, (page + 1) * PAGE);
  byId("list").replaceChildren(...part.map(itemNode));
  const all = plural(items.length, "item");
  const some = found.length === items.length ? all : `${found.length.toLocaleString("en")} of ${all}`;
  byId("count").textContent = found.length ? some : "Nothing matches.";
  byId("pager").hidden = pages === 1;
  byId("page").textContent = `page ${page + 1} of ${pages}`;
  byId("back").disabled = page === 0;
  byId("next").disabled = page === pages - 1;
}

function turnTo(step) {
  page += step;
  show();
  byId("trajectories").scrollIntoView();
}

if (items.length) {
  options(controls.status, "all", items.map((item) => item.status));
  options(controls.rule, "all", items.map((item) => item.rule));
  options(controls.world, "all", items.map(worldOf));
  options(controls.tool, "any", items.flatMap(callsOf).map((call) => call.name));
  byId("filters").hidden = false;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  let wait = 0;
  byId("query").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { page = 0; show(); }, 120);
  });
  for (const select of Object.values(controls)) select.addEventListener("change", () => { page = 0; show(); });
  byId("back").addEventListener("click", () => turnTo(-1));
  byId("next").addEventListener("click", () => turnTo(1));
  show();
} else {
  byId("count").textContent = "This run has no item to show yet.";
}
