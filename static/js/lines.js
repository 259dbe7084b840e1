// From the answer of the series endpoint to the lines of one chart.
import { faded } from "./palette.js";

const words = document.getElementById("chart-words").dataset;

const points = (series, values) => values.map((y, index) => ({ x: series.start + index * series.step, y }));
const highest = (values) => values.reduce((top, value) => (value !== null && value > top ? value : top), -Infinity);
const hasValues = (values) => values.some((value) => value !== null);
const newest = (values) => values.findLast((value) => value !== null) ?? null;

// Return the value drawn nearest to a time in epoch seconds, null in a gap and beyond the ends.
export const valueAt = ({ data, step }, at) => data[Math.round((at - data[0]?.x) / step)]?.y ?? null;

// A sample between two gaps is a line without length: it gets a dot.
const loneRadii = (values) =>
  values.map((value, index) => (value !== null && values[index - 1] == null && values[index + 1] == null ? 1.5 : 0));

export function style(series, values, look) {
  return {
    data: points(series, values),
    step: series.step,
    tier: series.tier,
    unit: series.unit,
    borderWidth: 1.6,
    pointRadius: loneRadii(values),
    pointHitRadius: 0,
    pointHoverRadius: 3,
    tension: 0,
    fill: false,
    spanGaps: false,
    now: newest(values),
    isEmpty: !hasValues(values),
    ...look,
  };
}

// A limit far from the data would press it flat: beyond this share it stands in the legend only.
const LIMIT_SHARE = 0.4;

export function rangeOf(lines) {
  const known = lines.flatMap(({ data }) => data.map(({ y }) => y)).filter((y) => y !== null);
  return [Math.min(...known), Math.max(0, ...known)];
}

export function isFar(limit, [lowest, highest]) {
  const [, top] = rangeOf([limit]);
  return limit.isBelow ? top < lowest * LIMIT_SHARE : highest < top * LIMIT_SHARE;
}

function lookOf(line, order, palette) {
  const colour = palette.series[order % palette.series.length];
  if (line.kind === "limit") return { borderColor: palette.limit, borderDash: [5, 4], borderWidth: 1.3, isLimit: true };
  if (line.kind === "alarm") return { borderColor: palette.limit, backgroundColor: faded(palette.limit, 0.12), fill: "origin" };
  if (line.kind === "main") return { borderColor: colour, backgroundColor: faded(colour, 0.1), fill: "origin", borderWidth: 1.9 };
  if (line.kind === "spread_top") return { borderColor: colour, backgroundColor: faded(colour, 0.13), fill: "+1" };
  if (line.kind === "spread_bottom") return { borderColor: faded(colour, 0.75), borderWidth: 1 };
  return { borderColor: colour };
}

// Without a second node highest, lowest and mean are the same line three times.
function distinct(spec, found) {
  const isSingle = spec.lines.every(({ metric }) => highest(found.get(metric)?.nodes ?? []) <= 1);
  if (!isSingle) return spec.lines;
  const lines = spec.lines.filter((line) => !line.against);
  const first = (line) => lines.find((other) => other.metric === line.metric && other.kind !== "limit");
  const named = (line) => spec.by_node.find((choice) => choice.metric === line.metric)?.label ?? line.label;
  return lines
    .filter((line) => line.kind === "limit" || line === first(line))
    .map((line) => (line.kind === "spread_top" ? { ...line, kind: "main", label: named(line) } : line));
}

const over = (line, series) => series?.lines.find((candidate) => candidate.label === line.over)?.mean;

// The share of one metric in itself and another, point by point; none where one is unknown or both are zero.
function shareOf(values, others = []) {
  const share = (one, other) => (one === null || (other ?? null) === null || one + other === 0 ? null : one / (one + other));
  return values.map((value, index) => share(value, others[index]));
}

export function wholeCacheLines(spec, found, palette) {
  let colours = 0;
  const lines = distinct(spec, found).flatMap((line) => {
    const series = found.get(line.metric);
    const given = over(line, series);
    if (!given) return [];
    if (line.against) return [shareLine(spec, line, given, found, palette.series[colours++])];
    const values = line.kind === "limit" ? given.map((value) => value || null) : given;
    const order = line.kind === "limit" || line.kind === "alarm" ? 0 : line.kind === "spread_bottom" ? colours - 1 : colours++;
    const key = `${line.metric}.${line.over}`;
    return [style(series, values, { key, label: line.label, startsHidden: line.hidden, ...lookOf(line, order, palette) })];
  });
  const ofNodes = spec.lines.filter((line) => line.over !== "sum").map((line) => line.metric);
  return [...lines, ...boundLines(spec, ofNodes, found, palette)];
}

