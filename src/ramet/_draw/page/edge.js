// The edges of one container, and the shapes beside them.

function edgesOf(container) {
  const element = shape("g", { class: "edges", "aria-hidden": "true" });
  const ways = new Map(), giving = new Set();
  for (const edge of container.edges) {
    const [source, target, mask, status] = edge;
    if (drawn && !passes(source, target, drawn)) continue;
    const line = shape("path", { class: `edge ${mask || ""} ${status || ""}`, d: edgePath(container, edge) });
    element.append(line);
    const to = spots.get(target);
    if (boxes[target].kind !== "port") {
      const x = isDown() ? to.x + to.w / 2 : to.x, y = isDown() ? to.y : to.y + to.h / 2;
      const tip = isDown() ? `M${x - 4} ${y - 7}L${x} ${y - 1}L${x + 4} ${y - 7}Z` : `M${x - 7} ${y - 4}L${x - 1} ${y}L${x - 7} ${y + 4}Z`;
      element.append(shape("path", { class: `tip ${mask || ""} ${status || ""}`, d: tip }));
    }
    ways.set(source, [...(ways.get(source) ?? []), turnOf(container, edge)]);
    // What only gave to something that was removed gives nothing now.
    if (!status) giving.add(source);
  }
  for (const [number, turns] of ways) {
    if (!giving.has(number)) continue;
    const spot = spots.get(number);
    if (!isDown()) {
      // From left to right, shapes stand below the boxes.
      const text = boxes[number].shapes.slice(0, 2).join(", ");
      element.append(shape("text", { class: "shape end", x: spot.x + spot.w - 2, y: spot.y + spot.h + 12 }, text));
      continue;
    }
    // Where the edges go right, shapes stand on the left; where they go both ways, beside the one that goes right.
    const furthest = Math.max(...turns), onLeft = furthest > 1 && Math.min(...turns) >= -1;
    const x = spot.x + spot.w / 2 + (onLeft ? -7 : 7 + Math.min(Math.max(0.3 * furthest, 0), 30));
    boxes[number].shapes.slice(0, 2).forEach((text, line) => {
      element.append(shape("text", { class: onLeft ? "shape end" : "shape", x, y: spot.end + 15 + 12 * line }, text));
    });
  }
  return element;
}

// How far to the right an edge goes first.
function turnOf(container, [source, target, , , bend]) {
  const from = spots.get(source), to = bend === undefined ? spots.get(target) : bendSpots.get(container.number)[bend];
  return to.x + to.w / 2 - from.x - from.w / 2;
}
