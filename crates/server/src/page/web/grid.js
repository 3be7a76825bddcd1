// Rows as a table. Only what is visible exists in the page, so that a hundred thousand rows scroll like ten.

import { kindOf, sorted, textOf } from "./columns.js";
import { copyText, element } from "./dom.js";
import { tabbed } from "./export.js";

const ROW_HEIGHT = 26;
const HEAD_HEIGHT = 44;
const CELL_CHARACTERS_MAX = 300;
const WIDTH = { min: 64, max: 380, perCharacter: 7.6, around: 22 };
/** Beyond what is visible, on each side. */
const ROWS_AROUND = 8;

export class Grid {
  constructor(host, { onOpen = () => {} } = {}) {
    this.onOpen = onOpen;
    this.head = element("div", { class: "head", role: "row" });
    this.body = element("div", { class: "rows", role: "rowgroup" });
    this.scroller = element("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": "Rows of the result" }, this.head, this.body);
    host.append(this.scroller);
    this.result = { columns: [], rowCount: 0 };
    this.clear();
    this.scroller.addEventListener("scroll", () => this.scheduleDraw());
    new ResizeObserver(() => this.scheduleDraw()).observe(this.scroller);
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("mousedown", (event) => this.press(event));
    this.body.addEventListener("dblclick", () => this.open());
  }

  clear() {
    this.order = null;
    this.sort = null;
    this.selection = null;
    this.widths = [];
    this.drawn = new Map();
    this.body.replaceChildren();
    this.head.replaceChildren();
  }

  /** Shows a result from its beginning. */
  show(result) {
    this.clear();
    this.result = result;
    this.measured = 0;
    this.scroller.scrollTop = 0;
    this.scroller.scrollLeft = 0;
    this.grow();
  }

  /** Shows the rows that have come since. */
  grow() {
    const { columns, rowCount } = this.result;
    this.scroller.setAttribute("aria-rowcount", String(rowCount + 1));
    this.scroller.setAttribute("aria-colcount", String(columns.length));
    if (this.measured === 0 || (this.measured < 1000 && rowCount > this.measured * 4)) {
      this.measure();
      this.measured = rowCount;
    }
    const gutter = `${Math.max(String(rowCount).length, 2) * 7 + 20}px`;
    this.scroller.style.setProperty("--gutter", gutter);
    this.body.style.height = `${rowCount * ROW_HEIGHT}px`;
    this.scheduleDraw();
  }

  /** Column widths by the longest texts among the first rows. */
  measure() {
    const { columns, rowCount } = this.result;
    this.widths = columns.map((column) => {
      let longest = Math.max(column.name.length + 3, column.type.length);
      for (let row = 0; row < Math.min(rowCount, 400); row += 1) {
        longest = Math.max(longest, (textOf(column.values[row], column) ?? "NULL").length);
      }
      return Math.round(Math.min(Math.max(longest * WIDTH.perCharacter + WIDTH.around, WIDTH.min), WIDTH.max));
    });
    this.place();
  }

  /** Lays the columns side by side, and writes the head. */
  place() {
    this.lefts = [0];
    for (const width of this.widths) this.lefts.push(this.lefts.at(-1) + width);
    this.scroller.style.setProperty("--columns", `${this.lefts.at(-1)}px`);
    const cells = this.result.columns.map((column, position) => {
      const sort = this.sort?.position === position ? (this.sort.isDescending ? "descending" : "ascending") : "none";
      const sign = { descending: " ↓", ascending: " ↑", none: "" }[sort];
      const edge = element("span", { class: "column-edge", "aria-hidden": "true" });
      edge.addEventListener("pointerdown", (event) => this.resize(event, position));
      edge.addEventListener("click", (event) => event.stopPropagation());
      const cell = element("div", {
        role: "columnheader", "aria-sort": sort, "aria-colindex": String(position + 1), tabindex: "-1",
        class: `cell ${kindOf(column)}`, title: `${column.name} (${column.type}): click to sort`,
        onclick: () => this.sortBy(position),
      }, element("b", {}, column.name + sign), element("small", {}, column.type.toLowerCase()), edge);
      cell.style.left = `calc(var(--gutter) + ${this.lefts[position]}px)`;
      cell.style.width = `${this.widths[position]}px`;
      return cell;
    });
    this.head.replaceChildren(...(cells.length > 0 ? [element("div", { class: "corner" })] : []), ...cells);
    this.redraw();
  }

  resize(event, position) {
    event.preventDefault();
    event.stopPropagation();
    const [from, width] = [event.clientX, this.widths[position]];
    const move = ({ clientX }) => {
      this.widths[position] = Math.max(40, width + clientX - from);
      this.measured = Infinity;
      this.place();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
  }

  /** Ascending, then descending, then as the rows came. */
  sortBy(position) {
    const isSame = this.sort?.position === position;
    if (isSame && this.sort.isDescending) this.sort = null;
    else this.sort = { position, isDescending: isSame };
    const { columns, rowCount } = this.result;
    this.order = this.sort ? sorted(columns[position], rowCount, this.sort.isDescending) : null;
    this.selection = null;
    this.place();
  }

  /** The row of the result that stands at a place. */
  rowAt(place) {
    return this.order ? this.order[place] : place;
  }

  /** All rows in the order shown. */
  rows() {
    return this.order ?? Array.from({ length: this.result.rowCount }, (_, row) => row);
  }

  redraw() {
    this.drawn.clear();
    this.body.replaceChildren();
    this.scheduleDraw();
  }

  scheduleDraw() {
    this.drawRequest ??= requestAnimationFrame(() => {
      this.drawRequest = null;
      this.draw();
    });
  }

  draw() {
    const { columns, rowCount } = this.result;
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.scroller;
    if (columns.length === 0 || clientHeight === 0) return;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - ROWS_AROUND);
    const last = Math.min(rowCount, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + ROWS_AROUND);
    const from = Math.max(0, this.lefts.findIndex((left, at) => left + this.widths[at] >= scrollLeft));
    let to = this.lefts.findIndex((left) => left > scrollLeft + clientWidth);
    if (to < 0) to = columns.length;
    if (from !== this.from || to !== this.to) {
      [this.from, this.to] = [from, to];
      this.drawn.clear();
      this.body.replaceChildren();
    }
    for (const [place, row] of this.drawn) {
      if (place >= first && place < last) continue;
      row.remove();
      this.drawn.delete(place);
    }
    const added = document.createDocumentFragment();
    for (let place = first; place < last; place += 1) {
      if (this.drawn.has(place)) continue;
      const row = this.row(place);
      this.drawn.set(place, row);
      added.append(row);
    }
    this.body.append(added);
    this.paintSelection();
  }

  row(place) {
    const row = element("div", { class: place % 2 ? "row odd" : "row", role: "row", "aria-rowindex": String(place + 2) },
      element("div", { class: "gutter", role: "rowheader" }, String(place + 1)));
    row.style.transform = `translateY(${place * ROW_HEIGHT}px)`;
    const at = this.rowAt(place);
    for (let position = this.from; position < this.to; position += 1) {
      const column = this.result.columns[position];
      const text = textOf(column.values[at], column);
      const isNull = text === null;
      const shown = isNull ? "NULL" : text.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX)}…` : text;
      const cell = element("div", {
        class: `cell ${kindOf(column)}${isNull ? " null" : text === "" ? " empty" : ""}`, role: "gridcell", "aria-colindex": String(position + 1),
      }, shown.replace(/\s*\n\s*/g, " ⏎ "));
      cell.style.left = `calc(var(--gutter) + ${this.lefts[position]}px)`;
      cell.style.width = `${this.widths[position]}px`;
      row.append(cell);
    }
    return row;
  }

  // What is selected.

  press(event) {
    const at = this.placeOf(event);
    if (!at) return;
    if (event.shiftKey && this.selection) this.select(this.selection.anchor, at);
    else this.select(at, at);
    event.preventDefault();
    this.scroller.focus({ preventScroll: true });
    const move = (moved) => {
      const to = this.placeOf(moved);
      if (to) this.select(this.selection.anchor, to);
    };
    window.addEventListener("mousemove", move);
    window.addEventListener("mouseup", () => window.removeEventListener("mousemove", move), { once: true });
  }

  placeOf({ clientX, clientY }) {
    const box = this.body.getBoundingClientRect();
    const gutter = this.head.firstChild?.offsetWidth ?? 0;
    const place = Math.floor((clientY - box.top) / ROW_HEIGHT);
    const x = clientX - box.left - gutter;
    const position = this.lefts.findLastIndex((left) => left <= Math.max(x, 0));
    const { columns, rowCount } = this.result;
    if (place < 0 || place >= rowCount) return null;
    return { place, position: Math.min(position, columns.length - 1) };
  }

  select(anchor, end) {
    this.selection = { anchor, end };
    this.paintSelection();
  }

  area() {
    const { anchor, end } = this.selection;
    return {
      first: Math.min(anchor.place, end.place), last: Math.max(anchor.place, end.place),
      from: Math.min(anchor.position, end.position), to: Math.max(anchor.position, end.position),
    };
  }

  paintSelection() {
    const area = this.selection ? this.area() : null;
    for (const [place, row] of this.drawn) {
      for (let at = 1; at < row.children.length; at += 1) {
        const position = this.from + at - 1;
        const isIn = area !== null && place >= area.first && place <= area.last && position >= area.from && position <= area.to;
        row.children[at].classList.toggle("selected", isIn);
        if (isIn) row.children[at].setAttribute("aria-selected", "true");
        else row.children[at].removeAttribute("aria-selected");
      }
    }
  }

  key(event) {
    const { columns, rowCount } = this.result;
    if (rowCount === 0) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key === "a") {
      this.select({ place: 0, position: 0 }, { place: rowCount - 1, position: columns.length - 1 });
    } else if (isCommand && event.key === "c") {
      if (!this.selection || window.getSelection().toString()) return;
      const { first, last, from, to } = this.area();
      const rows = Array.from({ length: last - first + 1 }, (_, at) => this.rowAt(first + at));
      copyText(tabbed(columns.slice(from, to + 1), rows));
    } else if (event.key === "Enter" && this.selection) {
      this.open();
    } else {
      const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 3);
      const step = {
        ArrowDown: [isCommand ? rowCount : 1, 0], ArrowUp: [isCommand ? -rowCount : -1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
        PageDown: [page, 0], PageUp: [-page, 0], Home: [isCommand ? -rowCount : 0, -columns.length], End: [isCommand ? rowCount : 0, columns.length],
      }[event.key];
      if (!step || event.altKey) return;
      const old = this.selection?.end ?? { place: -step[0], position: -step[1] };
      const end = {
        place: Math.min(Math.max(old.place + step[0], 0), rowCount - 1),
        position: Math.min(Math.max(old.position + step[1], 0), columns.length - 1),
      };
      this.select(event.shiftKey && this.selection ? this.selection.anchor : end, end);
      this.reveal(end);
    }
    event.preventDefault();
  }

  reveal({ place, position }) {
    const { scroller } = this;
    const [top, room] = [place * ROW_HEIGHT, scroller.clientHeight - HEAD_HEIGHT - ROW_HEIGHT];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
    const gutter = this.head.firstChild.offsetWidth;
    const [left, right] = [this.lefts[position], this.lefts[position + 1]];
    if (left < scroller.scrollLeft) scroller.scrollLeft = left;
    else if (right > scroller.scrollLeft + scroller.clientWidth - gutter) scroller.scrollLeft = right - scroller.clientWidth + gutter;
  }

  open() {
    if (!this.selection) return;
    const { place, position } = this.selection.end;
    const column = this.result.columns[position];
    this.onOpen(column, column.values[this.rowAt(place)], place + 1);
  }
}
