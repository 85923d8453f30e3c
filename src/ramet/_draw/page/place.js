// Where everything is when some boxes are open: rows and columns pushed apart, never put in another order.
// The same as place.py, which draws the SVG; a test compares the two.

const BOX_GAP = 30, BEND_WIDTH = 10, PADDING = 18, HEADER = 30;

let spots = new Map();
let bendSpots = new Map();

function placeAll() {
  const seen = [0];
  for (const number of seen) {
    const box = boxes[number];
    if (opens(box) && (number === 0 || box.open)) for (const child of box.children) seen.push(child);
  }
  spots = new Map(seen.map((number) => [number, { x: 0, y: 0, w: 0, h: 0, top: 0, bottom: 0 }]));
  bendSpots = new Map();
  // What is inside a box has higher numbers, and comes after it.
  for (let place = seen.length - 1; place >= 0; place--) {
    const box = boxes[seen[place]];
    if (opens(box) && spots.has(box.children[0])) fit(box);
    else Object.assign(spots.get(box.number), { w: box.w, h: box.h });
  }
  for (const number of seen) {
    if (!bendSpots.has(number)) continue;
    const own = spots.get(number);
    const inside = boxes[number].children.map((child) => spots.get(child));
    for (const item of [...inside, ...bendSpots.get(number)]) {
      item.x += own.x;
      item.y += own.y;
      item.top += own.y;
      item.bottom += own.y;
    }
  }
}

function fit(box) {
  const bends = box.bends.map(() => ({ x: 0, y: 0, w: BEND_WIDTH, h: 0, top: 0, bottom: 0 }));
  const items = [...box.children.map((child) => spots.get(child)), ...bends];
  const ranks = [...box.children.map((child) => boxes[child].rank), ...box.bends.map((bend) => bend[0])];
  const columns = [...box.children.map((child) => boxes[child].x), ...box.bends.map((bend) => bend[1])];
  const widths = items.map((item) => item.w);
  const right = push(ranks, columns, widths);
  const left = push(ranks, columns.map((column) => -column), widths);
  const centres = right.map((one, place) => (one - left[place]) / 2);
  let first = Infinity, last = -Infinity;
  const heights = new Map();
  items.forEach((item, place) => {
    first = Math.min(first, centres[place] - item.w / 2);
    last = Math.max(last, centres[place] + item.w / 2);
    heights.set(ranks[place], Math.max(heights.get(ranks[place]) ?? 0, item.h));
  });
  const padding = box.number ? PADDING : 0, gap = box.gap ?? 0;
  const tops = new Map();
  let top = (box.number ? HEADER : 0) + padding;
  for (const rank of [...heights.keys()].sort((one, other) => one - other)) {
    tops.set(rank, top);
    top += heights.get(rank) + gap;
  }
  const own = spots.get(box.number);
  own.h = top - gap + padding;
  own.w = Math.max(last - first + 2 * padding, box.number ? box.open_width : 0);
  const shift = (own.w - (last - first)) / 2 - first;
  items.forEach((item, place) => {
    const height = heights.get(ranks[place]);
    item.x = centres[place] + shift - item.w / 2;
    item.top = tops.get(ranks[place]);
    item.bottom = item.top + height;
    item.y = item.top + (height - item.h) / 2;
  });
  bendSpots.set(box.number, bends);
}

// What stands in one column stays in one column; in each row there is room enough between two items.
function push(ranks, columns, widths) {
  const order = columns.map((_, item) => item).sort((a, b) => columns[a] - columns[b] || ranks[a] - ranks[b]);
  const centres = new Array(columns.length).fill(0);
  const last = new Map();
  let shift = 0;
  for (let start = 0, end = 0; start < order.length; start = end) {
    while (end < order.length && columns[order[end]] === columns[order[start]]) end++;
    for (let place = start; place < end; place++) {
      const item = order[place], neighbour = last.get(ranks[item]);
      if (neighbour === undefined) continue;
      shift = Math.max(shift, centres[neighbour] + (widths[neighbour] + widths[item]) / 2 + BOX_GAP - columns[item]);
    }
    for (let place = start; place < end; place++) {
      const item = order[place];
      centres[item] = columns[item] + shift;
      last.set(ranks[item], item);
    }
  }
  return centres;
}

// Straight down inside a row, curved between two rows.
function edgePath(container, [source, target, , , ...bends]) {
  const from = spots.get(source), to = spots.get(target);
  const rows = [{ x: from.x + from.w / 2, top: from.y + from.h, bottom: from.bottom }];
  for (const number of bends) {
    const bend = bendSpots.get(container.number)[number];
    rows.push({ x: bend.x + bend.w / 2, top: bend.top, bottom: bend.bottom });
  }
  rows.push({ x: to.x + to.w / 2, top: to.top, bottom: to.y });
  let path = `M${rows[0].x} ${rows[0].top}V${rows[0].bottom}`;
  for (let place = 1; place < rows.length; place++) {
    const one = rows[place - 1], other = rows[place], middle = (one.bottom + other.top) / 2;
    path += `C${one.x} ${middle} ${other.x} ${middle} ${other.x} ${other.top}V${other.bottom}`;
  }
  return path;
}
