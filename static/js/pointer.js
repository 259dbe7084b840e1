// A Chart.js plugin: a crosshair at one time on all charts at once, and a drag that chooses a range.
const LEAST_DRAG = 6;
const charts = new Set();
let pointedAt = null;
let frame;

function timeAt(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  const { left, right } = chart.chartArea;
  return chart.scales.x.getValueForPixel(Math.min(Math.max(event.clientX - box.left, left), right));
}

function point(at) {
  pointedAt = at;
  frame ??= requestAnimationFrame(() => {
    frame = undefined;
    for (const chart of charts) {
      chart.onPoint?.(pointedAt);
      if (chart.width) chart.draw();
    }
  });
}

// The time under the crosshair in epoch seconds, null without one.
export const pointed = () => pointedAt;

function listen(chart) {
  const { canvas } = chart;
  canvas.addEventListener("pointermove", (event) => {
    if (chart.drag) chart.drag.to = timeAt(chart, event);
    point(timeAt(chart, event));
  });
  // A finger hides what it points at: its crosshair stays until the next touch elsewhere.
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "touch" || point(null));
  canvas.addEventListener("pointerdown", (event) => {
    point(timeAt(chart, event));
    // A finger scrolls the page; only a mouse or pen drags a range.
    if (event.button !== 0 || event.pointerType === "touch") return;
    canvas.setPointerCapture(event.pointerId);
    chart.drag = { startX: event.clientX, from: timeAt(chart, event), to: timeAt(chart, event) };
  });
  canvas.addEventListener("pointerup", (event) => {
    const { drag } = chart;
    chart.drag = null;
    if (!drag || Math.abs(event.clientX - drag.startX) < LEAST_DRAG) return;
    point(null);
    const [from, to] = [drag.from, timeAt(chart, event)].sort((one, other) => one - other);
    canvas.dispatchEvent(new CustomEvent("range-dragged", { bubbles: true, detail: { from, to } }));
  });
  canvas.addEventListener("pointercancel", () => (chart.drag = null));
}

document.addEventListener("pointerdown", ({ target }) => {
  if (pointedAt !== null && !(target instanceof HTMLCanvasElement)) point(null);
});

function drawLine({ ctx, chartArea, scales }) {
  const x = Math.round(scales.x.getPixelForValue(pointedAt)) + 0.5;
  if (pointedAt === null || x < chartArea.left || x > chartArea.right) return;
  ctx.strokeStyle = scales.x.options.ticks.color;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x, chartArea.top);
  ctx.lineTo(x, chartArea.bottom);
  ctx.stroke();
}

function drawDrag(chart) {
  const { ctx, chartArea, drag, scales } = chart;
  const [from, to] = [drag.from, drag.to].map((at) => scales.x.getPixelForValue(at));
  ctx.fillStyle = scales.x.options.ticks.color;
  ctx.globalAlpha = 0.18;
  ctx.fillRect(from, chartArea.top, to - from, chartArea.bottom - chartArea.top);
}

export const pointer = {
  id: "pointer",
  afterInit(chart) {
    charts.add(chart);
    listen(chart);
  },
  beforeDatasetsDraw(chart) {
    chart.ctx.save();
    drawLine(chart);
    if (chart.drag) drawDrag(chart);
    chart.ctx.restore();
  },
  afterDestroy: (chart) => charts.delete(chart),
};
