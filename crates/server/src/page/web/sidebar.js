// The tables of the store: rows, sizes, slices, columns with their encodings.

import { literal, objects, quoted } from "./api.js";
import { timeOf } from "./columns.js";
import { known } from "./completion.js";
import { bytes, count, element, plural, short } from "./dom.js";

const SLICES_SHOWN = 60;
/** A chart of a whole table has about so many points a series. */
const POINTS_WANTED = 600;
const STEPS = [
  [1, "1 second"], [10, "10 seconds"], [30, "30 seconds"], [60, "1 minute"], [300, "5 minutes"], [900, "15 minutes"], [3600, "1 hour"],
  [21_600, "6 hours"], [86_400, "1 day"], [604_800, "7 days"], [2_592_000, "1 month"],
];

export class Tables {
  constructor(host, { onUse }) {
    this.host = host;
    this.onUse = onUse;
    this.open = new Set();
    this.tables = [];
    this.filter = element("input", { type: "search", placeholder: "Filter tables and columns", "aria-label": "Filter tables and columns", oninput: () => this.draw() });
    this.again = element("button", { class: "icon", "aria-label": "Read the tables again", title: "Read the tables again", onclick: () => this.load() }, "↻");
    this.list = element("div", { class: "tables" });
    this.total = element("p", { class: "total" });
    host.append(element("div", { class: "filter" }, this.filter, this.again), this.list, this.total);
  }

