"""Compares queries of the extension with the program and with a plain SQLite table that has the same rows, as make
measure-extension does: python3 sqlite-extension/tests/measure.py FOLDER, with ATSDB and ATSDB_EXTENSION as in the tests. The data
stay in the folder, for the next run: empty it for another version of the program.
It prints the smallest times of three runs in milliseconds: processor time, and elapsed time in parentheses."""

import os
import resource
import subprocess
import sys
import time

from support import EXTENSION, PROGRAM, atsdb, attached, sqlite3

ROWS = 10_000_000
HOUR = "time >= '2024-01-03T10:00:00.000Z' AND time < '2024-01-03T11:00:00.000Z'"
QUERIES = [
    ("count(*)", "SELECT count(*) FROM readings"),
    ("sum of a column", "SELECT sum(a) FROM readings"),
    ("aggregates of 8 columns", "SELECT sum(a), sum(b), sum(c), sum(d), sum(e), max(sensor), max(status), max(time) FROM readings"),
    ("mean by sensor, an hour", f"SELECT count(*), avg(m) FROM (SELECT sensor, avg(d) AS m FROM readings WHERE {HOUR} GROUP BY sensor)"),
    ("one sensor, 5 days", "SELECT count(*), avg(d) FROM readings WHERE sensor = 'sensor-17' AND time >= '2024-01-03T00:00:00.000Z'"),
    ("the last 3 rows", "SELECT time, d FROM readings ORDER BY time DESC LIMIT 3"),
]

CREATE = f"""CREATE TABLE readings (time TIMESTAMP(3), sensor TEXT, status TEXT, a INT, b INT, c BIGINT, d DOUBLE, e REAL)
    WITH (map = 'sensor:u32, status:u8', key = 'sensor', slice = 'day');
INSERT INTO readings SELECT CAST(TIMESTAMP '2024-01-01' + INTERVAL '60 milliseconds' * n AS TIMESTAMP(3)),
    'sensor-' || ((n * 7919) % 5000), CASE WHEN n % 97 = 0 THEN 'late' ELSE 'ok' END, CAST((n * 31) % 1009 AS INT),
    CAST((n / 5000) % 100 AS INT), (n * 2654435761) % 1000003, round(20 + 5 * sin(n / 5000.0), 2), CAST(n % 77 AS REAL)
    FROM (SELECT CAST(value AS BIGINT) AS n FROM generate_series(0, {ROWS - 1})) AS numbers"""


def best(work):
    """Returns the smallest processor time and the smallest elapsed time of three runs."""
    cpu, elapsed = [], []
    for _ in range(3):
        before, begin = usage(), time.perf_counter()
        work()
        elapsed.append(time.perf_counter() - begin)
        cpu.append(usage() - before)
    return f"{min(cpu) * 1000:,.0f} ({min(elapsed) * 1000:,.0f})"


def usage():
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def main():
    folder = os.path.abspath(sys.argv[1])
    store, plain = os.path.join(folder, "readings.db"), os.path.join(folder, "plain.db")
    if not os.path.exists(store):
        atsdb("sql", store, CREATE)
        atsdb("recompress", store)
    extension = attached(store)
    if not os.path.exists(plain):
        connection = attached(store, path=plain, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE main.readings AS SELECT * FROM temp.readings")
        connection.close()
    sqlite = sqlite3.connect(plain)
    start = best(lambda: subprocess.run([PROGRAM, "sql", store, "SELECT 1"], check=True, stdout=subprocess.DEVNULL))
    print(f"SQLite {sqlite3.sqlite_version}; starting the program: {start}; load {os.getloadavg()[0]:.1f}")
    print(f"a row: {os.path.getsize(store) / ROWS:.2f} B in the store, {os.path.getsize(plain) / ROWS:.2f} B in SQLite")
    print(f"the extension: {os.path.getsize(EXTENSION + '.so') / 1e6:.1f} MB\n")
    print("| | extension | plain table of SQLite | `atsdb sql`, with its start |\n|---|---|---|---|")
    for name, query in QUERIES:
        run = lambda connection: best(lambda: connection.execute(query).fetchall())
        program = best(lambda: subprocess.run([PROGRAM, "sql", store, query], check=True, stdout=subprocess.DEVNULL))
        print(f"| {name} | {run(extension)} | {run(sqlite)} | {program} |", flush=True)


main()
