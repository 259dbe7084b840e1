// A Chart.js plugin: a line under the pointer on all charts at once, and a drag that chooses a range.
const LEAST_DRAG = 6;
const charts = new Set();
let hoveredAt = null;

function timeAt(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  const { left, right } = chart.chartArea;
  return chart.scales.x.getValueForPixel(Math.min(Math.max(event.clientX - box.left, left), right));
}

function hover(at) {
  hoveredAt = at;
  for (const chart of charts) if (chart.width) chart.draw();
}

function listen(chart) {
  const { canvas } = chart;
  canvas.addEventListener("pointermove", (event) => {
    if (chart.drag) chart.drag.to = timeAt(chart, event);
    hover(timeAt(chart, event));
  });
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("pointerdown", (event) => {
    // A finger scrolls the page; only a mouse or pen drags a range.
    if (event.button !== 0 || event.pointerType === "touch") return;
    canvas.setPointerCapture(event.pointerId);
    chart.drag = { startX: event.clientX, from: timeAt(chart, event), to: timeAt(chart, event) };
  });
  canvas.addEventListener("pointerup", (event) => {
    const { drag } = chart;
    chart.drag = null;
    hover(null);
    if (!drag || Math.abs(event.clientX - drag.startX) < LEAST_DRAG) return;
    const [from, to] = [drag.from, timeAt(chart, event)].sort((one, other) => one - other);
    canvas.dispatchEvent(new CustomEvent("range-dragged", { bubbles: true, detail: { from, to } }));
  });
  canvas.addEventListener("pointercancel", () => (chart.drag = null));
}

function drawLine(chart) {
  const { ctx, chartArea, scales } = chart;
  const x = Math.round(scales.x.getPixelForValue(hoveredAt)) + 0.5;
  if (hoveredAt === null || x < chartArea.left || x > chartArea.right) return;
  ctx.strokeStyle = scales.x.options.border.color;
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
