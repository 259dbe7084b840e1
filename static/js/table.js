// The points of a chart as a table that a screen reader can walk through.
import { isMeasured, rangeText, timesOf } from "./export.js";
import { valueAt } from "./lines.js";
import { exactMoment } from "./zones.js";

const MOST_ROWS = 120;
const words = document.getElementById("chart-words").dataset;

const element = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text, ...more });

function rowOf(cells, at) {
  const row = document.createElement("tr");
  row.append(element("th", exactMoment(at), { scope: "row" }), ...cells.map((text) => element("td", text)));
  return row;
}

function captionOf(panel, every, total) {
  const parts = [`${panel.spec.title}, ${rangeText(panel.view)}.`, words.newestfirst];
  if (every > 1) parts.push(words.thinned.replace("%(every)s", every).replace("%(total)s", total));
  return parts.join(" ");
}

// Return the table of what the panel shows: the newest point first, times without any value left out.
export function tableOf(panel) {
  const lines = panel.lines.filter(isMeasured);
  const times = timesOf(lines).filter((at) => lines.some((line) => valueAt(line, at) !== null)).reverse();
  const every = Math.ceil(times.length / MOST_ROWS);
  const written = (line, at) => (valueAt(line, at) === null ? words.gap : panel.write(valueAt(line, at)));
  const table = document.createElement("table");
  table.append(element("caption", captionOf(panel, every, times.length)));
  const head = table.createTHead().insertRow();
  head.append(...[words.time, ...lines.map((line) => nameOf(line, lines))].map((text) => element("th", text, { scope: "col" })));
  const kept = times.filter((_, index) => index % every === 0);
  table.createTBody().append(...kept.map((at) => rowOf(lines.map((line) => written(line, at)), at)));
  return table;
}

// The band of other nodes has two edges under one name.
function nameOf(line, lines) {
  if (line.isCompanion) return words.lowest.replace("%s", line.label);
  return lines.some((other) => other.isCompanion && other.label === line.label) ? words.highest.replace("%s", line.label) : line.label;
}
