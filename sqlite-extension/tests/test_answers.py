"""The answers equal the program's for each layout of a store, and plans read no more than needed."""

import json
import os
import random
import unittest

from support import (BATCH_ROWS, BATCHES, EXTENSION, ROOT, SEED, SHELL, Case, alike, ask, atsdb, attached, chunks_read, connect,
                     shell, stores)

COLUMNS = ["time", "id", "sensor", "status", "value", "small", "count", "wide", "tiny", "ok", "day", "seen", "note", "raw"]

#: Operands, by column, that the extension and the program compare in the same way.
OPERANDS = {
    "time": ["'2024-03-01T12:00:00Z'", "'2024-03-02 00:00:00'", "'2024-03-02 07:30:00.25'", "'2024-03-03'"],
    "id": ["0", "1500", "4321", "-1", "99999"],
    "sensor": ["'s3'", "'s17'", "'zz'", "''"],
    "status": ["'ok'", "'late'", "''", "'it''s'"],
    "value": ["0.0", "1.5", "-2", "3.25"],
    "small": ["0.5", "-3.75", "2"],
    "count": ["-2147483648", "0", "7", "49"],
    "tiny": ["0", "128", "255"],
    "day": ["'2024-03-01'", "'2024-02-29'", "'2030-01-01'"],
    "seen": ["'2024-03-01 20:00:00.5'", "'2024-03-02T03:04:05.678901Z'"],
    "note": ["''", "'äöü'", "'y'"],
}


def condition(chance):
    column = chance.choice(list(OPERANDS))
    kind = chance.randrange(6)
    if kind == 0:
        return f"{column} IN ({', '.join(chance.choices(OPERANDS[column], k=3))})"
    if kind == 1:
        return f"{column} IS {chance.choice(['NULL', 'NOT NULL'])}"
    if kind == 2:
        low, high = chance.choices(OPERANDS[column], k=2)
        return f"{column} BETWEEN {low} AND {high}"
    return f"{column} {chance.choice(['=', '<', '<=', '>', '>=', '<>'])} {chance.choice(OPERANDS[column])}"


