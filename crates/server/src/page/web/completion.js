// Completion in the editor: tables, columns, functions and keywords, by what the statement says so far.

import { quoted } from "./api.js";
import { element } from "./dom.js";
import { commonTables, statementAt, tablesIn, tokens } from "./sql.js";
import { CATALOGUE, FUNCTIONS, KEYWORDS, PHRASES, RESERVED } from "./words.js";

const SHOWN_MAX = 60;
const WANTS_TABLE = /^(from|join|into|update|table|describe)$/i;

/** The tables that completion knows: name to columns `[{name, type}]`. */
export const known = new Map();

/** What could stand at the caret: `{from, prefix, items}`, the best first. */
export function suggest(text, caret, isAsked = false) {
  const around = tokens(text);
  const here = around.find((token) => token.start < caret && caret <= token.end);
  const isClosed = here?.kind === "text" && here.text.length > 1 && here.text.endsWith("'") && caret === here.end;
  if (here && (here.kind === "comment" || (here.kind === "text" && !isClosed) || here.kind === "number")) return null;
  const isWord = here && ["word", "keyword", "function", "quoted"].includes(here.kind);
  const from = isWord ? here.start : caret;
  const prefix = isWord ? text.slice(from, caret).replace(/^"/, "") : "";
  const before = around.filter(({ end, kind }) => end <= from && kind !== "space" && kind !== "comment");
  const isQualified = before.at(-1)?.text === ".";
  if (!prefix && !isQualified && !isAsked) return null;
  const statement = statementAt(text, caret)?.text ?? "";
  const candidates = isQualified
    ? qualified(before.at(-2)?.text.replace(/^"|"$/g, "") ?? "", statement)
    : unqualified(before, statement, prefix);
  const items = rank(candidates, prefix);
  // A whole word needs no completion.
  const isWhole = items.length === 1 && items[0].kind !== "function" && items[0].label.toLowerCase() === prefix.toLowerCase();
  return items.length > 0 && !isWhole ? { from, prefix, items: items.slice(0, SHOWN_MAX) } : null;
}

function columnsOf(table) {
  const wanted = table.toLowerCase();
  for (const [name, columns] of known) if (name.toLowerCase() === wanted) return columns;
  return (CATALOGUE.get(wanted) ?? []).map((name) => ({ name, type: "" }));
}

const columnItem = (weight) => ({ name, type, table }) => ({
  label: name, kind: "column", detail: [type.toLowerCase(), table].filter(Boolean).join(" · "), insert: asName(name), weight,
});

const tableItem = (weight) => (name) => ({ label: name, kind: "table", detail: "", insert: name.split(".").map(asName).join("."), weight });

function asName(name) {
  return RESERVED.has(name.toUpperCase()) ? `"${name}"` : quoted(name);
}

function qualified(owner, statement) {
  const wanted = owner.toLowerCase();
  const named = tablesIn(statement).find(({ table, alias }) => (alias ?? table).toLowerCase() === wanted);
  const columns = columnsOf(named?.table ?? owner).map(columnItem(0));
  const schema = [...CATALOGUE.keys()].filter((name) => name.startsWith(`${wanted}.`));
  return [...columns, ...schema.map((name) => tableItem(0)(name.slice(wanted.length + 1)))];
}

function unqualified(before, statement, prefix) {
  const last = before.at(-1)?.text ?? "";
  const tables = [...known.keys()].map(tableItem(1));
  const others = [...commonTables(statement).map(tableItem(0)), ...[...CATALOGUE.keys()].map(tableItem(2))];
  if (WANTS_TABLE.test(last)) return [...tables, ...others, ...functionItems(["generate_series", "range"])];
  const named = tablesIn(statement);
  const own = named.flatMap(({ table }) => columnsOf(table).map((column) => ({ ...column, table: named.length > 1 ? table : "" })));
  const all = named.length > 0 ? [] : [...known].flatMap(([table, columns]) => columns.map((column) => ({ ...column, table })));
  const aliases = named.map(({ table, alias }) => alias ?? table);
  const isLower = prefix !== "" && prefix === prefix.toLowerCase();
  const word = (label) => ({ label, kind: "keyword", detail: "", insert: isLower ? label.toLowerCase() : label, weight: 3 });
  return [
    ...unique(own).map(columnItem(0)),
    ...unique(all).map(columnItem(2)),
    ...aliases.map(tableItem(2)),
    ...functionItems(FUNCTIONS.keys()),
    ...PHRASES.map(word),
    ...[...KEYWORDS].map(word),
    ...(named.length > 0 ? [] : tables.map((item) => ({ ...item, weight: 4 }))),
  ];
}

function unique(columns) {
  const seen = new Set();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
}

function functionItems(names) {
  return [...names].map((name) => {
    const takes = FUNCTIONS.get(name);
    return { label: name, kind: "function", detail: takes, insert: `${name}()`, caret: takes === "()" ? 0 : -1, weight: 2.5 };
  });
}

/** How well a label fits what was typed: less is better, `null` is not at all. */
function distance(label, prefix) {
  if (!prefix) return 0;
  const [name, wanted] = [label.toLowerCase(), prefix.toLowerCase()];
  if (name.startsWith(wanted)) return name === wanted ? 0 : 0.5;
  if (name.split(/[_. ]/).some((part) => part.startsWith(wanted))) return 5;
  return wanted.length >= 3 && name.includes(wanted) ? 8 : null;
}

function rank(candidates, prefix) {
  const fitting = candidates
    .map((item) => ({ ...item, distance: distance(item.label, prefix) }))
    .filter((item) => item.distance !== null);
  fitting.sort((a, b) => a.distance + a.weight - (b.distance + b.weight) || (prefix ? a.label.length - b.label.length : 0));
  return fitting;
}

/** The list below the caret. */
export class Completion {
  constructor(editor) {
    this.editor = editor;
    this.shown = null;
    this.list = element("ul", { id: "completion", class: "completion", role: "listbox", "aria-label": "Completions", hidden: true });
    document.body.append(this.list);
    editor.area.setAttribute("aria-controls", "completion");
    editor.area.setAttribute("aria-expanded", "false");
    editor.area.setAttribute("role", "combobox");
    editor.area.setAttribute("aria-multiline", "true");
    editor.area.addEventListener("blur", () => this.hide());
    editor.area.addEventListener("click", () => this.hide());
    editor.area.addEventListener("scroll", () => this.hide());
  }

  update(isAsked = false) {
    const { area, text, caret } = this.editor;
    const found = area.selectionEnd === caret && document.activeElement === area ? suggest(text, caret, isAsked) : null;
    if (!found) {
      this.hide();
      return;
    }
    this.shown = { ...found, chosen: 0 };
    const options = found.items.map((item, position) => {
      const option = element("li", { role: "option", id: `completion-${position}`, class: item.kind },
        element("span", { class: "badge", "aria-hidden": "true" }, item.kind[0]),
        element("span", { class: "label" }, item.label),
        element("span", { class: "detail" }, item.detail));
      option.addEventListener("mousedown", (event) => {
        event.preventDefault();
        this.choose(position);
        this.accept();
      });
      return option;
    });
    this.list.replaceChildren(...options);
    this.list.hidden = false;
    this.list.scrollTop = 0;
    area.setAttribute("aria-expanded", "true");
    this.put();
    this.choose(0);
  }

  put() {
    const place = this.editor.placeOf(this.shown.from);
    const { offsetWidth: width, offsetHeight: height } = this.list;
    const isAbove = place.bottom + height + 8 > window.innerHeight && place.top > height;
    this.list.style.left = `${Math.max(4, Math.min(place.left - 30, window.innerWidth - width - 8))}px`;
    this.list.style.top = `${isAbove ? place.top - height - 4 : place.bottom + 4}px`;
  }

  choose(position) {
    this.shown.chosen = position;
    [...this.list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === position)));
    this.list.children[position].scrollIntoView({ block: "nearest" });
    this.editor.area.setAttribute("aria-activedescendant", `completion-${position}`);
  }

  accept() {
    const { items, chosen, from } = this.shown;
    const item = items[chosen];
    const { editor } = this;
    // The rest of a word that the caret stands in goes, too.
    const rest = editor.text.slice(editor.caret).match(/^[\p{L}\p{N}_]*"?/u)[0];
    const to = editor.caret + (rest.endsWith('"') && editor.text[from] !== '"' ? rest.length - 1 : rest.length);
    const isCalled = item.kind === "function" && editor.text[to] === "(";
    editor.insert(isCalled ? item.label : item.insert, from, to);
    if (!isCalled && item.caret) editor.area.setSelectionRange(editor.caret + item.caret, editor.caret + item.caret);
    this.hide();
  }

  hide() {
    if (!this.shown) return;
    this.shown = null;
    this.list.hidden = true;
    this.editor.area.setAttribute("aria-expanded", "false");
    this.editor.area.removeAttribute("aria-activedescendant");
  }

  /** Whether a key was for the list. */
  key(event) {
    if (event.key === " " && event.ctrlKey) {
      this.update(true);
      return true;
    }
    if (!this.shown || event.ctrlKey || event.metaKey || event.altKey) return false;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      const { length } = this.shown.items;
      const next = this.shown.chosen + step;
      this.choose(Math.abs(step) === 1 ? (next + length) % length : Math.min(Math.max(next, 0), length - 1));
      return true;
    }
    if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) {
      this.accept();
      return true;
    }
    if (event.key === "Escape") {
      this.hide();
      return true;
    }
    if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.hide();
    return false;
  }
}
