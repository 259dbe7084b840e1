// A page for a screen on the wall: no top bar, no tools, larger type. Kept in the address as `tv=1`.
import { remember } from "./address.js";

const root = document.documentElement;

export const isTv = () => "tv" in root.dataset;

export function toggleTv() {
  if (isTv()) delete root.dataset.tv;
  else root.dataset.tv = "1";
  remember({ tv: root.dataset.tv });
  document.dispatchEvent(new CustomEvent("tv-changed"));
}

for (const link of document.querySelectorAll("[data-tv-link]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    toggleTv();
  });
}
