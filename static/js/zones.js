// Wall clock times in the viewer's zone, which need not be the browser's.
export const ZONE = document.documentElement.dataset.timeZone || "UTC";
const LANGUAGE = document.documentElement.lang;

const parts = new Intl.DateTimeFormat("en-CA", {
  timeZone: ZONE,
  hourCycle: "h23",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

// Seconds that the zone's clocks are ahead of UTC at this moment (epoch seconds).
export function offset(seconds) {
  const at = Object.fromEntries(parts.formatToParts(seconds * 1000).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second) / 1000 - Math.floor(seconds);
}

// "2026-03-01T14:05" on the zone's clocks, as an input of the type datetime-local wants it.
export function toWallClock(seconds) {
  return new Date((seconds + offset(seconds)) * 1000).toISOString().slice(0, 16);
}

export function fromWallClock(text) {
  const asUtc = Date.parse(`${text}Z`) / 1000;
  const guess = asUtc - offset(asUtc);
  // Near a change of the clocks the offset at the guess is the one that counts.
  return asUtc - offset(guess);
}

const writer = (options) => {
  const format = new Intl.DateTimeFormat(LANGUAGE, { timeZone: ZONE, hourCycle: "h23", ...options });
  return (seconds) => format.format(seconds * 1000);
};

export const clock = writer({ hour: "2-digit", minute: "2-digit" });
export const clockSeconds = writer({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const day = writer({ month: "short", day: "numeric" });
export const moment = writer({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
export const exactMoment = writer({
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
