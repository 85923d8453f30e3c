// The panel with the details of one box.

const panel = document.getElementById("panel");

function select(box, { quiet = false } = {}) {
  if (selected) painted.get(selected.number)?.removeAttribute("aria-selected");
  selected = box;
  highlight(box);
  if (!box) {
    panel.hidden = true;
    remember("");
    return;
  }
  painted.get(box.number)?.setAttribute("aria-selected", "true");
  fillPanel(box);
  panel.hidden = false;
  remember(box.key ?? "");
  if (!quiet) announce(labelOf(box));
}

function closePanel() {
  select(null);
  if (current) focusOn(current);
}

// In a notebook, the page has no address that could be changed.
function remember(key) {
  try {
    history.replaceState(null, "", `#${encodeURIComponent(key)}`);
  } catch {
    return;
  }
}

function fillPanel(box) {
  const op = data.ops[box.op];
  const parts = [head(box), ...noteSections(box), section("", table(facts(box, op)))];
  if (op?.variables) parts.push(section("Weights", ...op.variables.map((variable) => variableElement(op, variable))));
  if (op?.settings) parts.push(section("Settings", table(op.settings)));
  const was = data.ops[box.was];
  if (was?.settings) parts.push(section(`Settings before (${was.class_name})`, table(was.settings)));
  if (op?.no_config) parts.push(section("Settings", html("p", {}, `Not available: ${op.no_config}`)));
  if (op?.flags) parts.push(section("Flags", table(op.flags)));
  const around = [
    ["input from", before.get(box.number) ?? [], nameOf],
    ["output to", after.get(box.number) ?? [], nameOf],
    ["same object as", elsewhere(box), keyOf],
    ["shares a variable with", elsewhere(box, true), keyOf],
    ["also runs in", otherCalls(box), keyOf, (call) => counterpartIn(box, call)],
  ].filter(([, numbers]) => numbers.length)
    .map(([label, numbers, textOf, targetOf]) => links(label, [...new Set(numbers)].map((number) => boxes[number]), textOf, targetOf));
  if (around.length) parts.push(section("Connections", ...around));
  panel.replaceChildren(...parts);
  panel.scrollTop = 0;
}

function head(box) {
  const close = button({ class: "close", "aria-label": "Close the details (Escape)", title: "Close (Escape)" }, "×", closePanel);
  const element = html("div", { class: "head" }, close, html("h2", {}, box.title));
  if (box.path !== (box.full ?? box.name)) element.append(html("p", { class: "called" }, box.full ?? box.name));
  if (box.path) {
    const copy = button({ class: "copy", id: "copy", title: "Copy the path for named(...) (c)" }, "Copy path", () => copyPath(box));
    element.append(html("p", { class: "path" }, html("code", {}, printable(box.path)), " ", copy));
  }
  if (opens(box) && box.number) {
    element.append(button({ id: "toggle" }, box.open ? "Close the box" : `Open the box (${countInside(box)} inside)`, () => {
      toggle(box);
      document.getElementById("toggle").focus();
    }));
  }
  return element;
}

// The other boxes of the same object, or of other objects that share a variable with it.
function elsewhere(box, tied = false) {
  const groups = box.groups.map((number) => data.groups[number]).filter((group) => group.tied === tied);
  return groups.flatMap((group) => group.boxes).filter((number) => number !== box.number);
}

// The other calls of the shared op around the box.
function otherCalls(box) {
  if (box.within === undefined) return [];
  const around = sharedAround(box);
  return data.groups[box.within].boxes.filter((number) => number !== around.number);
}

function facts(box, op) {
  const rows = [];
  if (box.kind === "block") rows.push(["calls", String(countInside(box))]);
  if (box.shapes.length) rows.push(["output shape", box.shapes.join(", ")]);
  if (box.dtypes.length) rows.push(["dtype", box.dtypes.join(", ")]);
  if (op) {
    rows.push(["class", breakable([op.module, op.class_name].filter(Boolean).join("."))]);
    if (op.registered && op.registered !== op.class_name) rows.push(["registered as", op.registered]);
    if (op.parameters) rows.push(["parameters", op.parameters.toLocaleString("en")]);
    if (box.kind !== "input" && box.kind !== "operation") rows.push(["trainable", op.frozen ? "no, frozen" : "yes"]);
    if (op.dtype) rows.push(["dtype policy", op.dtype]);
    if (op.unbuilt) rows.push(["built", "no"]);
    if (box.status === "removed") rows.push(["path before", printable(op.path)]);
    else if (op.path !== undefined && op.path !== box.path && box.number) rows.push(["same object as", printable(op.path)]);
  }
  for (const number of box.groups) rows.push([`mark ${data.groups[number].label}`, data.groups[number].text]);
  if (box.within !== undefined) rows.push([`inside ${data.groups[box.within].label}`, data.groups[box.within].text]);
  if (box.mask) rows.push(["mask", { made: "created here", dropped: "ends here: the output has no mask", "made dropped": "replaced by a new mask" }[box.mask]]);
  if (box.status === "removed") rows.push(["in this model", "removed"]);
  return rows;
}

function section(title, ...content) {
  return html("section", {}, ...(title ? [html("h3", {}, title)] : []), ...content);
}

