// The data of the page, and facts derived from them. Names come from a model, so they are only ever set as text.

const data = JSON.parse(document.getElementById("data").textContent);
const boxes = data.boxes;
const byKey = new Map();
const byPath = new Map();

boxes.forEach((box, number) => {
  Object.assign(box, { number, children: [], changed: 0, plain: 0 });
  box.family ??= box.kind;
  box.title ??= "";
  box.name ??= "";
  for (const key of ["edges", "bends", "groups", "notes", "shapes", "dtypes"]) box[key] ??= [];
  if (number) boxes[box.parent].children.push(number);
  box.path ??= ["input", "layer", "model", "operation"].includes(box.kind) && box.status !== "removed" ? box.key ?? "" : "";
  if (box.key !== undefined) byKey.set(box.key, box);
  if (box.path && !byPath.has(box.path)) byPath.set(box.path, box);
});

// The number of changes and findings inside each box, which a closed box shows. From the last box to the first, because the
// boxes inside a box have higher numbers. A finding at one call does not apply to other calls.
function countInto(box) {
  const outer = boxes[box.parent];
  outer.changed += box.changed + (box.status ? 1 : 0);
  outer.plain += box.plain + (box.status && box.status !== "differs" ? 1 : 0);
}
for (let number = boxes.length - 1; number > 0; number--) countInto(boxes[number]);
for (const box of boxes) if (box.same !== undefined) box.changed = boxes[box.same].plain;
for (const note of data.notes) if (note.at) boxes[note.box].changed++;

const before = new Map();
const after = new Map();
function join(container) {
  for (const [source, target] of container.edges) {
    if (!after.has(source)) after.set(source, []);
    if (!before.has(target)) before.set(target, []);
    after.get(source).push(target);
    before.get(target).push(source);
  }
}
boxes.forEach(join);

function above(box) {
  const found = [];
  while (box.number) {
    box = boxes[box.parent];
    found.push(box);
  }
  return found;
}

function opens(box) {
  return box.children.length > 0 || box.same !== undefined;
}

function countInside(box) {
  return boxes[box.same ?? box.number].children.filter((child) => boxes[child].kind !== "port").length;
}

// The first box in reading order.
function firstIn(box) {
  const inner = box.children.map((number) => boxes[number]).filter((one) => one.kind !== "port");
  const isBefore = (one, other) => one.rank < other.rank || (one.rank === other.rank && one.x < other.x);
  return inner.length ? inner.reduce((best, one) => (isBefore(one, best) ? one : best)) : null;
}

// Functions that create elements.

function html(name, attributes = {}, ...content) {
  return filled(document.createElement(name), attributes, content);
}

const svgSpace = document.getElementById("picture").namespaceURI;

function svg(name, attributes = {}, ...content) {
  return filled(document.createElementNS(svgSpace, name), attributes, content);
}

function filled(element, attributes, content) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

function button(attributes, text, action) {
  const element = html("button", attributes, text);
  element.addEventListener("click", action);
  return element;
}

function announce(text) {
  document.getElementById("announcement").textContent = text;
}
