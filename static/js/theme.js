// Runs before the first paint, so that a remembered theme never flashes.
(() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const choice = localStorage.getItem("theme") || "auto";
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    document.documentElement.dataset.bsTheme = dark ? "dark" : "light";
    document.documentElement.dataset.themeChoice = choice;
    document.dispatchEvent(new CustomEvent("theme-changed"));
  };
  system.addEventListener("change", apply);
  document.addEventListener("theme-chosen", apply);
  window.addEventListener("storage", apply);
  apply();
})();
