"""Measures the package beside those of DuckDB and SQLite: appending a frame, reading a column to Polars, aggregating.

    python python/examples/measure.py 10_000_000

`make measure-python` does it with the versions of the other packages that the tests have.

Each contestant runs in a process of its own, on files in a new folder, with commits that survive a loss of power. Reads open
the store anew each time; the median of three is shown. The answers are compared. The first seconds are those of the processor, of
all threads together, so that other work on the machine disturbs them little; those in parentheses are elapsed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import polars

SENSORS = 5_000
BATCH_ROWS = 1_000_000
AGGREGATE = "SELECT sensor, avg(value) AS mean, max(count) AS high, count(*) AS n FROM readings GROUP BY sensor"


def frame(first: int, rows: int) -> polars.DataFrame:
    """Readings in the order of time: every 20 ms one of the sensors has a value."""
    number = polars.int_range(first, first + rows)
    return polars.select(
        time=(1_700_000_000_000_000 + number * 20_000).cast(polars.Datetime("us")),
        sensor=polars.format("sensor-{}", number * 7919 % SENSORS),
        value=(number * 131 % 2003).cast(polars.Float64) / 8 + 20,
        count=(number * 31 % 977).cast(polars.Int32),
    )


class Atsdb:
    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "a.db"

    def open(self) -> Any:
        import atsdb

        return atsdb.open(self.path)

    def create(self, db: Any) -> None:
        db.sql(
            "CREATE TABLE readings (time TIMESTAMP, sensor TEXT, value DOUBLE, count INT)"
            " WITH (time = 'time', map = 'sensor:u32')"
        )

    def append(self, db: Any, rows: polars.DataFrame) -> None:
        db.append("readings", rows)

    def settle(self, db: Any) -> None:
        db.recompress()

    def read(self, db: Any, query: str) -> polars.DataFrame:
        return db.sql(query).polars()


class Duckdb:
    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "a.duckdb"

    def open(self) -> Any:
        import duckdb

        return duckdb.connect(str(self.path))

    def create(self, db: Any) -> None:
        db.execute("CREATE TABLE readings (time TIMESTAMP, sensor TEXT, value DOUBLE, count INT)")

    def append(self, db: Any, rows: polars.DataFrame) -> None:
        db.execute("INSERT INTO readings SELECT * FROM rows")

    def settle(self, db: Any) -> None:
        db.execute("CHECKPOINT")

    def read(self, db: Any, query: str) -> polars.DataFrame:
        return db.sql(query).pl()


class Sqlite:
    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "a.sqlite"

    def open(self) -> Any:
        import sqlite3

        db = sqlite3.connect(self.path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -262144")
        return db

    def create(self, db: Any) -> None:
        db.execute("CREATE TABLE readings (time INT, sensor TEXT, value REAL, count INT)")

    def append(self, db: Any, rows: polars.DataFrame) -> None:
        numbered = rows.with_columns(polars.col("time").to_physical())
        with db:
            db.executemany("INSERT INTO readings VALUES (?, ?, ?, ?)", numbered.iter_rows())

    def settle(self, db: Any) -> None:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def read(self, db: Any, query: str) -> polars.DataFrame:
        return polars.read_database(query, db)


CONTESTANTS: dict[str, type[Any]] = {"atsdb": Atsdb, "DuckDB": Duckdb, "sqlite3": Sqlite}


def timed(work: Callable[[], Any]) -> tuple[list[float], Any]:
    """The seconds of the processor and those that elapsed."""
    clocks = (time.process_time, time.perf_counter)
    started = [clock() for clock in clocks]
    done = work()
    return [clock() - begin for clock, begin in zip(clocks, started)], done


def measure(name: str, rows: int) -> dict[str, Any]:
    """Measures one contestant, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        contestant = CONTESTANTS[name](pathlib.Path(folder))
        db = contestant.open()
        contestant.create(db)
        appending = [0.0, 0.0]
        for first in range(0, rows, BATCH_ROWS):
            batch = frame(first, min(BATCH_ROWS, rows - first))
            appending = [sum(each) for each in zip(appending, timed(lambda: contestant.append(db, batch))[0])]
        settling, _ = timed(lambda: contestant.settle(db))
        db.close()
        size = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
        found: dict[str, Any] = {"append": appending, "settle": settling, "bytes": size / rows}
        for task, query in [("column", "SELECT value FROM readings"), ("aggregate", AGGREGATE)]:
            times = []
            for _ in range(3):
                db = contestant.open()
                seconds, answer = timed(lambda: contestant.read(db, query))
                db.close()
                times.append(seconds)
            found[task] = [statistics.median(each) for each in zip(*times)]
            found[f"{task} answer"] = float(answer.sum().select(polars.sum_horizontal(polars.all().exclude("sensor"))).item())
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--contestant", choices=CONTESTANTS)
    arguments = parser.parse_args()
    if arguments.contestant:
        print(json.dumps(measure(arguments.contestant, arguments.rows)))
        return
    found = {}
    for name in CONTESTANTS:
        command = [sys.executable, __file__, str(arguments.rows), "--contestant", name]
        found[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for task in ("column answer", "aggregate answer"):
        answers = [each[task] for each in found.values()]
        assert max(answers) - min(answers) <= 1e-9 * abs(max(answers)), (task, answers)
    print(f"| {arguments.rows:,} rows | " + " | ".join(found) + " |")
    print("|---" * (len(found) + 1) + "|")
    for task, what in [
        ("append", "append frames of 1 million rows"),
        ("settle", "then seal, checkpoint"),
        ("column", "read one column to Polars"),
        ("aggregate", "mean, highest and number by sensor, to Polars"),
    ]:
        print(f"| {what} | " + " | ".join("{:.3f} CPU s ({:.3f})".format(*each[task]) for each in found.values()) + " |")
    print("| size of a row | " + " | ".join(f"{each['bytes']:.2f} B" for each in found.values()) + " |")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("atsdb", "duckdb", "polars"))
    print(f"\n{versions}, Python {platform.python_version()}, a load of {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
