"use strict";
// Text of models is data: it reaches the page through textContent only, never as markup.
const PAGE = 20;
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
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

function options(select, everything, values) {
  select.append(new Option(everything, ""));
  for (const value of [...new Set(values)].filter(Boolean).sort()) select.append(new Option(value, value));
  select.parentElement.hidden = select.options.length < 3;
}

// The words of the search field; an item matches that has all of them.
const needles = () => byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);

function fold(title, content, className) {
  return make("details", className, make("summary", "", title), content);
}

function table(pairs) {
  const list = make("dl", "origin");
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(make("dt", "", name), make("dd", "", String(value)));
  }
  return list;
}

// A list of folds behind filters, some at a time. A fold's body is made when it is first opened.
function browse({ list, items, controls, fits, node, unit, nothing }) {
  let page = 0;

  function show() {
    const found = items.filter(fits);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    byId("list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(node));
    const all = plural(items.length, unit);
    const some = found.length === items.length ? all : `${found.length.toLocaleString("en")} of ${all}`;
    byId("count").textContent = found.length ? some : "Nothing matches.";
    byId("pager").hidden = pages === 1;
    byId("page").textContent = `page ${page + 1} of ${pages}`;
    byId("back").disabled = page === 0;
    byId("next").disabled = page === pages - 1;
  }

  function again() {
    page = 0;
    show();
  }

  function turnTo(step) {
    page += step;
    show();
    byId(list).scrollIntoView();
  }

  if (!items.length) {
    byId("count").textContent = nothing;
    return again;
  }
  byId("filters").hidden = false;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  let wait = 0;
  byId("query").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(again, 120);
  });
  for (const select of Object.values(controls)) select.addEventListener("change", again);
  byId("back").addEventListener("click", () => turnTo(-1));
  byId("next").addEventListener("click", () => turnTo(1));
  show();
  return again;
}

function whenOpened(node, body) {
  node.addEventListener("toggle", () => {
    if (node.open && node.children.length === 1) node.append(body());
  });
  return node;
}