// Bounds of rules on what one node has: not for lines that add nodes up.
function boundLines(spec, metrics, found, palette) {
  return (spec.bounds ?? []).flatMap(({ metric, value, level, label, rule, is_above: isAbove }) => {
    const [series, first] = [found.get(metric), found.get(metric)?.lines[0]];
    if (!metrics.includes(metric) || !first) return [];
    const look = { key: `rule.${rule}.${level}`, label, borderColor: palette[level], borderDash: [1, 3], borderWidth: 1.3 };
    return [style(series, first.mean.map(() => value), { ...look, isLimit: true, isBound: true, isBelow: !isAbove })];
  });
}

function shareLine(spec, line, given, found, colour) {
  const values = shareOf(given, over(line, found.get(line.against)));
  const look = { key: `${line.metric}.${line.over}`, label: line.label, unit: found.get(spec.by_node[0].metric)?.unit };
  return style(found.get(line.metric), values, { ...look, borderColor: colour, borderWidth: 1.9 });
}

function nodeLabel(line, manyShards) {
  if (line.label === "others") return words.others;
  if (!manyShards || line.shard === null || line.shard === undefined) return line.label;
  const role = words[line.role] ?? line.role;
  return words.shard.replace("%(number)s", line.shard).replace("%(role)s", role);
}

function band(series, line, palette) {
  const look = { label: words.others, key: "others", borderWidth: 0.5, borderColor: faded(palette.soft, 0.5) };
  const top = { ...look, backgroundColor: faded(palette.soft, 0.18), fill: "+1" };
  return [
    style(series, line.maximum, top),
    style(series, line.minimum, { ...look, key: "others.low", isCompanion: true }),
  ];
}

// Lines of one home share a colour. What a service tells of nodes that we do not know has only its label.
const homeOf = (line) => line.shard ?? line.node_id ?? line.label;

export function nodeLines(spec, metric, found, palette) {
  const series = found.get(metric);
  if (!series) return [];
  const shards = [...new Set(series.lines.map(homeOf))];
  const lines = series.lines.flatMap((line) => {
    if (line.label === "others") return band(series, line, palette);
    const colour = palette.series[shards.indexOf(homeOf(line)) % palette.series.length];
    const isReplica = line.role === "replica";
    const look = { borderColor: isReplica ? faded(colour, 0.8) : colour, borderDash: isReplica ? [3, 2] : [] };
    const label = nodeLabel(line, shards.length > 1);
    const hint = line.whole_label || line.label;
    return [style(series, line.mean, { key: `node.${line.node_id ?? line.label}`, label, hint, ...look })];
  });
  return [...tellApart(lines), ...limitLine(spec, found, palette), ...boundLines(spec, [metric], found, palette)];
}

// After a failover a shard has two primaries, an old and a new one.
function tellApart(lines) {
  const isRepeated = ({ label }) => lines.filter((other) => other.label === label && other.hint).length > 1;
  return lines.map((line) => (line.hint && isRepeated(line) ? { ...line, label: `${line.label} ${line.hint}` } : line));
}

function limitLine(spec, found, palette) {
  const series = spec.limit ? found.get(spec.limit) : undefined;
  if (!series?.lines.length) return [];
  const values = series.lines[0].mean.map((_, index) =>
    series.lines.reduce((top, line) => Math.max(top, line.mean[index] ?? 0), 0) || null,
  );
  return [style(series, values, { key: "limit", label: words.limit, ...lookOf({ kind: "limit" }, 0, palette) })];
}

// What the chart needs of the endpoint in the given view.
export function metricsOf(spec, by, nodeMetric) {
  const wanted = by === "node" ? [nodeMetric, spec.limit] : spec.lines.flatMap((line) => [line.metric, line.against]);
  return [...new Set(wanted.filter(Boolean))];
}
