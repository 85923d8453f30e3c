// What is marked on the picture, changes and what a check found: the panel tells it, and keys walk over it.

// Each place once, in the order of the notes; what only follows from a change is no stop.
const walk = [...new Map(data.notes.filter((note) => !note.follows).map((note) => [note.at ?? note.box, note])).values()];
let step = -1;

function walkBy(by) {
  if (!walk.length) return say("Nothing is marked");
  step = step < 0 && by < 0 ? walk.length - 1 : (step + by + walk.length) % walk.length;
  const note = walk[step], box = (note.at && boxFor(note.at)) || boxes[note.box];
  document.getElementById("walked").textContent = `${step + 1} of ${walk.length}`;
  if (box.number) go(box);
  else select(box, { quiet: true });
  say(`${step + 1} of ${walk.length}: ${wordsOfNote(data.notes[box.notes[0]] ?? note)}`);
}

function wordsOfNote(note) {
  const change = note.old || note.new ? `${note.what || "value"} from ${note.old} to ${note.new}` : "";
  return [note.kind, note.text, change].filter(Boolean).join(", ");
}

function noteElement(note) {
  const element = make("div", { class: `note ${note.follows ? "follows" : note.kind}` });
  // What a check found begins with the name of the check.
  const kind = note.kind === "differs" ? "" : make("b", {}, note.follows ? "in consequence " : `${note.kind} `);
  element.append(make("p", {}, kind, note.text ?? ""));
  if (note.old || note.new) {
    element.lastChild.append(note.text ? ", " : "", note.what ? `${note.what}: ` : "", make("del", {}, note.old ?? ""), " → ", make("ins", {}, note.new ?? ""));
  }
  return element;
}

function noteSections(box) {
  const notes = box.notes.map((number) => data.notes[number]);
  const found = notes.filter((note) => note.kind === "differs"), changes = notes.filter((note) => note.kind !== "differs");
  return [["Differs", found], ["Changes", changes]].filter(([, some]) => some.length)
    .map(([title, some]) => section(title, ...some.map(noteElement)));
}
