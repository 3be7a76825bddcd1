"""Writes the tables of README.md and docs/figures.md from the results of docs/lab/run.sh, so that nobody types them.

    python3 docs/lab/make_headline.py [--check]

With --check it writes nothing, and fails if a table is not what it would write.

The text between the lines `<!-- lab:NAME -->` and `<!-- lab:end -->` of the two files is replaced:

- `headline`: five rows of the workload `series`, for README.md;
- `summary`: more rows of the same workload;
- `reached`: the goals of `series`, and what was reached;
- `stores`: atsdb's own stores side by side, from series.json; `ratios`: their rates of appending, divided by the file's;
- `questdb`: `series` on the analytical contestants with QuestDB, from questdb.json;
- `cached`: rows of `series` with today's default cache and program, from cached.json;
- `large`: the goals at ten million rows and more, and what was reached, from the files of `LARGE`. Without a file, a goal is not
  measured;
- `tsbs` and `hits`: the complete tables of these workloads, from tsbs.json and hits.json, and the geometric mean of the queries'
  factors. Without the file, the text stays as it is;
- any other name: the complete table of the workload of that name.

The tables of `series` come from headline.json, which has more rows on fewer contestants, that of `memory` from memory.json,
which has more rows, that of `groupby` from questions.json, that of `ingest` from servers.json, that of `serve` from
serve.json, that of `pinger` from pinger.json, and those of `mass` and `split` from results.json. A figure is the median of the
runs. A dash means that the contestant has no figure; the report (docs/lab/report.html) gives the reason.
"""
import json
import pathlib
import re
import statistics
import sys

root = pathlib.Path(__file__).resolve().parents[2]
workloads, reports = {}, {}
# The workloads whose tables end with a mean of the queries.
AVERAGED = ("tsbs", "hits")
for name in (
    "results.json", "pinger.json", "series.json", "headline.json", "memory.json", "questions.json", "servers.json",
    "serve.json", *(f"{name}.json" for name in AVERAGED),
):
    path = root / "docs/lab" / name
    report = json.loads(path.read_text()) if path.exists() else {"workloads": []}
    reports[name] = report
    workloads.update({workload["name"]: (workload, report) for workload in report["workloads"]})

NAMES = {
    "sqlite": "SQLite", "mariadb:innodb": "MariaDB", "mysql": "MySQL", "postgres": "PostgreSQL", "duckdb": "DuckDB",
    "clickhouse": "ClickHouse", "questdb": "QuestDB", "influxdb": "InfluxDB", "victoriametrics": "VictoriaMetrics",
    "atsdb": "atsdb", "atsdb:served": "atsdb, COPY", "atsdb:lines": "atsdb, lines"
}
IN_MEMORY = {
    "sqlite:memory": "SQLite `:memory:`", "mariadb:memory": "MariaDB MEMORY", "duckdb": "DuckDB", "atsdb:memory": "atsdb"
}
HEADLINE = ["append_rows", "bytes_wide", "read_wide", "by_hour_and_sensor", "insert_alone"]
SUMMARY = [
    ("append_rows", "append row by row, 2 mapped strings"),
    ("append_batches", "append Arrow batches, 8 columns"),
    ("bytes_narrow", "size of a row, 2 columns, sealed"),
    ("bytes_wide", "size of a row, 8 columns, sealed"),
    ("read_wide", "read back every row, 8 columns"),
    ("count", "`count(*)`"),
    ("by_sensor", "GROUP BY sensor"),
    ("by_hour_and_sensor", "GROUP BY hour, sensor"),
    ("two_hours", "two hours of all sensors"),
    ("last_rows", "one sensor's last 10 rows (others: with an index)"),
    ("insert_values", "single-row INSERT statements, one transaction"),
    ("insert_alone", "single-row INSERT, each its own transaction"),
    ("update", "UPDATE a column of all rows"),
]
RATES = {"rows_per_second": "rows/s", "statements_per_second": "stmt/s", "per_second": "/s"}


def show(unit, value):
    if unit in RATES:
        for size, letter in ((1e6, "M "), (1e3, "k ")):
            if value >= size:
                return f"{value / size:.{2 if size == 1e6 else 1}f} {letter}{RATES[unit]}"
        return f"{value:.0f} {RATES[unit]}"
    if unit == "milliseconds":
        return f"{value:.3f} ms" if value < 10 else f"{value:,.0f} ms"
    if unit == "bytes_per_row":
        return f"{value:.2f} B"
    return f"{value / (1 << 20):.1f} MiB"


def medians(measure, shown):
    of = {result["contestant"]: result for result in measure["results"]}
    return {name: of[name]["spread"]["median"] for name in shown if of.get(name, {}).get("spread")}


