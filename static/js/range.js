// Which time the charts show: a span up to now, or a fixed piece. Kept in the address of the page.
import { fromWallClock, moment, toWallClock } from "./zones.js";

const words = document.getElementById("chart-words").dataset;
const LEAST_SPAN = 60;

export class Range {
  constructor(tools, onChange) {
    Object.assign(this, { tools, onChange, before: [], usual: Number(tools.dataset.span) });
    this.read();
    for (const button of tools.querySelectorAll("[data-span]")) {
      button.addEventListener("click", () => this.choose({ span: Number(button.dataset.span) }));
    }
    this.form = tools.querySelector("form");
    this.form.addEventListener("submit", (event) => this.submit(event));
    tools.querySelector(".range-menu").addEventListener("toggle", () => this.fillForm());
    this.reset = tools.querySelector("#zoom-reset");
    this.reset.addEventListener("click", () => this.zoomOut());
    this.show();
  }

  read() {
    const given = new URLSearchParams(location.search);
    const [from, to] = ["from", "to"].map((name) => Date.parse(given.get(name) ?? "") / 1000);
    const span = Number(given.get("span"));
    this.value = { span: span >= LEAST_SPAN ? span : this.usual };
    if (from && to > from) this.value = { from, to };
    else if (from && from < Date.now() / 1000) this.value = { from };
  }

  // The ends in epoch seconds as of now.
  bounds() {
    const now = Math.floor(Date.now() / 1000);
    const { span, from, to } = this.value;
    return span ? { from: now - span, to: now } : { from, to: to ?? now };
  }

  get isLive() {
    return this.value.to === undefined;
  }

  choose(value) {
    this.before = [];
    this.set(value);
  }

  zoom(from, to) {
    if (to - from < LEAST_SPAN) [from, to] = [(from + to - LEAST_SPAN) / 2, (from + to + LEAST_SPAN) / 2];
    this.before.push(this.value);
    this.set({ from: Math.floor(from), to: Math.ceil(to) });
  }

  zoomOut() {
    this.set(this.before.pop() ?? { span: this.usual });
  }

  set(value) {
    this.value = value;
    this.show();
    this.onChange();
  }

  submit(event) {
    event.preventDefault();
    const { from, to } = this.form.elements;
    const value = { from: fromWallClock(from.value), ...(to.value && { to: fromWallClock(to.value) }) };
    const isBackwards = value.from >= (value.to ?? Date.now() / 1000);
    this.tools.querySelector("#range-error").textContent = isBackwards ? words.backwards : "";
    if (isBackwards) return;
    this.tools.querySelector(".range-menu").open = false;
    this.choose(value);
  }

  fillForm() {
    const { from, to } = this.bounds();
    this.form.elements.from.value = toWallClock(from);
    this.form.elements.to.value = this.isLive ? "" : toWallClock(to);
  }

  show() {
    for (const button of this.tools.querySelectorAll("[data-span]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.span) === this.value.span));
    }
    const label = this.tools.querySelector("#range-words");
    this.unset ??= label.textContent;
    const { from, to } = this.value;
    const ends = { from: from && moment(from), to: to ? moment(to) : words.now };
    label.textContent = from ? words.between.replace("%(from)s", ends.from).replace("%(to)s", ends.to) : this.unset;
    this.reset.hidden = !this.before.length;
  }

  // What the address of the page should hold; undefined leaves a part out.
  parameters() {
    const { span, from, to } = this.value;
    const iso = (seconds) => seconds && new Date(seconds * 1000).toISOString().replace(".000", "");
    return { span: span && span !== this.usual ? String(span) : undefined, from: iso(from), to: iso(to) };
  }
}
