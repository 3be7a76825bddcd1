"""Shared helpers: the program, the extension, stores in several layouts, and hosts that load the extension."""

import importlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timedelta

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("ATSDB", os.path.join(ROOT, "target/release/atsdb")))
EXTENSION = os.path.splitext(os.path.abspath(os.environ.get("ATSDB_EXTENSION", os.path.join(ROOT, "target/release/atsdb.so"))))[0]
#: Python's module, or one with the same interface and another SQLite: ATSDB_TEST_SQLITE=pysqlite3.
sqlite3 = importlib.import_module(os.environ.get("ATSDB_TEST_SQLITE", "sqlite3"))
SHELL = shutil.which("sqlite3")
SEED = int(os.environ.get("ATSDB_TEST_SEED", "1"))

#: The number of batches, and the number of rows in each.
BATCHES, BATCH_ROWS = 6, 1500

LAYOUTS = ("fresh", "half_sealed", "sealed", "split")


def atsdb(*arguments, check=True, text=None):
    """Runs the program and returns its output."""
    run = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, cwd="/")
    if check and run.returncode != 0:
        raise AssertionError(f"atsdb {' '.join(arguments)[:200]}: {run.stderr}")
    return run.stdout


def ask(store, query):
    """Returns the rows of a query, as the program answers it."""
    rows = json.loads(atsdb("sql", store, query, "--format", "json"))
    return [list(row.values()) for row in rows]


def connect(path=":memory:", **options):
    """A connection of Python's SQLite with the extension."""
    connection = sqlite3.connect(path, **options)
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    connection.enable_load_extension(False)
    return connection


def attached(store, table="readings", options="", **arguments):
    """The same, with one virtual table."""
    connection = connect(**arguments)
    quoted = store.replace("'", "''")
    connection.execute(f"CREATE VIRTUAL TABLE temp.{table} USING atsdb('{quoted}', '{table}'{options})")
    return connection


def shell(script, *arguments):
    """Runs a script in the sqlite3 shell with the extension loaded."""
    text = f".load '{EXTENSION}'\n{script}\n"
    return subprocess.run([SHELL, "-batch", *arguments], input=text, capture_output=True, text=True)


def chunks_read(connection):
    return connection.execute("SELECT atsdb_chunks_read()").fetchone()[0]


CREATE = """CREATE TABLE readings (time TIMESTAMP(3), id BIGINT, sensor TEXT, status TEXT, value DOUBLE, small REAL,
    count INT, wide BIGINT UNSIGNED, tiny TINYINT UNSIGNED, ok BOOLEAN, day DATE, seen TIMESTAMP, note TEXT, raw BLOB)
    WITH (map = 'sensor:u32, status:u8', key = 'sensor', slice = 'day');
"""


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def rows_of(batch):
    """Returns the rows of a batch, which follow from its number."""
    chance = random.Random(SEED * 1000 + batch)
    begin = datetime(2024, 3, 1) + timedelta(hours=8 * batch)
    for number in range(BATCH_ROWS):
        def rarely_null(value):
            return None if chance.random() < 0.1 else value
        time = begin + timedelta(milliseconds=chance.randrange(40_000_000))
        yield [
            time.isoformat(sep=" ", timespec="milliseconds"),
            batch * BATCH_ROWS + number,
            f"s{chance.randrange(20)}",
            rarely_null(chance.choice(["ok", "late", "", "it's"])),
            rarely_null(chance.choice([0.0, -0.0, 1.5, -2.25, chance.uniform(-5, 5)])),
            rarely_null(chance.choice([0.5, 0.1, -3.75])),
            rarely_null(chance.choice([-(2**31), 2**31 - 1, chance.randrange(-50, 50)])),
            rarely_null(chance.choice([0, 5, 2**63 - 1, 2**63, 2**64 - 1])),
            rarely_null(chance.randrange(256)),
            rarely_null(chance.random() < 0.5),
            rarely_null((begin + timedelta(days=chance.randrange(-3, 3))).date().isoformat()),
            rarely_null((begin + timedelta(microseconds=chance.randrange(10**11))).isoformat(sep=" ")),
            rarely_null(chance.choice(["", "äöü", "a\nb", "x" * 300])),
            rarely_null(bytes(chance.randrange(256) for _ in range(chance.randrange(4)))),
        ]


def insert_of(batch):
    rows = ",\n".join("(" + ", ".join(map(literal, row)) + ")" for row in rows_of(batch))
    return f"INSERT INTO readings VALUES {rows};\n"


def build(folder, layout):
    """Builds a store with the rows of all batches."""
    path = os.path.join(folder, layout + (".d" if layout == "split" else ".db"))
    url = f"sqlite:{path}?split=slice" if layout == "split" else path
    atsdb("sql", url, text=CREATE)
    for batch in range(BATCHES):
        atsdb("sql", url, text=insert_of(batch))
        if layout == "half_sealed" and batch == BATCHES // 2:
            atsdb("recompress", path)
    if layout in ("sealed", "split"):
        atsdb("recompress", path)
    return path


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="atsdb-extension-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def store(self, layout="half_sealed"):
        """A copy of a store, which the test may change."""
        source, target = stores()[layout], self.path(os.path.basename(stores()[layout]))
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
        return target

    def refused(self, connection, query, *says):
        with self.assertRaises(sqlite3.Error) as raised:
            connection.execute(query).fetchall()
        for text in says:
            self.assertIn(text, str(raised.exception))
        return raised.exception


_stores = {}


def stores():
    """The stores of all layouts, built once."""
    if not _stores:
        folder = tempfile.mkdtemp(prefix="atsdb-extension-stores-")
        import atexit
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for layout in LAYOUTS:
            _stores[layout] = build(folder, layout)
    return _stores


def single(value):
    """Rounds a number to 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def alike(column, value):
    """Converts a value of either side to a common form."""
    if value is None:
        return None
    if column in ("time", "seen"):
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    if column == "ok":
        return bool(value)
    if column == "small":
        return single(value)
    if column == "wide":
        return int(value)
    if column == "raw" and isinstance(value, str):
        return bytes.fromhex(value[2:])
    return value


def main():
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.exit("this Python cannot load extensions of SQLite: take Debian's python3")
    for needed in (PROGRAM, EXTENSION + ".so"):
        if not os.path.exists(needed):
            sys.exit(f"{needed} is missing: run make build extension")
    print(f"ATSDB_TEST_SEED={SEED}", file=sys.stderr)
    folder = os.path.dirname(os.path.abspath(__file__))
    result = unittest.main(module=None, argv=["tests", "discover", "-s", folder], exit=False).result
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}", file=sys.stderr)
    sys.exit(not result.wasSuccessful())
