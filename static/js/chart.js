// One chart: canvas, legend, states. It is given series and draws them; it asks nobody for anything.
import { logAxis, roundAxis, timeLabel, timeTicks, valueTicks } from "./axes.js";
import { pastLines } from "./compare.js";
import { markers } from "./events.js";
import { drawLegend, writeValues } from "./legend.js";
import { isFar, nodeLines, rangeOf, wholeCacheLines } from "./lines.js";
import { ChartMenu } from "./menu.js";
import { pointer } from "./pointer.js";
import { isLog } from "./scale.js";
import { WRITERS } from "./units.js";
import { exactMoment } from "./zones.js";

const words = document.getElementById("chart-words").dataset;
// In the size of the page's type, which is larger on a screen on the wall.
const typeSize = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
const axisWidth = () => 4.125 * typeSize();
const ON_LINES = { type: "linear", bounds: "ticks" };
const ON_LOG = { type: "logarithmic", bounds: "data" };

export class PanelChart {
  constructor(figure, spec, hidden, onHide) {
    Object.assign(this, { figure, spec, hidden, onHide, nodeMetric: spec.by_node[0].metric, isVisible: false });
    this.canvas = figure.querySelector("canvas");
    this.write = WRITERS[spec.unit];
    this.setUpMetricChoice();
    this.menu = new ChartMenu(this);
    for (const name of ["scale-changed", "tv-changed"]) document.addEventListener(name, () => this.redraw());
    this.showState(words.loading);
  }

  setUpMetricChoice() {
    this.choice = this.figure.querySelector(".chart-metric");
    for (const { metric, label } of this.spec.by_node) this.choice.add(new Option(label, metric));
    this.choice.addEventListener("change", () => {
      this.nodeMetric = this.choice.value;
      this.figure.dispatchEvent(new CustomEvent("metric-chosen", { bubbles: true }));
    });
  }

  showState(text, retry = null) {
    const state = this.figure.querySelector(".chart-state");
    const button = state.querySelector("button");
    this.figure.dataset.state = text ? "empty" : "drawn";
    state.hidden = !text;
    state.querySelector("span").textContent = text;
    button.hidden = !retry;
    button.onclick = retry;
  }

  // `view` is {by, from, to, samples, isAnswered, past}; `found` maps metric names to series.
  show(found, view, palette) {
    Object.assign(this, { found, view, palette });
    this.choice.hidden = view.by !== "node" || this.spec.by_node.length < 2;
    const lines = this.linesOf(found, view, palette);
    this.lines = [...lines, ...(view.past ? this.pastOf(view, lines, palette) : [])];
    this.fitLimits(this.lines);
    this.draw(this.lines, view, palette);
    drawLegend(this, lines);
    this.showState(this.emptyReason(lines, view));
    this.menu.refresh();
  }

  pastOf(view, lines, palette) {
    return pastLines(this.linesOf(view.past.found, view, palette), lines, view.past);
  }

  linesOf(found, view, palette) {
    if (view.by === "node") return nodeLines(this.spec, this.nodeMetric, found, palette);
    return wholeCacheLines(this.spec, found, palette);
  }

  emptyReason(lines, view) {
    if (lines.some((line) => !line.isEmpty && !line.isLimit)) return "";
    if (view.samples === "unreachable") return words.silent;
    if (view.samples === "waiting") return words.first;
    return view.isAnswered ? words.absent : words.empty;
  }

  fitLimits(lines) {
    const range = rangeOf(lines.filter((line) => !line.isLimit && !this.isHidden(line)));
    for (const line of lines) {
      line.isOff = this.isHidden(line);
      line.hidden = line.isOff || (Boolean(line.isLimit) && isFar(line, range));
    }
  }

  isHidden(line) {
    const switched = this.hidden.has(`${this.spec.key}.${line.key.replace(/\.low$/, "")}`);
    return Boolean(line.startsHidden) !== switched;
  }

