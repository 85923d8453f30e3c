// The search by name, class, dtype or shape, which includes closed boxes.

const field = document.getElementById("find");
const list = document.getElementById("found");
const MOST = 60;
let found = [];
let chosen = -1;

// Computed when the first letter is typed, so that the page opens sooner.
let index = null;
function wordsOf(box) {
  const op = data.ops[box.op];
  const variables = op?.variables?.map((variable) => `${variable.name} ${variable.dtype} ${variable.shape}`) ?? [];
  const parts = [box.full ?? box.name, box.path, box.title, ...box.shapes, ...box.dtypes, op?.dtype ?? "", ...variables];
  return parts.join("\n").toLowerCase();
}

function search(text) {
  index ??= boxes.map((box) => (box.number && box.kind !== "port" ? wordsOf(box) : ""));
  const wanted = text.toLowerCase().split(/\s+(?![^(]*\))/).filter(Boolean);
  if (!wanted.length) return [];
  return boxes.filter((box) => index[box.number] && wanted.every((word) => index[box.number].includes(word)));
}

function listFound() {
  const text = field.value.trim();
  found = search(text);
  choose(-1);
  list.replaceChildren(...found.slice(0, MOST).map(option));
  if (found.length > MOST) list.append(html("li", { class: "rest" }, `and ${found.length - MOST} more`));
  if (text && !found.length) list.append(html("li", { class: "rest" }, "Nothing found"));
  list.hidden = !text;
  field.setAttribute("aria-expanded", String(!list.hidden));
  if (text) announce(`${found.length} found`);
  markFound(text ? found : []);
}

function option(box, place) {
  const where = box.path || box.name;
  const element = html("li", { role: "option", id: `found-${place}`, "aria-selected": "false" },
    html("b", {}, box.title), ` ${printable(where)} `, html("span", { class: "quiet" }, box.shapes[0] ?? ""));
  element.addEventListener("pointerdown", (event) => event.preventDefault());
  element.addEventListener("click", () => take(place));
  return element;
}

function choose(place) {
  list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  chosen = place;
  const element = place < 0 ? null : document.getElementById(`found-${place}`);
  if (element) {
    element.setAttribute("aria-selected", "true");
    element.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", element.id);
  } else {
    field.removeAttribute("aria-activedescendant");
  }
}

function take(place) {
  const box = found[place];
  if (!box) return;
  closeFound();
  go(box);
}

function closeFound() {
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
  markFound([]);
}

function markFound(some) {
  for (const element of world.querySelectorAll(".match")) element.classList.remove("match");
  for (const box of some.slice(0, 2000)) nearestShown(box)?.classList.add("match");
}

field.addEventListener("input", listFound);
field.addEventListener("blur", () => setTimeout(closeFound, 0));
field.addEventListener("keydown", (event) => {
  const last = Math.min(found.length, MOST) - 1;
  if (event.key === "ArrowDown") choose(Math.min(chosen + 1, last));
  else if (event.key === "ArrowUp") choose(Math.max(chosen - 1, 0));
  else if (event.key === "Enter") take(Math.max(chosen, 0));
  else if (event.key === "Escape") {
    closeFound();
    if (current) focusOn(current);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
