// Very many boxes: only those near the window have elements, and when zoomed out, all boxes of a color are one shape. That keeps
// panning and zooming smooth with thousands of boxes.

const CROWD = 500;
const FAR = 0.35;
// The level of closed boxes: above every level of open ones.
const CLOSED = 1e9;

function isCrowded() {
  return spots.size > CROWD;
}

// The window in the units of the picture, with as much again on each side, so that not every step needs a new drawing.
function windowAround() {
  const w = picture.clientWidth / view.scale, h = picture.clientHeight / view.scale;
  const left = -view.x / view.scale, top = -view.y / view.scale;
  return { left: left - w, right: left + 2 * w, top: top - h, bottom: top + 2 * h, scale: view.scale, far: view.scale < FAR };
}

function meets(spot, part) {
  return spot.x <= part.right && spot.x + spot.w >= part.left && spot.y <= part.bottom && spot.y + spot.h >= part.top;
}

function passes(source, target, part) {
  const from = spots.get(source), to = spots.get(target);
  // An edge to the next column goes around it.
  if (from.fold !== to.fold) return true;
  if (!isDown()) return Math.min(from.x, to.x) <= part.right && Math.max(from.x + from.w, to.x + to.w) >= part.left;
  return Math.min(from.y, to.y) <= part.bottom && Math.max(from.y + from.h, to.y + to.h) >= part.top;
}

// Draw again if the window has left the part that was drawn, or shows much more or less of it.
function drawIfNeeded() {
  if (!isCrowded() || !drawn) return;
  const far = view.scale < FAR;
  if (far && drawn.far) return;
  const left = -view.x / view.scale, top = -view.y / view.scale;
  const isInside = left >= drawn.left && top >= drawn.top
    && left + picture.clientWidth / view.scale <= drawn.right && top + picture.clientHeight / view.scale <= drawn.bottom;
  if (far !== drawn.far || !isInside || view.scale > drawn.scale * 2.5) {
    const hadFocus = world.contains(document.activeElement);
    draw();
    if (hadFocus && current) painted.get(current.number)?.focus({ preventScroll: true });
  }
}

// One shape for the boxes of each color, level above level, and one for all edges of a kind.
function farElements() {
  const fills = new Map(), lines = new Map(), strokes = new Map();
  const add = (some, key, path) => some.set(key, (some.get(key) ?? "") + path);
  for (const [number, spot] of spots) {
    const box = boxes[number];
    const outline = `M${spot.x} ${spot.y}h${spot.w}v${spot.h}h${-spot.w}z`;
    if (number && box.kind !== "port") {
      const isOpen = bendSpots.has(number);
      add(fills, `${isOpen ? levels.get(number) : CLOSED}|${box.family}`, outline);
      if (box.status) add(strokes, box.status, outline);
    }
    for (const edge of bendSpots.has(number) ? box.edges : []) add(lines, `edge ${edge[2] || ""} ${edge[3] || ""}`, edgePath(box, edge));
  }
  const layer = (key) => Number(key.split("|")[0]);
  const shapes = (some) => some.map(([key, d]) => {
    const [level, family] = key.split("|"), stroke = `var(--${family}-stroke)`;
    const fill = level < CLOSED ? `var(--${family}-inside)` : `color-mix(in srgb, ${stroke} 40%, var(--${family}-fill))`;
    return svg("path", { d, style: `fill:${fill};stroke:${stroke};stroke-width:1.5` });
  });
  const sorted = [...fills].sort(([a], [b]) => layer(a) - layer(b));
  // Edges are above open boxes and below closed ones.
  return [
    ...shapes(sorted.filter(([key]) => layer(key) < CLOSED)),
    ...[...lines].map(([name, d]) => svg("path", { class: name, d })),
    ...shapes(sorted.filter(([key]) => layer(key) === CLOSED)),
    ...[...strokes].map(([status, d]) => svg("path", { d, style: `fill:none;stroke:var(--${status});stroke-width:8` })),
  ];
}

// The innermost box at a point of the window, for boxes without elements.
function boxUnder(x, y) {
  const corner = picture.getBoundingClientRect();
  const left = (x - corner.left - view.x) / view.scale, top = (y - corner.top - view.y) / view.scale;
  let found = null;
  for (const [number, spot] of spots) {
    const isHit = left >= spot.x && left <= spot.x + spot.w && top >= spot.y && top <= spot.y + spot.h;
    // The boxes inside a box come after it.
    if (isHit && number && boxes[number].kind !== "port") found = boxes[number];
  }
  return found;
}
