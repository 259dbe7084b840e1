// A chart of names, such as commands: the heaviest ones, stacked where they add up.
import { PanelChart } from "./chart.js";
import { style } from "./lines.js";
import { faded } from "./palette.js";

const REST = "other";
// A name keeps its colour on all charts of a page, however the ranking changes.
const colours = new Map();

function colourOf(name, palette) {
  if (name === REST) return palette.soft;
  if (!colours.has(name)) colours.set(name, colours.size);
  return palette.series[colours.get(name) % palette.series.length];
}

function nameLine(series, { name, values }, spec, palette) {
  const colour = colourOf(name, palette);
  const look = { key: name, label: name, borderColor: colour };
  if (!spec.stacked) return style(series, values, { ...look, borderDash: name === REST ? [3, 2] : [] });
  return style(series, values, { ...look, borderWidth: 1, backgroundColor: faded(colour, 0.55), fill: "stack" });
}

export class NamePanel extends PanelChart {
  linesOf(series, view, palette) {
    return series.lines.map((line) => nameLine(series, line, this.spec, palette));
  }

  // Areas in layers have no room for those of another day: their sum is one line.
  pastOf(view, lines, palette) {
    if (!this.spec.stacked) return super.pastOf(view, lines, palette);
    const { found, shift, label } = view.past;
    const sums = found.nodes.map((count, index) => (count ? found.lines.reduce((sum, { values }) => sum + (values[index] ?? 0), 0) : null));
    const look = { key: "before", label, borderColor: palette.ink, borderDash: [7, 5], borderWidth: 1.3, stack: "before", isBefore: true };
    return [style({ ...found, start: found.start + shift }, sums, look)];
  }

  emptyReason(lines, view) {
    const reason = super.emptyReason(lines, view);
    return reason && view.isAnswered ? this.spec.empty || reason : reason;
  }
}
