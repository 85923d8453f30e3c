// The content of a later call of a shared op is copied from the first call when the box is opened. Models that call each other
// twice, ten levels deep, would have a thousand copies.

const MOST_BOXES = 20000;
const copies = new Map();
const notesAt = new Map();
data.notes.forEach((note, number) => {
  if (note.at) notesAt.set(note.at, [...(notesAt.get(note.at) ?? []), number]);
});

// The beginning of the deep links of the boxes inside.
function insideKey(box) {
  return box.same === undefined ? box.path : box.key;
}

function fillInside(box) {
  if (box.same === undefined || box.children.length) return;
  const source = boxes[box.same];
  const numbers = new Map([[source.number, box.number]]);
  const waiting = [source];
  const begin = boxes.length;
  box.changed = 0;
  for (const outer of waiting) {
    const home = boxes[numbers.get(outer.number)];
    for (const child of outer.children) {
      const inner = boxes[child];
      const copy = copyOf(inner, home, inner.key && insideKey(box) + inner.key.slice(insideKey(source).length));
      numbers.set(child, copy.number);
      // Later calls inside are filled when they are opened.
      if (inner.same === undefined) waiting.push(inner);
    }
    home.edges = outer.edges.map(([from, to, ...rest]) => [numbers.get(from), numbers.get(to), ...rest]);
    Object.assign(home, { bends: outer.bends, gap: outer.gap });
    join(home);
  }
  for (let number = boxes.length - 1; number >= begin; number--) countInto(boxes[number]);
}

function copyOf(inner, home, key) {
  const isLater = inner.same !== undefined;
  const origin = inner.origin ?? inner.number;
  // A finding belongs to one call; everything else about an op holds for all of its calls.
  const notes = [...inner.notes.filter((number) => data.notes[number].kind !== "differs"), ...(notesAt.get(key) ?? [])];
  const status = notesAt.has(key) ? "differs" : inner.status === "differs" ? undefined : inner.status;
  const copy = { ...inner, number: boxes.length, parent: home.number, children: [], edges: [], open: inner.open && !isLater,
    changed: isLater ? inner.changed + findingsBelow(key) : 0, plain: 0, key, origin, notes, status };
  boxes.push(copy);
  home.children.push(copy.number);
  copies.set(origin, [...(copies.get(origin) ?? [origin]), copy.number]);
  for (const group of copy.groups) data.groups[group].boxes.push(copy.number);
  if (key) byKey.set(key, copy);
  return copy;
}

// The number of findings inside a box that has not been opened yet.
function findingsBelow(key) {
  return [...notesAt.keys()].filter((at) => at.startsWith(`${key}/`)).length;
}

// All boxes of the same op in the calls that are open, including this one.
function counterparts(box) {
  return copies.get(box.origin ?? box.number) ?? [box.number];
}

// The box of the same op in another call of the shared op around it.
function counterpartIn(box, call) {
  return boxFor(insideKey(call) + box.key.slice(insideKey(sharedAround(box)).length));
}

function sharedAround(box) {
  return above(box).find((outer) => outer.groups.includes(box.within));
}

// The box of a deep link or a path, even inside a later call that has not been opened yet.
function boxFor(key) {
  for (let end = key.indexOf("/"); end > 0; end = key.indexOf("/", end + 1)) {
    const outer = byKey.get(key.slice(0, end));
    if (outer) fillInside(outer);
  }
  return byKey.get(key) ?? byPath.get(key);
}
