const { runs, groups, samples, items, states, codes } = data;
const controls = { run: byId("run"), world: byId("world"), tool: byId("tool"), group: byId("group"), kind: byId("kind") };
const SHORT = 72; // characters of JSON that stand in one line
const sampleOf = (item) => samples[item.sample];
const has = (item, kind) => item.kinds.includes(kind);

// What a text hides from the eye is named: control characters, and those that turn its direction.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
function foreign(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    out.push(text.slice(from, found.index), make("span", "control", `U+${code}`));
    from = found.index + 1;
  }
  return [...out, text.slice(from)];
}

const block = (text) => make("pre", "", ...foreign(text));
const laidOut = (text) => (text.length <= SHORT ? text : pretty(text));

const haystacks = new Map();
function haystack(item) {
  if (!haystacks.has(item)) {
    const sample = sampleOf(item);
    const changes = item.changes.map((change) => [...change.path, change.truth, change.said].join(" "));
    haystacks.set(item, [sample.id, sample.world, sample.tool, sample.arguments, sample.observation, item.observation,
      item.problem, item.reply, ...changes].join("\n").toLowerCase());
  }
  return haystacks.get(item);
}

function fits(item) {
  const { run, world, tool, group, kind } = controls;
  const sample = sampleOf(item);
  return (!run.value || item.run === Number(run.value)) &&
    (!world.value || sample.world === world.value) &&
    (!tool.value || sample.tool === tool.value) &&
    (!group.value || groups[sample.group] === group.value) &&
    (!kind.value || has(item, kind.value)) &&
    needles().every((needle) => haystack(item).includes(needle));
}

// The longest common subsequence of two lists, as [sign, part] pairs; null where they are too long to compare.
function differences(truth, said) {
  let start = 0;
  while (start < truth.length && start < said.length && truth[start] === said[start]) start += 1;
  let end = 0;
  while (end < truth.length - start && end < said.length - start &&
    truth[truth.length - 1 - end] === said[said.length - 1 - end]) end += 1;
  const a = truth.slice(start, truth.length - end);
  const b = said.slice(start, said.length - end);
  if (a.length * b.length > 1e6) return null;
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const skip = Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : skip;
    }
  }
  const out = truth.slice(0, start).map((part) => ["=", part]);
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(["=", a[i]]);
      i += 1;
      j += 1;
    } else if (j === b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      out.push(["-", a[i]]);
      i += 1;
    } else {
      out.push(["+", b[j]]);
      j += 1;
    }
  }
  return [...out, ...truth.slice(truth.length - end).map((part) => ["=", part])];
}

