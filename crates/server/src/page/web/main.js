// The page: what each part receives, and which keys do what.

import { Activity } from "./activity.js";
import { ApiError, ROWS_MAX, currentDatabase, databases, downloadAddress, query, useDatabase } from "./api.js";
import { ChartView } from "./chart-view.js";
import { textOf } from "./columns.js";
import { Completion } from "./completion.js";
import { byId, confirmOn, copyText, count, duration, element, plural, tabs } from "./dom.js";
import { Editor } from "./editor.js";
import { csv } from "./export.js";
import { Grid } from "./grid.js";
import { fromAddress, history, remember, setAddress, theme, toAddress } from "./memory.js";
import { namedIn, placeIn, statements } from "./sql.js";
import { Tables } from "./sidebar.js";

const FORMATS = [["CSV", "csv"], ["JSON", "json"], ["NDJSON", "ndjson"], ["Parquet", "parquet"], ["Arrow stream", "arrow"]];
const CHANGES = /\b(create|alter|drop|truncate|insert|replace|update|delete|copy|load|rename)\b/i;

theme.apply();
chooseDatabase([fromAddress().db, remember.read("database", null)]);

const editor = new Editor(byId("editor"), {
  onChange: () => {
    completion.update();
    remember.write("draft", editor.text.slice(0, 200_000));
    historyAt = -1;
  },
  onKey: (event) => completion.key(event) || editorKey(event),
});
const completion = new Completion(editor);
const grid = new Grid(byId("view-table"), { onOpen: openValue });
const chart = new ChartView(byId("view-chart"));
const tables = new Tables(byId("panel-tables"), { onUse: use });
new Activity(byId("panel-activity"), { onState: showState, onOpen: (sql) => editor.setText(sql) });

let running = null;
let result = null;
let view = "table";
let historyAt = -1;
let draft = "";

// Running.

/** Runs statements that begin at `start` of the editor's text. */
async function run(sql, { start = 0, readOnly = false } = {}) {
  if (running) return;
  completion.hide();
  const began = performance.now();
  const own = { sql, abort: new AbortController(), rows: 0 };
  running = own;
  result = null;
  editor.markError(null);
  byId("message").hidden = true;
  byId("result").classList.add("waits");
  const hadFocus = document.activeElement === byId("run");
  showRunning();
  if (hadFocus) byId("cancel").focus();
  const timer = setInterval(showRunning, 100);
  function showRunning() {
    const elapsed = performance.now() - began;
    byId("run").hidden = true;
    byId("cancel").hidden = false;
    const rows = own.rows > 0 ? `${count(own.rows)} rows, ` : "";
    byId("outcome").className = "outcome runs";
    byId("outcome").textContent = elapsed < 200 ? "Running…" : `${rows}${duration(Math.floor(elapsed / 100) * 100)}`;
  }
  let failure = null;
  try {
    const found = await query(sql, { signal: own.abort.signal, readOnly, onProgress: (part) => progress(own, part) });
    finish(own, found, performance.now() - began);
  } catch (error) {
    failure = error.name === "AbortError" ? new ApiError({ kind: "cancelled", message: "Cancelled." }) : error;
    if (readOnly && failure.kind === "read_only") failure.hint = "A link only reads: run the statement yourself if you mean it.";
    fail(own, failure, start);
  }
  clearInterval(timer);
  running = null;
  byId("run").hidden = false;
  if (document.activeElement === byId("cancel")) byId("run").focus();
  byId("cancel").hidden = true;
  byId("result").classList.remove("waits");
  const rows = result?.columns ? result.rowCount : result?.affected ?? null;
  history.add({ sql, at: Date.now(), ms: Math.round(performance.now() - began), rows, error: failure?.message ?? null });
  drawHistory();
  setAddress({ sql, view, db: namedDatabase() });
  if (CHANGES.test(sql)) tables.load();
}

