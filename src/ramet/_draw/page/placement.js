// The position of every visible box: rows and columns pushed apart, never reordered. The same algorithm as in placement.py,
// which explains the terms; a test compares the results of the two.

const BOX_GAP = 30, BEND_WIDTH = 10, PADDING = 18, HEADER = 30;
const LANE = 6, LANES = 24, BESIDE = 20, ROWS_TO_FOLD = 6;
const LEADS = { TB: [34, 66, 14], LR: [14, 30, 14] };

let spots = new Map();
let bendSpots = new Map();

function isDown() {
  return data.rankdir !== "LR";
}

function placeAll() {
  const seen = [0];
  for (const number of seen) {
    const box = boxes[number];
    if (opens(box) && (number === 0 || box.open)) for (const child of box.children) seen.push(child);
  }
  spots = new Map(seen.map((number) => [number, { x: 0, y: 0, w: 0, h: 0, start: 0, end: 0, fold: 0, turn: null }]));
  bendSpots = new Map();
  // The boxes inside a box have higher numbers, and come after it.
  for (let place = seen.length - 1; place >= 0; place--) {
    const box = boxes[seen[place]];
    if (opens(box) && spots.has(box.children[0])) fit(box);
    else Object.assign(spots.get(box.number), { w: box.w, h: box.h });
  }
  for (const number of seen) {
    if (!bendSpots.has(number)) continue;
    const own = spots.get(number);
    const inside = boxes[number].children.map((child) => spots.get(child));
    for (const item of [...inside, ...bendSpots.get(number)]) move(item, own.x, own.y);
  }
}

function move(item, x, y) {
  const [along, across] = isDown() ? [y, x] : [x, y];
  item.x += x;
  item.y += y;
  item.start += along;
  item.end += along;
  if (item.turn) item.turn = { out: item.turn.out + along, beside: item.turn.beside + across, back: item.turn.back + along };
}

function fit(box) {
  const down = isDown();
  const bends = box.bends.map(() => ({ x: 0, y: 0, w: down ? BEND_WIDTH : 0, h: down ? 0 : BEND_WIDTH, start: 0, end: 0, fold: 0, turn: null }));
  const items = [...box.children.map((child) => spots.get(child)), ...bends];
  const ranks = [...box.children.map((child) => boxes[child].rank), ...box.bends.map((bend) => bend[0])];
  const columns = [...box.children.map((child) => boxes[child].x), ...box.bends.map((bend) => bend[1])];
  const breadths = items.map((item) => (down ? item.w : item.h)), depths = items.map((item) => (down ? item.h : item.w));
  const right = push(ranks, columns, breadths);
  const left = push(ranks, columns.map((column) => -column), breadths);
  const centers = right.map((one, place) => (one - left[place]) / 2);
  const lengths = new Map(), starts = new Map();
  ranks.forEach((rank, place) => lengths.set(rank, Math.max(lengths.get(rank) ?? 0, depths[place])));
  const order = [...lengths.keys()].sort((one, other) => one - other), gap = box.gap ?? 0;
  let end = 0;
  for (const rank of order) {
    starts.set(rank, end);
    end += lengths.get(rank) + gap;
  }
  const folds = foldsOf(order, starts, lengths, end - gap, columnsOf(box, order.length));
  const count = folds.get(order.at(-1)) + 1;
  const [outLead, besideLead, backLead] = LEADS[down ? "TB" : "LR"];
  const before = count > 1 ? backLead + LANES : 0, after = count > 1 ? outLead + LANES : 0;
  const between = besideLead + LANES + BESIDE;
  const first = new Array(count), low = new Array(count).fill(Infinity), high = new Array(count).fill(-Infinity);
  for (const rank of order) first[folds.get(rank)] ??= starts.get(rank);
  ranks.forEach((rank, place) => {
    const fold = folds.get(rank);
    low[fold] = Math.min(low[fold], centers[place] - breadths[place] / 2);
    high[fold] = Math.max(high[fold], centers[place] + breadths[place] / 2);
  });
  const offsets = [];
  let breadth = 0;
  for (let fold = 0; fold < count; fold++) {
    offsets.push(breadth - low[fold]);
    breadth += high[fold] - low[fold] + between;
  }
  breadth -= between;
  let longest = 0;
  for (const rank of order) longest = Math.max(longest, starts.get(rank) + lengths.get(rank) - first[folds.get(rank)]);
  const length = before + longest + after;
  const [width, height] = down ? [breadth, length] : [length, breadth];
  const padding = box.number ? PADDING : 0, header = box.number ? HEADER : 0;
  const own = spots.get(box.number);
  own.h = height + header + 2 * padding;
  own.w = Math.max(width + 2 * padding, box.number ? box.open_width : 0);
  const [along, across] = down ? [header + padding, (own.w - width) / 2] : [(own.w - width) / 2, header + padding];
  items.forEach((item, place) => {
    const rank = ranks[place], fold = folds.get(rank);
    const start = along + before + starts.get(rank) - first[fold];
    const main = start + (lengths.get(rank) - depths[place]) / 2;
    const side = across + centers[place] + offsets[fold] - breadths[place] / 2;
    const [x, y] = down ? [side, main] : [main, side];
    Object.assign(item, { x, y, start, end: start + lengths.get(rank), fold, turn: null });
  });
  for (let fold = 0; fold < count - 1; fold++) {
    const last = order.findLast((rank) => folds.get(rank) === fold);
    const row = items.map((_, place) => place).filter((place) => ranks[place] === last).sort((a, b) => centers[b] - centers[a]);
    const step = Math.min(LANE, LANES / row.length);
    row.forEach((place, lane) => {
      items[place].turn = {
        out: items[place].end + outLead + lane * step,
        beside: across + high[fold] + offsets[fold] + besideLead + lane * step,
        back: along + before - backLead - (row.length - 1 - lane) * step,
      };
    });
  }
  bendSpots.set(box.number, bends);
}

