"""Runs scripts of INSERT statements with atsdb and with sqlite3, in turn, and prints the seconds of both.

    python3 docs/lab/insert_scripts.py target/release/atsdb FOLDER [RUNS [NAME,...]]

Both read the same file from standard input into a new database of the same tables, in one transaction but for the last
two scripts; with WAL and synchronous=FULL on both sides (`off` in the name: synchronous=OFF). A time is that of the
whole process; the median of the runs counts.
"""
import os
import random
import statistics
import subprocess
import sys
import time

atsdb, folder = sys.argv[1], sys.argv[2]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
wanted = sys.argv[4].split(",") if len(sys.argv) > 4 else None
os.makedirs(folder, exist_ok=True)

PLAIN = "CREATE TABLE t (i BIGINT, i2 BIGINT);"
KEYED = "CREATE TABLE t (i BIGINT PRIMARY KEY, i2 BIGINT);"
SERIES = "CREATE TABLE t (time BIGINT, sensor TEXT, status TEXT, count1 INT)"
PINGER = """CREATE TABLE data_200112 (
  metaID bigint NOT NULL default 0, minRtt float default NULL, meanRtt float default NULL,
  medianRtt float default NULL, maxRtt float default NULL, timestamp bigint NOT NULL default 0,
  minIpd float default NULL, meanIpd float default NULL, maxIpd float default NULL, duplicates int default NULL,
  outOfOrder int default NULL, clp float default NULL, iqrIpd float default NULL, lossPercent float default NULL,
  rtts text, seqNums text, PRIMARY KEY (metaID, timestamp));"""


def pairs(rows):
    return (f"INSERT INTO t (i, i2) VALUES ({i}, {2 * i});" for i in rows)


def shuffled(count):
    rows = list(range(count))
    random.Random(1).shuffle(rows)
    return rows


def series(count):
    for i in range(count):
        status = "late" if i * 7919 % 200 == 0 else "ok"
        yield (f"INSERT INTO t (time, sensor, status, count1) VALUES ({1704067200 + i // 5000 * 60}, "
               f"'sensor-{i % 5000:04}', '{status}', {500 + i * 31 % 200});")


def pinger(count):
    chance = random.Random(1)
    for i in range(count):
        least = chance.randrange(500, 250_000) / 1000
        trips = f"{least},{least + 4.25},{least + 3.5},{round(least + 40.125, 3)}"
        detail = "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL"
        if i % 10 == 0:
            detail = "0.125,3.5,9.75,0,0,0,2.25,0,'12.5,13.25,12.75,14','1,2,3,4'"
        yield (f"INSERT INTO data_200112 VALUES ({i % 210 + 1},{trips},{1007164800 + i // 210 * 1800},{detail});")


def many(count, width):
    for start in range(0, count, width):
        rows = ",".join(f"({i}, {2 * i})" for i in range(start, start + width))
        yield f"INSERT INTO t (i, i2) VALUES {rows};"


WITH = " WITH (time = 'time', map = 'sensor:u32, status:u8');"
# name: (rows, table for atsdb, table for sqlite3, statements, in one transaction, synchronous)
SCRIPTS = {
    "plain 200k": (200_000, PLAIN, PLAIN, lambda n: pairs(range(n)), True, "full"),
    "plain 1M": (1_000_000, PLAIN, PLAIN, lambda n: pairs(range(n)), True, "full"),
    "pinger": (325_720, PINGER, PINGER, pinger, True, "full"),
    "series": (500_000, SERIES + WITH, SERIES + ";", series, True, "full"),
    "1000 rows each": (1_000_000, PLAIN, PLAIN, lambda n: many(n, 1000), True, "full"),
    "keyed in order": (500_000, KEYED, KEYED, lambda n: pairs(range(n)), True, "full"),
    "keyed at random": (500_000, KEYED, KEYED, lambda n: pairs(shuffled(n)), True, "full"),
    "keyed 1000 rows each": (1_000_000, KEYED, KEYED, lambda n: many(n, 1000), True, "full"),
    "autocommit full": (2_000, PLAIN, PLAIN, lambda n: pairs(range(n)), False, "full"),
    "autocommit off": (50_000, PLAIN, PLAIN, lambda n: pairs(range(n)), False, "off"),
}


def emptied(name):
    path = os.path.join(folder, name)
    for ending in ("", "-wal", "-shm"):
        if os.path.exists(path + ending):
            os.remove(path + ending)
    return path


def seconds(command, script):
    with open(script) as text:
        start = time.monotonic()
        subprocess.run(command, stdin=text, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start


def one(name, count, ours, theirs, statements, together, synchronous):
    script = os.path.join(folder, "script.sql")
    with open(script, "w") as out:
        lines = statements(count)
        out.writelines(line + "\n" for line in (["BEGIN;", *lines, "COMMIT;"] if together else lines))
    times = {"atsdb": [], "sqlite3": []}
    for _ in range(runs):
        path = emptied("atsdb.db")
        subprocess.run([atsdb, "sql", path, ours], check=True, capture_output=True)
        times["atsdb"].append(seconds([atsdb, "sql", path, "--durability", synchronous], script))
        path = emptied("sqlite.db")
        subprocess.run(["sqlite3", path, "PRAGMA journal_mode=WAL;" + theirs], check=True, capture_output=True)
        times["sqlite3"].append(seconds(["sqlite3", "-cmd", f"PRAGMA synchronous={synchronous};", path], script))
    table = ours.split()[2]
    for command in ([atsdb, "sql", os.path.join(folder, "atsdb.db"), "--format", "csv"], ["sqlite3", path]):
        found = subprocess.run([*command, f"SELECT count(*) FROM {table};"], check=True, capture_output=True, text=True)
        assert found.stdout.split()[-1] == str(count), found.stdout
    a, b = statistics.median(times["atsdb"]), statistics.median(times["sqlite3"])
    print(f"| {name} | {count:,} | {a:.3f} | {b:.3f} | {a / b:.2f} |", flush=True)


print("| script | rows | atsdb s | sqlite3 s | ratio |\n|---|---|---|---|---|", flush=True)
for name, arguments in SCRIPTS.items():
    if wanted is None or name in wanted:
        one(name, *arguments)