function progress(own, part) {
  own.rows = part.rowCount;
  if (!own.shown) {
    own.shown = true;
    byId("result").classList.remove("waits");
    byId("view-table").classList.remove("stale");
    grid.show(part);
  } else if (performance.now() - (own.grewAt ?? 0) > 150) {
    own.grewAt = performance.now();
    grid.grow();
  }
}

function finish(own, found, ms) {
  result = found;
  const isTable = found.columns !== undefined;
  byId("copy").disabled = !isTable;
  byId("outcome").className = "outcome good";
  if (!isTable) {
    const done = found.verb || "Done";
    const rows = found.affected === null ? "" : ` · ${plural(found.affected, "row")}`;
    byId("outcome").textContent = `${done}${rows} · ${duration(ms)}`;
    const message = `${done}${found.affected === null ? "" : `: ${plural(found.affected, "row")}`}`;
    showMessage("good", message, found.notices.join("\n"));
    clearResult();
    return;
  }
  byId("outcome").textContent = `${found.isCut ? `first ${count(ROWS_MAX)} rows, the download has all` : plural(found.rowCount, "row")} · ${duration(ms)}`;
  if (own.shown) grid.grow();
  else grid.show(found);
  if (found.columns.map(({ name }) => name).join() === "plan_type,plan") showPlan(found);
  else if (isLongText(found)) showMessage("text", textOf(found.columns.at(-1).values[0], found.columns.at(-1)), null);
  else if (found.rowCount === 0) showMessage("plain", "No rows.", found.columns.map(({ name, type }) => `${name} ${type}`).join(", "));
  fillDownload(own.sql);
  if (view === "chart") chart.show(found);
}

/** One long text with lines, such as a definition, reads better as text. */
function isLongText({ columns, rowCount }) {
  const last = columns.at(-1)?.values[0];
  return rowCount === 1 && columns.length <= 2 && typeof last === "string" && (last.includes("\n") || last.length > 100);
}

function showPlan({ columns, rowCount }) {
  let before = null;
  const lines = [];
  for (let row = 0; row < rowCount; row += 1) {
    const [kind, text] = [columns[0].values[row], columns[1].values[row]];
    if (kind !== before) lines.push(...(before === null ? [] : [""]), `-- ${kind.replaceAll("_", " ")}`);
    before = kind;
    lines.push(text);
  }
  showMessage("text", lines.join("\n"), null);
}

function clearResult() {
  grid.show({ columns: [], rowCount: 0 });
  chart.show({ columns: [], rowCount: 0 });
}

function fail(own, error, start) {
  const isCancelled = error.kind === "cancelled" || error.kind === "interrupted";
  byId("outcome").className = isCancelled ? "outcome" : "outcome bad";
  const kept = own.shown ? `, ${count(own.rows)} rows came before` : "";
  byId("outcome").textContent = isCancelled ? `Cancelled${kept}` : "Error";
  byId("copy").disabled = true;
  if (!own.shown) clearResult();
  else grid.grow();
  if (isCancelled) {
    const message = error.kind === "interrupted" ? "The statement was cancelled on the server." : "Cancelled.";
    if (!own.shown) showMessage("plain", message, null);
    return;
  }
  const inside = placeIn(error.message, own.sql) ?? namedIn(error.message, own.sql);
  const isHere = inside !== null && editor.text.slice(start, start + own.sql.length) === own.sql;
  const offset = isHere ? start + inside : null;
  // The place in the message counts from the statement, the one below it from the text.
  const text = offset === null ? error.message : error.message.replace(/ at line \d+, column \d+/, "");
  showMessage("bad", text, error.hint, offset);
  if (offset === null) return;
  editor.markError(offset);
  editor.showPlace(offset);
}

function showMessage(kind, text, hint, offset = null) {
  const place = offset === null ? null : editor.text.slice(0, offset).split("\n");
  const where = place && element("button", { class: "link", onclick: () => editor.showPlace(offset) }, `Line ${place.length}, column ${place.at(-1).length + 1}`);
  const message = byId("message");
  message.className = `message ${kind}`;
  message.setAttribute("role", kind === "bad" ? "alert" : "status");
  message.replaceChildren(...(kind === "text" ? [element("pre", { tabindex: "0" }, text)] : [element("p", {}, text)]),
    hint ? element("p", { class: "hint" }, hint) : "", where ?? "");
  message.hidden = false;
}