function columnsOf(box, rows) {
  if (!box.edges.length) return 1;
  if (!box.number) return Math.min(data.columns, rows);
  return rows >= ROWS_TO_FOLD * data.columns ? data.columns : 1;
}

// The column of each row, by its middle: the columns have about the same length.
function foldsOf(order, starts, lengths, total, columns) {
  const numbers = new Map(), folds = new Map();
  for (const rank of order) {
    const wanted = total ? Math.trunc(columns * (starts.get(rank) + lengths.get(rank) / 2) / total) : 0;
    if (!numbers.has(wanted)) numbers.set(wanted, numbers.size);
    folds.set(rank, numbers.get(wanted));
  }
  return folds;
}

// Items of one column stay in one column, and items of one row get enough room between them.
function push(ranks, columns, widths) {
  const order = columns.map((_, item) => item).sort((a, b) => columns[a] - columns[b] || ranks[a] - ranks[b]);
  const centers = new Array(columns.length).fill(0);
  const last = new Map();
  let shift = 0;
  for (let start = 0, end = 0; start < order.length; start = end) {
    while (end < order.length && columns[order[end]] === columns[order[start]]) end++;
    for (let place = start; place < end; place++) {
      const item = order[place], neighbor = last.get(ranks[item]);
      if (neighbor === undefined) continue;
      shift = Math.max(shift, centers[neighbor] + (widths[neighbor] + widths[item]) / 2 + BOX_GAP - columns[item]);
    }
    for (let place = start; place < end; place++) {
      const item = order[place];
      centers[item] = columns[item] + shift;
      last.set(ranks[item], item);
    }
  }
  return centers;
}

function centerAcross(spot) {
  return isDown() ? spot.x + spot.w / 2 : spot.y + spot.h / 2;
}

// Straight within a row, curved between two rows, in a lane between two columns.
function edgePath(container, [source, target, , , ...bends]) {
  const down = isDown(), from = spots.get(source), to = spots.get(target);
  const point = (along, across) => (down ? `${across} ${along}` : `${along} ${across}`);
  let across = centerAcross(from), along = from.end, spot = from;
  let path = `M${point(down ? from.y + from.h : from.x + from.w, across)}L${point(along, across)}`;
  for (const item of [...bends.map((number) => bendSpots.get(container.number)[number]), to]) {
    const next = centerAcross(item);
    if (spot.turn && item.fold === spot.fold + 1) {
      const { out, beside, back } = spot.turn;
      path += `L${point(out, across)}L${point(out, beside)}L${point(back, beside)}L${point(back, next)}L${point(item.start, next)}`;
    } else {
      const middle = (along + item.start) / 2;
      path += `C${point(middle, across)} ${point(middle, next)} ${point(item.start, next)}`;
    }
    along = item === to ? (down ? to.y : to.x) : item.end;
    across = next;
    path += `L${point(along, across)}`;
    spot = item;
  }
  return path;
}
