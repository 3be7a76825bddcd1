"""Imports a CSV and a Parquet file of the same 9 columns with atsdb and with DuckDB, in turn, three times each.

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
files = {"CSV": f"{folder}/readings.csv", "Parquet": f"{folder}/readings.parquet"}
counters = ",".join(f"(500 + (hash(i * {k} + 1) % 200))::INT AS count{k}" for k in range(1, 7))
seconds_of = "1704067200 + (i // 5000) * 60 + (i % 5000) * 58 // 5000 + (hash(i) % 3)::INT"
for format, time_of, options in [
    ("CSV", f"strftime(to_timestamp({seconds_of}), '%Y-%m-%dT%H:%M:%SZ')", "HEADER"),
    ("Parquet", f"to_timestamp({seconds_of})", "FORMAT parquet"),
]:
    duckdb.sql(f"""COPY (SELECT
        {time_of} AS time,
        'sensor-' || lpad((i % 5000)::VARCHAR, 4, '0') AS sensor,
        CASE WHEN hash(i * 7) % 200 = 0 THEN 'late' ELSE 'ok' END AS status,
        {counters} FROM range({rows}) t(i)) TO '{files[format]}' ({options})""")


def emptied(name):
    for ending in ("", "-wal", "-shm", ".wal"):
        if os.path.exists(f"{folder}/{name}{ending}"):
            os.remove(f"{folder}/{name}{ending}")
    return f"{folder}/{name}"


def seconds(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def by_atsdb(file):
    subprocess.run([atsdb, "import", emptied("atsdb.db"), "readings", file], check=True, capture_output=True)


def by_duckdb(file):
    with duckdb.connect(emptied("duck.db")) as connection:
        connection.execute(f"CREATE TABLE readings AS SELECT * FROM '{file}'")


for format, file in files.items():
    times = {"atsdb": [], "duckdb": []}
    for _ in range(3):
        times["atsdb"].append(seconds(lambda: by_atsdb(file)))
        times["duckdb"].append(seconds(lambda: by_duckdb(file)))
    median = {name: statistics.median(values) for name, values in times.items()}
    for name, value in median.items():
        print(f"{format}: {name:7} {value:6.2f} s  {rows / value / 1e6:5.2f} M rows/s")
    factor = median["duckdb"] / median["atsdb"]
    print(f"{format}: atsdb is {factor:.2f} x as fast (duckdb {duckdb.__version__})", flush=True)
