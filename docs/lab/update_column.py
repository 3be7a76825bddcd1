"""Updates a column of all rows with atsdb and with sqlite3, in turn, and prints the seconds of both.

    python3 docs/lab/update_column.py target/release/atsdb FOLDER [ROWS [RUNS]]

The rows are the published (i, 2i), in that order, and the same rows in no order. A time is that of the whole process, with
WAL and synchronous=FULL on both sides; the median of the runs counts.
"""
import os
import random
import statistics
import subprocess
import sys
import time

atsdb, folder = sys.argv[1], sys.argv[2]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000
runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
UPDATE = "UPDATE t SET i2 = i2 + 2"
os.makedirs(folder, exist_ok=True)


def timed(command):
    begin = time.time()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.time() - begin


for order in ["in order", "shuffled"]:
    numbers = list(range(rows))
    if order == "shuffled":
        random.Random(1).shuffle(numbers)
    csv, theirs, ours = (os.path.join(folder, name) for name in ["rows.csv", "s.db", "a.db"])
    for path in [theirs, ours]:
        for end in ["", "-wal", "-shm"]:
            if os.path.exists(path + end):
                os.remove(path + end)
    with open(csv, "w") as file:
        file.write("i1,i2\n")
        file.writelines(f"{i},{2 * i}\n" for i in numbers)
    timed([atsdb, "sql", ours, "CREATE TABLE t (i1 INT, i2 INT)"])
    timed([atsdb, "import", ours, "t", csv])
    timed(["sqlite3", theirs, "PRAGMA journal_mode=WAL; CREATE TABLE t (i1 INT, i2 INT)", f".import --csv --skip 1 {csv} t"])
    times = {"sqlite3": [], "atsdb": []}
    for _ in range(runs):
        times["sqlite3"].append(timed(["sqlite3", theirs, f"PRAGMA synchronous=FULL; {UPDATE}"]))
        times["atsdb"].append(timed([atsdb, "sql", ours, UPDATE]))
    sqlite, mine = (statistics.median(times[name]) for name in ["sqlite3", "atsdb"])
    print(f"{order}: sqlite3 {sqlite:.3f} s, atsdb {mine:.3f} s: {sqlite / mine:.1f} x", flush=True)
