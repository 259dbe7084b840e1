// The charts of the page of commands, and its tables, which follow the range of the charts.
import { Comparison } from "./compare.js";
import { NamePanel } from "./names.js";
import { readPalette } from "./palette.js";
import { Range } from "./range.js";
import { fetchAnswer, Repeater } from "./series.js";
import { clockSeconds } from "./zones.js";

const SLOWEST = 600;
const words = document.getElementById("chart-words").dataset;
const board = document.getElementById("charts");
const tools = document.getElementById("chart-tools");
const mark = document.getElementById("live-mark");
const form = document.getElementById("command-nodes");
const hidden = new Set((new URLSearchParams(location.search).get("off") ?? "").split(",").filter(Boolean));
const { baseUrl, role, node } = board.dataset;
let palette = readPalette();
let step = 0;
// Charts drawn before this moment show another range than is asked for now.
let askedAt = 0;

const specs = JSON.parse(document.getElementById("chart-specs").textContent);
const panels = specs.map((spec) => new NamePanel(board.querySelector(`[data-chart="${spec.key}"]`), spec, hidden, remember));

function remember() {
  const address = new URL(location);
  for (const [name, value] of Object.entries({ ...range.parameters(), off: [...hidden].join(",") || undefined })) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
}

async function loadPanel(panel, bounds, signal) {
  const isOfCommands = panel.spec.path.startsWith("commands");
  const question = { ...bounds, ...(isOfCommands && { measure: panel.spec.measure, role }), ...(node !== "0" && { node }) };
  const ask = (asked) => fetchAnswer(`${baseUrl}${panel.spec.path}`, asked, signal);
  const [series, past] = await Promise.all([ask(question), comparison.fetch(question, ask)]);
  const isAnswered = series.nodes.some((count) => count > 0);
  panel.show(series, { by: "node", ...bounds, samples: "yes", isAnswered, past }, palette);
  panel.shownAt = Date.now();
  step = series.step;
}

async function load(signal) {
  const bounds = range.bounds();
  await Promise.all(panels.filter((panel) => panel.isVisible).map((panel) => loadPanel(panel, bounds, signal)));
}

const repeater = new Repeater(load, () => (range.isLive ? Math.max(Number(board.dataset.interval), step) / 2 : SLOWEST));

repeater.onLoaded = showMark;
repeater.onError = (error) => {
  const isOffline = error instanceof TypeError || error.name === "TimeoutError";
  const text = words.failed.replace("%s", isOffline ? words.offline : error.message);
  for (const panel of panels) {
    if (panel.isVisible && !(panel.shownAt >= askedAt)) panel.showState(text, () => repeater.now());
  }
  showMark();
};

function showMark() {
  const isStale = repeater.failures > 0 && repeater.updatedAt !== null;
  mark.dataset.state = isStale ? "stale" : range.isLive ? "live" : "fixed";
  const stale = words.stale.replace("%s", clockSeconds(repeater.updatedAt));
  const text = isStale ? stale : range.isLive ? words.live : words.fixed;
  if (mark.textContent !== text) mark.textContent = text;
}

const range = new Range(tools, () => {
  remember();
  askedAt = Date.now();
  repeater.now();
  window.htmx?.ajax("GET", location.pathname + location.search, { target: "#live", swap: "outerHTML" });
});

const comparison = new Comparison(tools, () => {
  askedAt = Date.now();
  repeater.now();
});

form.querySelector("button").hidden = true;
form.elements.nodes.addEventListener("change", () => {
  const address = new URL(location);
  address.searchParams.set("nodes", form.elements.nodes.value);
  location.assign(address);
});
board.addEventListener("range-dragged", ({ detail }) => range.zoom(detail.from, detail.to));
for (const change of ["theme-changed", "scale-changed"]) {
  document.addEventListener(change, () => {
    palette = readPalette();
    for (const panel of panels) panel.redraw(palette);
  });
}

const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      panels.find((panel) => panel.figure === target).isVisible = isIntersecting;
    }
    if (panels.some((panel) => panel.isVisible && !(panel.shownAt >= askedAt))) repeater.soon();
  },
  { rootMargin: "150px" },
);

tools.hidden = false;
for (const panel of panels) sight.observe(panel.figure);
