// Lines, points and bars on a canvas: zoomed by dragging, with what is under the pointer beside it.

import { numberMarks, numberText, timeMarks, timeText } from "./axes.js";
import { element } from "./dom.js";
import { decimated, extent, positionOf } from "./series.js";

const ROOM = { top: 14, right: 18, bottom: 42, left: 62 };
const TIP_ROWS_MAX = 14;
/** Single points are marked where there are at most so many of them. */
const DOTS_MAX = 150;

export class Chart {
  constructor(host, { onSpan = () => {} } = {}) {
    this.onSpan = onSpan;
    this.canvas = element("canvas", { role: "img", tabindex: "0" });
    this.cover = element("canvas", { class: "cover", "aria-hidden": "true" });
    this.tip = element("div", { class: "tip", hidden: true });
    this.host = element("div", { class: "plot" }, this.canvas, this.cover, this.tip);
    host.append(this.host);
    this.data = null;
    this.frames = 0;
    new ResizeObserver(() => this.scheduleDraw()).observe(this.host);
    window.addEventListener("atsdb-theme", () => this.scheduleDraw());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.scheduleDraw());
    this.host.addEventListener("pointermove", (event) => this.move(event));
    this.host.addEventListener("pointerdown", (event) => this.press(event));
    this.host.addEventListener("pointerleave", () => this.leave());
    this.host.addEventListener("dblclick", () => this.zoom(null));
    this.host.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** `series` of `{name, xs, ys, colour, isHidden}`, `kind` of x, `categories`, `style` lines, points or bars. */
  show(data) {
    this.data = data;
    this.whole = this.wholeSpan();
    this.span = this.whole;
    this.leave();
    this.describe();
    this.onSpan(false);
    this.scheduleDraw();
  }

  /** Draws again, as what is hidden has changed. */
  refresh() {
    this.scheduleDraw();
  }

  wholeSpan() {
    const { series, style, kind } = this.data;
    let [low, high] = [Infinity, -Infinity];
    for (const { xs } of series) {
      if (xs.length === 0) continue;
      low = Math.min(low, xs[0]);
      high = Math.max(high, xs[xs.length - 1]);
    }
    if (!Number.isFinite(low)) return [0, 1];
    if (kind === "category") return [low - 0.6, high + 0.6];
    if (low === high) return kind === "time" ? [low - 30_000, high + 30_000] : [low - 1, high + 1];
    const around = style === "bars" ? (high - low) * 0.02 : 0;
    return [low - around, high + around];
  }

  describe() {
    const { series, kind } = this.data;
    const points = series.reduce((sum, { xs }) => sum + xs.length, 0);
    const range = kind === "time" ? `, from ${timeText(this.whole[0])} to ${timeText(this.whole[1])} UTC` : "";
    const names = series.slice(0, 8).map(({ name }) => name).join(", ");
    const keys = "Arrow keys move, plus and minus zoom, 0 shows all.";
    this.canvas.setAttribute("aria-label", `Chart of ${series.length} series (${names}) with ${points} points${range}. ${keys}`);
  }

  zoom(span) {
    if (!this.data) return;
    const least = (this.whole[1] - this.whole[0]) * 1e-7;
    if (span && span[1] - span[0] < least) return;
    const isWhole = !span || (span[0] <= this.whole[0] && span[1] >= this.whole[1]);
    this.span = isWhole ? this.whole : span;
    this.onSpan(!isWhole);
    this.leave();
    this.scheduleDraw();
  }

  // Drawing.

  scheduleDraw() {
    this.drawRequest ??= requestAnimationFrame(() => {
      this.drawRequest = null;
      this.draw();
    });
  }

  colour(name) {
    this.probe ??= this.host.appendChild(element("i", { class: "probe", hidden: true }));
    this.probe.style.color = name.startsWith("--") ? `var(${name})` : name;
    return getComputedStyle(this.probe).color;
  }

