// Which charts have a logarithmic value axis: none, all, or some by their keys. Kept in the address.
import { given, remember } from "./address.js";

const ALL = "log";
const button = document.getElementById("scale-toggle");
let isAll = given("scale") === ALL;
// The charts that differ from what holds for all.
const others = new Set(given("scale").split(",").filter((key) => key && key !== ALL));

export const isLog = (key) => isAll !== others.has(key);

function change() {
  show();
  remember({ scale: [isAll ? ALL : "", ...others].filter(Boolean).join(",") });
  document.dispatchEvent(new CustomEvent("scale-changed"));
}

export function toggleScale(key) {
  if (!others.delete(key)) others.add(key);
  change();
}

function show() {
  button?.setAttribute("aria-pressed", String(isAll));
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    isAll = !isAll;
    others.clear();
    change();
  });
  show();
}
