#!/usr/bin/env python3
"""Tables in memory side by side: MariaDB MEMORY, SQLite :memory: and atsdb.

    docs/lab/memory_tables.py --atsdb target/release/atsdb [--rows 10000000 | --full] [--directory /tmp/memory-lab]

Each loads a file of one column into a table with an index on it, an INT and a CHAR(20), one after the other in one run.
The time is that of the whole statement, LOAD DATA INFILE and the first lookup's answer behind it, the file in the page
cache. Then random lookups, one statement each, over one connection. MariaDB is a server of our own on a socket in the
directory, started and stopped here. SQLite loads by executemany in one transaction and makes its index afterwards,
which is its fastest way. --full is the published experiment's size, 52,428,800 rows.

A row's bytes are told twice: `told` is what the program itself says of the table and its index (MariaDB: DATA_LENGTH
and INDEX_LENGTH in information_schema; atsdb: atsdb.tables; SQLite: pages), `grown` what the process has in memory more
than before the load. MariaDB keeps a CHAR(20) in as many bytes as 20 characters may take: 20 in latin1, its own default,
and 80 in utf8mb4, which Debian's package sets (--character-set utf8mb4). The script needs mariadbd, mariadb-install-db and
the mariadb client.
"""

import argparse
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import threading
import time

LOOKUPS = 20_000


