// What the server does: running statements, which can be cancelled, and how many rows and requests arrive.

import { cancelStatement, metrics, runningStatements } from "./api.js";
import { bytes, count, duration, element, short } from "./dom.js";

const EVERY_MS = 2000;
const SAMPLES_MAX = 90;
/** Counters of what is written; all others are of the server. */
const IS_INGEST = /_(lines|rows|samples|points|spans|histograms)(_\w+)?_total$|_line_bytes_total$/;
const IS_REFUSAL = /(refused|failed|errors|rejected)/;
/** Short names; other metrics are called by their help. */
const NAMES = {
  atsdb_lines_stored_total: "Lines of line protocol",
  atsdb_line_bytes_total: "Bytes of line protocol",
  atsdb_appended_rows_total: "Rows of Arrow streams",
  atsdb_pg_copied_rows_total: "Rows by COPY",
  atsdb_http_statements_total: "Statements, HTTP",
  atsdb_pg_queries_total: "Statements, PostgreSQL",
  atsdb_http_connections_total: "Connections, HTTP",
  atsdb_pg_connections_total: "Connections, PostgreSQL",
  atsdb_http_connections: "HTTP connections",
  atsdb_pg_connections: "PostgreSQL connections",
  atsdb_lines_refused_total: "Lines",
  atsdb_line_requests_failed_total: "Requests with lines",
  atsdb_pg_errors_total: "Errors, PostgreSQL",
};

export class Activity {
  constructor(host, { onState, onOpen }) {
    this.host = host;
    this.onState = onState;
    this.onOpen = onOpen;
    this.samples = [];
    this.statements = element("div", { class: "statements" });
    this.rates = element("div", { class: "rates" });
    host.append(element("h2", {}, "Running statements"), this.statements, element("h2", {}, "Rates"), this.rates);
    this.trouble = null;
    this.turn();
    document.addEventListener("visibilitychange", () => !document.hidden && this.turn());
  }

  /** Fetches the figures now, and then regularly while the page can be seen. */
  async turn() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    try {
      const found = await metrics();
      this.samples.push({ at: performance.now(), found });
      if (this.samples.length > SAMPLES_MAX) this.samples.shift();
      this.onState({ version: found.get("atsdb_build_info")?.labels?.match(/version="([^"]*)"/)?.[1], uptime: found.get("atsdb_uptime_seconds")?.value });
    } catch (error) {
      this.onState({ error });
    }
    if (!this.host.hidden) {
      this.drawRates();
      await this.drawStatements();
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.turn(), EVERY_MS);
  }

  async drawStatements() {
    let statements;
    try {
      statements = await runningStatements();
    } catch (error) {
      this.statements.replaceChildren(element("p", { class: "trouble" }, error.message));
      return;
    }
    if (statements.length === 0) {
      this.statements.replaceChildren(element("p", { class: "nothing" }, "None is running."));
      return;
    }
    this.statements.replaceChildren(...statements.map(({ id, protocol, user, sql, seconds }) => {
      const cancel = element("button", { class: "danger", "aria-label": `Cancel statement ${id}`, onclick: () => this.cancel(id, cancel) }, "Cancel");
      return element("article", {},
        element("header", {}, element("b", {}, duration(seconds * 1000)), element("span", {}, [protocol, user].filter(Boolean).join(" · ")), cancel),
        element("button", { class: "sql", title: "Open in the editor", onclick: () => this.onOpen(sql) }, sql));
    }));
  }

  async cancel(id, button) {
    button.disabled = true;
    button.textContent = "…";
    try {
      await cancelStatement(id);
    } catch (error) {
      // It has ended by itself: that is as good.
      if (error.status !== 404) {
        button.textContent = error.message;
        return;
      }
    }
    setTimeout(() => this.drawStatements(), 150);
  }

  drawRates() {
    const counters = [...this.samples.at(-1)?.found ?? []].filter(([name, { kind }]) => kind === "counter" && name.endsWith("_total"));
    const groups = [
      ["Written", counters.filter(([name]) => IS_INGEST.test(name) && !IS_REFUSAL.test(name))],
      ["Requests", counters.filter(([name]) => !IS_INGEST.test(name) && !IS_REFUSAL.test(name))],
      ["Refused", counters.filter(([name, { value }]) => IS_REFUSAL.test(name) && value > 0)],
    ];
    const gauges = [...this.samples.at(-1)?.found ?? []].filter(([name, { kind }]) => kind === "gauge" && /connections/.test(name));
    this.rates.replaceChildren(
      ...groups.filter(([, members]) => members.length > 0).map(([title, members]) =>
        element("section", {}, element("h3", {}, title), ...members.map(([name, about]) => this.rate(name, about)))),
      element("section", {}, element("h3", {}, "Open"), ...gauges.map(([name, { help, value }]) =>
        element("div", { class: "rate" }, element("span", {}, label(name, help)), element("b", {}, count(value))))));
  }

  rate(name, { help, value }) {
    const rates = [];
    for (let at = 1; at < this.samples.length; at += 1) {
      const [before, after] = [this.samples[at - 1], this.samples[at]];
      const rise = (after.found.get(name)?.value ?? 0) - (before.found.get(name)?.value ?? 0);
      // A server that was started anew counts from zero.
      rates.push(Math.max(0, rise) / ((after.at - before.at) / 1000));
    }
    const now = rates.at(-1) ?? 0;
    const isBytes = name.includes("bytes");
    const amount = isBytes ? bytes : short;
    return element("div", { class: "rate", title: `${help} ${isBytes ? bytes(value) : count(value)} since the start.` },
      element("span", {}, label(name, help)), spark(rates), element("b", {}, `${amount(now)}/s`));
  }
}

const label = (name, help) => NAMES[name] ?? help.replace(/\.$/, "").replace(/ since the start$/, "");

/** A small line of rates, as an SVG. */
function spark(rates) {
  const [width, height] = [72, 18];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-hidden", "true");
  const greatest = Math.max(...rates, 1e-9);
  const points = rates.map((rate, at) => `${(width - (rates.length - 1 - at) * (width / (SAMPLES_MAX - 2))).toFixed(1)},${(height - 1 - (rate / greatest) * (height - 3)).toFixed(1)}`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}
