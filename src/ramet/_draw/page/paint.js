// The boxes and edges as SVG elements. The element of a box is created when it first becomes visible, and then kept.

const world = document.getElementById("world");
const picture = document.getElementById("picture");
const painted = new Map();
const levels = new Map();
// The part of the picture that has elements; null for all of it.
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

// Put the elements onto the page: containers first, then the edges in them, then the boxes, so that each level is above the one
// around it. If there are very many boxes, those far from the window or too small to read have no elements.
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
  return svg("g", { class: "port", "aria-hidden": "true" }, svg("circle", { cx: 5, cy: 5, r: 3 }));
}

function boxElement(box, spot, isOpen, level) {
  const element = svg("g", { class: `box ${box.kind}${isOpen ? " open" : ""}${box.status ? ` ${box.status}` : ""}`, tabindex: "-1",
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
    element.append(svg("rect", { class: "frame", x: 4, y: 4, width: spot.w, height: spot.h, rx: 8 }));
  }
  element.append(svg("rect", { class: "frame", width: spot.w, height: spot.h, rx: radius }));
  words(box, spot, isOpen, element);
  const marks = box.groups.slice(0, 3).map((group) => [group, "mark"]);
  // A hollow mark for the shared op around the box.
  if (box.within !== undefined) marks.push([box.within, "mark within"]);
  marks.forEach(([group, name], place) => element.append(markElement(group, name, spot.w - 2 - 20 * place)));
  if (box.status) element.append(statusElement(box.moved?.[1] || box.status));
  if (box.changed && !isOpen) element.append(badge(`${box.changed}`, spot.w / 2));
  return element;
}

function words(box, spot, isOpen, element) {
  const right = spot.w - 12;
  if (box.kind === "output") {
    element.append(svg("text", { class: "title middle", x: spot.w / 2, y: spot.h / 2 + 4.5 }, `Output ${box.name}`.trim()));
    return;
  }
  const base = isOpen || box.name ? 19 : spot.h / 2 + 4.5;
  const sign = opens(box) ? (isOpen ? "▾ " : "▸ ") : "";
  element.append(svg("text", { class: "title", x: 12, y: base }, sign + box.title));
  if (isOpen) {
    element.append(svg("text", { class: "name end", x: right, y: base }, box.kind === "block" ? box.hint ?? "" : box.name));
    return;
  }
  if (box.hint) element.append(svg("text", { class: "name end", x: right, y: base }, box.hint));
  if (box.name) element.append(svg("text", { class: "name", x: 12, y: 35 }, box.name));
  if (box.mask) element.append(svg("text", { class: "masked end", x: right, y: 35 }, maskWords(box.mask)));
}

function maskWords(mask) {
  return { made: "+ mask", dropped: "mask ends", "made dropped": "new mask" }[mask];
}

function markElement(number, name, x) {
  const group = data.groups[number];
  return svg("g", { class: name, transform: `translate(${x} -2)`, style: `--color:${group.color}` },
    svg("circle", { r: 9, fill: group.color }), svg("text", { class: "letter", y: 3.5 }, group.label));
}

// Not by color alone.
function statusElement(status) {
  const width = 6 * status.length + 11;
  return svg("g", { class: "status", transform: "translate(8 -9)" },
    svg("rect", { width, height: 13, rx: 6.5 }), svg("text", { class: "middle", x: width / 2, y: 9.5 }, status));
}

function badge(text, x) {
  return svg("g", { class: "badge", transform: `translate(${x} 0)` },
    svg("rect", { x: -14, y: -8, width: 28, height: 16, rx: 8 }), svg("text", { class: "letter", y: 4 }, text));
}

function labelOf(box) {
  const parts = [box.title, box.full ?? box.name, ...box.shapes];
  if (box.status) parts.push(box.moved?.[1] || box.status);
  else if (box.moved) parts.push(`weights moved ${data.moved[box.moved[0]]}`);
  if (box.mask) parts.push(maskWords(box.mask).replace("+ mask", "creates a mask"));
  for (const group of box.groups) parts.push(`mark ${data.groups[group].label}, ${data.groups[group].text}`);
  if (box.within !== undefined) parts.push(`inside ${data.groups[box.within].label}`);
  if (box.changed) parts.push(`${box.changed} changed or differing inside`);
  return parts.filter(Boolean).join(", ");
}

// One box can be reached with Tab; arrow keys move on from there.
function setCurrent(box) {
  if (current) painted.get(current.number)?.setAttribute("tabindex", "-1");
  current = box;
  if (box) painted.get(box.number)?.setAttribute("tabindex", "0");
  if (box && drawn && !painted.get(box.number)?.isConnected) draw();
}

// Highlight all boxes of the same object.
function highlight(box) {
  for (const element of world.querySelectorAll(".lit")) element.classList.remove("lit");
  const same = box ? [...box.groups.flatMap((group) => data.groups[group].boxes), ...counterparts(box)] : [];
  picture.classList.toggle("lighting", same.length > 1);
  if (same.length > 1) for (const number of same) nearestShown(boxes[number])?.classList.add("lit");
}

function nearestShown(box) {
  const shown = [box, ...above(box)].find((one) => one.number && spots.has(one.number));
  return shown && painted.get(shown.number);
}

// The edges of a container, and the shapes beside them.

function edgesOf(container) {
  const element = svg("g", { class: "edges", "aria-hidden": "true" });
  const directions = new Map(), sources = new Set();
  for (const edge of container.edges) {
    const [source, target, mask, status] = edge;
    if (drawn && !passes(source, target, drawn)) continue;
    element.append(svg("path", { class: `edge ${mask || ""} ${status || ""}`, d: edgePath(container, edge) }));
    const to = spots.get(target);
    if (boxes[target].kind !== "port") {
      const x = isDown() ? to.x + to.w / 2 : to.x, y = isDown() ? to.y : to.y + to.h / 2;
      const tip = isDown() ? `M${x - 4} ${y - 7}L${x} ${y - 1}L${x + 4} ${y - 7}Z` : `M${x - 7} ${y - 4}L${x - 1} ${y}L${x - 7} ${y + 4}Z`;
      element.append(svg("path", { class: `tip ${mask || ""} ${status || ""}`, d: tip }));
    }
    directions.set(source, [...(directions.get(source) ?? []), turnOf(container, edge)]);
    // A box whose consumers were all removed has no output now.
    if (!status) sources.add(source);
  }
  for (const [number, turns] of directions) {
    if (!sources.has(number)) continue;
    const spot = spots.get(number);
    if (!isDown()) {
      // From left to right, shapes are below the boxes.
      const text = boxes[number].shapes.slice(0, 2).join(", ");
      element.append(svg("text", { class: "shape end", x: spot.x + spot.w - 2, y: spot.y + spot.h + 12 }, text));
      continue;
    }
    // If the edges go to the right, shapes are on the left; if they go both ways, beside the one to the right.
    const furthest = Math.max(...turns), onLeft = furthest > 1 && Math.min(...turns) >= -1;
    const x = spot.x + spot.w / 2 + (onLeft ? -7 : 7 + Math.min(Math.max(0.3 * furthest, 0), 30));
    boxes[number].shapes.slice(0, 2).forEach((text, line) => {
      element.append(svg("text", { class: onLeft ? "shape end" : "shape", x, y: spot.end + 15 + 12 * line }, text));
    });
  }
  return element;
}

// How far to the right the first part of an edge goes.
function turnOf(container, [source, target, , , bend]) {
  const from = spots.get(source), to = bend === undefined ? spots.get(target) : bendSpots.get(container.number)[bend];
  return to.x + to.w / 2 - from.x - from.w / 2;
}
