// The weights of a layer: what they are, where they come from, and how often which numbers are in them.

function variableElement(op, variable) {
  const flags = [variable.dtype, variable.frozen ? "frozen" : "", variable.state ? "state, no parameter" : ""].filter(Boolean);
  const element = make("div", { class: "variable" },
    make("p", {}, make("b", {}, variable.name), ` ${variable.shape}`, make("span", { class: "quiet" }, ` ${flags.join(", ")}`)));
  const stored = variable.place ? `in the file at ${variable.place}` : "";
  const origin = variable.tied ? `the very variable of ${variable.tied}` : variable.missing ? "not stored" : stored;
  if (origin) element.append(make("p", { class: "quiet" }, origin));
  if (variable.histogram) element.append(histogramElement(variable));
  return element;
}

function histogramElement(variable) {
  const { bars, low, high, mean, deviation, odd } = variable.histogram;
  const text = bars ? `from ${low} to ${high}, mean ${mean}, deviation ${deviation}` : "no finite number";
  const label = odd ? `${text}, ${odd} not finite` : text;
  const element = make("figure");
  if (bars) {
    const drawing = shape("svg", { class: "histogram", viewBox: `0 0 ${bars.length * 4} 40`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    [...bars].forEach((digit, place) => {
      const tall = parseDigit(digit) * 40 / 61;
      if (tall) drawing.append(shape("rect", { x: place * 4, y: 40 - tall, width: 3.4, height: tall }));
    });
    element.append(drawing);
  }
  element.append(make("figcaption", {}, label));
  return element;
}

function parseDigit(digit) {
  return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".indexOf(digit);
}