def show_factor(factor):
    return f"{factor:.0f} x" if factor >= 100 else f"{factor:.1f} x" if factor >= 10 else f"{factor:.2g} x"


def row(title, measure, shown):
    figures, unit = medians(measure, shown), measure["unit"]
    cells = [show(unit, figures[name]) if name in figures else "-" for name in shown]
    others = [value for name, value in figures.items() if not name.startswith("atsdb")]
    factor, ours = "", [value for name, value in figures.items() if name.startswith("atsdb")]
    if ours and others:
        choose = max if unit in RATES else min
        ours, best = choose(ours), choose(others)
        factor = (ours / best if unit in RATES else best / ours) if best and ours else 0
        factor = show_factor(factor)
    return "| " + " | ".join([title, *cells, factor]) + " |"


def mean_row(workload, shown):
    """The geometric means of atsdb / each other contestant and of atsdb / the best of them, over the queries that all of them
    answered. Nothing if there is no such query."""
    queries = [measure for measure in workload["measures"] if measure["unit"] == "milliseconds" and measure["name"] != "index"]
    answered = [figures for figures in (medians(query, shown) for query in queries) if len(figures) == len(shown)]
    others = [name for name in shown if name != "atsdb"]
    if not answered or not others:
        return []

    def mean(names):
        factors = [min(figures[name] for name in names) / figures["atsdb"] for figures in answered]
        return show_factor(statistics.geometric_mean(factors))

    cells = [mean([name]) if name in others else "" for name in shown]
    count = f"{len(queries)}" if len(answered) == len(queries) else f"{len(answered)} of {len(queries)}"
    return ["| " + " | ".join([f"geometric mean of {count} queries: atsdb / each other", *cells, mean(others)]) + " |"]


def present(report, names=NAMES):
    there = {contestant["name"] for contestant in report["contestants"] if contestant.get("version")}
    return [name for name in names if name in there]


def table(rows, shown):
    heads = [(NAMES | IN_MEMORY)[name] for name in shown]
    return ["| | " + " | ".join([*heads, "atsdb / best other"]) + " |", "|" + "---|" * (len(heads) + 2), *rows]


def how(workload, report):
    settings, machine = report["settings"], report["machine"]
    runs = "one run" if settings["repeat"] == 1 else f"median of {settings['repeat']} runs"
    return (
        f"{workload['rows']:,} rows, {runs}, durability {settings['durability']}, "
        f"{settings.get('tuning', 'tuned')} settings, {machine['cores']} cores of {machine['processor']}, {report['date'][:10]}."
    )


def summary(names=None):
    workload, report = workloads["series"]
    measures, shown = {measure["name"]: measure for measure in workload["measures"]}, present(report)
    chosen = [(name, title) for name, title in SUMMARY if names is None or name in names]
    rows = [row(title, measures[name], shown) for name, title in chosen if name in measures]
    return [*table(rows, shown), "", how(workload, report)]


def headline():
    return summary(HEADLINE)


STORES = {
    "atsdb": "SQLite file", "atsdb:memory": "memory", "atsdb:mariadb": "MariaDB", "atsdb:postgres": "PostgreSQL",
}
OF_STORES = [
    "append_rows", "append_batches", "seal", "bytes_narrow", "bytes_wide", "read_narrow", "read_wide", "count", "by_sensor",
    "last_rows", "two_hours", "insert_alone", "update",
]

RATIOS = {
    "append_rows": "append row by row, 2 mapped strings", "append_batches": "append Arrow batches, 8 columns",
    "minute_insert_narrow": "insert for a bounded time, 2 columns", "minute_insert_wide": "insert for a bounded time, 8 columns",
}


def stores():
    report = reports["series.json"]
    workload = next(workload for workload in report["workloads"] if workload["name"] == "series")
    shown, rows = present(report, STORES), []
    for measure in workload["measures"]:
        figures = medians(measure, shown)
        if measure["name"] in OF_STORES and figures:
            cells = [show(measure["unit"], figures[name]) if name in figures else "-" for name in shown]
            rows.append("| " + " | ".join([measure["title"].strip(), *cells]) + " |")
    heads = [STORES[name] for name in shown]
    return ["| | " + " | ".join(heads) + " |", "|" + "---|" * (len(heads) + 1), *rows, "", how(workload, report)]


