// The colours of charts, read from the style sheet so that light and dark have one source.
const SERIES = 12;

export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--sw-${name}`).trim();
  return {
    ink: read("ink"),
    soft: read("ink-soft"),
    grid: read("chart-grid"),
    line: read("line-strong"),
    surface: read("surface"),
    limit: read("chart-limit"),
    warning: read("warning"),
    critical: read("critical"),
    accent: read("accent"),
    series: Array.from({ length: SERIES }, (_, index) => read(`series-${index + 1}`)),
  };
}

// Colours are written #rrggbb; `share` is the opacity from 0 to 1.
export const faded = (colour, share) =>
  `${colour}${Math.round(share * 255)
    .toString(16)
    .padStart(2, "0")}`;