  fit(canvas) {
    const { clientWidth: width, clientHeight: height } = this.host;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  draw() {
    const { clientWidth, clientHeight } = this.host;
    if (!this.data || clientWidth === 0 || clientHeight === 0) return;
    const started = performance.now();
    const context = this.fit(this.canvas);
    this.box = { left: ROOM.left, top: ROOM.top, right: clientWidth - ROOM.right, bottom: clientHeight - ROOM.bottom };
    this.findHeights();
    this.axes(context);
    context.save();
    context.beginPath();
    context.rect(this.box.left, this.box.top - 2, this.box.right - this.box.left, this.box.bottom - this.box.top + 4);
    context.clip();
    const visible = this.data.series.filter(({ isHidden }) => !isHidden);
    if (this.data.style === "bars") this.bars(context, visible);
    else for (const one of visible) this.line(context, one, visible.length === 1);
    context.restore();
    this.frames += 1;
    // For measuring drawing time.
    Object.assign(this.host.dataset, { frames: this.frames, drawMs: Math.round(performance.now() - started) });
  }

  /** The range of y of what is visible between the ends of x. */
  findHeights() {
    let [low, high] = this.data.style === "bars" ? [0, 0] : [Infinity, -Infinity];
    for (const { xs, ys, isHidden } of this.data.series) {
      if (isHidden) continue;
      const [least, greatest] = extent(ys, ...this.within(xs, 0));
      low = Math.min(low, least);
      high = Math.max(high, greatest);
    }
    if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
    // A line that is nearly flat stands in the middle.
    const around = high - low > 0 ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
    const isNearZero = low >= 0 && low < (high - low) * 0.3;
    this.heights = [isNearZero && this.data.style !== "bars" ? Math.max(0, low - around) : low - (low === 0 ? 0 : around), high + around];
  }

  /** The positions that are visible, with some beyond each end so that lines reach the edge. */
  within(xs, beyond = 1) {
    return [Math.max(0, positionOf(xs, this.span[0]) - beyond), Math.min(xs.length, positionOf(xs, this.span[1] + Number.EPSILON) + beyond + 1)];
  }

  toX = (x) => this.box.left + ((x - this.span[0]) / (this.span[1] - this.span[0])) * (this.box.right - this.box.left);

  toY = (y) => this.box.bottom - ((y - this.heights[0]) / (this.heights[1] - this.heights[0])) * (this.box.bottom - this.box.top);

  axes(context) {
    const { left, right, top, bottom } = this.box;
    const [text, line] = [this.colour("--dim"), this.colour("--line")];
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.fillStyle = text;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.beginPath();
    for (const { at, text: label } of numberMarks(this.heights, bottom - top)) {
      const y = Math.round(this.toY(at)) + 0.5;
      context.moveTo(left, y);
      context.lineTo(right, y);
      context.fillText(label, left - 8, y);
    }
    context.stroke();
    context.textBaseline = "top";
    context.textAlign = "center";
    context.beginPath();
    for (const { at, text: label, day } of this.xMarks()) {
      const x = Math.round(this.toX(at)) + 0.5;
      context.moveTo(x, bottom);
      context.lineTo(x, bottom + 5);
      context.fillText(label, x, bottom + 9);
      if (day) context.fillText(day, x, bottom + 24);
    }
    context.moveTo(left, bottom + 0.5);
    context.lineTo(right, bottom + 0.5);
    context.stroke();
    if (this.data.kind === "time") {
      context.textAlign = "left";
      context.fillText("UTC", 8, bottom + 9);
    }
  }

  xMarks() {
    const pixels = this.box.right - this.box.left;
    if (this.data.kind === "time") return timeMarks(this.span, pixels);
    if (this.data.kind === "number") return numberMarks(this.span, pixels, 80);
    const { categories } = this.data;
    const [from, to] = [Math.max(0, Math.ceil(this.span[0])), Math.min(categories.length - 1, Math.floor(this.span[1]))];
    const room = Math.max(...categories.slice(from, to + 1).map((name) => Math.min(name.length, 18))) * 6.5 + 12;
    const every = Math.max(1, Math.ceil(((to - from + 1) * room) / pixels));
    const marks = [];
    for (let at = from; at <= to; at += every) {
      const name = categories[at];
      marks.push({ at, text: name.length > 18 ? `${name.slice(0, 17)}…` : name, day: null });
    }
    return marks;
  }

  line(context, one, isAlone) {
    const [from, to] = this.within(one.xs);
    const width = Math.max(1, this.box.right - this.box.left);
    const points = [];
    decimated(one, from, to, width, this.span, (x, y) => points.push(this.toX(x), Number.isNaN(y) ? NaN : this.toY(y)));
    const colour = this.colour(one.colour);
    context.strokeStyle = colour;
    context.fillStyle = colour;
    if (this.data.style === "points") {
      for (let at = 0; at < points.length; at += 2) context.fillRect(points[at] - 1.25, points[at + 1] - 1.25, 2.5, 2.5);
      return;
    }
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.beginPath();
    let isOpen = false;
    for (let at = 0; at < points.length; at += 2) {
      const y = points[at + 1];
      if (Number.isNaN(y)) isOpen = false;
      else if (isOpen) context.lineTo(points[at], y);
      else {
        context.moveTo(points[at], y);
        // A point between two gaps is seen, too.
        if (Number.isNaN(points[at + 3] ?? NaN)) context.fillRect(points[at] - 1.5, y - 1.5, 3, 3);
        isOpen = true;
      }
    }
    context.stroke();
    if (points.length / 2 <= DOTS_MAX && this.data.series.length <= 8) {
      for (let at = 0; at < points.length; at += 2) context.fillRect(points[at] - 1.75, points[at + 1] - 1.75, 3.5, 3.5);
    }
    if (isAlone) this.fillBelow(context, points);
  }

  fillBelow(context, points) {
    context.globalAlpha = 0.1;
    let start = 0;
    for (let at = 0; at <= points.length; at += 2) {
      if (at < points.length && !Number.isNaN(points[at + 1])) continue;
      if (at > start) {
        context.beginPath();
        context.moveTo(points[start], this.box.bottom);
        for (let one = start; one < at; one += 2) context.lineTo(points[one], points[one + 1]);
        context.lineTo(points[at - 2], this.box.bottom);
        context.fill();
      }
      start = at + 2;
    }
    context.globalAlpha = 1;
  }

  bars(context, visible) {
    const room = this.barRoom(visible);
    const zero = this.toY(0);
    visible.forEach((one, place) => {
      context.fillStyle = this.colour(one.colour);
      const [from, to] = this.within(one.xs);
      const left = -room / 2 + (room / visible.length) * place;
      const width = Math.max(1, room / visible.length - (room > 12 ? 1 : 0));
      for (let at = from; at < to; at += 1) {
        if (Number.isNaN(one.ys[at])) continue;
        const y = this.toY(one.ys[at]);
        context.fillRect(this.toX(one.xs[at]) + left, Math.min(y, zero), width, Math.max(1, Math.abs(zero - y)));
      }
    });
  }

  /** The room of the bars at one x, in pixels: that of the closest neighbours. */
  barRoom(visible) {
    let least = this.data.kind === "category" ? 1 : Infinity;
    for (const { xs } of visible) {
      for (let at = 1; at < xs.length; at += 1) if (xs[at] > xs[at - 1]) least = Math.min(least, xs[at] - xs[at - 1]);
    }
    if (!Number.isFinite(least)) least = (this.span[1] - this.span[0]) / 4;
    return Math.max(1, (this.toX(this.span[0] + least) - this.box.left) * 0.8);
  }

  // The pointer.

  xAt = (event) => {
    const pixel = event.clientX - this.host.getBoundingClientRect().left;
    const part = (pixel - this.box.left) / (this.box.right - this.box.left);
    return this.span[0] + Math.min(Math.max(part, 0), 1) * (this.span[1] - this.span[0]);
  };

  press(event) {
    if (event.button !== 0 || !this.box) return;
    const [start, span, isPan] = [this.xAt(event), this.span, event.shiftKey];
    const startPixel = event.clientX;
    this.host.setPointerCapture(event.pointerId);
    this.canvas.focus({ preventScroll: true });
    const perPixel = (span[1] - span[0]) / (this.box.right - this.box.left);
    const move = (moved) => {
      if (isPan) this.pan(span, (startPixel - moved.clientX) * perPixel);
      else this.dragged = [start, this.xAt(moved)].sort((a, b) => a - b);
    };
    const end = (last) => {
      this.host.removeEventListener("pointermove", move);
      this.host.removeEventListener("pointerup", end);
      this.host.removeEventListener("pointercancel", end);
      const dragged = this.dragged;
      this.dragged = null;
      if (dragged && Math.abs(last.clientX - startPixel) > 4 && last.type === "pointerup") this.zoom(dragged);
      else this.leave();
    };
    this.host.addEventListener("pointermove", move);
    this.host.addEventListener("pointerup", end);
    this.host.addEventListener("pointercancel", end);
  }

  pan(span, by) {
    const moved = Math.min(Math.max(by, this.whole[0] - span[0]), this.whole[1] - span[1]);
    this.zoom([span[0] + moved, span[1] + moved]);
  }

  wheel(event) {
    if (!this.box || event.deltaY === 0) return;
    event.preventDefault();
    const [at, factor] = [this.xAt(event), event.deltaY > 0 ? 1.25 : 0.8];
    this.zoom([Math.max(this.whole[0], at - (at - this.span[0]) * factor), Math.min(this.whole[1], at + (this.span[1] - at) * factor)]);
  }

  key(event) {
    const width = this.span ? this.span[1] - this.span[0] : 0;
    const middle = this.span ? (this.span[0] + this.span[1]) / 2 : 0;
    const zoomed = (factor) => () => this.zoom([middle - (width / 2) * factor, middle + (width / 2) * factor]);
    const act = {
      ArrowLeft: () => this.pan(this.span, -width / 8), ArrowRight: () => this.pan(this.span, width / 8),
      "+": zoomed(0.6), "=": zoomed(0.6), "-": zoomed(1 / 0.6), 0: () => this.zoom(null),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || !this.data) return;
    event.preventDefault();
    act();
  }

  leave() {
    this.tip.hidden = true;
    this.fit(this.cover);
  }

  move(event) {
    if (!this.data || !this.box) return;
    this.pointer = { x: event.clientX, y: event.clientY, clientX: event.clientX };
    this.pointerRequest ??= requestAnimationFrame(() => {
      this.pointerRequest = null;
      this.drawPointer();
    });
  }

  /** Shows what is at the pointer. */
  drawPointer() {
    const context = this.fit(this.cover);
    const frame = this.host.getBoundingClientRect();
    const pointer = { x: this.pointer.x - frame.left, y: this.pointer.y - frame.top };
    const { left, right, top, bottom } = this.box;
    if (this.dragged) {
      context.fillStyle = this.colour("--selection");
      const [from, to] = this.dragged.map(this.toX);
      context.fillRect(from, top, to - from, bottom - top);
    }
    const isOutside = pointer.x < left - 4 || pointer.x > right + 4 || pointer.y > bottom + 20;
    const nearest = isOutside ? null : this.nearest(this.xAt(this.pointer));
    if (nearest === null) {
      this.tip.hidden = true;
      return;
    }
    const x = this.toX(nearest);
    context.strokeStyle = this.colour("--dim");
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, top);
    context.lineTo(Math.round(x) + 0.5, bottom);
    context.stroke();
    context.setLineDash([]);
    const values = this.valuesAt(nearest);
    for (const { one, value, at } of values) {
      context.fillStyle = this.colour(one.colour);
      context.beginPath();
      context.arc(this.toX(one.xs[at]), this.toY(value), 3.5, 0, 7);
      context.fill();
    }
    this.fillTip(nearest, values, pointer);
    const isRight = x > frame.width / 2;
    this.tip.style.left = isRight ? "" : `${x + 14}px`;
    this.tip.style.right = isRight ? `${frame.width - x + 14}px` : "";
    this.tip.style.top = `${Math.max(4, Math.min(pointer.y - 20, frame.height - this.tip.offsetHeight - 4))}px`;
  }

