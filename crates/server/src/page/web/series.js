// From a result to lines: what stands on which axis by default, one line for each series, few points for many.

import { kindOf, numberOf, textOf, timeOf } from "./columns.js";

/** The most lines that are drawn. */
export const SERIES_MAX = 100;
/** A column with more values than this names no series by default. */
const VALUES_MAX = 60;
/** A column with longer texts names none either. */
const NAME_MAX = 60;
/** Defaults look at so many rows. */
const ROWS_COMPARED = 20_000;

/**
 * What a chart shows by default: `{x, by, y}` as positions of columns, or `null` where there is nothing to
 * draw. Time stands on x. The first text with few values names the series, and further ones as far
 * as a series would have two values at one x.
 */
export function defaultsFor({ columns, rowCount }) {
  const positions = columns.map((_, position) => position);
  const kinds = columns.map(kindOf);
  const numbers = positions.filter((position) => kinds[position] === "number");
  const texts = positions.filter((position) => kinds[position] === "text" || kinds[position] === "boolean");
  let x = kinds.indexOf("time");
  if (x < 0 && texts.length > 0 && rowCount <= 500 && isUnique(columns[texts[0]], rowCount)) [x] = texts;
  if (x < 0 && numbers.length > 1) [x] = numbers;
  if (x < 0 && texts.length > 0 && numbers.length > 0) [x] = texts;
  const y = numbers.filter((position) => position !== x);
  if (x < 0 || y.length === 0 || rowCount === 0) return null;
  const by = [];
  let groups = 1;
  for (const position of texts.filter((one) => one !== x && kinds[one] === "text")) {
    if (!mayName(columns[position], rowCount)) continue;
    if (by.length > 0 && !meets(columns, by, x, rowCount)) break;
    const more = countGroups(columns, [...by, position], rowCount);
    if (more <= groups || more > VALUES_MAX) continue;
    by.push(position);
    groups = more;
  }
  return { x, by, y: by.length > 0 ? y.slice(0, 1) : y.slice(0, 8) };
}

/** Whether two rows of one series have the same x, so that further columns must distinguish the series. */
function meets(columns, by, x, rowCount) {
  const seen = new Set();
  for (let row = 0; row < Math.min(rowCount, ROWS_COMPARED); row += 1) {
    const place = `${keyOf(columns, by, row)}\u0000${columns[x].values[row]}`;
    if (seen.has(place)) return true;
    seen.add(place);
  }
  return false;
}

/** Whether a column can name series: notes are too long for it, or mostly missing. */
function mayName({ values }, rowCount) {
  let missing = 0;
  for (let row = 0; row < rowCount; row += 1) {
    const value = values[row];
    if (value === null) missing += 1;
    else if (typeof value === "string" && value.length > NAME_MAX) return false;
  }
  return missing * 2 <= rowCount;
}

function isUnique({ values }, rowCount) {
  return new Set(values).size === rowCount;
}

function countGroups(columns, by, rowCount) {
  const seen = new Set();
  for (let row = 0; row < rowCount && seen.size <= VALUES_MAX; row += 1) seen.add(keyOf(columns, by, row));
  return seen.size;
}

const keyOf = (columns, by, row) =>
  by.length === 1 ? columns[by[0]].values[row] : by.map((position) => columns[position].values[row]).join("\u0000");

/** The lines of a chart: `{series: [{name, xs, ys}], kind, categories, left}`; `left` counts lines beyond the most. */
export function seriesOf({ columns, rowCount }, { x, by, y }) {
  const kind = kindOf(columns[x]);
  const isCategory = kind !== "time" && kind !== "number";
  const categories = isCategory ? [] : null;
  const numbers = new Map();
  const categoryOf = (value) => {
    const text = textOf(value, columns[x]) ?? "NULL";
    if (!numbers.has(text)) numbers.set(text, categories.push(text) - 1);
    return numbers.get(text);
  };
  const toX = isCategory ? categoryOf : kind === "time" ? timeOf : numberOf;
  const xs = Float64Array.from(columns[x].values, toX);
  const groups = new Map();
  for (let row = 0; row < rowCount; row += 1) {
    if (Number.isNaN(xs[row])) continue;
    const key = by.length > 0 ? keyOf(columns, by, row) : "";
    const rows = groups.get(key);
    if (rows) rows.push(row);
    else groups.set(key, [row]);
  }
  const series = [];
  for (const rows of groups.values()) {
    const label = by.map((position) => textOf(columns[position].values[rows[0]], columns[position]) ?? "NULL").join(" · ");
    inOrder(rows, xs);
    for (const position of y) {
      const name = !label ? columns[position].name : y.length > 1 ? `${label} · ${columns[position].name}` : label;
      const { values } = columns[position];
      series.push({ name, xs: Float64Array.from(rows, (row) => xs[row]), ys: Float64Array.from(rows, (row) => finite(values[row])) });
    }
  }
  if (by.length > 0) series.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  return { series: series.slice(0, SERIES_MAX), left: Math.max(0, series.length - SERIES_MAX), kind: isCategory ? "category" : kind, categories };
}

function finite(value) {
  const number = numberOf(value);
  return Number.isFinite(number) ? number : NaN;
}

function inOrder(rows, xs) {
  for (let at = 1; at < rows.length; at += 1) {
    if (xs[rows[at]] < xs[rows[at - 1]]) {
      rows.sort((a, b) => xs[a] - xs[b] || a - b);
      return;
    }
  }
}

/** The first position whose x is not below a value. */
export function positionOf(xs, value) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Few points that draw the same line: of each pixel's points the first, the least, the greatest and the last.
 * Calls `point(x, y)` in order; `y` is NaN for a gap.
 */
export function decimated({ xs, ys }, from, to, width, span, point) {
  if (to - from <= width * 4) {
    for (let at = from; at < to; at += 1) point(xs[at], ys[at]);
    return;
  }
  const [start, perPixel] = [span[0], (span[1] - span[0]) / width];
  let at = from;
  while (at < to) {
    const pixel = Math.floor((xs[at] - start) / perPixel);
    const first = at;
    let [least, greatest, hasGap] = [-1, -1, false];
    for (; at < to && Math.floor((xs[at] - start) / perPixel) === pixel; at += 1) {
      const value = ys[at];
      if (Number.isNaN(value)) hasGap = true;
      else {
        if (least < 0 || value < ys[least]) least = at;
        if (greatest < 0 || value > ys[greatest]) greatest = at;
      }
    }
    if (least < 0) {
      point(xs[first], NaN);
      continue;
    }
    const chosen = [first, least, greatest, at - 1].sort((a, b) => a - b);
    chosen.forEach((one, place) => {
      if (one !== chosen[place - 1] && !Number.isNaN(ys[one])) point(xs[one], ys[one]);
    });
    if (hasGap && Number.isNaN(ys[at - 1])) point(xs[at - 1], NaN);
  }
}

/** The least and the greatest y between two positions; `[Infinity, -Infinity]` without any. */
export function extent(ys, from, to) {
  let [least, greatest] = [Infinity, -Infinity];
  for (let at = from; at < to; at += 1) {
    const value = ys[at];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest];
}
