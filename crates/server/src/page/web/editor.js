// The SQL editor: a text area, its colours behind it, line numbers beside it.

import { element } from "./dom.js";
import { statementAt, tokens } from "./sql.js";

/** Beyond so many characters a text has no colours: typing stays quick. */
const COLOURED_MAX = 200_000;

export class Editor {
  constructor(host, { onChange = () => {}, onKey = () => false } = {}) {
    this.onChange = onChange;
    this.onKey = onKey;
    this.error = null;
    this.lines = element("pre", { class: "line-numbers", "aria-hidden": "true" });
    this.colours = element("pre", { class: "colours", "aria-hidden": "true" });
    this.area = element("textarea", {
      id: "sql",
      "aria-label": "SQL statements. Control-Enter runs, Escape cancels, Control-Space completes, Escape then Tab leaves.",
      "aria-autocomplete": "list",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
      placeholder: "SELECT …",
    });
    this.sheet = element("div", { class: "sheet" }, this.colours, this.area);
    host.append(this.lines, this.sheet);
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.key(event));
    for (const event of ["keyup", "click", "focus"]) this.area.addEventListener(event, () => this.markStatement());
    this.paint();
  }

  get text() {
    return this.area.value;
  }

  get caret() {
    return this.area.selectionStart;
  }

  /** Replaces the whole text; it can be undone. */
  setText(text) {
    this.area.focus();
    this.area.select();
    this.insert(text);
    this.area.scrollTop = 0;
  }

  /** Puts a text in the place of the selection, as if it were typed. */
  insert(text, from = this.area.selectionStart, to = this.area.selectionEnd) {
    this.area.setSelectionRange(from, to);
    // The one way that leaves undo intact; without it the text is set.
    const command = text === "" ? "delete" : "insertText";
    if (text !== "" || from !== to) {
      if (!document.execCommand(command, false, text)) this.area.setRangeText(text, from, to, "end");
    }
    this.changed();
  }

  /** What Ctrl-Enter runs: the selection, else the statement at the caret. `{text, start}` or `null`. */
  chosen() {
    const { selectionStart: start, selectionEnd: end } = this.area;
    const selected = this.text.slice(start, end);
    return selected.trim() ? { text: selected, start } : statementAt(this.text, start);
  }

  /** Underlines the word at a place. */
  markError(offset) {
    this.error = offset;
    this.paint();
  }

  showPlace(offset) {
    this.area.focus();
    this.area.setSelectionRange(offset, offset);
    const place = this.placeOf(offset);
    const box = this.area.getBoundingClientRect();
    if (place.top < box.top || place.bottom > box.bottom) this.area.scrollTop += place.top - box.top - box.height / 2;
  }

  /** Where a character stands on the screen. */
  placeOf(offset) {
    const walker = document.createTreeWalker(this.colours, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    let rest = offset;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (rest <= node.length) {
        range.setStart(node, rest);
        range.setEnd(node, rest);
        const boxes = range.getClientRects();
        return boxes[boxes.length - 1] ?? node.parentElement.getBoundingClientRect();
      }
      rest -= node.length;
    }
    return this.colours.getBoundingClientRect();
  }

  changed() {
    this.error = null;
    this.paint();
    this.onChange();
  }

  key(event) {
    if (this.onKey(event)) {
      event.preventDefault();
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Escape") {
      this.leaves = true;
      return;
    }
    if (event.key === "Tab" && isPlain && !this.leaves) {
      event.preventDefault();
      this.indent(event.shiftKey);
    } else if (event.key === "Enter" && isPlain && !event.isComposing) {
      event.preventDefault();
      const line = this.text.slice(this.text.lastIndexOf("\n", this.caret - 1) + 1, this.caret);
      this.insert(`\n${line.match(/^\s*/)[0]}`);
    } else if (event.key === "/" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.changeLines((line) => line.replace(/^(\s*)-- ?/, "$1"), (line) => `-- ${line}`, (line) => /^\s*--/.test(line));
    }
    if (event.key !== "Shift") this.leaves = false;
  }

  indent(isBack) {
    const { selectionStart: from, selectionEnd: to } = this.area;
    if (!isBack && !this.text.slice(from, to).includes("\n")) this.insert("  ");
    else this.changeLines((line) => line.replace(/^ {1,2}/, ""), (line) => `  ${line}`, () => isBack);
  }

  /** Changes the selected lines: back if all of them are `done`, else forth. */
  changeLines(back, forth, done) {
    const { selectionStart, selectionEnd } = this.area;
    const from = this.text.lastIndexOf("\n", selectionStart - 1) + 1;
    const next = this.text.indexOf("\n", selectionEnd);
    const to = next < 0 ? this.text.length : next;
    const lines = this.text.slice(from, to).split("\n");
    const changed = lines.map(lines.every(done) ? back : forth).join("\n");
    this.insert(changed, from, to);
    this.area.setSelectionRange(from, from + changed.length);
  }

  paint() {
    const text = this.text;
    const parts = [];
    if (text.length <= COLOURED_MAX) {
      for (const token of tokens(text)) {
        const isWrong = this.error !== null && token.start <= this.error && this.error < token.end;
        const kind = isWrong ? `${token.kind} wrong` : token.kind;
        parts.push(kind === "space" || kind === "word" ? token.text : element("span", { class: kind }, token.text));
      }
      if (this.error !== null && this.error >= text.length) parts.push(element("span", { class: "wrong" }, " "));
    } else {
      parts.push(text);
    }
    this.colours.replaceChildren(...parts, "\n");
    const lineCount = text.split("\n").length;
    if (lineCount !== this.lineCount) {
      this.lineCount = lineCount;
      this.lines.replaceChildren(...Array.from({ length: lineCount }, (_, line) => element("span", {}, `${line + 1}\n`)));
    }
    this.markStatement();
    this.follow();
  }

  /** Marks the lines that Ctrl-Enter would run, where there is more than one statement. */
  markStatement() {
    const chosen = this.text.length <= COLOURED_MAX ? this.chosen() : null;
    const first = chosen ? this.text.slice(0, chosen.start).split("\n").length : 0;
    const last = chosen ? first + chosen.text.split("\n").length - 1 : -1;
    [...this.lines.children].forEach((line, at) => line.classList.toggle("runs", at + 1 >= first && at + 1 <= last));
  }

  follow() {
    const { scrollLeft, scrollTop } = this.area;
    this.colours.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    this.lines.scrollTop = scrollTop;
  }
}