  async load() {
    this.again.classList.add("turns");
    try {
      // Two questions: completion needs no sizes, which cost more.
      const columns = await objects("SELECT table_name, column_name, type, map, is_time FROM atsdb.columns ORDER BY table_name, position");
      known.clear();
      for (const { table_name: table, column_name: name, ...rest } of columns) {
        if (!known.has(table)) known.set(table, []);
        known.get(table).push({ name, ...rest });
      }
      this.tables = await objects("SELECT name, kind, time_column, slice, retention, rows, slices, chunks, fresh_chunks, bytes, bytes_per_row, time_min, time_max, series_key FROM atsdb.tables ORDER BY name");
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.again.classList.remove("turns");
    this.draw();
    return this.tables;
  }

  draw() {
    if (this.error) {
      this.total.textContent = "";
      this.list.replaceChildren(element("p", { class: "trouble", role: "alert" }, this.error.message, " ", this.error.hint ?? ""));
      return;
    }
    const wanted = this.filter.value.trim().toLowerCase();
    const fits = (text) => text.toLowerCase().includes(wanted);
    const shown = this.tables.filter(({ name }) => fits(name) || (known.get(name) ?? []).some((column) => fits(column.name)));
    const largest = Math.max(1, ...this.tables.map((table) => Number(table.bytes ?? 0)));
    this.list.replaceChildren(...shown.map((table) => this.table(table, largest)));
    if (this.tables.length === 0) this.list.append(element("p", { class: "nothing" }, "The store has no tables yet."));
    else if (shown.length === 0) this.list.append(element("p", { class: "nothing" }, "Nothing has this name."));
    const size = this.tables.reduce((sum, table) => sum + Number(table.bytes ?? 0), 0);
    this.total.textContent = this.tables.length > 0 ? `${plural(this.tables.length, "table")}, ${bytes(size)}` : "";
  }

  table(table, largest) {
    const { name, kind, rows } = table;
    const details = element("details", { class: "table", open: this.open.has(name) });
    const share = element("i", { class: "share", "aria-hidden": "true" });
    share.style.setProperty("--share", Number(table.bytes ?? 0) / largest);
    const figures = kind === "view" ? "view" : `${short(Number(rows ?? 0))} rows · ${bytes(table.bytes ?? 0)}`;
    details.append(element("summary", { title: name }, element("span", { class: "name" }, name), element("span", { class: "figures" }, figures), share));
    const inside = element("div", { class: "inside" });
    details.append(inside);
    const show = () => {
      if (!details.open) return this.open.delete(name);
      this.open.add(name);
      if (!inside.hasChildNodes()) this.fill(inside, table);
      return true;
    };
    details.addEventListener("toggle", show);
    if (details.open) this.fill(inside, table);
    return details;
  }

  fill(inside, table) {
    const { name, time_column: time } = table;
    const rows = `SELECT * FROM ${quoted(name)}${time ? ` ORDER BY ${quoted(time)} DESC` : ""} LIMIT 1000`;
    const overview = this.overview(table);
    const use = (text, sql, title, view) => element("button", { title, onclick: () => this.onUse(sql, view) }, text);
    inside.append(element("div", { class: "uses" },
      use(time ? "Latest rows" : "Rows", rows, rows, "table"),
      overview && use("Chart", overview, overview, "chart"),
      table.kind !== "view" && use("Columns", `SELECT column_name, type, map, encoding, bytes FROM atsdb.columns WHERE table_name = ${literal(name)} ORDER BY bytes DESC`, "Encodings and sizes of its columns", "table"),
      use("Definition", `SHOW CREATE TABLE ${quoted(name)}`, "The statement that declares it", "table")));
    inside.append(this.facts(table));
    const columns = element("ul", { class: "columns" });
    inside.append(columns);
    this.fillColumns(columns, table, known.get(name) ?? []);
    if (table.kind === "view") return;
    this.fillSizes(columns, table);
    if (Number(table.slices) > 0) {
      const slices = element("div", { class: "slices" });
      inside.append(slices);
      this.fillSlices(slices, table);
    }
  }

  facts(table) {
    const facts = [
      ["kind", table.kind],
      ["rows", table.rows === null ? null : count(table.rows)],
      ["size", table.bytes === null ? null : `${bytes(table.bytes)}${table.bytes_per_row ? `, ${Number(table.bytes_per_row).toPrecision(3)} B a row` : ""}`],
      ["from", shortTime(table.time_min)],
      ["to", shortTime(table.time_max)],
      ["slices", table.slice && `${count(table.slices)} by ${table.slice}`],
      ["chunks", table.chunks === null ? null : `${count(table.chunks)}${Number(table.fresh_chunks) ? `, ${count(table.fresh_chunks)} fresh` : ""}`],
      ["retention", table.retention],
      ["series", table.series_key],
    ];
    const shown = facts.filter(([, value]) => value);
    return element("dl", {}, ...shown.flatMap(([label, value]) => [element("dt", {}, label), element("dd", { title: value }, value)]));
  }

  fillColumns(list, table, columns) {
    const largest = Math.max(1, ...columns.map((column) => Number(column.bytes ?? 0)));
    list.replaceChildren(...columns.map((column) => {
      const share = element("i", { class: "share", "aria-hidden": "true" });
      share.style.setProperty("--share", Number(column.bytes ?? 0) / largest);
      const type = `${column.type.toLowerCase()}${column.map ? ` → ${column.map}` : ""}`;
      const stored = column.encoding ? `${column.encoding} · ${bytes(column.bytes)}` : "";
      const label = `Put ${column.name} into the editor`;
      return element("li", {}, element("button", { title: `${column.name}: ${type}${stored && `, ${stored}`}`, "aria-label": label, onclick: () => this.onUse(quoted(column.name), null) },
        element("span", { class: column.is_time ? "name time" : "name" }, column.name), element("span", { class: "type" }, type),
        element("span", { class: "stored" }, stored), share));
    }));
  }

  async fillSizes(list, table) {
    try {
      const sizes = await objects(`SELECT column_name, encoding, bytes FROM atsdb.columns WHERE table_name = ${literal(table.name)} ORDER BY position`);
      const byName = new Map(sizes.map((size) => [size.column_name, size]));
      this.fillColumns(list, table, (known.get(table.name) ?? []).map((column) => ({ ...column, ...byName.get(column.name) })));
    } catch {
      // The columns are there already; the next reading says what is wrong.
    }
  }

  async fillSlices(host, table) {
    let slices;
    const all = `SELECT start, "end", rows, chunks, fresh_chunks, bytes FROM atsdb.slices WHERE table_name = ${literal(table.name)}`;
    try {
      slices = (await objects(`${all} ORDER BY start DESC LIMIT ${SLICES_SHOWN}`)).reverse();
    } catch {
      return;
    }
    const largest = Math.max(1, ...slices.map((slice) => Number(slice.bytes)));
    const bars = slices.map((slice) => {
      const bar = element("i", { class: Number(slice.fresh_chunks) ? "fresh" : null, title: `${shortTime(slice.start)}: ${plural(slice.rows, "row")}, ${bytes(slice.bytes)}, ${plural(slice.chunks, "chunk")}` });
      bar.style.height = `${Math.max(6, (Number(slice.bytes) / largest) * 100)}%`;
      return bar;
    });
    const caption = Number(table.slices) > slices.length ? `the latest ${slices.length} of ${plural(table.slices, "slice")}` : plural(slices.length, "slice");
    host.append(
      element("div", { class: "bars", role: "img", "aria-label": `Sizes of ${caption}` }, ...bars),
      element("button", { class: "link", onclick: () => this.onUse(`${all} ORDER BY start`, "table") }, caption));
  }

  /** A query that draws a whole table: averages of its first number for each series. */
  overview(table) {
    const columns = known.get(table.name) ?? [];
    const isNumber = ({ type, map }) => /^(TINYINT|SMALLINT|INT|BIGINT|REAL|DOUBLE)/.test(type) && !map;
    const number = columns.find((column) => isNumber(column) && column.name !== table.time_column);
    if (!table.time_column || !number || !table.time_min || !table.time_max) return null;
    const time = columns.find(({ name }) => name === table.time_column);
    if (!/^(TIMESTAMP|DATE)/.test(time?.type ?? "")) return null;
    const seconds = (timeOf(table.time_max) - timeOf(table.time_min)) / 1000 / POINTS_WANTED;
    const isDate = time.type === "DATE";
    const step = (STEPS.find(([size]) => size >= seconds && (!isDate || size >= 86_400)) ?? [0, "1 year"])[1];
    const keys = (table.series_key ?? "").split(",").map((name) => name.trim());
    const names = columns.filter(({ name, map }) => keys.includes(name) || (keys[0] === "" && map)).slice(0, 1).map(({ name }) => quoted(name));
    const others = names.map((name) => `${name}, `).join("");
    return `SELECT time_bucket('${step}', ${quoted(time.name)}) AS bucket, ${others}avg(${quoted(number.name)}) AS ${quoted(number.name)}\nFROM ${quoted(table.name)}\nGROUP BY bucket${names.map((name) => `, ${name}`).join("")}\nORDER BY bucket`;
  }
}

function shortTime(text) {
  return text && text.replace("T", " ").replace("Z", "").replace(/(\.\d{3})\d+$/, "$1").replace(/ 00:00:00$/, "");
}