class Answers(Case):
    def test_every_value_comes_as_the_program_writes_it(self):
        for layout, store in stores().items():
            rows = attached(store).execute("SELECT * FROM readings ORDER BY id").fetchall()
            expected = ask(store, "SELECT * FROM readings ORDER BY id")
            self.assertEqual(len(rows), BATCHES * BATCH_ROWS)
            for row, wanted in zip(rows, expected):
                for column, value, other in zip(COLUMNS, row, wanted):
                    self.assertEqual(alike(column, value), alike(column, other), f"{layout}, {column} of {row[1]}")

    def test_generated_queries_are_answered_alike(self):
        chance = random.Random(SEED)
        queries = []
        for _ in range(int(os.environ.get("ATSDB_TEST_QUERIES", "60"))):
            conditions = [condition(chance) for _ in range(chance.randrange(1, 4))]
            where = f" {chance.choice(['AND', 'AND', 'OR'])} ".join(conditions)
            queries.append(chance.choice([
                f"SELECT id, sensor, time FROM readings WHERE {where} ORDER BY time, id",
                f"SELECT id, sensor, time FROM readings WHERE {where} ORDER BY id DESC LIMIT 20",
                f"SELECT count(*) AS n, min(id) AS low, max(count) AS high FROM readings WHERE {where}",
                f"SELECT sensor, count(*) AS n FROM readings WHERE {where} GROUP BY sensor ORDER BY sensor",
                f"SELECT count(DISTINCT a.id) AS n FROM readings a JOIN readings b ON b.sensor = a.sensor AND b.id = a.id + 1 "
                f"WHERE a.id IN (SELECT id FROM readings WHERE {where})",
            ]))
        # The program is asked once: other tests check that layouts do not change its answers.
        expected = {query: ask(stores()["sealed"], query) for query in queries}
        for layout, store in stores().items():
            connection = attached(store)
            for query in queries:
                cursor = connection.execute(query)
                names = [column[0] for column in cursor.description]
                found = [[alike(name, value) for name, value in zip(names, row)] for row in cursor]
                wanted = [[alike(name, value) for name, value in zip(names, row)] for row in expected[query]]
                self.assertEqual(found, wanted, f"{layout}: {query}")

    def test_the_shell_answers_as_python_does(self):
        if not SHELL:
            self.skipTest("sqlite3 is not installed")
        store = stores()["half_sealed"]
        query = "SELECT id, time, sensor, wide, ok, hex(raw) FROM readings WHERE sensor = 's3' ORDER BY time, id"
        run = shell(f"CREATE VIRTUAL TABLE temp.readings USING atsdb('{store}', 'readings');\n.mode list\n.nullvalue NULL\n{query};")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        shown = ["|".join("NULL" if value is None else str(value) for value in row) for row in attached(store).execute(query)]
        self.assertEqual(run.stdout.splitlines(), shown)

    def test_the_order_of_time_needs_no_sorting(self):
        for layout, store in stores().items():
            connection = attached(store)
            for direction in ("", " DESC"):
                for where in ("", " WHERE sensor IN ('s1', 's2') AND time >= '2024-03-01 20:00'"):
                    query = f"SELECT time FROM readings{where} ORDER BY time{direction}"
                    plan = " ".join(row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + query))
                    self.assertNotIn("TEMP B-TREE", plan)
                    times = [row[0] for row in connection.execute(query)]
                    self.assertEqual(times, sorted(times, reverse=bool(direction)), layout)
                    count = f"SELECT count(*) FROM readings{where}"
                    self.assertEqual(len(times), connection.execute(count).fetchone()[0])
            self.assertEqual(connection.execute("SELECT max(time) FROM readings").fetchone()[0], times and max(
                row[0] for row in connection.execute("SELECT time FROM readings")))

    def test_plans_show_what_is_pushed_down(self):
        connection = attached(stores()["sealed"])
        plan = lambda query: " ".join(row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + query))
        shown = plan("SELECT value FROM readings WHERE time >= '2024-03-02' AND sensor = 's1' ORDER BY time DESC")
        for part in ("time >= ?", "sensor = ?", "ORDER BY time DESC"):
            self.assertIn(part, shown)
        self.assertIn("sensor IN ?", plan("SELECT value FROM readings WHERE sensor IN ('s1', 's2')"))
        self.assertIn("rowid > ?", plan("SELECT value FROM readings WHERE rowid > 5 ORDER BY rowid"))
        self.assertNotIn("sensor =", plan("SELECT value FROM readings WHERE sensor = 'S1' COLLATE NOCASE"))
        # The small side of a join comes first, and the table of the store is searched for each of its rows.
        connection.execute("CREATE TABLE sensors (name TEXT, place TEXT)")
        connection.executemany("INSERT INTO sensors VALUES (?, 'roof')", [("s1",), ("s2",)])
        connection.execute("ANALYZE")
        self.assertIn("sensor = ?", plan("SELECT place, count(*) FROM sensors JOIN readings ON sensor = name GROUP BY place"))

    def test_chunks_without_matching_rows_are_not_read(self):
        for layout in ("sealed", "split", "fresh"):
            connection = attached(stores()[layout])
            def reads(query, *values):
                before = chunks_read(connection)
                rows = connection.execute(query, values).fetchall()
                return chunks_read(connection) - before, rows
            chunks = connection.execute("SELECT chunks FROM atsdb_tables(?)", [stores()[layout]]).fetchone()[0]
            self.assertGreaterEqual(chunks, 3, layout)
            self.assertEqual(reads("SELECT count(*) FROM readings")[0], chunks, layout)
            last_day = reads("SELECT count(*) FROM readings WHERE time >= ?", "2024-03-03")[0]
            self.assertTrue(0 < last_day < chunks, layout)
            self.assertEqual(reads("SELECT * FROM readings WHERE time >= '2025-01-01'")[0], 0, layout)
            self.assertEqual(reads("SELECT * FROM readings WHERE sensor = 'never'")[0], 0, layout)
            self.assertEqual(reads("SELECT * FROM readings WHERE time = NULL")[0], 0, layout)
            self.assertLess(reads("SELECT time FROM readings ORDER BY time DESC LIMIT 1")[0], chunks, layout)
            self.assertEqual(reads("SELECT * FROM readings LIMIT 5")[0], 1, layout)
            rowid = connection.execute("SELECT rowid FROM readings WHERE id = 77").fetchone()[0]
            read, rows = reads("SELECT id FROM readings WHERE rowid = ?", rowid)
            self.assertEqual((read, rows), (1, [(77,)]), layout)

    def test_pages_by_rowid_cover_all_rows_once(self):
        connection = attached(stores()["half_sealed"])
        seen, after = [], -1
        while True:
            rows = connection.execute(
                "SELECT rowid, id FROM readings WHERE rowid > ? ORDER BY rowid LIMIT 700", [after]).fetchall()
            if not rows:
                break
            seen += [row[1] for row in rows]
            after = rows[-1][0]
        self.assertEqual(sorted(seen), list(range(BATCHES * BATCH_ROWS)))

    def test_times_in_each_format_are_compared_in_it(self):
        store = stores()["sealed"]
        exact = [row[0] for row in ask(store, "SELECT id FROM readings WHERE time >= '2024-03-02 12:00' ORDER BY id")]
        midday = 1_709_380_800
        for format, operand, kind in [("unixepoch", midday, "real"), ("julian", midday / 86_400 + 2_440_587.5, "real"),
                                      ("integer", midday * 1_000, "integer"), ("text", "2024-03-02 12:00", "text")]:
            connection = attached(store, options=f", time='{format}'")
            found = connection.execute("SELECT id FROM readings WHERE time >= ? ORDER BY id", [operand]).fetchall()
            self.assertEqual([row[0] for row in found], exact, format)
            self.assertEqual(connection.execute("SELECT DISTINCT typeof(time) FROM readings").fetchall(), [(kind,)])
            days = connection.execute("SELECT count(*) FROM readings WHERE day = ?", [
                {"unixepoch": 1_709_251_200, "julian": 1_709_251_200 / 86_400 + 2_440_587.5, "integer": 19_783,
                 "text": "2024-03-01"}[format]]).fetchone()
            self.assertEqual(list(days), ask(store, "SELECT count(*) FROM readings WHERE day = '2024-03-01'")[0], format)

    def test_keys_whose_times_are_equal_when_they_are_rounded_are_all_found(self):
        store = self.path("keys.db")
        atsdb("sql", store, "CREATE TABLE k (time TIMESTAMP(9), n INT, PRIMARY KEY (time)); "
                            "INSERT INTO k VALUES ('2024-03-01 00:00:00', 1), ('2024-03-01 00:00:00.000000001', 2)")
        for format, operand, found in [("unixepoch", 1_709_251_200, [1, 2]), ("julian", 2_460_370.5, [1, 2]),
                                       ("integer", 1_709_251_200_000_000_001, [2]), ("text", "2024-03-01", [1])]:
            connection = attached(store, "k", options=f", time='{format}'")
            rows = connection.execute("SELECT n FROM k WHERE time = ? ORDER BY n", [operand]).fetchall()
            self.assertEqual([n for (n,) in rows], found, format)

    def test_a_time_may_be_written_in_any_form_and_place(self):
        connection = attached(stores()["sealed"])
        count = lambda where: connection.execute(f"SELECT count(*) FROM readings WHERE {where}").fetchone()[0]
        wanted = count("time >= '2024-03-02T12:00:00.000Z'")
        for written in ("'2024-03-02 12:00:00'", "'2024-03-02T14:00:00+02:00'", "datetime('2024-03-02', '+12 hours')",
                        "strftime('%Y-%m-%dT%H:%M:%fZ', 1709380800, 'unixepoch')"):
            self.assertEqual(count(f"time >= {written}"), wanted, written)
            # Not pushed down: SQLite does the comparison.
            self.assertEqual(count(f"CASE WHEN time >= {written} THEN 1 ELSE 0 END"), wanted, written)
            self.assertEqual(count(f"time >= {written} OR id < 0"), wanted, written)
        self.assertEqual(count("time >= '2024-03' AND time < '2024-04'"), BATCHES * BATCH_ROWS)
        self.assertEqual(count("time < '2024'"), 0)

    def test_operands_of_other_types_are_compared_by_the_rules_of_sqlite(self):
        connection = attached(stores()["sealed"])
        connection.execute("CREATE TABLE plain AS SELECT * FROM readings WHERE 0")
        declared = {row[1]: row[2] for row in connection.execute("PRAGMA temp.table_info(readings)")}
        collate = lambda name: " COLLATE atsdb_time" if name in ("time", "seen", "day") else ""
        connection.execute("DROP TABLE plain")
        connection.execute(f"CREATE TABLE plain ({', '.join(f'{name} {declared[name]}{collate(name)}' for name in COLUMNS)})")
        connection.execute("INSERT INTO plain SELECT * FROM readings")
        operands = ["5", "5.0", "4.5", "'5'", "'5.5'", "'abc'", "x'35'", "NULL", "-1", "9223372036854775807", "1e30", "''", "1", "0",
                    "CAST(5 AS INTEGER)", "(SELECT 5)", "'2024'", "0.1"]
        chance = random.Random(SEED)
        for name in COLUMNS:
            for operator in ("=", "<", ">=", "IS", "IS NOT", "IN"):
                for operand in chance.sample(operands, 9):
                    operand = f"({operand}, 7)" if operator == "IN" else operand
                    query = f"SELECT count(*), sum(id) FROM {{}} WHERE {name} {operator} {operand}"
                    found = connection.execute(query.format("temp.readings")).fetchone()
                    self.assertEqual(found, connection.execute(query.format("plain")).fetchone(), query)

    def test_a_nan_is_null(self):
        store = self.path("nan.db")
        atsdb("sql", store, "CREATE TABLE readings (id INT, f DOUBLE, g REAL); "
                            "INSERT INTO readings VALUES (1, 'NaN', 1), (2, 2, 'NaN'), (3, 1, 2)")
        connection = attached(store)
        ids = lambda where: [row[0] for row in connection.execute(f"SELECT id FROM readings WHERE {where} ORDER BY id")]
        self.assertEqual(ids("f IS NULL"), [1])
        self.assertEqual(ids("g IS NULL"), [2])
        self.assertEqual(ids("f IS NOT NULL"), [2, 3])
        self.assertEqual(ids("f > 0"), [2, 3])
        self.assertEqual(ids("f = 1 OR g = 1"), [1, 3])

    def test_outer_joins_keep_rows_without_a_partner(self):
        connection = attached(stores()["half_sealed"])
        connection.execute("CREATE TABLE sensors (name TEXT)")
        connection.executemany("INSERT INTO sensors VALUES (?)", [("s1",), ("none",)])
        query = "SELECT name, count(id) FROM sensors LEFT JOIN readings ON sensor = name {} GROUP BY name ORDER BY name"
        found = connection.execute(query.format("")).fetchall()
        self.assertEqual(found[0], ("none", 0))
        self.assertEqual(connection.execute(query.format("WHERE id IS NULL")).fetchall(), [("none", 0)])

    def test_all_tables_of_a_store_at_once(self):
        store = self.store()
        atsdb("sql", store, 'CREATE TABLE "odd ""name""" (a INT); INSERT INTO "odd ""name""" VALUES (1); '
                            "CREATE VIEW v AS SELECT 1 AS one")
        connection = connect()
        self.assertEqual(connection.execute("SELECT atsdb_attach(?)", [store]).fetchone()[0], 2)
        self.assertEqual(connection.execute('SELECT a FROM "odd ""name"""').fetchall(), [(1,)])
        self.refused(connection, f"SELECT atsdb_attach('{store}')", "already", "prefix")
        self.assertEqual(connection.execute("SELECT atsdb_attach(?, 'x_', 'integer')", [store]).fetchone()[0], 2)
        self.assertEqual(connection.execute("SELECT typeof(time) FROM x_readings LIMIT 1").fetchone()[0], "integer")
        listed = connection.execute("SELECT name, kind, rows, time_column FROM atsdb_tables(?) ORDER BY name", [store]).fetchall()
        self.assertEqual(listed, [('odd "name"', "table", 1, None), ("readings", "table", BATCHES * BATCH_ROWS, "time"),
                                  ("v", "view", None, None)])
        self.refused(connection, f"CREATE VIRTUAL TABLE temp.v USING atsdb('{store}', 'v')", "is a view")
        self.refused(connection, "SELECT * FROM atsdb_tables", "needs the path")

    def test_tables_of_schemas_are_named_with_them(self):
        store = self.path("schemas.db")
        atsdb("sql", store, text="CREATE SCHEMA lab; CREATE TABLE t (a INT); CREATE TABLE lab.t (b INT); INSERT INTO t VALUES (1);"
                                 " INSERT INTO lab.t VALUES (2);")
        connection = connect()
        self.assertEqual(connection.execute("SELECT atsdb_attach(?)", [store]).fetchone(), (2,))
        self.assertEqual(connection.execute('SELECT a, b FROM t, "lab.t"').fetchall(), [(1, 2)])
        connection.execute(f"CREATE VIRTUAL TABLE temp.lab USING atsdb('{store}', 'lab.t')")
        self.assertEqual(connection.execute("SELECT b FROM lab").fetchall(), [(2,)])

    def test_only_the_sqlite_of_the_host_is_used(self):
        import shutil
        import subprocess
        if not shutil.which("nm"):
            self.skipTest("nm is not installed")
        defined = subprocess.run(["nm", "-D", "--defined-only", EXTENSION + ".so"], capture_output=True, text=True, check=True).stdout
        self.assertIn("sqlite3_extension_init", defined)
        names = [line.split()[-1] for line in defined.splitlines()]
        self.assertEqual([name for name in names if name.startswith("sqlite3") and name != "sqlite3_extension_init"], [])
        with open(EXTENSION + ".so", "rb") as library:
            self.assertNotIn(b"SQLite format 3", library.read())


