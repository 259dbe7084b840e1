// One chart: canvas, legend, states. It is given series and draws them; it asks nobody for anything.
import { roundAxis, timeLabel, timeTicks, valueTicks } from "./axes.js";
import { markers } from "./events.js";
import { nodeLines, wholeCacheLines } from "./lines.js";
import { pointer } from "./pointer.js";
import { WRITERS } from "./units.js";
import { exactMoment } from "./zones.js";

const words = document.getElementById("chart-words").dataset;
const AXIS_WIDTH = 66;
// A limit far above the data would press it flat: below this share it is named in the legend only.
const LIMIT_SHARE = 0.4;

export class PanelChart {
  constructor(figure, spec, hidden, onHide) {
    Object.assign(this, { figure, spec, hidden, onHide, nodeMetric: spec.by_node[0].metric, isVisible: false });
    this.canvas = figure.querySelector("canvas");
    this.write = WRITERS[spec.unit];
    this.setUpMetricChoice();
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

  // `view` is {by, from, to, samples, isAnswered}; `found` maps metric names to series.
  show(found, view, palette) {
    Object.assign(this, { found, view, palette });
    this.choice.hidden = view.by !== "node" || this.spec.by_node.length < 2;
    const lines = this.linesOf(found, view, palette);
    this.fitLimits(lines);
    this.draw(lines, view, palette);
    this.drawLegend(lines);
    this.showState(this.emptyReason(lines, view));
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
    const top = (line) => Math.max(...line.data.map((point) => point.y ?? -Infinity));
    const highest = Math.max(0, ...lines.filter((line) => !line.isLimit && !this.isHidden(line)).map(top));
    for (const line of lines) {
      line.hidden = this.isHidden(line) || (line.isLimit && highest < top(line) * LIMIT_SHARE);
    }
  }

  isHidden(line) {
    const switched = this.hidden.has(`${this.spec.key}.${line.key.replace(/\.low$/, "")}`);
    return Boolean(line.startsHidden) !== switched;
  }

  draw(lines, view, palette) {
    if (!this.chart) this.chart = new window.Chart(this.canvas, this.configuration());
    const { options } = this.chart;
    this.chart.data.datasets = lines;
    Object.assign(options.scales.x, { min: view.from, max: view.to });
    for (const axis of Object.values(options.scales)) {
      axis.grid.color = palette.grid;
      axis.border.color = palette.line;
      axis.ticks.color = palette.soft;
    }
    options.font.family = getComputedStyle(document.body).fontFamily;
    const { tooltip } = options.plugins;
    Object.assign(tooltip, { backgroundColor: palette.surface, titleColor: palette.ink, bodyColor: palette.ink, borderColor: palette.line });
    this.chart.update("none");
  }

  configuration() {
    const { unit, from_zero: fromZero } = this.spec;
    const grid = { drawTicks: false };
    const ticks = { font: { size: 11 }, maxRotation: 0, autoSkip: false, padding: 6 };
    const x = {
      type: "linear",
      grid: { ...grid, display: false },
      border: {},
      ticks: { ...ticks, callback: (value) => timeLabel(value, this.view.to - this.view.from) },
      afterBuildTicks: (axis) => (axis.ticks = timeTicks(axis.min, axis.max, axis.chart.width - AXIS_WIDTH)),
    };
    const y = {
      type: "linear",
      beginAtZero: fromZero,
      stacked: Boolean(this.spec.stacked),
      grid,
      border: { display: false },
      ticks: { ...ticks, callback: (value) => this.write(value) },
      afterDataLimits: (axis) => roundAxis(axis, unit, fromZero),
      afterBuildTicks: (axis) => (axis.ticks = valueTicks(axis)),
      afterFit: (axis) => (axis.width = AXIS_WIDTH),
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
      filter: (item) => item.parsed.y !== null && !item.dataset.isCompanion && !item.chart.drag && !item.chart.isMarked,
      itemSort: (one, other) => (this.view.by === "node" ? other.parsed.y - one.parsed.y : 0),
      callbacks: {
        title: ([item]) => (item ? exactMoment(item.parsed.x) : ""),
        label: ({ dataset, parsed }) => ` ${dataset.label}  ${this.write(parsed.y)}`,
        labelColor: ({ dataset: { borderColor } }) => ({ borderColor, backgroundColor: borderColor }),
        labelPointStyle: () => ({ pointStyle: "circle", rotation: 0 }),
      },
    };
  }

  drawLegend(lines) {
    const shown = lines.filter((line) => !line.isCompanion && !line.isEmpty);
    const items = shown.map((line) => this.legendItem(line));
    const legend = this.figure.querySelector(".chart-legend");
    const focused = [...legend.children].indexOf(document.activeElement);
    legend.replaceChildren(...items);
    items[focused]?.focus();
    const main = shown.find((line) => !line.isLimit);
    this.figure.querySelector(".chart-now").textContent = main && this.view.by === "cache" ? this.write(main.now) : "";
    const summary = shown.map((line) => `${line.label} ${this.write(line.now)}`).join(", ");
    this.canvas.setAttribute("aria-label", words.summary.replace("%(title)s", this.spec.title).replace("%(lines)s", summary || words.empty));
  }

  legendItem(line) {
    const button = document.createElement("button");
    const [mark, name, value] = ["i", "span", "b"].map((tag) => button.appendChild(document.createElement(tag)));
    const isOff = this.isHidden(line);
    button.type = "button";
    button.title = line.hint ?? words.toggle.replace("%s", line.label);
    button.setAttribute("aria-pressed", String(!isOff));
    mark.style.background = line.borderColor;
    mark.className = line.borderDash?.length ? "dashed" : "";
    name.textContent = line.label;
    value.textContent = this.write(line.now);
    button.addEventListener("click", () => {
      const key = `${this.spec.key}.${line.key}`;
      if (!this.hidden.delete(key)) this.hidden.add(key);
      this.onHide();
      this.redraw();
    });
    return button;
  }

  redraw(palette = this.palette) {
    if (this.found) this.show(this.found, this.view, palette);
  }
}
