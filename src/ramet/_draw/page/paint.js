// The boxes and edges as SVG elements. A box is made when it is first seen, and kept.

const world = document.getElementById("world");
const picture = document.getElementById("picture");
const painted = new Map();
const levels = new Map();
// The part of the picture that has elements; null when all of it has.
let drawn = null;
const view = { x: 0, y: 0, scale: 1 };
let selected = null;
let current = null;

function paint() {
  placeAll();
  levels.clear();
  for (const number of spots.keys()) levels.set(number, number ? levels.get(boxes[number].parent) + 1 : 0);
  if (!current || !spots.has(current.number)) setCurrent(firstIn(boxes[0]));
  draw();
}

// Puts elements for what is shown onto the page. Containers first, then the edges in them, then the boxes: each level over the
// one around it. What is not near the window, or too small to read, has no element where there are very many.
function draw() {
  drawn = isCrowded() ? windowAround() : null;
  if (drawn?.far) {
    world.replaceChildren(...farElements(), ...keptElements());
    return;
  }
  const order = [];
  for (const [number, spot] of spots) {
    const box = boxes[number];
    if (drawn && number && !meets(spot, drawn) && box !== current && box !== selected) continue;
    if (number) order.push(elementOf(box, spot, levels.get(number)));
    if (bendSpots.has(number)) order.push(edgesOf(box));
  }
  world.replaceChildren(...order);
}

function keptElements() {
  return [current, selected].filter((box, place, both) => box?.number && spots.has(box.number) && both.indexOf(box) === place)
    .map((box) => elementOf(box, spots.get(box.number), levels.get(box.number)));
}

function elementOf(box, spot, level) {
  const isOpen = bendSpots.has(box.number);
  let element = painted.get(box.number);
  if (!element || element.dataset.open !== String(isOpen) || isOpen) {
    const fresh = box.kind === "port" ? portElement() : boxElement(box, spot, isOpen, level);
    if (element) fresh.setAttribute("tabindex", element.getAttribute("tabindex") ?? "-1");
    element = fresh;
    painted.set(box.number, element);
    if (box === current) element.setAttribute("tabindex", "0");
  }
  element.setAttribute("transform", `translate(${spot.x} ${spot.y})`);
  return element;
}

function portElement() {
  const element = shape("g", { class: "port", "aria-hidden": "true" });
  element.append(shape("circle", { cx: 5, cy: 5, r: 3 }));
  return element;
}

function boxElement(box, spot, isOpen, level) {
  const element = shape("g", { class: `box ${box.kind}${isOpen ? " open" : ""}${box.status ? ` ${box.status}` : ""}`, tabindex: "-1",
    role: "treeitem", "aria-label": labelOf(box), "aria-level": level });
  element.dataset.number = box.number;
  element.dataset.open = String(isOpen);
  element.style.setProperty("--fill", `var(--${box.family}-${isOpen ? "inside" : "fill"})`);
  if (box.moved && !isOpen) element.style.setProperty("--fill", `var(--moved-${box.moved[0]})`);
  element.style.setProperty("--stroke", `var(--${box.family}-stroke)`);
  if (opens(box)) element.setAttribute("aria-expanded", String(isOpen));
  if (box === selected) element.setAttribute("aria-selected", "true");
  const radius = (box.kind === "input" || box.kind === "output") && !isOpen ? spot.h / 2 : 8;
  if (box.kind === "block" && !isOpen) {
    element.append(shape("rect", { class: "frame", x: 4, y: 4, width: spot.w, height: spot.h, rx: 8 }));
  }
  element.append(shape("rect", { class: "frame", width: spot.w, height: spot.h, rx: radius }));
  words(box, spot, isOpen, element);
  const marks = box.groups.slice(0, 3).map((group) => [group, "mark"]);
  // Hollow: that of the shared one around it.
  if (box.within !== undefined) marks.push([box.within, "mark within"]);
  marks.forEach(([group, name], place) => element.append(markElement(group, name, spot.w - 2 - 20 * place)));
  if (box.status) element.append(statusElement(box.moved?.[1] || box.status));
  if (box.changed && !isOpen) element.append(badge(`${box.changed}`, spot.w / 2));
  return element;
}

