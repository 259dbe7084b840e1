// The menu of one chart: take it away, read it as a table, have it explained, link to it.
import { iso } from "./address.js";
import { saveCsv, savePng } from "./export.js";
import { isLog, toggleScale } from "./scale.js";
import { tableOf } from "./table.js";
import { duration } from "./units.js";

const SAID_FOR = 6_000;
const words = document.getElementById("chart-words").dataset;
const said = document.getElementById("chart-said");
let silence;

function say(text) {
  clearTimeout(silence);
  said.textContent = text;
  silence = setTimeout(() => (said.textContent = ""), SAID_FOR);
}

// The address of exactly this view: a fixed range, and the chart to scroll to.
export function linkOf({ spec, view }, address = new URL(location)) {
  address.searchParams.delete("span");
  address.searchParams.delete("tv");
  address.searchParams.set("from", iso(view.from));
  address.searchParams.set("to", iso(view.to));
  address.hash = spec.key;
  return address.href;
}

async function copyLink(panel) {
  const link = linkOf(panel);
  try {
    await navigator.clipboard.writeText(link);
    say(words.copied);
  } catch {
    // Without TLS a browser hands out no clipboard.
    history.replaceState(null, "", link);
    say(words.linked);
  }
}

export class ChartMenu {
  constructor(panel) {
    this.panel = panel;
    this.menu = panel.figure.querySelector(".chart-menu");
    this.table = panel.figure.querySelector(".chart-table");
    this.about = panel.figure.querySelector(".chart-about");
    for (const button of this.menu.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => this.act(button.dataset.do));
    }
    for (const part of [this.table, this.about]) {
      part.querySelector(".chart-close").addEventListener("click", () => this.toggle(part));
    }
    this.menu.hidden = false;
  }

  act(name) {
    this.menu.open = false;
    this.menu.querySelector("summary").focus();
    if (name === "scale") return toggleScale(this.panel.spec.key);
    if (name === "explain") return this.toggle(this.about);
    if (this.panel.figure.dataset.state !== "drawn") return say(words.empty);
    if (name === "table") return this.toggle(this.table);
    return { csv: saveCsv, png: savePng, link: copyLink }[name](this.panel);
  }

  toggle(part) {
    part.hidden = !part.hidden;
    this.tabled = undefined;
    this.refresh();
    if (part.hidden) this.menu.querySelector("summary").focus();
    else part.focus();
  }

  // Follow what the chart shows now. A table with the focus in it is being read: it stays while time goes on, until its
  // lines change.
  refresh() {
    const { panel } = this;
    for (const [name, isOn] of [["table", !this.table.hidden], ["explain", !this.about.hidden], ["scale", isLog(panel.spec.key)]]) {
      this.menu.querySelector(`[data-do="${name}"]`).setAttribute("aria-pressed", String(isOn));
    }
    if (!panel.lines) return;
    if (!this.about.hidden) this.about.querySelector(".chart-drawn").textContent = this.drawn();
    const { by, from, to, past } = panel.view;
    const shown = JSON.stringify([by, to - from, past?.shift, panel.lines.map((line) => [line.key, line.isOff, line.isEmpty])]);
    const isRead = this.tabled === shown && this.table.contains(document.activeElement);
    if (this.table.hidden || isRead) return;
    this.tabled = shown;
    this.table.querySelector(".chart-rows").replaceChildren(tableOf(panel));
  }

  drawn() {
    const line = this.panel.lines.find((candidate) => !candidate.isBefore);
    const tier = words[`tier${line?.tier}`] ?? words.tierother;
    const sentence = line ? words.drawn.replace("%(step)s", duration(line.step)).replace("%(tier)s", tier) : words.empty;
    return isLog(this.panel.spec.key) ? `${sentence} ${words.logged}` : sentence;
  }
}