function cancel() {
  running?.abort.abort();
}

function runChosen() {
  const chosen = editor.chosen();
  if (chosen) run(chosen.text, { start: chosen.start });
  else editor.area.focus();
}

function runAll() {
  if (editor.text.trim()) run(editor.text);
}

function explain() {
  const chosen = editor.chosen();
  if (!chosen) return;
  const text = /^\s*explain\b/i.test(chosen.text) ? chosen.text : `EXPLAIN ${chosen.text}`;
  run(text, { start: chosen.start });
}

/** From the side panel: a whole query is opened and run, a name is put at the caret. */
function use(sql, shown) {
  if (shown === null) {
    editor.area.focus();
    editor.insert(sql);
    completion.hide();
    return;
  }
  editor.setText(sql);
  completion.hide();
  selectView(`tab-${shown}`);
  closeOverlay();
  run(sql);
}

// Results.

const selectView = tabs([byId("tab-table"), byId("tab-chart")], (id) => {
  view = id.slice(4);
  remember.write("view", view);
  if (view === "chart" && result?.columns) chart.show(result);
  else if (view === "chart") chart.show({ columns: [], rowCount: 0 });
  if (result?.columns && location.hash) setAddress({ sql: fromAddress().sql ?? "", view, db: namedDatabase() });
  grid.scheduleDraw();
});

function fillDownload(sql) {
  const isOne = statements(sql).length === 1;
  const items = byId("download").querySelector(".items");
  if (!isOne) {
    items.replaceChildren(element("p", {}, "A download runs one statement. Run it alone."));
    return;
  }
  items.replaceChildren(...FORMATS.map(([name, format]) =>
    element("a", { href: downloadAddress(sql, format), download: `result.${format}`, onclick: () => (byId("download").open = false) }, name)),
  element("p", {}, "Runs the statement again and saves all rows."));
}

