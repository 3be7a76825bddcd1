// The chart with what is chosen for it: axes, series, style, legend.

import { Chart } from "./chart.js";
import { kindOf } from "./columns.js";
import { count, element } from "./dom.js";
import { SERIES_MAX, defaultsFor, seriesOf } from "./series.js";

const COLOURS = 12;

export class ChartView {
  constructor(host) {
    this.x = element("select", { "aria-label": "Column on x", onchange: () => this.choose({ x: Number(this.x.value) }) });
    this.y = element("details", { class: "menu" });
    this.by = element("details", { class: "menu" });
    this.style = element("select", { "aria-label": "Style", onchange: () => this.choose({ style: this.style.value }) },
      ...["lines", "points", "bars"].map((name) => element("option", { value: name }, name[0].toUpperCase() + name.slice(1))));
    this.reset = element("button", { onclick: () => this.chart.zoom(null), hidden: true, title: "Show everything (double click, or 0)" }, "Reset zoom");
    this.note = element("span", { class: "note" });
    this.controls = element("div", { class: "chart-controls", role: "toolbar", "aria-label": "Chart" },
      element("label", {}, "X ", this.x), this.y, this.by, element("label", {}, "Style ", this.style), this.reset, this.note);
    this.plot = element("div", { class: "plot-host" });
    this.legend = element("div", { class: "legend", role: "group", "aria-label": "Series: click hides or shows one, double click shows it alone" });
    this.nothing = element("div", { class: "nothing", hidden: true });
    host.append(this.controls, this.plot, this.legend, this.nothing);
    this.chart = new Chart(this.plot, { onSpan: (isZoomed) => (this.reset.hidden = !isZoomed) });
  }

  /** Shows a result as its columns suggest; what was chosen for the same columns stays. */
  show(result) {
    if (result === this.result) {
      this.chart.refresh();
      return;
    }
    this.result = result;
    const shape = JSON.stringify(result.columns.map(({ name, type }) => [name, type]));
    const isSame = shape === this.shape && this.chosen;
    this.shape = shape;
    if (!isSame) {
      const defaults = defaultsFor(result);
      this.chosen = defaults && { ...defaults, style: this.styleFor(defaults) };
    }
    this.draw();
  }

  styleFor({ x }) {
    const kind = kindOf(this.result.columns[x]);
    return kind === "time" || kind === "number" ? "lines" : "bars";
  }

  choose(changed) {
    if ("x" in changed) {
      changed.style = this.styleFor(changed);
      changed.by = this.chosen.by.filter((position) => position !== changed.x);
    }
    this.chosen = { ...this.chosen, ...changed };
    this.draw();
  }

  draw() {
    const { chosen, result } = this;
    const isEmpty = !chosen || result.rowCount === 0 || chosen.y.length === 0;
    this.plot.hidden = isEmpty;
    this.legend.hidden = isEmpty;
    this.controls.hidden = !chosen || result.rowCount === 0;
    this.nothing.hidden = !isEmpty;
    if (isEmpty) {
      this.nothing.textContent = result.rowCount === 0
        ? "No rows, so nothing to draw."
        : chosen ? "Choose a column for y." : "Nothing to draw: a chart needs a column of numbers and one for x, such as a time.";
      if (!chosen || result.rowCount === 0) return;
    }
    this.fillControls();
    if (isEmpty) return;
    const { series, left, kind, categories } = seriesOf(result, chosen);
    series.forEach((one, at) => {
      one.colour = `--series-${at % COLOURS}`;
      one.isHidden = false;
    });
    this.note.textContent = left > 0 ? `The first ${SERIES_MAX} of ${count(left + SERIES_MAX)} series.` : "";
    this.series = series;
    this.chart.show({ series, kind, categories, style: chosen.style });
    this.fillLegend();
  }

  fillControls() {
    const { columns } = this.result;
    const { x, y, by, style } = this.chosen;
    this.x.replaceChildren(...columns.map(({ name }, position) => element("option", { value: position, selected: position === x }, name)));
    this.style.value = style;
    const numbers = columns.map((column, position) => ({ ...column, position })).filter((column) => kindOf(column) === "number" && column.position !== x);
    const names = columns.map((column, position) => ({ ...column, position }))
      .filter((column) => column.position !== x && !y.includes(column.position) && kindOf(column) !== "time" && kindOf(column) !== "nested");
    this.fillMenu(this.y, "Y", numbers, y, (chosen) => this.choose({ y: chosen }));
    this.fillMenu(this.by, "Series by", names, by, (chosen) => this.choose({ by: chosen }));
  }

  fillMenu(menu, title, columns, chosen, onChoose) {
    const named = chosen.map((position) => this.result.columns[position].name).join(", ") || "none";
    const boxes = columns.map(({ name, position }) => {
      const box = element("input", { type: "checkbox", checked: chosen.includes(position) });
      box.addEventListener("change", () => onChoose(box.checked ? [...chosen, position] : chosen.filter((one) => one !== position)));
      return element("label", {}, box, name);
    });
    menu.replaceChildren(element("summary", {}, `${title} `, element("b", {}, named)), element("div", { class: "items" }, ...boxes));
    menu.hidden = columns.length === 0;
  }

  fillLegend() {
    const { series } = this;
    this.legend.hidden = series.length < 2 && !series[0]?.name;
    const buttons = series.map((one, at) => {
      const swatch = element("i", { class: "swatch" });
      swatch.style.background = `var(${one.colour})`;
      return element("button", { "aria-pressed": "true", title: one.name, onclick: () => this.toggle(at), ondblclick: () => this.isolate(at) },
        swatch, element("span", {}, one.name));
    });
    this.legend.replaceChildren(...buttons);
  }

  toggle(at) {
    this.series[at].isHidden = !this.series[at].isHidden;
    this.refresh();
  }

  /** Shows one series alone; once more, all of them. */
  isolate(at) {
    const isAlone = this.series.every(({ isHidden }, other) => isHidden === (other !== at));
    this.series.forEach((one, other) => (one.isHidden = isAlone ? false : other !== at));
    this.refresh();
  }

  refresh() {
    [...this.legend.children].forEach((button, at) => button.setAttribute("aria-pressed", String(!this.series[at].isHidden)));
    this.chart.refresh();
  }
}
