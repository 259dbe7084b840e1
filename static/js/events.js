// A Chart.js plugin: events as lines with a letter where something happened, as bands where it lasted.
import { faded } from "./palette.js";
import { exactMoment } from "./zones.js";

const FRESH = 15_000;
const RETRY = 5_000;
const TIMEOUT = 20_000;
const MOST = 500;
const FLAG = 14;
const NEAR = FLAG / 2 + 2;
const TONES = { trouble: "critical", change: "warning", note: "accent-ink" };
const board = document.getElementById("charts");
const button = document.getElementById("events-toggle");
const charts = new Set();
let known = { events: [], from: 0, to: 0, askedAt: 0 };
let busyUntil = 0;
let isOn = new URLSearchParams(location.search).get("events") !== "off";
let colours = readColours();

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--sw-${name}`).trim();
  return { surface: read("surface"), ...Object.fromEntries(Object.entries(TONES).map(([tone, name]) => [tone, read(name)])) };
}

const redraw = () => charts.forEach((chart) => chart.width && chart.draw());
const seconds = (text) => Date.parse(text) / 1000;

// Ask for the events of a range unless they are here; a chart draws again when they have come.
async function want(from, to) {
  const isKnown = from >= known.from && to <= known.to + FRESH / 1000 && Date.now() - known.askedAt < FRESH;
  if (isKnown || Date.now() < busyUntil) return;
  busyUntil = Date.now() + TIMEOUT;
  try {
    const query = new URLSearchParams({ from: Math.floor(from), to: Math.ceil(to), page_size: MOST });
    const answer = await fetch(`${board.dataset.eventsUrl}&${query}`, { signal: AbortSignal.timeout(TIMEOUT) });
    if (!answer.ok) throw new Error(answer.statusText);
    const { events, incidents } = await answer.json();
    known = { events: [...events, ...incidents].map(timed), from, to, askedAt: Date.now() };
    busyUntil = 0;
    redraw();
  } catch {
    // The charts say that Shardwatch is away; markers come back with a later drawing.
    busyUntil = Date.now() + RETRY;
  }
}

function timed(event) {
  const start = seconds(event.at);
  const end = event.goes_on ? Infinity : event.until ? seconds(event.until) : start;
  return { ...event, start, end };
}

// Flags too near to each other share one, which shows how many there are.
function flagsOf(chart) {
  const { left, right } = chart.chartArea;
  const flags = [];
  for (const event of known.events.toSorted((one, other) => one.start - other.start)) {
    const x = Math.round(Math.max(left, chart.scales.x.getPixelForValue(event.start))) + 0.5;
    const last = flags.at(-1);
    if (x > right || chart.scales.x.getPixelForValue(Math.min(event.end, Date.now() / 1000)) < left) continue;
    if (last && x - last.x < FLAG) last.events.push(event);
    else flags.push({ x, events: [event] });
  }
  return flags;
}

function drawBand({ ctx, chartArea, scales }, event) {
  const [from, to] = [event.start, event.end].map((at) => Math.min(Math.max(scales.x.getPixelForValue(at), chartArea.left), chartArea.right));
  if (event.end === event.start || to <= from) return;
  ctx.fillStyle = faded(colours[event.tone], 0.09);
  ctx.fillRect(from, chartArea.top, to - from, chartArea.bottom - chartArea.top);
}

function outline(ctx, tone, x, y) {
  const half = FLAG / 2;
  ctx.beginPath();
  if (tone === "trouble") ctx.rect(x - half, y - half, FLAG, FLAG);
  else if (tone === "change") ctx.arc(x, y, half, 0, 2 * Math.PI);
  else ctx.roundRect(x - half, y - half, FLAG, FLAG, [half, half, half, 0]);
}

function drawFlag({ ctx, chartArea }, { x, events }) {
  const worst = ["trouble", "change", "note"].find((tone) => events.some((event) => event.tone === tone));
  const middle = chartArea.top + FLAG / 2;
  ctx.strokeStyle = ctx.fillStyle = colours[worst];
  ctx.lineWidth = 1;
  ctx.setLineDash([3, 3]);
  ctx.beginPath();
  ctx.moveTo(x, middle);
  ctx.lineTo(x, chartArea.bottom);
  ctx.stroke();
  outline(ctx, worst, x, middle);
  ctx.fill();
  ctx.fillStyle = colours.surface;
  ctx.font = `700 10px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(events.length > 1 ? String(events.length) : events[0].letter, x, middle + 0.5);
}

function flagUnder(chart, pointer) {
  const box = chart.canvas.getBoundingClientRect();
  const [x, y] = [pointer.clientX - box.left, pointer.clientY - box.top - chart.chartArea.top];
  return y < -2 || y > FLAG + 2 ? undefined : chart.flags?.find((flag) => Math.abs(flag.x - x) <= NEAR);
}

function showTip(chart, flag) {
  chart.tip ??= chart.canvas.parentElement.appendChild(Object.assign(document.createElement("ul"), { className: "event-tip" }));
  const { tip } = chart;
  tip.hidden = !flag;
  chart.isMarked = Boolean(flag);
  chart.canvas.style.cursor = flag ? "pointer" : "";
  if (!flag) return;
  tip.replaceChildren(
    ...flag.events.slice(0, 6).map((event) => {
      const item = document.createElement("li");
      const end = event.end > event.start && event.end !== Infinity ? ` – ${exactMoment(event.end)}` : "";
      item.append(Object.assign(document.createElement("b"), { textContent: exactMoment(event.start) + end }), event.title);
      return item;
    }),
  );
  const isRight = flag.x > chart.width / 2;
  tip.style.insetInlineStart = isRight ? "auto" : `${flag.x}px`;
  tip.style.insetInlineEnd = isRight ? `${chart.width - flag.x}px` : "auto";
}

function listen(chart) {
  const { canvas } = chart;
  canvas.addEventListener("pointermove", (pointer) => showTip(chart, isOn && flagUnder(chart, pointer)));
  canvas.addEventListener("pointerleave", () => showTip(chart));
  canvas.addEventListener("click", (pointer) => {
    const flag = isOn && flagUnder(chart, pointer);
    if (flag) location.assign(flag.events[0].url);
  });
}

function show(isWanted) {
  isOn = isWanted;
  button.setAttribute("aria-pressed", String(isOn));
  const address = new URL(location);
  if (isOn) address.searchParams.delete("events");
  else address.searchParams.set("events", "off");
  history.replaceState(null, "", address);
  redraw();
}

export const markers = {
  id: "markers",
  afterInit(chart) {
    if (!board?.dataset.eventsUrl) return;
    charts.add(chart);
    listen(chart);
  },
  beforeDatasetsDraw(chart) {
    if (!isOn || !charts.has(chart)) return;
    const { ctx, options } = chart;
    // A chart that has not been given its range yet shows another one.
    if (options.scales.x.min) want(options.scales.x.min, options.scales.x.max);
    ctx.save();
    for (const event of known.events) drawBand(chart, event);
    ctx.restore();
  },
  afterDatasetsDraw(chart) {
    if (!isOn || !charts.has(chart)) return;
    chart.flags = flagsOf(chart);
    chart.ctx.save();
    for (const flag of chart.flags) drawFlag(chart, flag);
    chart.ctx.restore();
  },
  afterDestroy: (chart) => charts.delete(chart),
};

if (button) {
  button.hidden = false;
  button.setAttribute("aria-pressed", String(isOn));
  button.addEventListener("click", () => show(!isOn));
  document.addEventListener("theme-changed", () => {
    colours = readColours();
    redraw();
  });
}
