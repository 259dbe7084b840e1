// Keyboard shortcuts. The dialog that lists them is the table of what they do: each row presses, focuses or opens.
import { isTv, toggleTv } from "./tv.js";

const SEQUENCE = 1_200;
const dialog = document.getElementById("shortcuts");
const isUsed = dialog.querySelector("input");
const rows = [...dialog.querySelectorAll("[data-keys]")];
const opener = document.querySelector("[data-shortcuts]");
let before = { key: "", at: 0 };

const find = (selector) => selector && document.querySelector(`${selector}:not([hidden])`);
const canRun = ({ dataset: { press, focus, go } }) => Boolean(go || find(press) || find(focus));

function open() {
  for (const row of rows) row.hidden = !canRun(row);
  for (const group of dialog.querySelectorAll("tbody")) group.hidden = !group.querySelector("[data-keys]:not([hidden])");
  dialog.showModal();
}

function run({ dataset: { press, focus, go } }) {
  if (find(press)) find(press).click();
  else if (find(focus)) find(focus).focus();
  else if (go) location.assign(go);
}

function escape() {
  if (document.querySelector("details.menu[open]")) return;
  const zoomOut = document.querySelector("#zoom-reset:not([hidden])");
  if (zoomOut) zoomOut.click();
  else if (isTv()) toggleTv();
}

const isTyping = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

// Menus close on the same key later: what is open is looked at before.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (dialog.open || isTyping(event.target)) return;
    if (event.key === "Escape") return escape();
    if (!isUsed.checked) return;
    const sequence = Date.now() - before.at < SEQUENCE ? `${before.key} ${event.key}` : "";
    const row = rows.find(({ dataset }) => dataset.keys === sequence) ?? rows.find(({ dataset }) => dataset.keys === event.key);
    before = { key: event.key, at: Date.now() };
    if (event.key === "?") open();
    else if (row && canRun(row)) run(row);
    else return;
    event.preventDefault();
  },
  true,
);

isUsed.checked = localStorage.getItem("shortcuts") !== "off";
isUsed.addEventListener("change", () => localStorage.setItem("shortcuts", isUsed.checked ? "on" : "off"));
dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
if (location.hash === "#q") find("#q")?.focus();
opener.hidden = false;
opener.addEventListener("click", open);