class Arrays(Case):
    def test_times_in_arrays_are_written_as_in_a_column_of_times(self):
        store = self.path("arrays.db")
        time, day = "2024-03-01 12:30:00.5", "2024-03-01"
        atsdb("sql", store, text="CREATE TABLE t (at TIMESTAMP(3), on_day DATE, times TIMESTAMP(3)[], days DATE[]) WITH (time = 'none');"
                                 f" INSERT INTO t VALUES ('{time}', '{day}', '{{{time},NULL}}', '{{NULL,{day}}}'), (NULL, NULL, NULL, '{{}}');")
        connection = connect()
        for form in ["text", "unixepoch", "julian", "integer"]:
            connection.execute(f"CREATE VIRTUAL TABLE temp.{form} USING atsdb('{store}', 't', time='{form}')")
            rows = connection.execute(f"SELECT at, on_day, times, days FROM temp.{form} ORDER BY at IS NULL").fetchall()
            at, on_day, times, days = rows[0]
            self.assertEqual(([at, None], [None, on_day]), (json.loads(times), json.loads(days)), form)
            self.assertEqual([type(at), type(on_day)], [type(json.loads(times)[0]), type(json.loads(days)[1])], form)
            self.assertEqual((None, None, None, "[]"), rows[1], form)


class Decimals(Case):
    def test_decimals_are_compared_and_ordered_as_numbers(self):
        store = self.path("decimals.db")
        atsdb("sql", store, text="CREATE TABLE t (price DECIMAL(6, 2), n INT); INSERT INTO t VALUES (10.5, 1), (9, 2), (-3, 3), (NULL, 4), (-12.25, 5);")
        connection = connect()
        connection.execute("SELECT atsdb_attach(?)", (store,))
        for condition, found in [
            ("price > 9.5", [1]), ("price = 10.5", [1]), ("price = '10.500'", [1]), ("price IN (9, 10.5)", [1, 2]), ("price < -3", [5]),
            ("price BETWEEN -5 AND 9", [2, 3]), ("price <> 9", [1, 3, 5]), ("price IS NULL", [4]), ("price < 1e20", [1, 2, 3, 5]),
        ]:
            rows = connection.execute(f"SELECT n FROM t WHERE {condition} ORDER BY n").fetchall()
            self.assertEqual([n for (n,) in rows], found, condition)
        ordered = connection.execute("SELECT price FROM t WHERE price IS NOT NULL ORDER BY price").fetchall()
        self.assertEqual([price for (price,) in ordered], ["-12.25", "-3.00", "9.00", "10.50"])
        self.assertEqual(connection.execute("SELECT max(price), min(price), sum(price) FROM t").fetchone(), ("10.50", "-12.25", 4.25))
        self.assertEqual(connection.execute("SELECT n FROM t WHERE price > ?", (9.5,)).fetchall(), [(1,)])


