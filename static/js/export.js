// What a chart shows, to take away: true values as CSV, the picture as PNG.
import { iso } from "./address.js";
import { valueAt } from "./lines.js";
import { moment } from "./zones.js";

const words = document.getElementById("chart-words").dataset;
const PAD = 16;

const pageName = () => document.title.split(" · ")[0];
export const isShown = (line) => !line.isOff && !line.isEmpty;
export const isMeasured = (line) => isShown(line) && !line.isBound;

export function rangeText({ from, to }) {
  return words.between.replace("%(from)s", moment(from)).replace("%(to)s", moment(to));
}

// Return the times of the points of today's lines, oldest first.
export function timesOf(lines) {
  const times = lines.filter((line) => !line.isBefore).flatMap(({ data }) => data.map(({ x }) => x));
  return [...new Set(times)].sort((one, other) => one - other);
}

// A name that a server reports must not become a formula in a spreadsheet.
function cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(panel) {
  const lines = panel.lines.filter(isMeasured);
  const head = ["time", ...lines.map((line) => cell(`${line.label} [${line.unit ?? panel.spec.unit}]`))];
  const rows = timesOf(lines).map((at) => [iso(at), ...lines.map((line) => valueAt(line, at) ?? "")]);
  return [head, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

function save(blob, { spec, view }, ending) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${pageName()}-${spec.key}-${iso(view.from).replaceAll(":", "")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveCsv(panel) {
  const text = csvOf(panel);
  // Spreadsheets take a file without this mark for one of an old code page.
  const mark = /[^\x20-\x7e\s]/.test(text) ? "\ufeff" : "";
  save(new Blob([mark, text], { type: "text/csv" }), panel, "csv");
}

function* placed(ctx, lines, width) {
  let [x, row] = [PAD, 0];
  for (const line of lines) {
    const room = ctx.measureText(line.label).width + 40;
    if (x + room > width && x > PAD) [x, row] = [PAD, row + 1];
    yield { line, x, row };
    x += room;
  }
}

function drawEntry(ctx, { line, x, row }, top, palette) {
  const y = top + row * 18 + 9;
  ctx.strokeStyle = line.borderColor;
  ctx.lineWidth = 2;
  ctx.setLineDash(line.borderDash ?? []);
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x + 18, y);
  ctx.stroke();
  ctx.fillStyle = palette.ink;
  ctx.fillText(line.label, x + 24, y + 4);
}

// Draw the chart on its background with title, time range and legend.
export function pictureOf({ chart, lines, palette, spec, view }) {
  const ratio = chart.currentDevicePixelRatio;
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d");
  const { fontFamily } = getComputedStyle(document.body);
  const head = 52;
  ctx.font = `12px ${fontFamily}`;
  const entries = [...placed(ctx, lines.filter((line) => isShown(line) && !line.hidden && !line.isCompanion), chart.width)];
  canvas.width = chart.width * ratio;
  canvas.height = (head + chart.height + ((entries.at(-1)?.row ?? 0) + 1) * 18 + PAD) * ratio;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = palette.surface;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = palette.ink;
  ctx.font = `600 15px ${fontFamily}`;
  ctx.fillText(`${pageName()} · ${spec.title}`, PAD, 24);
  ctx.font = `12px ${fontFamily}`;
  ctx.fillStyle = palette.soft;
  ctx.fillText(rangeText(view), PAD, 42);
  ctx.drawImage(chart.canvas, 0, head, chart.width, chart.height);
  for (const entry of entries) drawEntry(ctx, entry, head + chart.height + 4, palette);
  return canvas;
}

export function savePng(panel) {
  pictureOf(panel).toBlob((blob) => save(blob, panel, "png"));
}
