const { calls, messages } = data;
const SHORT = 80;
const blocks = [...document.querySelectorAll(".asked")];

// JSON on one line where it fits.
const laidOut = (text) => (text.length <= SHORT ? text : pretty(text));

function callNode(call) {
  return make("div", "call", make("span", "name", call.name), make("span", "note", ` ${call.id}`),
    make("pre", "", laidOut(call.arguments)));
}

function messageNode(title, message, className) {
  const box = make("div", `message ${className ?? ""}`, make("div", "who", title));
  if (message.reasoning) box.append(make("pre", "faint", message.reasoning));
  if (message.text) box.append(make("pre", "", laidOut(message.text)));
  for (const call of message.calls ?? []) box.append(callNode(call));
  if (box.children.length === 1) box.append(make("pre", "faint", "(nothing)"));
  return box;
}

function bodyOf(call) {
  const body = make("div", "body", table(call.facts), make("h3", "", `Prompt: ${plural(call.prompt.length, "message")}`));
  for (const place of call.prompt) {
    const message = messages[place];
    const title = message.of ? `${message.role}: ${message.of}${message.error ? ", an error" : ""}` : message.role;
    body.append(messageNode(title, message));
  }
  body.append(make("h3", "", "Reply"));
  body.append(call.error ? messageNode("no reply", { text: call.error }, "error") : messageNode("assistant", call, "reply"));
  return body;
}

blocks.forEach((block, place) => whenOpened(block, () => bodyOf(calls[place])));
for (const node of document.querySelectorAll("pre.json")) node.textContent = laidOut(node.textContent);
if (blocks.length) {
  const role = byId("role");
  const shown = () => blocks.filter((block) => !block.hidden);
  byId("roles").addEventListener("submit", (event) => event.preventDefault());
  role.addEventListener("change", () => {
    for (const block of blocks) block.hidden = Boolean(role.value) && block.dataset.role !== role.value;
  });
  byId("open").addEventListener("click", () => shown().forEach((block) => { block.open = true; }));
  byId("close").addEventListener("click", () => shown().forEach((block) => { block.open = false; }));
}