def ratios():
    report = reports["series.json"]
    workload = next(workload for workload in report["workloads"] if workload["name"] == "series")
    shown, rows = present(report, STORES), []
    for measure in workload["measures"]:
        figures = medians(measure, shown)
        if measure["name"] in RATIOS and "atsdb" in figures:
            cells = [f"{figures[name] / figures['atsdb']:.2f}" if name in figures else "-" for name in shown]
            rows.append("| " + " | ".join([RATIOS[measure["name"]], *cells]) + " |")
    heads = [STORES[name] for name in shown]
    return ["| | " + " | ".join(heads) + " |", "|" + "---|" * (len(heads) + 1), *rows, "", how(workload, report)]


# What has changed since the headline run, or depends on the size of the cache of decoded columns.
CACHED = [
    "seal", "read_wide", "read_memory", "count", "mean", "by_status", "by_sensor", "by_hour_and_sensor", "last_rows", "two_hours",
    "insert_alone", "update",
]


def questdb():
    return table_of_file("questdb.json")


def cached():
    return table_of_file("cached.json", CACHED)


def table_of_file(name, chosen=None):
    report = json.loads((root / "docs/lab" / name).read_text())
    return table_of(report["workloads"][0], report, chosen)


def whole(name):
    return table_of(*workloads[name])


def table_of(workload, report, chosen=None):
    name, group, rows = workload["name"], "", []
    shown = present(report, IN_MEMORY if name == "memory" else NAMES)
    for measure in workload["measures"]:
        title = measure["title"]
        if title.startswith("  "):
            title = f"{group}: {title.strip()}"
        else:
            group = title.split(":")[0]
        if medians(measure, shown) and (chosen is None or measure["name"] in chosen):
            rows.append(row(title, measure, shown))
    if name in AVERAGED:
        rows += mean_row(workload, shown)
    notes = [(note if note.startswith("atsdb") else note[0].upper() + note[1:]) + "." for note in workload.get("notes", [])]
    results = [f"[Results](lab/{name}.json)."] if name in AVERAGED else []
    return [*table(rows, shown), "", " ".join([how(workload, report), *notes, *results])]


GOALS = [
    ("append row by row", "append_rows", "sqlite", 5),
    ("append Arrow batches, 8 columns", "append_batches", "sqlite", 5),
    ("append Arrow batches, 8 columns", "append_batches", "duckdb", 3),
    ("sealed bytes, 8 columns", "bytes_wide", "sqlite", 10),
    ("read back every row and column", "read_wide", "sqlite", 10),
    ("one sensor's last 10 rows", "last_rows", "duckdb", 1),
    ("two hours of all sensors", "two_hours", "duckdb", 1),
    ("GROUP BY sensor", "by_sensor", "duckdb", 3),
    ("GROUP BY hour, sensor", "by_hour_and_sensor", "duckdb", 3),
    ("`INSERT ... VALUES`, one statement each, in a transaction", "insert_values", "sqlite", 1),
    ("update a column of all rows", "update", "sqlite", 10),
]
LIMITS = [("open a store of 1,000 slices", "open", 50), ("start the program", "start", 20)]


def verdict(is_reached, text):
    return text if is_reached else f"**not reached**: {text}"


def reached():
    workload, _ = workloads["series"]
    measures = {measure["name"]: measure for measure in workload["measures"]}
    rows = ["| work | goal | reached |", "|---|---|---|"]
    for title, name, other, goal in GOALS:
        figures = medians(measures[name], ["atsdb", other])
        if len(figures) == 2:
            ours, theirs = figures["atsdb"], figures[other]
            factor = ours / theirs if measures[name]["unit"] in RATES else theirs / ours
            rows.append(f"| {title} | {goal} x {NAMES[other]} | {verdict(factor >= goal, f'{factor:.2g} x')} |")
    for fact in workload["facts"]:
        name = fact["measures"][0]
        figures = medians(measures[name], ["atsdb"]) if fact["name"].startswith("entropy") else {}
        if figures:
            above = figures["atsdb"] / fact["value"] - 1
            rows.append(f"| {measures[name]['title']} | within 10 % of the entropy | {verdict(above <= 0.1, f'{above:.0%} above')} |")
    for title, name, limit in LIMITS:
        figures = medians(measures[name], ["atsdb"])
        if figures:
            rows.append(f"| {title} | {limit} ms | {verdict(figures['atsdb'] <= limit, show('milliseconds', figures['atsdb']))} |")
    return rows