function table(rows) {
  const row = ([key, value]) => html("tr", {}, html("th", { scope: "row" }, ...breakable(key)), html("td", {}, ...[value].flat()));
  return html("table", {}, html("tbody", {}, ...rows.map(row)));
}

// Long names may be broken between their words.
function breakable(name) {
  return name.split(/(?<=[_.])/).flatMap((word) => [word, html("wbr")]);
}

function nameOf(box) {
  return box.kind === "port" ? `${boxes[box.parent].title} (edge)` : box.name || box.title;
}

function keyOf(box) {
  return printable(box.key ?? box.name);
}

function links(label, others, textOf, targetOf = (other) => (other.kind === "port" ? boxes[other.parent] : other)) {
  const element = html("p", { class: "links" }, `${label} `);
  for (const other of others.slice(0, 12)) {
    element.append(button({ class: "link" }, textOf(other), () => go(targetOf(other) ?? other)), " ");
  }
  if (others.length > 12) element.append(`and ${others.length - 12} more`);
  return element;
}

// Invisible characters are shown as escapes; the path is copied as it is.
function printable(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

async function copyPath(box) {
  if (!box?.path) return announce("This box has no path");
  try {
    await navigator.clipboard.writeText(box.path);
  } catch {
    const field = html("textarea", { class: "announcement", "aria-hidden": "true" });
    field.value = box.path;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    document.execCommand("copy");
    field.remove();
    focused?.focus({ preventScroll: true });
  }
  announce(`Copied ${printable(box.path)}`);
}

function go(box) {
  reveal(box);
  select(box);
  focusOn(box);
}

// Changes and findings: the panel shows them, and keys step through them.

// Each box once, in the order of the notes, without consequences.
const stops = [...new Map(data.notes.filter((note) => !note.follows).map((note) => [note.at ?? note.box, note])).values()];
let stop = -1;

function stepBy(by) {
  if (!stops.length) return announce("There are no changes or findings");
  stop = stop < 0 && by < 0 ? stops.length - 1 : (stop + by + stops.length) % stops.length;
  const note = stops[stop], box = (note.at && boxFor(note.at)) || boxes[note.box];
  document.getElementById("stop").textContent = `${stop + 1} of ${stops.length}`;
  if (box.number) go(box);
  else select(box, { quiet: true });
  announce(`${stop + 1} of ${stops.length}: ${noteText(data.notes[box.notes[0]] ?? note)}`);
}

function noteText(note) {
  const change = note.old || note.new ? `${note.what || "value"} from ${note.old} to ${note.new}` : "";
  return [note.kind, note.text, change].filter(Boolean).join(", ");
}

function noteElement(note) {
  const element = html("div", { class: `note ${note.follows ? "follows" : note.kind}` });
  // The text of a finding begins with the name of the check.
  const kind = note.kind === "differs" ? "" : html("b", {}, note.follows ? "consequence " : `${note.kind} `);
  element.append(html("p", {}, kind, note.text ?? ""));
  if (note.old || note.new) {
    element.lastChild.append(note.text ? ", " : "", note.what ? `${note.what}: ` : "", html("del", {}, note.old ?? ""), " → ", html("ins", {}, note.new ?? ""));
  }
  return element;
}

function noteSections(box) {
  const notes = box.notes.map((number) => data.notes[number]);
  const found = notes.filter((note) => note.kind === "differs"), changes = notes.filter((note) => note.kind !== "differs");
  return [["Differs", found], ["Changes", changes]].filter(([, some]) => some.length)
    .map(([title, some]) => section(title, ...some.map(noteElement)));
}

// The variables of an op, each with a histogram of its numbers.

function variableElement(op, variable) {
  const flags = [variable.dtype, variable.frozen ? "frozen" : "", variable.state ? "state, not a parameter" : ""].filter(Boolean);
  const element = html("div", { class: "variable" },
    html("p", {}, html("b", {}, variable.name), ` ${variable.shape}`, html("span", { class: "quiet" }, ` ${flags.join(", ")}`)));
  const stored = variable.array ? `stored at ${variable.array}` : "";
  const origin = variable.tied ? `same variable as ${variable.tied}` : variable.missing ? "not stored" : stored;
  if (origin) element.append(html("p", { class: "quiet" }, origin));
  if (variable.histogram) element.append(histogramElement(variable));
  return element;
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function histogramElement(variable) {
  const { bars, low, high, mean, deviation, odd } = variable.histogram;
  const text = bars ? `from ${low} to ${high}, mean ${mean}, deviation ${deviation}` : "no finite numbers";
  const label = odd ? `${text}, ${odd} not finite` : text;
  const element = html("figure");
  if (bars) {
    const drawing = svg("svg", { class: "histogram", viewBox: `0 0 ${bars.length * 4} 40`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    [...bars].forEach((digit, place) => {
      const tall = DIGITS.indexOf(digit) * 40 / 61;
      if (tall) drawing.append(svg("rect", { x: place * 4, y: 40 - tall, width: 3.4, height: tall }));
    });
    element.append(drawing);
  }
  element.append(html("figcaption", {}, label));
  return element;
}