class Labels(Case):
    def test_labels_of_an_enumerated_type_are_text(self):
        store = self.path("labels.db")
        atsdb("sql", store, text="CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE t (n INT, feels mood);"
                                 " INSERT INTO t VALUES (1, 'sad'), (2, 'ok'), (3, 'happy'), (4, NULL);")
        connection = connect()
        self.assertEqual(connection.execute("SELECT atsdb_attach(?)", (store,)).fetchone(), (1,))
        for condition, found in [
            ("feels = 'ok'", [2]), ("feels IN ('ok', 'sad', 'none')", [1, 2]), ("feels < 'ok'", [3]), ("feels >= 'ok'", [1, 2]),
            ("feels IS NULL", [4]), ("feels <> 'happy'", [1, 2]), ("feels LIKE 'HA%'", [3]), ("feels = 'none'", []),
        ]:
            rows = connection.execute(f"SELECT n FROM t WHERE {condition} ORDER BY n").fetchall()
            self.assertEqual([n for (n,) in rows], found, condition)
        ordered = connection.execute("SELECT feels FROM t ORDER BY feels").fetchall()
        self.assertEqual([label for (label,) in ordered], [None, "happy", "ok", "sad"])


class Uuids(Case):
    def test_uuids_are_looked_up_in_the_chunks_that_can_have_them(self):
        store = self.path("uuids.db")
        uuid = lambda number: f"{number}0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
        for number in range(4):
            declared = "CREATE TABLE t (n INT, id UUID);" if number == 0 else ""
            atsdb("sql", store, text=f"{declared} INSERT INTO t VALUES ({number}, '{uuid(number)}');")
        connection = connect()
        connection.execute("SELECT atsdb_attach(?)", (store,))
        # A chunk keeps the first 32 bytes of its smallest text: that of uuid(1) could be less than uuid(1).
        for condition, operands, found, read_at_most in [
            ("id = ?", [uuid(2)], [2], 1), ("id IN (?, ?)", [uuid(0), uuid(3)], [0, 3], 2),
            ("id < ?", ["1"], [0], 1), ("id < ?", [uuid(1)], [0], 2),
            ("id = ?", [uuid(2).upper()], [], 4), ("id = ? COLLATE NOCASE", [uuid(2).upper()], [2], 4), ("id = 5", [], [], 4),
        ]:
            before = chunks_read(connection)
            rows = connection.execute(f"SELECT n FROM t WHERE {condition} ORDER BY n", operands).fetchall()
            self.assertEqual([n for (n,) in rows], found, condition)
            self.assertLessEqual(chunks_read(connection) - before, read_at_most, condition)


