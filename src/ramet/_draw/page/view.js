// Panning and zooming, opening and closing boxes.

const SMALLEST = 0.001;
let waiting = false;

function show() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
    // Text that is too small to read is hidden.
    picture.classList.toggle("far", view.scale < 0.4);
    drawIfNeeded();
  });
}

function zoom(factor, x = picture.clientWidth / 2, y = picture.clientHeight / 2) {
  const scale = Math.min(4, Math.max(SMALLEST, view.scale * factor));
  view.x = x - (x - view.x) * (scale / view.scale);
  view.y = y - (y - view.y) * (scale / view.scale);
  view.scale = scale;
  show();
}

function room() {
  const panel = document.getElementById("panel");
  const taken = panel.hidden || panel.offsetWidth > picture.clientWidth * 0.6 ? 0 : panel.offsetWidth;
  return { w: picture.clientWidth - taken, h: picture.clientHeight };
}

function fitAll() {
  const all = spots.get(0), { w, h } = room(), margin = 32;
  const whole = Math.min((w - 2 * margin) / (all.w + 60), (h - 2 * margin) / all.h);
  const scale = Math.min(1.25, Math.max(whole, SMALLEST));
  Object.assign(view, { scale, x: (w - all.w * scale) / 2, y: Math.max(margin, (h - all.h * scale) / 2) });
  show();
}

// A long model is shown from its beginning, at a legible size.
function begin() {
  fitAll();
  if (view.scale >= 0.55) return;
  const all = spots.get(0), scale = Math.max(view.scale, 0.75);
  const start = isDown() ? { x: (room().w - all.w * scale) / 2, y: 32 } : { x: 32, y: Math.max(32, (room().h - all.h * scale) / 2) };
  Object.assign(view, { scale, ...start });
  const isTooWide = isDown() ? all.w * scale > room().w : all.h * scale > room().h;
  if (isTooWide && opens(boxes[0])) lookAt(firstIn(boxes[0]), 0.2);
}

function lookAt(box, height = 0.4) {
  const spot = spots.get(box.number), { w, h } = room();
  if (view.scale < 0.45) view.scale = 0.9;
  view.x = w / 2 - (spot.x + spot.w / 2) * view.scale;
  view.y = h * height - (spot.y + Math.min(spot.h, h / 2) / 2) * view.scale;
  show();
}

function isInView(box) {
  const spot = spots.get(box.number), { w, h } = room();
  const left = spot.x * view.scale + view.x, top = spot.y * view.scale + view.y;
  return left >= 0 && top >= 0 && left + Math.min(spot.w * view.scale, 80) <= w && top + Math.min(spot.h * view.scale, 30) <= h;
}

// The box stays under the pointer while the boxes around it make room.
function toggle(box, isOpen = !box.open) {
  if (!opens(box) || box.number === 0) return;
  const was = spots.get(box.number);
  const hadFocus = world.contains(document.activeElement);
  if (isOpen) fillInside(box);
  box.open = isOpen;
  paint();
  const now = spots.get(box.number);
  if (was && now) {
    const across = centerAcross(was) - centerAcross(now);
    view.x += (isDown() ? across : was.x - now.x) * view.scale;
    view.y += (isDown() ? was.y - now.y : across) * view.scale;
  }
  show();
  if (selected === box) fillPanel(box);
  if (hadFocus) focusOn(box);
  announce(`${box.title} ${box.name} ${isOpen ? "opened" : "closed"}`);
}

function toggleAll(isOpen) {
  // Copies are appended, and opened in their turn; an op inside itself would have no end.
  for (const box of boxes) {
    if (isOpen && box.same !== undefined && boxes.length < MOST_BOXES && !above(box).includes(boxes[box.same])) fillInside(box);
    if (box.children.length) box.open = isOpen;
  }
  paint();
  if (selected && spots.has(selected.number) && selected.number) lookAt(selected);
  else begin();
  announce(isOpen ? "All boxes are open" : "All boxes are closed");
}

function reveal(box) {
  const closed = above(box).filter((outer) => outer.number && !outer.open);
  for (const outer of closed) outer.open = true;
  if (closed.length || !spots.size) paint();
}

let touched = false;
for (const name of ["pointerdown", "keydown", "wheel"]) addEventListener(name, () => { touched = true; }, { capture: true, once: true });

// A frame may get its size late, or change it: until the user touches the picture, the view starts over.
new ResizeObserver(() => {
  if (touched) return;
  begin();
  if (selected?.number && !isInView(selected)) lookAt(selected);
}).observe(picture);

function focusOn(box) {
  setCurrent(box);
  // In a notebook, the user who runs a cell is typing elsewhere.
  if (touched || window.parent === window) painted.get(box.number)?.focus({ preventScroll: true });
  if (!isInView(box)) lookAt(box);
}

picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const corner = picture.getBoundingClientRect();
  if (event.shiftKey) {
    view.x -= event.deltaY + event.deltaX;
    show();
  } else {
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - corner.left, event.clientY - corner.top);
  }
}, { passive: false });

let dragged = null;
picture.addEventListener("pointerdown", (event) => {
  if (event.button === 0) dragged = { x: event.clientX, y: event.clientY, far: false, id: event.pointerId };
});
picture.addEventListener("pointermove", (event) => {
  if (!dragged || dragged.id !== event.pointerId) return;
  const x = event.clientX - dragged.x, y = event.clientY - dragged.y;
  if (!dragged.far && Math.hypot(x, y) < 4) return;
  if (!dragged.far) picture.setPointerCapture(event.pointerId);
  Object.assign(dragged, { x: event.clientX, y: event.clientY, far: true });
  view.x += x;
  view.y += y;
  show();
});
for (const name of ["pointerup", "pointercancel"]) {
  picture.addEventListener(name, () => {
    // The click that ends a drag is not a click on a box.
    const wasFar = dragged?.far;
    dragged = null;
    if (wasFar) picture.addEventListener("click", (event) => event.stopPropagation(), { capture: true, once: true });
  });
}
