// Where the marks of an axis stand, and what is written there. Times are UTC.

import { short } from "./dom.js";

const [SECOND, MINUTE, HOUR, DAY] = [1e3, 6e4, 36e5, 864e5];
const STEPS = [
  1e-3, 1e-2, 0.1, 1, 2, 5, 10, 20, 50, 100, 200, 500,
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY,
];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];
const MONTH_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Marks of numbers: `{at, text}`, about one for each `room` pixels. */
export function numberMarks([low, high], pixels, room = 48) {
  const rough = (high - low) / Math.max(1, pixels / room);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const marks = [];
  for (let number = Math.ceil(low / step); number * step <= high + step * 1e-9; number += 1) {
    const at = number * step;
    marks.push({ at, text: step >= 1 ? short(at) : digits > 8 ? at.toExponential(1) : at.toFixed(digits) });
    if (marks.length > 200) break;
  }
  return marks;
}

const pad = (number, width = 2) => String(number).padStart(width, "0");

/** Marks of times: `{at, text, day}`; `day` stands below where the day changes. */
export function timeMarks([low, high], pixels, room = 88) {
  const rough = (high - low) / Math.max(1, pixels / room);
  const step = STEPS.find((one) => one >= rough);
  const marks = [];
  if (step === undefined || step > 7 * DAY) return monthMarks(low, high, rough);
  // Weeks begin on Monday: 1970 began on a Thursday.
  const origin = step === 7 * DAY ? 4 * DAY : 0;
  let lastDay = null;
  for (let number = Math.ceil((low - origin) / step); number * step + origin <= high; number += 1) {
    const at = number * step + origin;
    const date = new Date(at);
    const day = `${date.getUTCDate()} ${MONTH_NAMES[date.getUTCMonth()]}`;
    const year = date.getUTCFullYear();
    if (step >= DAY) {
      marks.push({ at, text: day, day: lastDay === year ? null : String(year) });
      lastDay = year;
    } else {
      marks.push({ at, text: clock(at, date, step), day: lastDay === day ? null : `${day} ${year}` });
      lastDay = day;
    }
    if (marks.length > 200) break;
  }
  return marks;
}

function clock(at, date, step) {
  const minutes = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`;
  if (step >= MINUTE) return minutes;
  const seconds = `${minutes}:${pad(date.getUTCSeconds())}`;
  if (step >= SECOND) return seconds;
  const part = (((at % SECOND) + SECOND) % SECOND) / SECOND;
  return seconds + part.toFixed(step >= 1 ? 3 : 6).slice(1);
}

function monthMarks(low, high, rough) {
  const step = MONTHS.find((one) => one * 30.4 * DAY >= rough) ?? 12 * 10 ** Math.ceil(Math.log10(rough / (365 * DAY)));
  const first = new Date(low);
  const marks = [];
  let lastYear = null;
  let month = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step;
  for (; marks.length < 200; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (at > high || Number.isNaN(at)) break;
    if (at < low) continue;
    const year = Math.floor(month / 12);
    if (step >= 12) marks.push({ at, text: String(year), day: null });
    else marks.push({ at, text: MONTH_NAMES[month % 12], day: lastYear === year ? null : String(year) });
    lastYear = year;
  }
  return marks;
}

/** A time in full, with as many digits as it needs. */
export function timeText(at) {
  if (!Number.isFinite(at) || Math.abs(at) > 8.64e15) return String(at);
  const text = new Date(at).toISOString().replace("T", " ").replace("Z", "");
  return text.replace(/\.000$/, "");
}

/** A number in full, as people read it. */
export function numberText(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  return Number(value.toPrecision(7)).toString();
}