def value_of(kind, row):
    # Without a pattern, as the finalizer of SplitMix64 mixes it.
    mixed = (row + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % (1 << 64)
    mixed ^= mixed >> 31
    return str(mixed >> 33) if kind == "INT" else str(mixed).zfill(20)


def write_file(path, kind, rows):
    if path.exists():
        return
    with path.open("w") as file:
        for first in range(0, rows, 100_000):
            last = min(rows, first + 100_000)
            file.write("".join(value_of(kind, row) + "\n" for row in range(first, last)))


def literal(kind, row):
    value = value_of(kind, row)
    return value if kind == "INT" else f"'{value}'"


def memory_of(pid, what):
    """VmRSS, what a process has in memory now, or VmHWM, the most it ever had."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


class Talk:
    """A program that answers statements on its standard output, and a marker behind them."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1 << 20)

    def ask(self, text):
        """Seconds until the last of the statements has answered, and the lines of the answers."""
        start = time.perf_counter()
        writer = threading.Thread(target=self.write, args=(text + "\nSELECT 'the end' AS marker;\n",))
        writer.start()
        lines = []
        for line in self.process.stdout:
            if line.strip() == "the end":
                break
            if line.strip() not in ("", "marker"):
                lines.append(line.strip())
        writer.join()
        return time.perf_counter() - start, lines

    def write(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def lookups(kind, rows):
    chosen = random.Random(7)
    return "\n".join(f"SELECT c1 FROM t1 WHERE c1 = {literal(kind, chosen.randrange(rows))};" for _ in range(LOOKUPS))


def measure(talk, kind, path, rows, create):
    talk.ask(create)
    probe = f"SELECT count(*) FROM t1 WHERE c1 = {literal(kind, rows // 2)};"
    seconds, lines = talk.ask(f"LOAD DATA INFILE '{path}' INTO TABLE t1;\n{probe}")
    if "1" not in lines and not any(line.isdigit() and int(line) >= 1 for line in lines):
        sys.exit(f"the lookup found nothing: {lines}")
    lookup_seconds, answers = talk.ask(lookups(kind, rows))
    found = sum(1 for line in answers if line != "c1")
    if found < LOOKUPS:
        sys.exit(f"{found} of {LOOKUPS} lookups answered")
    return {"seconds": seconds, "rows_per_second": rows / seconds, "lookups_per_second": LOOKUPS / lookup_seconds}


def mariadb(directory, kind, path, rows, character_set):
    data = directory / "mariadb"
    socket = directory / "mariadb.sock"
    if not data.exists():
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    server = subprocess.Popen(
        ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--user=root",
         "--max-heap-table-size=20G", f"--character-set-server={character_set}", "--secure-file-priv=", f"--pid-file={directory}/mariadb.pid"],
        stdout=subprocess.DEVNULL, stderr=(directory / "mariadb.log").open("w"),
    )
    try:
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "--batch", "--unbuffered", "--skip-column-names"]
        for _ in range(300):
            if subprocess.run([*client, "-e", "SELECT 1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        talk = Talk([*client])
        talk.ask("DROP DATABASE IF EXISTS lab; CREATE DATABASE lab; USE lab;")
        column = "int" if kind == "INT" else "char(20)"
        create = f"CREATE TABLE t1 (c1 {column}, index using hash (c1)) engine memory;"
        before = memory_of(server.pid, "VmRSS:")
        measured = measure(talk, kind, path, rows, create)
        measured["grown_bytes_per_row"] = (memory_of(server.pid, "VmRSS:") - before) / rows
        _, lines = talk.ask(
            "SELECT data_length + index_length FROM information_schema.tables WHERE table_schema = 'lab' AND table_name = 't1';"
        )
        measured["told_bytes_per_row"] = int(lines[-1]) / rows
        measured["peak_bytes"] = memory_of(server.pid, "VmHWM:")
        talk.close()
        return measured
    finally:
        server.terminate()
        server.wait()


def atsdb(program, kind, path, rows):
    talk = Talk([program, "sql", "memory:", "--format", "tsv"])
    column = "int" if kind == "INT" else "char(20)"
    talk.ask("SELECT 1;")
    before = memory_of(talk.process.pid, "VmRSS:")
    measured = measure(talk, kind, path, rows, f"CREATE TABLE t1 (c1 {column}, index (c1)) engine memory;")
    measured["grown_bytes_per_row"] = (memory_of(talk.process.pid, "VmRSS:") - before) / rows
    _, lines = talk.ask("SELECT bytes FROM atsdb.tables WHERE name = 't1';")
    measured["told_bytes_per_row"] = int(lines[-1]) / rows
    measured["peak_bytes"] = memory_of(talk.process.pid, "VmHWM:")
    talk.close()
    return measured


def sqlite(kind, path, rows):
    before = memory_of(os.getpid(), "VmRSS:")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    column = "INTEGER" if kind == "INT" else "TEXT"
    connection.execute(f"CREATE TABLE t1 (c1 {column})")
    start = time.perf_counter()
    connection.execute("BEGIN")
    with open(path) as file:
        convert = int if kind == "INT" else str.rstrip
        connection.executemany("INSERT INTO t1 VALUES (?)", ((convert(line),) for line in file))
    connection.execute("CREATE INDEX i1 ON t1 (c1)")
    connection.execute("COMMIT")
    wanted = value_of(kind, rows // 2)
    wanted = int(wanted) if kind == "INT" else wanted
    assert connection.execute("SELECT count(*) FROM t1 WHERE c1 = ?", (wanted,)).fetchone()[0] >= 1
    seconds = time.perf_counter() - start
    grown = memory_of(os.getpid(), "VmRSS:") - before
    size = connection.execute("PRAGMA page_count").fetchone()[0] * connection.execute("PRAGMA page_size").fetchone()[0]
    statements = lookups(kind, rows).splitlines()
    start = time.perf_counter()
    for statement in statements:
        connection.execute(statement).fetchall()
    lookup_seconds = time.perf_counter() - start
    connection.close()
    return {
        "seconds": seconds, "rows_per_second": rows / seconds, "lookups_per_second": LOOKUPS / lookup_seconds,
        "told_bytes_per_row": size / rows, "grown_bytes_per_row": grown / rows, "peak_bytes": memory_of(os.getpid(), "VmHWM:"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atsdb", default="target/release/atsdb")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--full", action="store_const", dest="rows", const=52_428_800)
    parser.add_argument("--directory", default="/tmp/memory-lab")
    parser.add_argument("--kinds", default="INT,CHAR(20)")
    parser.add_argument("--character-set", default="latin1", help="MariaDB's")
    parser.add_argument("--only", default="mariadb,atsdb,sqlite")
    arguments = parser.parse_args()
    directory = pathlib.Path(arguments.directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    results = {}
    for kind in arguments.kinds.split(","):
        path = directory / f"{'int' if kind == 'INT' else 'char'}-{arguments.rows}.txt"
        write_file(path, kind, arguments.rows)
        subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)
        contestants = {
            "mariadb": lambda: mariadb(directory, kind, path, arguments.rows, arguments.character_set),
            "atsdb": lambda: atsdb(arguments.atsdb, kind, path, arguments.rows),
            "sqlite": lambda: sqlite(kind, path, arguments.rows),
        }
        for name in arguments.only.split(","):
            measured = contestants[name]()
            results[f"{kind} {name}"] = measured
            print(
                f"{kind:9} {name:8} {measured['seconds']:8.2f} s  {measured['rows_per_second'] / 1e6:7.2f} M rows/s  "
                f"{measured['told_bytes_per_row']:6.1f} told {measured['grown_bytes_per_row']:6.1f} grown bytes/row  {measured['lookups_per_second']:8.0f} lookups/s  "
                f"peak {measured['peak_bytes'] / 1e9:.2f} GB  load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    print(json.dumps({"rows": arguments.rows, "results": results}))


if __name__ == "__main__":
    main()