  /** The x of the point that is closest. */
  nearest(wanted) {
    let best = null;
    for (const { xs, isHidden } of this.data.series) {
      if (isHidden) continue;
      const at = positionOf(xs, wanted);
      for (const x of [xs[at - 1], xs[at]]) {
        if (x === undefined || x < this.span[0] || x > this.span[1]) continue;
        if (best === null || Math.abs(x - wanted) < Math.abs(best - wanted)) best = x;
      }
    }
    return best;
  }

  /** The values of each line at an x, or so close to it that the difference is invisible. */
  valuesAt(x) {
    const near = ((this.span[1] - this.span[0]) / (this.box.right - this.box.left)) * 3;
    const values = [];
    for (const one of this.data.series) {
      if (one.isHidden) continue;
      const after = positionOf(one.xs, x);
      const isBefore = after > 0 && (after === one.xs.length || x - one.xs[after - 1] < one.xs[after] - x);
      const at = isBefore ? after - 1 : after;
      const value = one.ys[at];
      if (value === undefined || Number.isNaN(value) || Math.abs(one.xs[at] - x) > near) continue;
      values.push({ one, value, at });
    }
    return values;
  }

  fillTip(x, values, pointer) {
    const { kind, categories } = this.data;
    const title = kind === "time" ? timeText(x) : kind === "category" ? categories[x] : numberText(x);
    const byDistance = [...values].sort((a, b) => Math.abs(this.toY(a.value) - pointer.y) - Math.abs(this.toY(b.value) - pointer.y));
    const closest = byDistance[0]?.one;
    const listed = byDistance.slice(0, TIP_ROWS_MAX).sort((a, b) => b.value - a.value);
    const rows = listed.map(({ one, value }) => {
      const swatch = element("i", { class: "swatch" });
      swatch.style.background = `var(${one.colour})`;
      const isClosest = one === closest && values.length > 1;
      return element("div", { class: isClosest ? "closest" : null }, swatch, element("span", {}, one.name), element("b", {}, numberText(value)));
    });
    const more = values.length - listed.length;
    this.tip.replaceChildren(element("header", {}, title), ...rows, more > 0 ? element("footer", {}, `and ${more} more`) : "");
    this.tip.hidden = false;
  }
}
