// The legend of a chart: a switch a line, with its newest value or the one under the crosshair.
import { valueAt } from "./lines.js";
import { pointed } from "./pointer.js";
import { exactMoment } from "./zones.js";

const words = document.getElementById("chart-words").dataset;

export function drawLegend(panel, lines) {
  const shown = lines.filter((line) => !line.isCompanion && !line.isEmpty);
  const legend = panel.figure.querySelector(".chart-legend");
  const focused = [...legend.children].indexOf(document.activeElement);
  panel.legend = shown.map((line) => ({ line, button: legendItem(panel, line) }));
  legend.replaceChildren(...panel.legend.map(({ button }) => button));
  legend.children[focused]?.focus();
  writeValues(panel, pointed());
  const summary = shown.map((line) => `${line.label} ${panel.write(line.now)}`).join(", ");
  const label = words.summary.replace("%(title)s", panel.spec.title).replace("%(lines)s", summary || words.empty);
  panel.canvas.setAttribute("aria-label", label);
}

// Write the values at a time (epoch seconds), the newest ones where it is null.
export function writeValues(panel, at) {
  const text = (line) => {
    const value = at === null ? line.now : valueAt(line, at);
    return at !== null && value === null ? words.gap : panel.write(value);
  };
  for (const { line, button } of panel.legend ?? []) {
    button.querySelector("b").textContent = text(line);
    button.querySelector("small").textContent = line.past ? words.was.replace("%s", text(line.past)) : "";
  }
  const main = panel.legend?.find(({ line }) => !line.isLimit)?.line;
  panel.figure.querySelector(".chart-now").textContent = main && panel.view.by === "cache" ? text(main) : "";
  panel.figure.querySelector(".chart-at").textContent = at === null ? "" : exactMoment(at);
}

function legendItem(panel, line) {
  const button = document.createElement("button");
  const [mark, name] = ["i", "span", "b", "small"].map((tag) => button.appendChild(document.createElement(tag)));
  button.type = "button";
  button.title = line.hint ?? words.toggle.replace("%s", line.label);
  button.setAttribute("aria-pressed", String(!panel.isHidden(line)));
  mark.style.background = line.borderColor;
  mark.className = line.borderDash?.length ? "dashed" : "";
  name.textContent = line.label;
  button.addEventListener("click", () => panel.toggleLine(line));
  return button;
}
