// Rows as text for other programs.

import { textOf } from "./columns.js";

/** CSV as the server writes it: NULL is empty, empty text is `""`. */
export function csv(columns, rows) {
  const lines = [columns.map((column) => field(column.name)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => cell(column.values[row])).join(","));
  return `${lines.join("\n")}\n`;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value === "" || value === "NULL" ? `"${value}"` : field(value);
  return typeof value === "object" ? field(JSON.stringify(value)) : String(value);
}

function field(text) {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Tabs and lines, as spreadsheets paste them. */
export function tabbed(columns, rows) {
  const plain = (value, column) => (textOf(value, column) ?? "").replace(/[\t\r\n]+/g, " ");
  return rows.map((row) => columns.map((column) => plain(column.values[row], column)).join("\t")).join("\n");
}
