// The charts of a cache's page: which are in sight, what they need, and the address that remembers it all.
import * as address from "./address.js";
import { PanelChart } from "./chart.js";
import { Comparison } from "./compare.js";
import { metricsOf } from "./lines.js";
import { readPalette } from "./palette.js";
import { Range } from "./range.js";
import { fetchSeries, Repeater } from "./series.js";
import { clockSeconds } from "./zones.js";

const NODE_LINES = 12;
const SLOWEST = 60;
const FRESH = 10_000;
// A quick answer needs no word that it is on its way.
const PATIENCE = 400;
const words = document.getElementById("chart-words").dataset;
const board = document.getElementById("charts");
const tools = document.getElementById("chart-tools");
const mark = document.getElementById("live-mark");
const hidden = new Set(address.given("off").split(",").filter(Boolean));
let by = address.given("by") === "node" ? "node" : "cache";
let palette = readPalette();
let step = 0;
// Charts drawn before this moment show another range or other lines than are asked for now.
let askedAt = 0;
let patience;

const specs = JSON.parse(document.getElementById("chart-specs").textContent);
const panels = specs.map((spec) => {
  const figure = board.querySelector(`[data-chart="${spec.key}"]`);
  return new PanelChart(figure, spec, hidden, remember);
});

function reload() {
  askedAt = Date.now();
  clearTimeout(patience);
  patience = setTimeout(() => {
    for (const panel of panels) if (panel.isVisible && !isCurrent(panel)) panel.showState(words.loading);
  }, PATIENCE);
  repeater.now();
}

function remember() {
  address.remember({ ...range.parameters(), by: by === "node" ? by : undefined, off: [...hidden].join(",") });
}

const samples = () => document.getElementById("live")?.dataset.samples;
const neededBy = (panel) => metricsOf(panel.spec, by, panel.nodeMetric);

const isCurrent = (panel) => panel.shownAt >= Math.max(askedAt, Date.now() - FRESH);
const isAnswered = (series) =>
  by === "node" ? series.lines.length > 0 : series.nodes.some((count) => count > 0);

async function load(signal) {
  const wanted = panels.filter((panel) => panel.isVisible);
  if (!wanted.length) return;
  const bounds = range.bounds();
  const metrics = [...new Set(wanted.flatMap(neededBy))];
  const question = { ...bounds, by, limit: by === "node" ? NODE_LINES : undefined, signal };
  const url = board.dataset.seriesUrl;
  const [found, past] = await Promise.all([fetchSeries(url, metrics, question), comparison.fetch(question, (past) => fetchSeries(url, metrics, past))]);
  const all = [...found.values()];
  step = Math.min(...all.map((series) => series.step));
  const view = { by, ...bounds, samples: samples(), isAnswered: all.some(isAnswered), past };
  for (const panel of wanted) {
    panel.show(found, view, palette);
    panel.shownAt = Date.now();
    // A task for each chart: twenty in one would hold up clicks and keys.
    await new Promise((resume) => setTimeout(resume));
    signal.throwIfAborted();
  }
}

const repeater = new Repeater(load, () => {
  if (!range.isLive) return SLOWEST * 60;
  return Math.min(SLOWEST, Math.max(Number(board.dataset.interval), step));
});

repeater.onLoaded = showMark;
repeater.onError = (error) => {
  clearTimeout(patience);
  const isOffline = error instanceof TypeError || error.name === "TimeoutError";
  const reason = isOffline ? words.offline : error.message;
  for (const panel of panels) {
    if (panel.isVisible && !(panel.shownAt >= askedAt)) panel.showState(words.failed.replace("%s", reason), () => repeater.now());
  }
  showMark();
};

function showMark() {
  const isStale = repeater.failures > 0 && repeater.updatedAt !== null;
  mark.dataset.state = isStale ? "stale" : range.isLive ? "live" : "fixed";
  const text = isStale
    ? words.stale.replace("%s", clockSeconds(repeater.updatedAt))
    : range.isLive ? words.live : words.fixed;
  if (mark.textContent !== text) mark.textContent = text;
}

const range = new Range(tools, () => {
  remember();
  reload();
});

const comparison = new Comparison(tools, reload);

function showBy() {
  for (const button of tools.querySelectorAll("[data-by]")) {
    button.setAttribute("aria-pressed", String(button.dataset.by === by));
  }
}

for (const button of tools.querySelectorAll("[data-by]")) {
  button.addEventListener("click", () => {
    by = button.dataset.by;
    showBy();
    remember();
    reload();
  });
}

board.addEventListener("metric-chosen", reload);
board.addEventListener("range-dragged", ({ detail }) => range.zoom(detail.from, detail.to));
document.addEventListener("theme-changed", () => {
  palette = readPalette();
  for (const panel of panels) panel.redraw(palette);
});

let soon;
const sight = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const panel = panels.find((candidate) => candidate.figure === entry.target);
      panel.isVisible = entry.isIntersecting;
    }
    clearTimeout(soon);
    if (panels.some((panel) => panel.isVisible && !isCurrent(panel))) soon = setTimeout(() => repeater.soon(), 30);
  },
  { rootMargin: "150px" },
);

tools.hidden = false;
showBy();
for (const panel of panels) sight.observe(panel.figure);
