// The keys, and the theme.

function switchTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  announce(isDark ? "Light theme" : "Dark theme");
}

function toggleLegend() {
  const legend = document.getElementById("legend");
  legend.hidden = !legend.hidden;
  announce(legend.hidden ? "Legend hidden" : "Legend shown");
}

// From left to right, the arrow keys change their meaning.
const TURNED = { ArrowLeft: "ArrowUp", ArrowRight: "ArrowDown", ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" };

function turnPicture() {
  const hadFocus = world.contains(document.activeElement);
  data.rankdir = isDown() ? "LR" : "TB";
  paint();
  begin();
  if (hadFocus && current) focusOn(current);
  announce(isDown() ? "From top to bottom" : "From left to right");
}

// Up and down follow the edges, left and right stay in a row; in a container without edges, positions decide.
function stepFrom(box, pressed) {
  const key = isDown() ? pressed : TURNED[pressed];
  const spot = spots.get(box.number);
  const middle = (one) => centerAcross(spots.get(one.number));
  const rows = (one) => (one.parent === box.parent ? Math.abs(one.rank - box.rank) : 0);
  const aside = (one) => Math.abs(middle(one) - middle(box));
  // The nearest row first; otherwise, boxes beside a long edge could not be reached.
  const near = (some) => some.sort((a, b) => rows(a) - rows(b) || aside(a) - aside(b))[0];
  if (key === "ArrowUp" || key === "ArrowDown") {
    const way = key === "ArrowUp" ? before : after;
    const joined = withoutPorts(way.get(box.number) ?? []);
    if (joined.length) return near(joined);
  }
  const siblings = boxes[box.parent].children.map((number) => boxes[number]).filter((one) => one.kind !== "port" && one !== box);
  const inRow = siblings.filter((one) => one.rank === box.rank);
  if (key === "ArrowRight") return near(inRow.filter((one) => middle(one) > centerAcross(spot)));
  if (key === "ArrowLeft") return near(inRow.filter((one) => middle(one) < centerAcross(spot)));
  const down = key === "ArrowDown";
  const ahead = siblings.filter((one) => (down ? one.rank > box.rank : one.rank < box.rank));
  // From the last row of a container, go to the box around it.
  return near(ahead) ?? (box.parent ? boxes[box.parent] : null);
}

function withoutPorts(numbers) {
  return numbers.map((number) => boxes[number]).map((one) => (one.kind === "port" ? boxes[one.parent] : one));
}

function goIn(box) {
  if (!opens(box)) return;
  if (!box.open) toggle(box, true);
  focusOn(firstIn(box));
}

function goOut(box) {
  if (box.parent) focusOn(boxes[box.parent]);
}

const KEYS = [
  [["Arrows"], "move between boxes: along the edges, and within a row"],
  [["Enter"], "show details of the box"],
  [["Space", "o"], "open or close the box"],
  [["Home"], "go to the first box"],
  [["i", "u"], "go into a box; go back out"],
  [["/"], "find by name, class, dtype or shape"],
  [["n", "p"], "next and previous change or finding"],
  [["s"], "next box with the same mark"],
  [["c"], "copy the path for named(...)"],
  [["m"], "show details of the model"],
  [["e", "w"], "open all boxes; close all boxes"],
  [["+", "-", "f"], "zoom in, zoom out, fit to the window"],
  [["Shift + arrows"], "move the picture"],
  [["r"], "switch between top to bottom and left to right"],
  [["d", "l"], "switch between light and dark; show or hide the legend"],
  [["Escape"], "close details, search or this list"],
  [["?"], "show or hide this list"],
];

function nextOfMark(box) {
  const isWithin = box && !box.groups.length && box.within !== undefined;
  const group = data.groups[isWithin ? box.within : box?.groups[0]];
  if (!group) return announce("This box has no mark");
  const own = isWithin ? sharedAround(box) : box;
  const next = boxes[group.boxes[(group.boxes.indexOf(own.number) + 1) % group.boxes.length]];
  go(isWithin ? counterpartIn(box, next) ?? next : next);
}

function toggleHelp(isShown) {
  const card = document.getElementById("keys");
  const shown = isShown ?? card.hidden;
  if (shown && !card.children.length) {
    const rows = KEYS.map(([keys, text]) => html("tr", {}, html("th", { scope: "row" }, ...keys.flatMap((key) => [html("kbd", {}, key), " "])), html("td", {}, text)));
    card.append(html("h2", {}, "Keys"), html("table", {}, html("tbody", {}, ...rows)));
  }
  card.hidden = !shown;
  document.getElementById("help").setAttribute("aria-expanded", String(shown));
  if (shown) card.focus();
}

function escape() {
  if (!document.getElementById("keys").hidden) {
    toggleHelp(false);
    document.getElementById("help").focus();
    return;
  }
  closePanel();
}

const ACTIONS = {
  "/": () => field.focus(),
  n: () => stepBy(1),
  p: () => stepBy(-1),
  f: fitAll,
  "+": () => zoom(1.25),
  "=": () => zoom(1.25),
  "-": () => zoom(0.8),
  d: switchTheme,
  r: turnPicture,
  l: toggleLegend,
  e: () => toggleAll(true),
  w: () => toggleAll(false),
  c: () => copyPath(selected ?? current),
  s: () => nextOfMark(selected ?? current),
  m: () => select(boxes[0]),
  "?": () => toggleHelp(),
  Escape: escape,
};
const MOVES = { ArrowUp: [0, 80], ArrowDown: [0, -80], ArrowLeft: [80, 0], ArrowRight: [-80, 0] };
const ON_A_BOX = {
  Enter: (box) => select(box),
  " ": (box) => toggle(box),
  o: (box) => toggle(box),
  i: goIn,
  u: goOut,
  Home: () => focusOn(firstIn(boxes[0])),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea");
  const onButton = event.target.closest("button, a") && (event.key === "Enter" || event.key === " ");
  if ((typing && event.key !== "Escape") || onButton) return;
  const box = world.contains(document.activeElement) ? current : null;
  if (event.shiftKey && MOVES[event.key]) {
    view.x += MOVES[event.key][0];
    view.y += MOVES[event.key][1];
    show();
  } else if (MOVES[event.key] && !panel.contains(event.target)) {
    // The first arrow key focuses the box that Tab would.
    const next = box ? stepFrom(box, event.key) ?? box : current;
    if (next) focusOn(next);
  } else if (box && ON_A_BOX[event.key]) ON_A_BOX[event.key](box);
  else if (ACTIONS[event.key]) ACTIONS[event.key]();
  else return;
  event.preventDefault();
});
