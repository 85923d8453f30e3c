// Everything together.

function on(id, action) {
  document.getElementById(id).addEventListener("click", action);
}

function boxAt(target) {
  const element = target.closest?.("[data-number]");
  return element ? boxes[Number(element.dataset.number)] : null;
}

on("open-all", () => toggleAll(true));
on("close-all", () => toggleAll(false));
on("fit", fitAll);
on("smaller", () => zoom(0.8));
on("larger", () => zoom(1.25));
on("theme", setTheme);
on("help", () => toggleHelp());
on("next", () => walkBy(1));
on("previous", () => walkBy(-1));
on("skip", (event) => {
  event.preventDefault();
  if (current) focusOn(current);
});

picture.addEventListener("click", (event) => {
  const box = boxAt(event.target) ?? (drawn?.far ? boxUnder(event.clientX, event.clientY) : null);
  if (box) {
    setCurrent(box);
    painted.get(box.number).focus({ preventScroll: true });
  }
  select(box);
});
picture.addEventListener("dblclick", (event) => {
  const box = boxAt(event.target);
  if (box) toggle(box);
});
picture.addEventListener("pointerover", (event) => {
  if (!dragged) light(boxAt(event.target) ?? selected);
});
picture.addEventListener("focusin", (event) => {
  const box = boxAt(event.target);
  if (box) {
    setCurrent(box);
    light(box);
  }
});

function fillHeader() {
  const { name, class: kind, parameters } = data.model;
  const told = ` ${kind}, ${parameters.toLocaleString("en")} parameters`;
  document.getElementById("model").append(document.title, make("small", {}, told));
  picture.setAttribute("aria-label", `Picture of ${name}, ${kind}: arrows go from box to box, question mark lists all keys`);
  if (walk.length) {
    document.getElementById("walk").hidden = false;
    document.getElementById("walked").textContent = `${walk.length} marked`;
  }
}

function fillLegend() {
  const legend = document.getElementById("legend");
  const entry = (mark, text) => make("span", { class: "entry" }, mark, text);
  const told = new Set();
  for (const [family, text] of Object.entries(data.families)) {
    if (told.has(text)) continue;
    told.add(text);
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = `var(--${family}-fill)`;
    swatch.style.borderColor = `var(--${family}-stroke)`;
    legend.append(entry(swatch, text));
  }
  const masks = new Set(boxes.flatMap((box) => box.edges.map((edge) => edge[2])));
  const uses = { carried: "carries a mask", implicit: "mask that Keras found", explicit: "mask that was passed" };
  for (const [use, text] of Object.entries(uses)) if (masks.has(use)) legend.append(entry(make("i", { class: `stroke ${use}` }), text));
  if (data.groups.length) legend.append(entry(make("i", { class: "dot" }, "A"), "same mark: one object"));
  if (boxes.some((box) => box.within !== undefined)) legend.append(entry(make("i", { class: "dot hollow" }, "A"), "inside that object"));
  for (const status of ["added", "removed", "changed", "renamed", "differs"]) {
    if (boxes.some((box) => box.status === status)) legend.append(entry(make("i", { class: `swatch ${status}` }), status));
  }
  data.moved.forEach((text, step) => {
    if (!boxes.some((box) => box.moved?.[0] === step)) return;
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = `var(--moved-${step})`;
    legend.append(entry(swatch, `weights moved ${text}`));
  });
}

function follow() {
  let key = location.hash.slice(1);
  try {
    key = decodeURIComponent(key);
  } catch {
    // Not one of our links: looked up as it is.
  }
  const box = boxFor(key);
  if (key && box) {
    go(box);
    lookAt(box);
  }
}

fillHeader();
fillLegend();
paint();
begin();
follow();
if (!location.hash && walk[0]?.kind === "differs") walkBy(1);
addEventListener("hashchange", follow);