class TypesPage(Case):
    def test_the_page_of_types_says_what_sqlite_gets(self):
        with open(os.path.join(ROOT, "docs/reference/types.md"), encoding="utf-8") as page:
            rows = page.read().split("|---|---|---|---|---|---|---|\n")[1].split("\n\n")[0].splitlines()
        cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
        self.assertEqual(len(cells), 25)
        store = self.path("types.db")
        literals = {"BOOLEAN": "true", "TEXT": "'a'", "BLOB": "X'00'", "DATE": "'2024-03-01'", "BIGINT UNSIGNED": "18446744073709551615",
                    "TIME": "'12:30'", "UUID": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "JSON": "'[1]'", "INTERVAL": "'1 day'",
                    "TEXT[]": "'{a,NULL}'", "mood": "'ok'"}
        atsdb("sql", store, text="CREATE TYPE mood AS ENUM ('ok', 'bad');")
        for number, row in enumerate(cells):
            sql = row[0].strip("`")
            value = literals.get(sql, "'2024-03-01'" if sql.startswith("TIMESTAMP") else "1")
            more = ", (1)" if sql == "BIGINT UNSIGNED" else ""
            atsdb("sql", store, text=f"CREATE TABLE t{number} (v {sql}) WITH (time = 'none'); INSERT INTO t{number} VALUES ({value}){more};")
        connection = connect()
        connection.execute("SELECT atsdb_attach(?)", (store,))
        for number, row in enumerate(cells):
            found = {kind for (kind,) in connection.execute(f"SELECT DISTINCT typeof(v) FROM t{number}")}
            self.assertEqual({f"`{kind}`" for kind in found}, set(row[5].split(", ")), row[0])


if __name__ == "__main__":
    unittest.main()
