// Around htmx: say when Shardwatch is gone, keep inner scroll places, leave a selection alone.
const scrolled = new Map();

function showOffline(since) {
  const note = document.getElementById("offline");
  if (!note) return;
  note.hidden = since === null;
  const time = document.getElementById("offline-since");
  if (since && time) {
    time.dateTime = since.toISOString();
    time.textContent = since.toLocaleTimeString(document.documentElement.lang);
  }
}

let answeredAt = new Date();

document.addEventListener("htmx:configRequest", ({ detail: { formData } }) => {
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const isPolling = event.detail.requestConfig?.triggeringEvent === undefined && event.target.id === "live";
  const selection = document.getSelection();
  const isReading = selection && !selection.isCollapsed && event.target.contains(selection.anchorNode);
  if (isPolling && (document.hidden || isReading)) event.preventDefault();
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) {
    answeredAt = new Date();
    showOffline(null);
  } else if (event.detail.xhr?.status !== 401) {
    showOffline(answeredAt);
  }
});

document.addEventListener("htmx:beforeSwap", () => {
  for (const box of document.querySelectorAll("[data-keep-scroll]")) scrolled.set(box.id, [box.scrollLeft, box.scrollTop]);
});

document.addEventListener("htmx:afterSwap", () => {
  for (const [id, [left, top]] of scrolled) document.getElementById(id)?.scrollTo(left, top);
});