ANALYTICAL = ["duckdb", "clickhouse"]
SEVEN = ["count", "mean", "by_status", "by_sensor", "by_hour_and_sensor", "last_rows", "two_hours"]
SERVED = ["sqlite", "mariadb:innodb", "postgres"]
MIXED = [f"{readers}_{writers}" for readers in (1, 2, 4) for writers in (1, 2)]
# The work, the file, its measures (None: all queries), the others, and the goals: the geometric mean of the factors between atsdb
# and the best of the others, and the least factor.
LARGE = [
    ("the seven queries of `series`, 10,000,000 rows", "cached.json", SEVEN, ANALYTICAL, 3, 1),
    ("the same, 100,000,000 rows", "series100.json", SEVEN, ANALYTICAL, 3, 1),
    ("TSBS's queries, 100 hosts for three days", "tsbs.json", None, [*ANALYTICAL, "questdb"], 2, 1),
    ("TSBS's queries, 4,000 hosts for six hours", "tsbs4000.json", None, [*ANALYTICAL, "questdb"], 2, 1),
    ("db-benchmark's ten questions, 10,000,000 rows", "questions.json", None, ["duckdb"], None, 1),
    ("ClickBench's 43 queries on generated rows, 10,000,000 rows", "hits.json", None, ["duckdb"], 0.7, None),
    ("`pinger`: a query of 1 to 4 readers beside 1 and 2 writers", "pinger.json", [f"read_{mix}" for mix in MIXED], SERVED, None, 1),
    ("`pinger`: an INSERT beside them", "pinger.json", [f"write_{mix}" for mix in MIXED], SERVED, None, 1),
]


def compared(file, names, others):
    """Which of the others the file has, and the factors between atsdb and the best of them, of the measures with these names or
    of all queries."""
    report = json.loads((root / "docs/lab" / file).read_text())
    others, found = [name for name in others if name in present(report)], []
    for measure in report["workloads"][0]["measures"]:
        is_query = measure["unit"] == "milliseconds" and measure["name"] != "index"
        figures = medians(measure, ["atsdb", *others])
        ours = figures.pop("atsdb", None)
        if ours and figures and (measure["name"] in names if names else is_query):
            found.append(min(figures.values()) / ours)
    return others, found


def large():
    rows = ["| work | goal | reached |", "|---|---|---|"]
    for work, file, names, others, mean_min, least_min in LARGE:
        goals = [f"geometric mean {mean_min} x"] if mean_min else []
        goals += [f"each at least {least_min} x"] if least_min else []
        text = "not measured"
        if (root / "docs/lab" / file).exists():
            others, found = compared(file, names, others)
            mean, least = statistics.geometric_mean(found), min(found)
            text = f"geometric mean {show_factor(mean)}, least {show_factor(least)}"
            if least < (least_min or 0):
                text += f", {sum(factor < least_min for factor in found)} of {len(found)} below"
            if len(found) < len(names or []):
                text += f"; {len(found)} of the {len(names)} were measured"
            text = f"{verdict(mean >= (mean_min or 0) and least >= (least_min or 0), text)} ([results](lab/{file}))"
        rows.append(f"| {work} | {' and '.join(goals)}, beside {', '.join(NAMES[name] for name in others)} | {text} |")
    workload = json.loads((root / "docs/lab/cached.json").read_text())["workloads"][0]
    ours = {measure["name"]: medians(measure, ["atsdb"]).get("atsdb") for measure in workload["measures"]}
    above = ours["bytes_wide"] / next(fact["value"] for fact in workload["facts"] if fact["name"] == "entropy_wide") - 1
    for work, goal, is_reached, text in [
        ("seal, 8 columns", "10 M rows/s", ours["seal"] >= 10e6, show("rows_per_second", ours["seal"])),
        ("size, 8 columns, sealed", "within 5 % of the entropy", above <= 0.05, f"{above:.0%} above"),
        ("start the program", "5 ms", ours["start"] <= 5, show("milliseconds", ours["start"])),
    ]:
        rows.append(f"| {work} | {goal} | {verdict(is_reached, text)} ([results](lab/cached.json)) |")
    return rows


def fill(match):
    name = match.group(1)
    own = {
        "headline": headline, "summary": summary, "reached": reached, "stores": stores, "ratios": ratios, "questdb": questdb,
        "cached": cached, "large": large,
    }
    if name in AVERAGED and name not in workloads:
        return match.group(0)
    if name not in own and name not in workloads:
        sys.exit(f"lab:{name}: there is no table and no workload of this name")
    lines = own[name]() if name in own else whole(name)
    return "\n".join([f"<!-- lab:{name} -->", *lines, "<!-- lab:end -->"])


for file in (root / "README.md", root / "docs/figures.md"):
    text = file.read_text()
    written = re.sub(r"<!-- lab:(?!end)(\w+) -->\n.*?<!-- lab:end -->", fill, text, flags=re.S)
    if "--check" not in sys.argv:
        file.write_text(written)
    elif written != text:
        sys.exit(f"{file.relative_to(root)} is out of date: python3 docs/lab/make_headline.py")
