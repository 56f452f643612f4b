const { items, worlds } = data;
const controls = { status: byId("status"), rule: byId("rule"), world: byId("world"), tool: byId("tool") };

const callsOf = (item) => (item.value?.messages ?? []).flatMap((message) => message.tool_calls ?? []);
const worldOf = (item) => worlds[item.value?.world]?.name ?? "";

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

function fits(item) {
  const { status, rule, world, tool } = controls;
  return (!status.value || item.status === status.value) &&
    (!rule.value || item.rule === rule.value) &&
    (!world.value || worldOf(item) === world.value) &&
    (!tool.value || callsOf(item).some((call) => call.name === tool.value)) &&
    needles().every((needle) => haystack(item).includes(needle));
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
  return whenOpened(node, () => bodyOf(item));
}

options(controls.status, "all", items.map((item) => item.status));
options(controls.rule, "all", items.map((item) => item.rule));
options(controls.world, "all", items.map(worldOf));
options(controls.tool, "any", items.flatMap(callsOf).map((call) => call.name));
browse({ list: "trajectories", items, controls, fits, node: itemNode, unit: "item", nothing: "This run has no item to show yet." });
