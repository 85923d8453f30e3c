// Wiring: buttons, pointer events, header, legend, deep links.

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
on("theme", switchTheme);
on("help", () => toggleHelp());
on("next", () => stepBy(1));
on("previous", () => stepBy(-1));
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
  if (!dragged) highlight(boxAt(event.target) ?? selected);
});
picture.addEventListener("focusin", (event) => {
  const box = boxAt(event.target);
  if (box) {
    setCurrent(box);
    highlight(box);
  }
});

function fillHeader() {
  const { name, class: kind, parameters } = data.model;
  const facts = ` ${kind}, ${parameters.toLocaleString("en")} parameters`;
  document.getElementById("model").append(document.title, html("small", {}, facts));
  picture.setAttribute("aria-label", `Picture of ${name}, ${kind}. Arrow keys move between boxes, and the question mark lists all keys.`);
  if (stops.length) {
    const findings = stops.filter((note) => note.kind === "differs").length;
    const noun = findings === stops.length ? "finding" : "change";
    const text = stops.length === 1 ? noun : findings % stops.length ? "changes and findings" : `${noun}s`;
    document.getElementById("stops").hidden = false;
    document.getElementById("stop").textContent = `${stops.length} ${text}`;
  }
}

function fillLegend() {
  const legend = document.getElementById("legend");
  const entry = (mark, text) => html("span", { class: "entry" }, mark, text);
  const listed = new Set();
  for (const [family, text] of Object.entries(data.families)) {
    if (listed.has(text)) continue;
    listed.add(text);
    const style = `background:var(--${family}-fill);border-color:var(--${family}-stroke)`;
    legend.append(entry(html("i", { class: "swatch", style }), text));
  }
  const masks = new Set(boxes.flatMap((box) => box.edges.map((edge) => edge[2])));
  const uses = { carried: "carries a mask", implicit: "mask passed by Keras", explicit: "mask passed explicitly" };
  for (const [use, text] of Object.entries(uses)) if (masks.has(use)) legend.append(entry(html("i", { class: `stroke ${use}` }), text));
  if (data.groups.length) legend.append(entry(html("i", { class: "dot" }, "A"), "same mark: one object"));
  if (boxes.some((box) => box.within !== undefined)) legend.append(entry(html("i", { class: "dot hollow" }, "A"), "inside that object"));
  for (const status of ["added", "removed", "changed", "renamed", "differs"]) {
    if (boxes.some((box) => box.status === status)) legend.append(entry(html("i", { class: `swatch ${status}` }), status));
  }
  data.moved.forEach((text, step) => {
    if (!boxes.some((box) => box.moved?.[0] === step)) return;
    legend.append(entry(html("i", { class: "swatch", style: `background:var(--moved-${step})` }), `weights moved ${text}`));
  });
}

function follow() {
  let key = location.hash.slice(1);
  try {
    key = decodeURIComponent(key);
  } catch {
    // Not one of our links: it is looked up as it is.
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
if (!location.hash && stops[0]?.kind === "differs") stepBy(1);
addEventListener("hashchange", follow);
