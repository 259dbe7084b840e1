// Where the ticks of charts lie: round times on the viewer's clocks, round numbers in the unit's own steps.
import { clock, clockSeconds, day, offset } from "./zones.js";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const TIME_STEPS = [
  5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY,
];
const LABEL_WIDTH = 78;
const ROUND = [1, 2, 2.5, 5, 10];
// A quarter of a percent would be written rounded.
const SHARE_ROUND = [1, 2, 5, 10];
const BYTE_ROUND = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const MOST_TICKS = 4;

export function timeTicks(from, to, width) {
  const room = Math.max(2, Math.floor(width / LABEL_WIDTH));
  const step = TIME_STEPS.find((size) => (to - from) / size <= room) ?? TIME_STEPS.at(-1);
  const shift = offset(from);
  const ticks = [];
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) ticks.push({ value: at });
  return ticks;
}

export function timeLabel(seconds, span) {
  const isMidnight = (seconds + offset(seconds)) % DAY === 0;
  if (span > 3 * DAY || isMidnight) return day(seconds);
  return span <= 2 * MINUTE ? clockSeconds(seconds) : clock(seconds);
}

// The distance between ticks from 0 (or the floor) to `span`, in steps that read well in the unit.
export function valueStep(span, unit) {
  const isBytes = unit.startsWith("bytes");
  const base = isBytes ? 1024 : 10;
  const wanted = span / MOST_TICKS;
  const power = base ** Math.floor(Math.log(wanted) / Math.log(base));
  const round = isBytes ? BYTE_ROUND : unit === "share" ? SHARE_ROUND : ROUND;
  const step = power * (round.find((factor) => factor * power >= wanted * 0.999) ?? base);
  return isBytes ? Math.max(1, step) : step;
}

// Fix a value axis to whole steps above its data, so that it does not dance with every refresh.
export function roundAxis(axis, unit, fromZero) {
  const high = Number.isFinite(axis.max) ? axis.max : 0;
  const low = fromZero || !Number.isFinite(axis.min) ? 0 : axis.min;
  const span = high - low || Math.abs(high) * 0.1 || (unit.startsWith("bytes") ? 1024 : unit === "share" ? 0.01 : 1);
  const step = valueStep(span * 1.06, unit);
  axis.min = fromZero ? 0 : Math.max(0, Math.floor(low / step) * step);
  // A share ends at the whole; maxmemory is overstepped by a hair now and then.
  const ceiling = unit === "share" && high <= 1.01 ? 1 : Infinity;
  axis.max = Math.min(Math.ceil((low + span * 1.06) / step) * step, ceiling);
  axis.step = step;
}

// Fix a logarithmic axis to whole powers around its data; zero and what is below lie on its lower edge.
export function logAxis(axis, unit) {
  const base = unit.startsWith("bytes") ? 2 : 10;
  const shown = axis.chart.data.datasets.filter((line) => !line.hidden).flatMap(({ data }) => data.map(({ y }) => y));
  const positive = shown.filter((value) => value > 0);
  const power = (value, round) => round(Math.log(value) / Math.log(base) + 1e-9 * (round === Math.floor ? 1 : -1));
  const isShare = unit.endsWith("share");
  const [least, most] = positive.length
    ? [positive.reduce((one, other) => Math.min(one, other)), positive.reduce((one, other) => Math.max(one, other))]
    : isShare ? [0.01, 1] : [1, base];
  const low = power(least, Math.floor);
  const high = Math.max(low + 1, power(most, Math.ceil));
  const stride = Math.ceil((high - low) / MOST_TICKS);
  axis.min = base ** low;
  axis.max = base ** high;
  const between = base === 10 && high - low === 1 ? [1, 2, 5, 10] : undefined;
  const powers = Array.from({ length: Math.floor((high - low) / stride) + 1 }, (_, index) => base ** (low + index * stride));
  axis.marks = between?.map((factor) => factor * axis.min) ?? powers;
}

export function valueTicks(axis) {
  if (axis.type === "logarithmic") return axis.marks.map((value) => ({ value }));
  const ticks = [];
  for (let index = 0; axis.min + index * axis.step <= axis.max * 1.0001; index += 1) {
    ticks.push({ value: axis.min + index * axis.step });
  }
  return ticks;
}
