"""Anything unreadable is an error with a reason. Damage never leads to a wrong answer, and never ends the host."""

import os
import random
import shutil
import subprocess
import unittest

from support import SEED, SHELL, Case, atsdb, attached, connect, shell, sqlite3, stores

ALL = "SELECT count(*), sum(id), sum(length(note)), min(value), max(sensor), sum(tiny), total(length(raw)) FROM readings"


class Refused(Case):
    def create(self, path, table="readings", *says):
        connection = connect()
        quoted = path.replace("'", "''")
        return self.refused(connection, f"CREATE VIRTUAL TABLE temp.t USING atsdb('{quoted}', '{table}')", *says)

    def test_what_is_no_store_is_said_with_a_hint(self):
        self.create(self.path("none.db"), "readings", "there is no store", "check the path")
        self.assertFalse(os.path.exists(self.path("none.db")))
        self.create(self.folder, "readings", self.folder)
        self.create(stores()["fresh"], "reading", "no table named reading", "did you mean readings?")
        with open(self.path("text"), "w") as file:
            file.write("this is no database, but long enough to be read as one" * 100)
        self.create(self.path("text"), "readings", "is not an SQLite database")
        plain = sqlite3.connect(self.path("plain.db"))
        plain.execute("CREATE TABLE readings (a)")
        plain.close()
        self.create(self.path("plain.db"), "readings", "not an atsdb store")
        connection = connect()
        self.refused(connection, "CREATE VIRTUAL TABLE temp.t USING atsdb('a.db')", "the table are missing", "USING atsdb(")
        self.refused(connection, "CREATE VIRTUAL TABLE temp.t USING atsdb('postgresql://a/b', 't')", "only stores in SQLite files")
        self.refused(connection, "SELECT * FROM atsdb_tables('nowhere.db')", "there is no store")
        self.refused(connection, "SELECT atsdb_attach('nowhere.db')", "there is no store")

    def test_a_newer_format_is_refused(self):
        store = self.store()
        with sqlite3.connect(store) as plain:
            plain.execute("UPDATE atsdb_store SET value = 99 WHERE key = 'format'")
        plain.close()
        self.create(store, "readings", "has store format 99", "upgrade atsdb")

    def test_a_store_on_a_read_only_medium_is_read(self):
        store = self.store("sealed")
        script = f"mount --bind -o ro {self.folder} {self.folder} && mount -o remount,ro,bind {self.folder} && exec sqlite3 -batch"
        if not SHELL or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            self.skipTest("mounting is not allowed here")
        from support import EXTENSION
        text = f".load '{EXTENSION}'\nSELECT atsdb_attach('{store}');\n{ALL};\n"
        run = subprocess.run(["unshare", "-m", "sh", "-c", script], input=text, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout.splitlines()[0], "1")
        wanted = attached(store).execute(ALL).fetchone()
        self.assertEqual(run.stdout.splitlines()[1].split("|")[:3], [str(value) for value in wanted[:3]])


class Damaged(Case):
    def test_a_damaged_page_is_an_error_with_its_place(self):
        store = self.store("sealed")
        with sqlite3.connect(store) as plain:
            plain.execute("UPDATE atsdb_page SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT min(id) FROM atsdb_page)")
            plain.execute("UPDATE atsdb_chunk SET pages = zeroblob(length(pages)) WHERE id = (SELECT min(id) FROM atsdb_chunk)")
        plain.close()
        error = self.refused(attached(store), "SELECT * FROM readings", "table readings, chunk")
        if hasattr(error, "sqlite_errorcode"):
            self.assertEqual(error.sqlite_errorcode & 0xFF, 11)

    @unittest.skipUnless(SHELL, "sqlite3 is not installed")
    def test_flipped_bits_give_the_right_answer_or_an_error(self):
        for layout in ("sealed", "split"):
            source = stores()[layout]
            right = shell(f"SELECT atsdb_attach('{source}');\n{ALL};\n{ALL} WHERE sensor = 's3';").stdout.splitlines()
            self.assertEqual(len(right), 3)
            chance = random.Random(SEED)
            errors = 0
            for _ in range(int(os.environ.get("ATSDB_TEST_FLIPS", "40"))):
                shutil.rmtree(self.folder)
                os.mkdir(self.folder)
                store = self.store(layout)
                files = [store] if os.path.isfile(store) else [
                    os.path.join(folder, name) for folder, _, names in os.walk(store) for name in names]
                path = chance.choice([name for name in files if os.path.getsize(name) > 0])
                at, bit = chance.randrange(os.path.getsize(path)), chance.randrange(8)
                with open(path, "r+b") as file:
                    file.seek(at)
                    byte = file.read(1)[0]
                    file.seek(at)
                    file.write(bytes([byte ^ 1 << bit]))
                run = shell(f"SELECT atsdb_attach('{store}');\n{ALL};\n{ALL} WHERE sensor = 's3';")
                place = f"{layout}, bit {bit} of byte {at} of {os.path.basename(path)}: {run.stdout} {run.stderr}"
                self.assertGreaterEqual(run.returncode, 0, place)
                self.assertNotIn("please report", run.stderr, place)
                self.assertTrue(set(run.stdout.splitlines()) <= set(right), place)
                self.assertTrue(len(run.stdout.splitlines()) == 3 or run.stderr, place)
                errors += bool(run.stderr)
            self.assertGreater(errors, 5, layout)

    @unittest.skipUnless(SHELL, "sqlite3 is not installed")
    def test_a_truncated_store_does_not_end_the_host(self):
        for share in (0.02, 0.3, 0.9):
            store = self.store("sealed")
            os.truncate(store, int(os.path.getsize(store) * share))
            run = shell(f"SELECT atsdb_attach('{store}');\n{ALL};\nSELECT 'alive';")
            self.assertGreaterEqual(run.returncode, 0, run.stderr)
            self.assertIn("rror", run.stderr)


if __name__ == "__main__":
    unittest.main()