  draw(lines, view, palette) {
    if (!this.chart) {
      this.chart = new window.Chart(this.canvas, this.configuration());
      this.chart.onPoint = (at) => writeValues(this, at);
    }
    const { options } = this.chart;
    const isOnLog = isLog(this.spec.key);
    const isStacked = Boolean(this.spec.stacked) && !isOnLog;
    // Chart.js would end a logarithmic axis on its own ticks, not on ours.
    Object.assign(options.scales.y, { ...(isOnLog ? ON_LOG : ON_LINES), stacked: isStacked });
    // Areas in layers mean sums, which a logarithmic axis does not show.
    for (const line of lines) if (isOnLog && line.fill === "stack") line.fill = false;
    this.chart.data.datasets = lines;
    Object.assign(options.scales.x, { min: view.from, max: view.to });
    for (const axis of Object.values(options.scales)) {
      axis.grid.color = palette.grid;
      axis.border.color = palette.line;
      axis.ticks.color = palette.soft;
      axis.ticks.font.size = typeSize() * 0.6875;
    }
    options.font.family = getComputedStyle(document.body).fontFamily;
    const { tooltip } = options.plugins;
    Object.assign(tooltip, { backgroundColor: palette.surface, titleColor: palette.ink, bodyColor: palette.ink, borderColor: palette.line });
    this.chart.update("none");
  }

  configuration() {
    const { key, unit, from_zero: fromZero } = this.spec;
    const grid = { drawTicks: false };
    const ticks = { font: {}, maxRotation: 0, autoSkip: false, padding: 6 };
    const x = {
      type: "linear",
      min: this.view.from,
      max: this.view.to,
      grid: { ...grid, display: false },
      border: {},
      ticks: { ...ticks, callback: (value) => timeLabel(value, this.view.to - this.view.from) },
      afterBuildTicks: (axis) => (axis.ticks = timeTicks(axis.min, axis.max, axis.chart.width - axisWidth())),
    };
    const y = {
      type: isLog(key) ? "logarithmic" : "linear",
      beginAtZero: fromZero,
      grid,
      border: { display: false },
      ticks: { ...ticks, callback: (value) => this.write(value) },
      afterDataLimits: (axis) => (isLog(key) ? logAxis(axis, unit) : roundAxis(axis, unit, fromZero)),
      afterBuildTicks: (axis) => (axis.ticks = valueTicks(axis)),
      afterFit: (axis) => (axis.width = axisWidth()),
    };
    return {
      type: "line",
      data: { datasets: [] },
      plugins: [pointer, markers],
      options: {
        animation: false,
        font: {},
        maintainAspectRatio: false,
        normalized: true,
        parsing: false,
        layout: { padding: { top: 6, right: 10 } },
        interaction: { mode: "index", intersect: false },
        scales: { x, y },
        plugins: { legend: { display: false }, tooltip: this.tooltip() },
      },
    };
  }

  tooltip() {
    return {
      borderWidth: 1,
      padding: 8,
      boxWidth: 6,
      boxHeight: 6,
      boxPadding: 4,
      usePointStyle: true,
      cornerRadius: 6,
      filter: (item) => item.parsed.y !== null && !item.dataset.isCompanion && !item.dataset.isBound && !item.chart.drag && !item.chart.isMarked,
      itemSort: (one, other) => (this.view.by === "node" ? other.parsed.y - one.parsed.y : 0),
      callbacks: {
        title: ([item]) => (item ? exactMoment(item.parsed.x) : ""),
        label: ({ dataset, parsed }) => ` ${dataset.label}  ${this.write(parsed.y)}`,
        labelColor: ({ dataset: { borderColor } }) => ({ borderColor, backgroundColor: borderColor }),
        labelPointStyle: () => ({ pointStyle: "circle", rotation: 0 }),
      },
    };
  }

  toggleLine(line) {
    const key = `${this.spec.key}.${line.key}`;
    if (!this.hidden.delete(key)) this.hidden.add(key);
    this.onHide();
    this.redraw();
  }

  redraw(palette = this.palette) {
    if (this.found) this.show(this.found, this.view, palette);
  }
}