function openValue(column, value, place) {
  const dialog = byId("value-dialog");
  const text = textOf(value, column);
  let shown = text ?? "NULL";
  if (value !== null && typeof value === "object") shown = JSON.stringify(value, null, 2);
  else if (/^\s*[[{]/.test(shown)) {
    try {
      shown = JSON.stringify(JSON.parse(shown), null, 2);
    } catch {
      // Not JSON: as it is.
    }
  }
  const copy = element("button", { onclick: () => copyText(text ?? "").then(() => confirmOn(copy, "Copied")) }, "Copy");
  dialog.replaceChildren(
    element("header", {}, element("b", {}, column.name), element("span", {}, `${column.type.toLowerCase()} · row ${count(place)}${text === null ? "" : ` · ${plural(text.length, "character")}`}`)),
    element("pre", { tabindex: "0", class: text === null ? "null" : null }, shown),
    element("footer", {}, copy, element("button", { class: "primary", autofocus: true, onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}

byId("value-dialog").addEventListener("click", (event) => event.target === event.currentTarget && event.target.close());

byId("copy").addEventListener("click", async () => {
  await copyText(csv(result.columns, grid.rows()));
  confirmOn(byId("copy"), "Copied");
});

// History.

function drawHistory() {
  const panel = byId("panel-history");
  const all = history.all();
  const entries = all.map(({ sql, at, ms, rows, error }) => {
    const outcome = error ? element("span", { class: "bad", title: error }, "failed") : `${rows === null ? "done" : plural(rows, "row")} · ${duration(ms)}`;
    return element("button", { class: "entry", title: sql, onclick: () => {
      editor.setText(sql);
      completion.hide();
    } }, element("code", {}, sql), element("small", {}, `${new Date(at).toLocaleString()} · `, outcome));
  });
  const clear = element("button", { class: "link", onclick: () => {
    history.clear();
    drawHistory();
  } }, "Forget all");
  panel.replaceChildren(...(entries.length > 0 ? [...entries, clear] : [element("p", { class: "nothing" }, "What you run is kept here, in this browser.")]));
}

function recall(step) {
  const all = history.all();
  if (historyAt < 0 && step > 0) draft = editor.text;
  const next = Math.min(Math.max(historyAt + step, -1), all.length - 1);
  if (next === historyAt) return;
  editor.setText(next < 0 ? draft : all[next].sql);
  completion.hide();
  historyAt = next;
}

// Keys.

function editorKey(event) {
  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    recall(event.key === "ArrowUp" ? 1 : -1);
    return true;
  }
  return false;
}

window.addEventListener("keydown", (event) => {
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && event.key === "Enter") {
    event.preventDefault();
    if (event.shiftKey) runAll();
    else runChosen();
  } else if (event.key === "Escape" && !event.defaultPrevented) {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (running) cancel();
  } else if (event.altKey && event.code === "KeyS") {
    event.preventDefault();
    toggleSidebar();
  }
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

byId("run").addEventListener("click", runChosen);
byId("run-all").addEventListener("click", runAll);
byId("cancel").addEventListener("click", cancel);
byId("explain").addEventListener("click", explain);
byId("share").addEventListener("click", async () => {
  const sql = editor.chosen()?.text ?? editor.text;
  await copyText(location.origin + location.pathname + toAddress({ sql, view, db: namedDatabase() }));
  confirmOn(byId("share"), "Copied");
});

// The frame: side panel, sizes, theme, the server's state.

const isNarrow = () => window.matchMedia("(max-width: 800px)").matches;

function toggleSidebar(isShown = document.body.classList.contains("without-sidebar")) {
  document.body.classList.toggle("without-sidebar", !isShown);
  byId("sidebar-switch").setAttribute("aria-expanded", String(isShown));
  if (!isNarrow()) remember.write("sidebar", isShown);
}

window.matchMedia("(max-width: 800px)").addEventListener("change", () => toggleSidebar(isNarrow() ? false : remember.read("sidebar", true)));

function closeOverlay() {
  if (isNarrow()) toggleSidebar(false);
}

byId("sidebar-switch").addEventListener("click", () => toggleSidebar());
tabs([byId("tab-tables"), byId("tab-history"), byId("tab-activity")], (id) => {
  if (id === "tab-activity") document.dispatchEvent(new Event("visibilitychange"));
});

/** Makes an edge change a size that a custom property holds. */
function edge(id, property, isVertical, [least, greatest], otherwise) {
  const separator = byId(id);
  let size = remember.read(property, otherwise);
  const set = (wanted) => {
    size = Math.round(Math.min(Math.max(wanted, least), greatest()));
    document.documentElement.style.setProperty(`--${property}`, `${size}px`);
    separator.setAttribute("aria-valuenow", String(size));
  };
  set(size);
  separator.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    separator.setPointerCapture(event.pointerId);
    const from = (isVertical ? event.clientX : event.clientY) - size;
    const move = (moved) => set((isVertical ? moved.clientX : moved.clientY) - from);
    separator.addEventListener("pointermove", move);
    separator.addEventListener("pointerup", () => {
      separator.removeEventListener("pointermove", move);
      remember.write(property, size);
    }, { once: true });
  });
  separator.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -16, ArrowUp: -16, ArrowRight: 16, ArrowDown: 16 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(size + step);
    remember.write(property, size);
  });
}

edge("sidebar-edge", "sidebar-width", true, [180, () => window.innerWidth * 0.6], 290);
edge("editor-edge", "editor-height", false, [72, () => window.innerHeight * 0.75], 190);

const THEMES = { auto: ["light", "◐", "Theme: as the system"], light: ["dark", "☀", "Theme: light"], dark: ["auto", "☾", "Theme: dark"] };

function showTheme() {
  const [, sign, title] = THEMES[theme.get()];
  Object.assign(byId("theme-switch"), { textContent: sign, title });
  byId("theme-switch").setAttribute("aria-label", title);
}

byId("theme-switch").addEventListener("click", () => {
  theme.set(THEMES[theme.get()][0]);
  showTheme();
});
showTheme();

function showState({ version, uptime, error }) {
  const state = byId("server-state");
  state.className = error ? "server-state bad" : "server-state good";
  state.textContent = error ? error.message : `${version ?? ""} · up ${duration((uptime ?? 0) * 1000)}`;
}

// The database, if there are several.

/** The current database as an address names it. */
function namedDatabase() {
  return databases.length > 1 ? currentDatabase() : null;
}

/** Takes the first of these names that there is. Returns whether the database has changed. */
function chooseDatabase(wanted) {
  const before = currentDatabase();
  const found = wanted.find((name) => databases.includes(name));
  if (found !== undefined) useDatabase(found);
  byId("database").value = currentDatabase();
  return currentDatabase() !== before;
}

function showDatabases() {
  const choice = byId("database");
  choice.replaceChildren(...databases.map((name) => element("option", { value: name }, name)));
  choice.hidden = databases.length < 2;
  choice.value = currentDatabase();
  choice.addEventListener("change", () => {
    cancel();
    chooseDatabase([choice.value]);
    remember.write("database", choice.value);
    tables.load();
  });
}

// The beginning.

function welcome() {
  const named = tables.tables.filter(({ kind }) => kind !== "view");
  const start = element("div", { class: "welcome" });
  if (named.length === 0) {
    const url = `${location.origin}/write?db=${encodeURIComponent(namedDatabase() ?? "air")}`;
    start.append(element("h2", {}, "An empty store"), element("p", {}, "Declare a table here, or write line protocol, and tables appear by themselves:"),
      element("pre", {}, `curl -XPOST '${url}' --data-binary 'pm,station=north pm10=17.5,pm25=9i'`));
  } else {
    const largest = named.reduce((a, b) => (Number(b.rows) > Number(a.rows) ? b : a));
    const overview = tables.overview(largest);
    const examples = [overview, `SELECT * FROM ${largest.name} LIMIT 100`, "SELECT table_name, column_name, encoding, bytes FROM atsdb.columns ORDER BY bytes DESC LIMIT 10"];
    start.append(element("h2", {}, "Run a statement"), ...examples.filter(Boolean).map((sql) =>
      element("button", { class: "example", onclick: () => use(sql, sql === overview ? "chart" : "table") }, sql)));
  }
  const keys = [["Ctrl ⏎", "run the statement at the cursor, or the selection"], ["Ctrl ⇧ ⏎", "run all statements"], ["Esc", "cancel"], ["Ctrl Space", "complete"],
    ["Alt ↑ ↓", "earlier and later statements"], ["Ctrl /", "comment lines"], ["Alt S", "side panel"]];
  start.append(element("dl", {}, ...keys.flatMap(([key, does]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, does)])));
  const message = byId("message");
  message.className = "message";
  message.replaceChildren(start);
  message.hidden = false;
}

/** Opens what the address names. A link from elsewhere only reads, whatever it says. */
function openAddress() {
  const { sql, view: shown, db } = fromAddress();
  if (sql === null || sql === (running?.sql ?? null)) return false;
  if (chooseDatabase([db])) tables.load();
  editor.setText(sql);
  completion.hide();
  selectView(shown === "chart" ? "tab-chart" : "tab-table");
  run(sql, { readOnly: true });
  return true;
}

window.addEventListener("hashchange", openAddress);

(async () => {
  toggleSidebar(isNarrow() ? false : remember.read("sidebar", true));
  showDatabases();
  drawHistory();
  fillDownload("");
  const isOpened = openAddress();
  if (!isOpened) {
    if (remember.read("view", "table") === "chart") selectView("tab-chart");
    const draft = remember.read("draft", "");
    if (draft) editor.setText(draft);
    completion.hide();
  }
  await tables.load();
  if (!isOpened && !result && !running && byId("message").hidden) welcome();
  editor.area.focus();
  document.documentElement.dataset.ready = "";
})();
