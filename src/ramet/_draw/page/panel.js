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
  if (box.notes.length) parts.push(section("Changes", ...box.notes.map((number) => noteElement(data.notes[number]))));
  parts.push(section("", table(facts(box, op))));
  if (op?.variables) parts.push(section("Weights", ...op.variables.map((variable) => variableElement(op, variable))));
  if (op?.settings) parts.push(section("Settings", table(op.settings)));
  if (op?.no_config) parts.push(section("Settings", make("p", {}, `There are none to show: ${op.no_config}`)));
  if (op?.flags) parts.push(section("Flags", table(op.flags)));
  const around = [["takes from", before.get(box.number)], ["goes to", after.get(box.number)]]
    .filter(([, numbers]) => numbers)
    .map(([word, numbers]) => links(word, [...new Set(numbers)].map((number) => boxes[number])));
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
  const element = make("div", { class: "head" }, close, make("h2", {}, box.title), make("p", { class: "called" }, box.full ?? box.name));
  if (box.path) {
    const copy = make("button", { class: "copy", id: "copy", title: "Copy the path that named(...) takes (c)" }, "Copy path");
    copy.addEventListener("click", () => copyPath(box));
    element.append(make("p", { class: "path" }, make("code", {}, printable(box.path)), " ", copy));
  }
  if (opens(box) && box.number) {
    const button = make("button", { id: "toggle" }, box.open ? "Close the box" : `Open the box (${box.children.length} inside)`);
    button.addEventListener("click", () => {
      toggle(box);
      fillPanel(box);
      document.getElementById("toggle").focus();
    });
    element.append(button);
  }
  return element;
}

function facts(box, op) {
  const rows = [];
  if (box.kind === "block") rows.push(["calls", String(box.children.filter((child) => boxes[child].kind !== "port").length)]);
  if (box.shapes.length) rows.push(["gives", box.shapes.join(", ")]);
  if (box.dtypes.length) rows.push(["dtype", box.dtypes.join(", ")]);
  if (op) {
    rows.push(["class", [op.module, op.class_name].filter(Boolean).join(".")]);
    if (op.registered && op.registered !== op.class_name) rows.push(["registered as", op.registered]);
    if (op.parameters) rows.push(["parameters", op.parameters.toLocaleString("en")]);
    if (box.kind !== "input" && box.kind !== "operation") rows.push(["trainable", op.frozen ? "no, frozen" : "yes"]);
    if (op.dtype) rows.push(["dtype policy", op.dtype]);
    if (op.unbuilt) rows.push(["built", "not yet"]);
    if (op.path !== undefined && op.path !== box.path && box.number) rows.push(["stands first at", printable(op.path)]);
  }
  for (const number of box.groups) rows.push([`mark ${data.groups[number].label}`, data.groups[number].text]);
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
    body.append(make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, value)));
  }
  return make("table", {}, body);
}

function links(word, others) {
  const element = make("p", { class: "links" }, `${word} `);
  for (const other of others.slice(0, 12)) {
    const label = other.kind === "port" ? boxes[other.parent].title + " (edge)" : other.name || other.title;
    const button = make("button", { class: "link" }, label);
    button.addEventListener("click", () => go(other.kind === "port" ? boxes[other.parent] : other));
    element.append(button, " ");
  }
  if (others.length > 12) element.append(`and ${others.length - 12} more`);
  return element;
}

function noteElement(note) {
  const element = make("div", { class: `note ${note.follows ? "follows" : note.kind}` });
  element.append(make("p", {}, make("b", {}, note.follows ? "in consequence" : note.kind), ` ${note.text}`));
  if (note.old || note.new) {
    element.append(make("p", { class: "values" }, note.what ? `${note.what}: ` : "", make("del", {}, note.old ?? ""), " → ", make("ins", {}, note.new ?? "")));
  }
  return element;
}

function variableElement(op, variable) {
  const flags = [variable.dtype, variable.frozen ? "frozen" : "", variable.state ? "state, no parameter" : ""].filter(Boolean);
  const element = make("div", { class: "variable" },
    make("p", {}, make("b", {}, variable.name), ` ${variable.shape}`, make("span", { class: "quiet" }, ` ${flags.join(", ")}`)));
  const origin = variable.tied ? `the very variable of ${variable.tied}` : variable.missing ? "not stored" : "";
  if (origin) element.append(make("p", { class: "quiet" }, origin));
  if (variable.histogram) element.append(histogramElement(variable));
  return element;
}

function histogramElement(variable) {
  const { bars, low, high, mean, deviation, odd } = variable.histogram;
  const text = bars ? `from ${low} to ${high}, mean ${mean}, deviation ${deviation}` : "no finite number";
  const label = odd ? `${text}, ${odd} not finite` : text;
  const element = make("figure");
  if (bars) {
    const drawing = shape("svg", { class: "histogram", viewBox: `0 0 ${bars.length * 4} 40`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    [...bars].forEach((digit, place) => {
      const tall = parseDigit(digit) * 40 / 61;
      if (tall) drawing.append(shape("rect", { x: place * 4, y: 40 - tall, width: 3.4, height: tall }));
    });
    element.append(drawing);
  }
  element.append(make("figcaption", {}, label));
  return element;
}

function parseDigit(digit) {
  return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".indexOf(digit);
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