// Lines with their sign where one of the texts has several, else words in one line.
function diffNode(truth, said) {
  const layout = truth.length > SHORT || said.length > SHORT ? pretty : laidOut;
  const [a, b] = [layout(truth), layout(said)];
  const isLines = a.includes("\n") || b.includes("\n");
  const split = (text) => (isLines ? text.split("\n") : text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  const parts = differences(split(a), split(b));
  if (!parts) return table([["the world", a], ["the simulator", b]]);
  const box = make("div", "diff");
  if (!isLines) {
    const line = make("div", "");
    for (const [sign, text] of parts) line.append(make({ "=": "span", "-": "del", "+": "ins" }[sign], "", ...foreign(text)));
    box.append(line);
    return make("div", "", make("p", "note", "underlined: only the world; struck out: only the simulator"), box, make("dl", "values", make("dt", "", "the world"), make("dd", "", block(a)),
      make("dt", "", "the simulator"), make("dd", "", block(b))));
  }
  for (let place = 0; place < parts.length; place += 1) {
    let until = place;
    while (until < parts.length && parts[until][0] === "=") until += 1;
    if (until - place > 8) {
      const equal = (text) => make("div", "equal", "  ", ...foreign(text));
      box.append(...parts.slice(place, place + 3).map(([, text]) => equal(text)),
        make("div", "skipped", `  … ${until - place - 6} equal lines`),
        ...parts.slice(until - 3, until).map(([, text]) => equal(text)));
      place = until - 1;
      continue;
    }
    const [sign, text] = parts[place];
    const [name, mark] = { "=": ["equal", "  "], "-": ["del", "− "], "+": ["ins", "+ "] }[sign];
    box.append(make("div", name, mark, ...foreign(text)));
  }
  return make("div", "", make("p", "note", "− only the world; + only the simulator"), box);
}

const CHANGE = {
  right: "✓ right", missed: "− missed", invented: "+ invented", wrong: "≠ another value", proposed: "? proposed, does not fit",
};

function valueRow(list, name, text) {
  const shown = text === undefined ? make("span", "note", "no such key") : block(laidOut(text));
  list.append(make("dt", "", name), make("dd", "", shown));
}

function changeNode(change) {
  const node = make("div", `change ${change.kind}`, make("span", "word", CHANGE[change.kind]),
    make("span", "path", ...foreign(change.path.join(" › "))));
  const isBrief = [change.before, change.truth, change.said].every((text) => (text ?? "").length < SHORT / 2);
  const list = make("dl", isBrief ? "values brief" : "values");
  if (change.kind !== "proposed") valueRow(list, "before", change.before);
  if (change.kind === "right") valueRow(list, "now", change.truth);
  if (change.kind === "missed" || change.kind === "wrong") valueRow(list, "should be", change.truth);
  if (change.kind !== "right" && change.kind !== "missed") valueRow(list, "said", change.said);
  node.append(change.kind === "right" && !isBrief ? fold("values", list) : list);
  const isLong = change.kind === "wrong" && change.truth && change.said && change.truth.length + change.said.length > SHORT;
  if (isLong) node.append(fold("difference", diffNode(change.truth, change.said)));
  return node;
}

const COUNTED = { wrong: "with another value", missed: "missed", invented: "invented", right: "right", proposed: "proposed" };
function counted(changes) {
  const parts = Object.keys(COUNTED).map((kind) => [changes.filter((change) => change.kind === kind).length, COUNTED[kind]]);
  return parts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`).join(", ");
}

const refused = (flag) => (flag === null ? "did not say" : flag ? "refused the call" : "accepted the call");

function observationNodes(item, sample) {
  const out = [make("h3", "", "Observation", make("span", "faint", item.shown_right ? "✓ right" : "✗ wrong"))];
  if (!item.flag_right) {
    out.push(make("p", "note", `✗ error flag: the world ${refused(sample.is_error)}, the simulator ${refused(item.is_error)}.`));
  }
  if (item.observation === null) {
    out.push(make("p", "note", "The simulator showed nothing. The world:"), block(laidOut(sample.observation)));
  } else if (item.shown_right) {
    out.push(fold("what both showed", block(laidOut(sample.observation))));
  } else {
    out.push(diffNode(sample.observation, item.observation));
  }
  return out;
}

function stateNodes(item, sample) {
  if (item.state_right === null) return [];
  const verdict = [item.state_right ? "✓ right" : "✗ wrong", counted(item.changes)].filter(Boolean).join(" · ");
  const title = make("h3", "", "State", make("span", "faint", verdict));
  const rows = item.changes.map(changeNode);
  const nothing = item.state_right ? "Nothing changes, and nothing was changed." :
    "The world changes nothing, and the answer holds nothing that could be applied.";
  if (!rows.length) rows.push(make("p", "note", nothing));
  if (item.more) rows.push(make("p", "note", `and ${plural(item.more, "more change")}`));
  return [title, ...rows];
}

function bodyOf(item) {
  const sample = sampleOf(item);
  const body = make("div", "body");
  if (item.problem) body.append(make("p", "problem", ...foreign(item.problem)));
  body.append(make("h3", "", `Call of ${sample.tool}`), block(laidOut(sample.arguments)));
  if (sample.code !== null) body.append(fold("code of the tool", block(codes[sample.code])));
  if (sample.state !== null) body.append(fold("state before", block(pretty(states[sample.state]))));
  else body.append(make("p", "note", "The state before did not fit into this page."));
  if (sample.history) body.append(fold("conversation before", block(sample.history)));
  body.append(...stateNodes(item, sample), ...observationNodes(item, sample));
  if (item.reply) body.append(fold("raw reply", block(item.reply)));
  const others = (places) => places.filter((place) => place !== item.run).map((place) => runs[place]).join(", ");
  body.append(make("h3", "", "Sample"), table([["id", sample.id], ["came about by", sample.origin], ["changes", sample.size],
    ["answer of", runs[item.run]], ["others, right", others(sample.right)], ["others, wrong", others(sample.wrong)]]));
  return body;
}

function badgeOf(item) {
  if (has(item, "could not be read or applied")) return ["unusable", "unusable"];
  if (has(item, "wrong next state")) return ["state", "✗ state"];
  return has(item, "wrong observation") ? ["observation", "✗ shown"] : ["flag", "✗ flag"];
}

function itemNode(item) {
  const sample = sampleOf(item);
  const [kind, word] = badgeOf(item);
  const why = [groups[sample.group], item.problem.slice(0, 120), counted(item.changes),
    ...["wrong observation", "wrong error flag"].filter((name) => has(item, name))].filter(Boolean).join(" · ");
  const node = make("details", "item", make("summary", "", make("span", `badge ${kind}`, word),
    make("span", "task", ...foreign(`${sample.tool} ${sample.arguments}`)),
    make("span", "small", runs.length > 1 ? `${sample.world} · ${runs[item.run]}` : sample.world), make("span", "why", ...foreign(why))));
  return whenOpened(node, () => bodyOf(item));
}

options(controls.world, "all", items.map((item) => sampleOf(item).world));
options(controls.tool, "any", items.map((item) => sampleOf(item).tool));
options(controls.kind, "any", items.flatMap((item) => item.kinds));
controls.run.append(new Option("all", ""), ...runs.map((name, place) => new Option(name, place)));
controls.run.parentElement.hidden = runs.length < 2;
const met = new Set(items.map((item) => groups[sampleOf(item).group]));
controls.group.append(new Option("all", ""), ...groups.filter((name) => met.has(name)).map((name) => new Option(name, name)));
const again = browse({ list: "failures", items, controls, fits, node: itemNode, unit: "failed sample", nothing: "No sample has failed." });

// One heat map at a time, and the worst tools first.
const heats = [...document.querySelectorAll(".heats")];
const chooser = byId("heat");
function showHeat() {
  for (const node of heats) node.hidden = node.dataset.run !== chooser.value;
}
if (chooser) {
  chooser.parentElement.hidden = false;
  chooser.addEventListener("change", showHeat);
  showHeat();
}
for (const node of heats) {
  const button = node.querySelector(".more");
  if (!button) continue;
  node.classList.add("few");
  button.hidden = false;
  button.addEventListener("click", () => {
    node.classList.remove("few");
    button.hidden = true;
  });
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-world]");
  if (!link) return;
  for (const select of Object.values(controls)) select.value = "";
  byId("query").value = "";
  controls.run.value = link.closest(".heats").dataset.run;
  controls.world.value = link.dataset.world;
  controls.tool.value = link.dataset.tool;
  again();
});

for (const key of document.querySelectorAll(".key[data-series]")) {
  key.addEventListener("click", () => {
    const isOn = key.getAttribute("aria-pressed") === "false";
    key.setAttribute("aria-pressed", String(isOn));
    for (const part of key.closest("figure").querySelectorAll(`.chart [data-series="${key.dataset.series}"]`)) {
      part.classList.toggle("off", !isOn);
    }
  });
}
