// What there is to know of one box.

const panel = document.getElementById("panel");

function select(box, { quiet = false } = {}) {
  if (selected) painted.get(selected.number)?.removeAttribute("aria-selected");
  selected = box;
  light(box);
  if (!box) {
    panel.hidden = true;
    remember("");
    return;
  }
  painted.get(box.number)?.setAttribute("aria-selected", "true");
  fillPanel(box);
  panel.hidden = false;
  remember(box.key ?? "");
  if (!quiet) say(labelOf(box));
}

// Where a page has no address of its own (in a notebook) there is nothing to write to.
function remember(key) {
  try {
    history.replaceState(null, "", `#${encodeURIComponent(key)}`);
  } catch {
    return;
  }
}

function fillPanel(box) {
  const op = data.ops[box.op];
  const parts = [head(box)];
  parts.push(...noteSections(box));
  parts.push(section("", table(facts(box, op))));
  if (op?.variables) parts.push(section("Weights", ...op.variables.map((variable) => variableElement(op, variable))));
  if (op?.settings) parts.push(section("Settings", table(op.settings)));
  const was = data.ops[box.was];
  if (was?.settings) parts.push(section(`Settings before, as ${was.class_name}`, table(was.settings)));
  if (op?.no_config) parts.push(section("Settings", make("p", {}, `There are none to show: ${op.no_config}`)));
  if (op?.flags) parts.push(section("Flags", table(op.flags)));
  const around = [
    ["takes from", before.get(box.number) ?? [], nameOf],
    ["goes to", after.get(box.number) ?? [], nameOf],
    ["is also", elsewhere(box), keyOf],
    ["holds a variable of", elsewhere(box, true), keyOf],
    ["also runs in", otherCalls(box), keyOf, (call) => counterpartIn(box, call)],
  ].filter(([, numbers]) => numbers.length)
    .map(([word, numbers, label, way]) => links(word, [...new Set(numbers)].map((number) => boxes[number]), label, way));
  if (around.length) parts.push(section("Around", ...around));
  panel.replaceChildren(...parts);
  panel.scrollTop = 0;
}

function head(box) {
  const close = make("button", { class: "close", "aria-label": "Close the details (Escape)", title: "Close (Escape)" }, "×");
  close.addEventListener("click", () => {
    select(null);
    if (current) focusOn(current);
  });
  const element = make("div", { class: "head" }, close, make("h2", {}, box.title));
  if (box.path !== (box.full ?? box.name)) element.append(make("p", { class: "called" }, box.full ?? box.name));
  if (box.path) {
    const copy = make("button", { class: "copy", id: "copy", title: "Copy the path that named(...) takes (c)" }, "Copy path");
    copy.addEventListener("click", () => copyPath(box));
    element.append(make("p", { class: "path" }, make("code", {}, printable(box.path)), " ", copy));
  }
  if (opens(box) && box.number) {
    const button = make("button", { id: "toggle" }, box.open ? "Close the box" : `Open the box (${countInside(box)} inside)`);
    button.addEventListener("click", () => {
      toggle(box);
      document.getElementById("toggle").focus();
    });
    element.append(button);
  }
  return element;
}

// The other boxes of the same object, or of others that hold the same variable.
function elsewhere(box, tied = false) {
  const groups = box.groups.map((number) => data.groups[number]).filter((group) => group.tied === tied);
  return groups.flatMap((group) => group.boxes).filter((number) => number !== box.number);
}

// The other calls of the shared one around the box.
function otherCalls(box) {
  if (box.within === undefined) return [];
  const around = sharedAround(box);
  return data.groups[box.within].boxes.filter((number) => number !== around.number);
}

function facts(box, op) {
  const rows = [];
  if (box.kind === "block") rows.push(["calls", String(countInside(box))]);
  if (box.shapes.length) rows.push(["gives", box.shapes.join(", ")]);
  if (box.dtypes.length) rows.push(["dtype", box.dtypes.join(", ")]);
  if (op) {
    rows.push(["class", breakable([op.module, op.class_name].filter(Boolean).join("."))]);
    if (op.registered && op.registered !== op.class_name) rows.push(["registered as", op.registered]);
    if (op.parameters) rows.push(["parameters", op.parameters.toLocaleString("en")]);
    if (box.kind !== "input" && box.kind !== "operation") rows.push(["trainable", op.frozen ? "no, frozen" : "yes"]);
    if (op.dtype) rows.push(["dtype policy", op.dtype]);
    if (op.unbuilt) rows.push(["built", "not yet"]);
    if (box.status === "removed") rows.push(["stood at", printable(op.path)]);
    else if (op.path !== undefined && op.path !== box.path && box.number) rows.push(["stands first at", printable(op.path)]);
  }
  for (const number of box.groups) rows.push([`mark ${data.groups[number].label}`, data.groups[number].text]);
  if (box.within !== undefined) rows.push([`inside ${data.groups[box.within].label}`, data.groups[box.within].text]);
  if (box.mask) rows.push(["mask", { made: "begins here", dropped: "ends here: what it gives has none", "made dropped": "another one begins here" }[box.mask]]);
  if (box.status === "removed") rows.push(["in this model", "no longer there"]);
  return rows;
}

function section(title, ...content) {
  const element = make("section");
  if (title) element.append(make("h3", {}, title));
  element.append(...content);
  return element;
}

function table(rows) {
  const body = make("tbody");
  for (const [key, value] of rows) {
    body.append(make("tr", {}, make("th", { scope: "row" }, ...breakable(key)), make("td", {}, ...[value].flat())));
  }
  return make("table", {}, body);
}

// A long name is broken between its words.
function breakable(name) {
  return name.split(/(?<=[_.])/).flatMap((word) => [word, make("wbr")]);
}

function nameOf(box) {
  return box.kind === "port" ? `${boxes[box.parent].title} (edge)` : box.name || box.title;
}

function keyOf(box) {
  return printable(box.key ?? box.name);
}

function links(word, others, label, way = (other) => (other.kind === "port" ? boxes[other.parent] : other)) {
  const element = make("p", { class: "links" }, `${word} `);
  for (const other of others.slice(0, 12)) {
    const button = make("button", { class: "link" }, label(other));
    button.addEventListener("click", () => go(way(other) ?? other));
    element.append(button, " ");
  }
  if (others.length > 12) element.append(`and ${others.length - 12} more`);
  return element;
}

// What cannot be seen is written as an escape; what is copied is the path as it is.
function printable(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

async function copyPath(box) {
  if (!box?.path) return say("This box has no path");
  try {
    await navigator.clipboard.writeText(box.path);
  } catch {
    const field = make("textarea", { class: "said", "aria-hidden": "true" });
    field.value = box.path;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    document.execCommand("copy");
    field.remove();
    focused?.focus({ preventScroll: true });
  }
  say(`Copied ${printable(box.path)}`);
}

function go(box) {
  reveal(box);
  select(box);
  focusOn(box);
}
