"""Writes the tables of README.md and docs/figures.md from the results of a run of the lab, so that nobody types them.

    python docs/lab/make_headline.py [docs/lab/results.json]

What stands between the lines `<!-- lab:NAME -->` and `<!-- lab:end -->` of the two files is replaced; `headline` is the
table of README.md, any other name is a workload's table. A figure is the median of the runs; of a contestant that has
none there is a dash, and the page (docs/lab/report.html) says why.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs/lab/results.json"
report = json.loads(path.read_text())
workloads = {workload["name"]: workload for workload in report["workloads"]}

NAMES = {"sqlite": "SQLite", "mariadb:innodb": "MariaDB", "postgres": "PostgreSQL", "duckdb": "DuckDB", "atsdb": "atsdb"}
present = {contestant["name"] for contestant in report["contestants"] if contestant.get("version")}
shown = [name for name in NAMES if name in present]
HEADLINE = [
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


def medians(measure):
    of = {result["contestant"]: result for result in measure["results"]}
    return {name: of[name]["spread"]["median"] for name in shown if of.get(name, {}).get("spread")}


def row(title, measure):
    figures, unit = medians(measure), measure["unit"]
    cells = [show(unit, figures[name]) if name in figures else "-" for name in shown]
    others = [value for name, value in figures.items() if name != "atsdb"]
    factor = ""
    if "atsdb" in figures and others:
        best = max(others) if unit in RATES else min(others)
        ours = figures["atsdb"]
        factor = (ours / best if unit in RATES else best / ours) if best and ours else 0
        factor = f"{factor:.0f} x" if factor >= 100 else f"{factor:.1f} x" if factor >= 10 else f"{factor:.2g} x"
    return "| " + " | ".join([title, *cells, factor]) + " |"


def table(rows):
    heads = [NAMES[name] for name in shown]
    return ["| | " + " | ".join([*heads, "atsdb / best other"]) + " |", "|" + "---|" * (len(heads) + 2), *rows]


def how(workload):
    settings, machine = report["settings"], report["machine"]
    runs = "one run" if settings["repeat"] == 1 else f"median of {settings['repeat']} runs"
    return (
        f"{workload['rows']:,} rows, {runs}, durability {settings['durability']} for everybody shown, "
        f"{settings.get('tuning', 'tuned')} settings, {machine['cores']} cores of {machine['processor']}, {report['date'][:10]}."
    )


def headline():
    workload = workloads["series"]
    measures = {measure["name"]: measure for measure in workload["measures"]}
    rows = [row(title, measures[name]) for name, title in HEADLINE if name in measures]
    return [*table(rows), "", how(workload)]


def whole(name):
    workload, group, rows = workloads[name], "", []
    for measure in workload["measures"]:
        title = measure["title"]
        if title.startswith("  "):
            title = f"{group}: {title.strip()}"
        else:
            group = title.split(":")[0]
        if medians(measure):
            rows.append(row(title, measure))
    return [*table(rows), "", how(workload)]


def fill(match):
    name = match.group(1)
    if name != "headline" and name not in workloads:
        return match.group(0)
    lines = headline() if name == "headline" else whole(name)
    return "\n".join([f"<!-- lab:{name} -->", *lines, "<!-- lab:end -->"])


for file in (root / "README.md", root / "docs/figures.md"):
    text = file.read_text()
    file.write_text(re.sub(r"<!-- lab:(?!end)(\w+) -->\n.*?<!-- lab:end -->", fill, text, flags=re.S))
