// SQL as the editor sees it: words, and where statements begin and end. It never decides what is right: the server does.

import { KEYWORDS } from "./words.js";

const PATTERN = new RegExp(
  [
    /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
    /(?<text>'(?:[^']|'')*(?:'|$)|\$(?<tag>[A-Za-z_]*)\$[\s\S]*?(?:\$\k<tag>\$|$))/,
    /(?<quoted>"(?:[^"]|"")*(?:"|$))/,
    /(?<number>\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b|\.\d+)/,
    /(?<parameter>\$\w+)/,
    /(?<word>[\p{L}_][\p{L}\p{N}_]*)/,
    /(?<space>\s+)/,
    /(?<sign>[\s\S])/,
  ]
    .map((part) => part.source)
    .join("|"),
  "guy",
);

/** The parts of a text: `{kind, text, start, end}`. */
export function tokens(text) {
  const found = [];
  for (const match of text.matchAll(PATTERN)) {
    const { tag, ...groups } = match.groups;
    let kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind === "word" && KEYWORDS.has(match[0].toUpperCase())) kind = "keyword";
    else if (kind === "word" && text[match.index + match[0].length] === "(") kind = "function";
    found.push({ kind, text: match[0], start: match.index, end: match.index + match[0].length });
  }
  return found;
}

/** The statements of a text, each from its first word to its last: `{start, end, text}`. */
export function statements(text) {
  const found = [];
  let current = null;
  for (const token of tokens(text)) {
    if (token.kind === "sign" && token.text === ";") {
      current = null;
    } else if (token.kind !== "space" && token.kind !== "comment") {
      if (!current) found.push((current = { start: token.start, end: token.end }));
      current.end = token.end;
    }
  }
  return found.map(({ start, end }) => ({ start, end, text: text.slice(start, end) }));
}

/** The statement at a place: the one around it, else the one before it on the way, else the first. */
export function statementAt(text, offset) {
  const all = statements(text);
  return all.find(({ start, end }) => start <= offset && offset <= end) ??
    all.findLast(({ start }) => start <= offset) ?? all[0] ?? null;
}

/** The place that a message names (`at line 2, column 5`) as an offset; `null` without one. */
export function placeIn(message, text) {
  const [, line, column] = message.match(/line (\d+), column (\d+)/) ?? [];
  if (!line) return null;
  const before = text.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // Columns count characters, offsets count UTF-16 units.
  const characters = Array.from(text.slice(before).split("\n")[0]).slice(0, column - 1);
  return Math.min(before + characters.join("").length, text.length);
}

/** The place of a name that a message calls unknown (`no column named x`), as an offset. */
export function namedIn(message, text) {
  const [, name] = message.match(/no (?:table|column|function|schema) named "?([\p{L}_][\p{L}\p{N}_.]*)/u) ?? [];
  if (!name) return null;
  const last = name.split(".").at(-1).toLowerCase();
  const plain = (token) => token.text.replace(/^"|"$/g, "").toLowerCase();
  return tokens(text).find((token) => !["text", "comment"].includes(token.kind) && plain(token) === last)?.start ?? null;
}

/** The tables that a statement names, with their aliases: `{table, alias}`. */
export function tablesIn(text) {
  const words = tokens(text).filter(({ kind }) => kind !== "space" && kind !== "comment");
  const name = (token) => token && ["word", "quoted", "function"].includes(token.kind) && token.text.replace(/^"|"$/g, "");
  const found = [];
  for (let at = 0; at < words.length; at += 1) {
    if (!/^(from|join|into|update|table|describe)$/i.test(words[at].text)) continue;
    do {
      at += 1;
      let table = name(words[at]);
      if (!table) break;
      while (words[at + 1]?.text === "." && words[at + 2]) {
        table += `.${words[at + 2].text.replace(/^"|"$/g, "")}`;
        at += 2;
      }
      if (/^as$/i.test(words[at + 1]?.text ?? "")) at += 1;
      const alias = words[at + 1]?.kind === "word" ? name(words[at + 1]) : null;
      if (alias) at += 1;
      found.push({ table, alias });
    } while (words[at + 1]?.text === "," && (at += 1));
  }
  return found;
}

/** The names that a statement's WITH defines. */
export function commonTables(text) {
  return [...text.matchAll(/(?:\bwith\s+(?:recursive\s+)?|,\s*)([a-z_]\w*)\s+as\s*(?:materialized\s*)?\(/gi)].map((match) => match[1]);
}