function words(box, spot, isOpen, element) {
  const right = spot.w - 12;
  if (box.kind === "output") {
    element.append(shape("text", { class: "title middle", x: spot.w / 2, y: spot.h / 2 + 4.5 }, `Output ${box.name}`.trim()));
    return;
  }
  const base = isOpen || box.name ? 19 : spot.h / 2 + 4.5;
  const sign = opens(box) ? (isOpen ? "▾ " : "▸ ") : "";
  element.append(shape("text", { class: "title", x: 12, y: base }, sign + box.title));
  if (isOpen) {
    element.append(shape("text", { class: "name end", x: right, y: base }, box.kind === "block" ? box.hint ?? "" : box.name));
    return;
  }
  if (box.hint) element.append(shape("text", { class: "name end", x: right, y: base }, box.hint));
  if (box.name) element.append(shape("text", { class: "name", x: 12, y: 35 }, box.name));
  if (box.mask) element.append(shape("text", { class: "masked end", x: right, y: 35 }, maskWords(box.mask)));
}

function maskWords(mask) {
  return { made: "+ mask", dropped: "mask ends", "made dropped": "other mask" }[mask];
}

function markElement(number, name, x) {
  const group = data.groups[number];
  const element = shape("g", { class: name, transform: `translate(${x} -2)`, style: `--colour:${group.colour}` });
  element.append(shape("circle", { r: 9, fill: group.colour }), shape("text", { class: "letter", y: 3.5 }, group.label));
  return element;
}

// Not by colour alone.
function statusElement(status) {
  const width = 6 * status.length + 11;
  const element = shape("g", { class: "status", transform: "translate(8 -9)" });
  element.append(shape("rect", { width, height: 13, rx: 6.5 }), shape("text", { class: "middle", x: width / 2, y: 9.5 }, status));
  return element;
}

function badge(text, x) {
  const element = shape("g", { class: "badge", transform: `translate(${x} 0)` });
  element.append(shape("rect", { x: -14, y: -8, width: 28, height: 16, rx: 8 }), shape("text", { class: "letter", y: 4 }, text));
  return element;
}

function labelOf(box) {
  const parts = [box.title, box.full ?? box.name, ...box.shapes];
  if (box.status) parts.push(box.moved?.[1] || box.status);
  else if (box.moved) parts.push(`weights moved ${data.moved[box.moved[0]]}`);
  if (box.mask) parts.push(maskWords(box.mask).replace("+ mask", "makes a mask"));
  for (const group of box.groups) parts.push(`mark ${data.groups[group].label}, ${data.groups[group].text}`);
  if (box.within !== undefined) parts.push(`inside ${data.groups[box.within].label}`);
  if (box.changed) parts.push(`${box.changed} marked inside`);
  return parts.filter(Boolean).join(", ");
}

// One box can be reached with Tab; arrows go on from there.
function setCurrent(box) {
  if (current) painted.get(current.number)?.setAttribute("tabindex", "-1");
  current = box;
  if (box) painted.get(box.number)?.setAttribute("tabindex", "0");
  if (box && drawn && !painted.get(box.number)?.isConnected) draw();
}

// What is one object lights up together.
function light(box) {
  for (const element of world.querySelectorAll(".lit")) element.classList.remove("lit");
  const same = box ? [...box.groups.flatMap((group) => data.groups[group].boxes), ...counterparts(box)] : [];
  picture.classList.toggle("lighting", same.length > 1);
  if (same.length > 1) for (const number of same) nearestShown(boxes[number])?.classList.add("lit");
}

function nearestShown(box) {
  const shown = [box, ...above(box)].find((one) => one.number && spots.has(one.number));
  return shown && painted.get(shown.number);
}
