// Numbers with their units, as dashboard/templatetags/units.py writes them.
const words = document.getElementById("words").dataset;
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SHORT_UNITS = ["", "k", "M", "G", "T"];

const isMissing = (value) => value === null || value === undefined || !Number.isFinite(value);
const put = (pattern, text) => pattern.replace("%s", text);

export function threeDigits(value) {
  const size = Math.abs(value);
  return value.toFixed(Number.isInteger(value) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function scaled(value, base, units) {
  let index = 0;
  while (Math.abs(value) >= base * 0.9995 && index < units.length - 1) {
    value /= base;
    index += 1;
  }
  return [threeDigits(value), units[index]];
}

export function grouped(value) {
  return isMissing(value) ? words.missing : String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function bytesSize(value) {
  return isMissing(value) ? words.missing : scaled(value, 1024, BYTE_UNITS).join("\u00a0");
}

export function count(value) {
  if (isMissing(value)) return words.missing;
  if (Math.abs(value) >= 10_000) return scaled(value, 1000, SHORT_UNITS).join("");
  if (value > 0 && value < 0.005) return "<0.01";
  return Math.abs(value) >= 1000 ? grouped(value) : threeDigits(Math.round(value * 100) / 100);
}

export const rate = (value) => (isMissing(value) ? words.missing : put(words.perSecond, count(value)));
export const bytesRate = (value) => (isMissing(value) ? words.missing : put(words.perSecond, bytesSize(value)));
export const ratio = (value) => (isMissing(value) ? words.missing : value.toFixed(2));

export function percent(value) {
  if (isMissing(value)) return words.missing;
  const points = value * 100;
  if (points > 0 && points < 0.1) return "<0.1%";
  if (points > 0 && points < 9.95) return `${points.toFixed(1)}%`;
  if (points >= 99 && points < 100) return `${(Math.floor(points * 10) / 10).toFixed(1)}%`;
  return `${points.toFixed(0)}%`;
}

// Shares of a server's time are often far below a percent.
export function finePercent(value) {
  if (isMissing(value)) return words.missing;
  const points = value * 100;
  if (points >= 9.995 || points === 0) return percent(value);
  return points < 0.001 ? "<0.001%" : `${points.toFixed(points < 0.0995 ? 3 : 2)}%`;
}

export function microseconds(value) {
  if (isMissing(value)) return words.missing;
  if (value < 999.5) return put(words.microseconds, threeDigits(Math.round(value * 100) / 100));
  if (value < 999_500) return put(words.milliseconds, threeDigits(value / 1000));
  return put(words.seconds, threeDigits(value / 1_000_000));
}

export function duration(seconds) {
  if (isMissing(seconds)) return words.missing;
  if (seconds > 0 && seconds < 0.0001) return microseconds(seconds * 1_000_000);
  if (seconds < 0.9995) return put(words.milliseconds, threeDigits(Math.round(seconds * 10_000) / 10));
  if (seconds < 60) return put(words.seconds, seconds < 9.95 ? seconds.toFixed(1).replace(".0", "") : Math.floor(seconds));
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(seconds / unit));
  if (minutes < 60) return put(words.minutes, minutes);
  if (hours < 24) {
    const rest = minutes % 60;
    return rest ? words.hoursMinutes.replace("%(hours)s", hours).replace("%(minutes)s", rest) : put(words.hours, hours);
  }
  const rest = hours % 24;
  if (days >= 10 || !rest) return put(words.days, days);
  return words.daysHours.replace("%(days)s", days).replace("%(hours)s", rest);
}

export const ago = (seconds) => (seconds < 1 ? words.now : put(words.ago, duration(Math.floor(seconds))));

// The unit of a metric, as the catalogue names it, to the function that writes its values.
export const WRITERS = {
  bytes: bytesSize,
  "bytes/s": bytesRate,
  ratio,
  share: percent,
  "fine share": finePercent,
  usec: microseconds,
  seconds: duration,
  count,
  "count/s": rate,
};
