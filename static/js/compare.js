// The same lines a day or a week before, dashed and moved to now.
import { given, remember } from "./address.js";
import { faded } from "./palette.js";

const SHIFTS = { day: 86_400, week: 604_800 };
const words = document.getElementById("chart-words").dataset;

export class Comparison {
  constructor(tools, onChange) {
    this.choice = tools.querySelector("#compare");
    this.note = tools.querySelector("#compare-note");
    this.choice.value = given("compare") in SHIFTS ? given("compare") : "";
    this.choice.closest("label").hidden = false;
    this.choice.addEventListener("change", () => {
      this.say("");
      remember({ compare: this.choice.value });
      onChange();
    });
  }

  say(text) {
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  // Return what `lines` of `PanelChart` needs to draw the past, undefined where none is asked for; `load` asks
  // the same question of that time.
  async fetch(question, load) {
    const shift = SHIFTS[this.choice.value];
    if (!shift) return undefined;
    const found = await load({ ...question, from: question.from - shift, to: question.to - shift });
    this.say((found instanceof Map ? [...found.values()] : [found]).some(isMeasured) ? "" : words.noPast);
    return { found, shift, label: words[this.choice.value === "day" ? "dayBefore" : "weekBefore"] };
  }
}

function isMeasured({ lines, nodes }) {
  return nodes?.some((count) => count > 0) || lines.some(({ mean }) => mean?.some((value) => value !== null));
}

// Return the lines of the past that have one of today; they are shown, hidden and coloured as that one.
export function pastLines(past, lines, { shift, label }) {
  return lines.flatMap((line) => {
    const before = past.find((candidate) => candidate.key === line.key);
    if (!before || before.isEmpty || line.isLimit || line.isCompanion || line.key === "others") return [];
    const moved = {
      ...before,
      data: before.data.map(({ x, y }) => ({ x: x + shift, y })),
      label: words.before.replace("%(line)s", line.label).replace("%(when)s", label),
      borderColor: faded(line.borderColor.slice(0, 7), 0.8),
      borderDash: [7, 5],
      borderWidth: 1.3,
      fill: false,
      isBefore: true,
    };
    line.past = moved;
    return [moved];
  });
}
