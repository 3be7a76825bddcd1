// The columns of a result: what kind of values they have, how one is shown, how two compare.

const NUMBERS = /^(TINYINT|SMALLINT|INT|BIGINT|REAL|DOUBLE|DECIMAL)/;

/** `time`, `number`, `boolean`, `text`, `nested` or `other`. */
export function kindOf({ type }) {
  if (type === "TIMESTAMP" || type === "DATE") return "time";
  if (NUMBERS.test(type)) return "number";
  return { BOOLEAN: "boolean", TEXT: "text", LIST: "nested", STRUCT: "nested" }[type] ?? "other";
}

/** A value as text; NULL has none. */
export function textOf(value, column) {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return column.type === "TIMESTAMP" ? value.replace("T", " ").replace("Z", "") : value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Milliseconds since 1970 of a time's text, with a fraction; NaN if it is not a time. */
export function timeOf(text) {
  if (typeof text !== "string") return NaN;
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return Date.parse(text);
  const two = (at) => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528;
  const year = two(0) * 100 + two(2);
  if (year < 100) return Date.parse(text);
  if (text.length < 19) return Date.UTC(year, two(5) - 1, two(8));
  const whole = Date.UTC(year, two(5) - 1, two(8), two(11), two(14), two(17));
  return text.charCodeAt(19) === 46 ? whole + Number.parseFloat(text.slice(19)) * 1000 : whole;
}

/** A value as a number, for sorting and drawing. */
export function numberOf(value) {
  if (typeof value === "number") return value;
  if (typeof value === "string") return { inf: Infinity, "-inf": -Infinity, NaN }[value] ?? Number(value);
  return value === true ? 1 : value === false ? 0 : NaN;
}

/** The rows in the order of a column, NULL last, rows with equal values as they were. */
export function sorted(column, rowCount, isDescending) {
  const kind = kindOf(column);
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  const { values } = column;
  const sign = isDescending ? -1 : 1;
  const isMissing = (row) => values[row] === null || values[row] === undefined;
  const present = rows.filter((row) => !isMissing(row));
  if (kind === "number" || kind === "boolean" || kind === "time") {
    const keys = Float64Array.from(values, kind === "time" ? timeOf : numberOf);
    const late = (key) => (Number.isNaN(key) ? Infinity : key);
    present.sort((a, b) => (keys[a] === keys[b] ? a - b : sign * (late(keys[a]) < late(keys[b]) ? -1 : 1)));
  } else {
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    const keys = values.map((value) => textOf(value, column) ?? "");
    present.sort((a, b) => sign * compare(keys[a], keys[b]) || a - b);
  }
  return [...present, ...rows.filter(isMissing)];
}
