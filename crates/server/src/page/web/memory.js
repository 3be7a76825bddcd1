// What the browser remembers: history, the draft, sizes, the theme; and the query in the address.

const HISTORY_MAX = 300;
/** Longer texts are run, but not kept. */
const TEXT_MAX = 100_000;
/** Longer texts are no addresses. */
const ADDRESS_MAX = 20_000;

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`atsdb.${key}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(key, value) {
  try {
    localStorage.setItem(`atsdb.${key}`, JSON.stringify(value));
  } catch {
    // Full, or switched off: nothing depends on it.
  }
}

export const remember = { read, write };

/** The statements that were run, the latest first: `{sql, at, ms, rows, error}`. */
export const history = {
  all: () => read("history", []),
  add(entry) {
    if (entry.sql.length > TEXT_MAX) return;
    const others = this.all().filter(({ sql }) => sql !== entry.sql);
    write("history", [entry, ...others].slice(0, HISTORY_MAX));
  },
  clear: () => write("history", []),
};

/** The query, the view and the database that the address names: `#db=air&view=chart&sql=...`. */
export function fromAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  return { sql: named.get("sql"), view: named.get("view"), db: named.get("db") };
}

/** The address of a query. The database is named if there are several. */
export function toAddress({ sql, view, db }) {
  const named = new URLSearchParams();
  if (db) named.set("db", db);
  if (view === "chart") named.set("view", view);
  named.set("sql", sql);
  // A plus means a blank to some programs that open links.
  return `#${named.toString().replaceAll("+", "%20")}`;
}

export function setAddress(state) {
  if (state.sql.length > ADDRESS_MAX) return;
  const hash = toAddress(state);
  if (hash === location.hash) return;
  const before = fromAddress();
  const isSame = before.sql === state.sql && (before.db ?? null) === (state.db ?? null);
  window.history[isSame || !location.hash ? "replaceState" : "pushState"](null, "", hash);
}

/** The theme: `auto`, `light` or `dark`. */
export const theme = {
  get: () => read("theme", "auto"),
  set(name) {
    write("theme", name);
    this.apply();
  },
  apply() {
    const name = this.get();
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    window.dispatchEvent(new Event("atsdb-theme"));
  },
};
