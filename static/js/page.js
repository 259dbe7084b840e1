// What every page does: theme switch, menus that close, ages that count.
import { ago, duration } from "./units.js";

const CHOICES = ["auto", "light", "dark"];

function setUpThemeToggle(button) {
  const next = () => CHOICES[(CHOICES.indexOf(document.documentElement.dataset.themeChoice) + 1) % CHOICES.length];
  const label = () => {
    const words = button.dataset[`label${next()[0].toUpperCase()}${next().slice(1)}`];
    button.setAttribute("aria-label", words);
    button.title = words;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    localStorage.setItem("theme", next());
    document.dispatchEvent(new CustomEvent("theme-chosen"));
  });
  document.addEventListener("theme-changed", label);
  label();
}

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(except)) menu.open = false;
  }
}

function countAges() {
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-count]")) {
    const seconds = Math.max(0, (now - Date.parse(element.dateTime)) / 1000);
    const words = element.dataset.count === "ago" ? ago(seconds) : duration(Math.max(1, Math.floor(seconds)));
    if (element.textContent !== words) element.textContent = words;
  }
}

// The server writes times in this zone unless the user chose another (accounts/middleware.py).
const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC");
document.cookie = `tz=${zone}; path=/; max-age=31536000; SameSite=Lax`;

// On a narrow screen rows of tabs scroll: the tab of this page must be in sight.
function showTab(tab) {
  const bar = tab.closest(".tabs, .main-nav");
  const [at, whole] = [tab.getBoundingClientRect(), bar.getBoundingClientRect()];
  bar.scrollLeft += at.left + at.width / 2 - whole.left - whole.width / 2;
}

document.querySelectorAll(".tabs [aria-current], .main-nav [aria-current]").forEach(showTab);
document.querySelectorAll("[data-theme-toggle]").forEach(setUpThemeToggle);
document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const summary = document.activeElement?.closest("details.menu[open]")?.querySelector("summary");
  closeMenus(null);
  summary?.focus();
});
document.addEventListener("htmx:afterSwap", countAges);
setInterval(() => document.hidden || countAges(), 1000);
countAges();
