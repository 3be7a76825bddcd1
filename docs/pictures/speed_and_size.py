"""Draws docs/pictures/speed-and-size.svg from docs/lab/headline.json: bytes a row, and rates of appending and reading.

    python3 docs/pictures/speed_and_size.py [--check]

With --check it writes nothing, and fails if the picture is not what it would draw.
The picture has a background of its own, so that it can be read on light and on dark pages.
"""
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
NAMES = {
    "sqlite": "SQLite", "mariadb:innodb": "MariaDB", "postgres": "PostgreSQL", "duckdb": "DuckDB", "clickhouse": "ClickHouse",
    "atsdb": "atsdb",
}
PANELS = [
    ("bytes_wide", "Bytes a row", "8 columns, sealed; less is better", lambda value: f"{value:.1f}"),
    ("append_rows", "Rows appended a second", "row by row; more is better", lambda value: f"{value / 1e6:.1f} M"),
    ("read_wide", "Rows read a second", "8 columns; more is better", lambda value: f"{value / 1e6:.1f} M"),
]
WIDTH, HEIGHT, PANEL, BAR = 960, 335, 300, 26
INK, FAINT, PAPER, EDGE, OTHERS, OURS = "#1f2933", "#5b6773", "#ffffff", "#c9d1d9", "#9fb3c8", "#0b6e99"


def text(x, y, content, size=13, color=INK, weight="normal", anchor="start"):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{content}</text>')


def panel(left, measure, title, note, show):
    of = {result["contestant"]: result["spread"]["median"] for result in measure["results"] if result.get("spread")}
    drawn = [text(left, 40, title, 16, weight="bold"), text(left, 60, note, 12, FAINT)]
    names = [name for name in NAMES if name in of]
    largest, room = max(of[name] for name in names), PANEL - 85 - 75
    for position, name in enumerate(names):
        top, width = 82 + position * (BAR + 9), max(2, of[name] / largest * room)
        color, weight = (OURS, "bold") if name == "atsdb" else (OTHERS, "normal")
        drawn.append(text(left + 77, top + 18, NAMES[name], 13, weight=weight, anchor="end"))
        drawn.append(f'<rect x="{left + 85}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{color}"/>')
        drawn.append(text(left + 85 + width + 6, top + 18, show(of[name]), 13, weight=weight))
    return drawn


def main():
    report = json.loads((root / "docs/lab/headline.json").read_text())
    workload = next(workload for workload in report["workloads"] if workload["name"] == "series")
    measures = {measure["name"]: measure for measure in workload["measures"]}
    settings, machine = report["settings"], report["machine"]
    runs = "one run" if settings["repeat"] == 1 else f"median of {settings['repeat']} runs"
    how = (f"atsdb lab run series: {workload['rows']:,} rows, {runs}, durability "
           f"{settings['durability']}, {machine['cores']} cores of {machine['processor']}, {report['date'][:10]}")
    drawn = [f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>']
    for position, (name, title, note, show) in enumerate(PANELS):
        drawn += panel(30 + position * (PANEL + 10), measures[name], title, note, show)
    drawn.append(text(30, HEIGHT - 16, how, 12, FAINT))
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img">'
            "<title>Bytes a row, rows appended and rows read a second</title>")
    file, picture = root / "docs/pictures/speed-and-size.svg", "\n".join([head, *drawn, "</svg>", ""])
    if "--check" not in sys.argv:
        file.write_text(picture)
    elif not file.exists() or file.read_text() != picture:
        sys.exit(f"{file.relative_to(root)} is out of date: python3 docs/pictures/speed_and_size.py")


main()
