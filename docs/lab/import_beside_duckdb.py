"""Imports one CSV of 9 columns into a file with atsdb and with DuckDB, in turn, three times each.

    pip install duckdb
    python3 docs/lab/import_beside_duckdb.py target/release/atsdb 5000000 FOLDER
"""
import os
import statistics
import subprocess
import sys
import time

import duckdb

atsdb, rows, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.makedirs(folder, exist_ok=True)
csv = f"{folder}/readings.csv"
counters = ",".join(f"(500 + (hash(i * {k} + 1) % 200))::INT AS count{k}" for k in range(1, 7))
duckdb.sql(f"""COPY (SELECT
    strftime(to_timestamp(1704067200 + (i // 5000) * 60 + (i % 5000) * 58 // 5000 + (hash(i) % 3)::INT),
             '%Y-%m-%dT%H:%M:%SZ') AS time,
    'sensor-' || lpad((i % 5000)::VARCHAR, 4, '0') AS sensor,
    CASE WHEN hash(i * 7) % 200 = 0 THEN 'late' ELSE 'ok' END AS status,
    {counters} FROM range({rows}) t(i)) TO '{csv}' (HEADER)""")


def emptied(name):
    for ending in ("", "-wal", "-shm", ".wal"):
        if os.path.exists(f"{folder}/{name}{ending}"):
            os.remove(f"{folder}/{name}{ending}")
    return f"{folder}/{name}"


def seconds(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def by_atsdb():
    subprocess.run([atsdb, "import", emptied("atsdb.db"), "readings", csv], check=True, capture_output=True)


def by_duckdb():
    with duckdb.connect(emptied("duck.db")) as connection:
        connection.execute(f"CREATE TABLE readings AS SELECT * FROM read_csv('{csv}')")


times = {"atsdb": [], "duckdb": []}
for _ in range(3):
    times["atsdb"].append(seconds(by_atsdb))
    times["duckdb"].append(seconds(by_duckdb))
median = {name: statistics.median(values) for name, values in times.items()}
for name, value in median.items():
    print(f"{name:7} {value:6.2f} s  {rows / value / 1e6:5.2f} M rows/s")
print(f"atsdb is {median['duckdb'] / median['atsdb']:.2f} x as fast (duckdb {duckdb.__version__})")
