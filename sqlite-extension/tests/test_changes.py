"""Reading while other processes write, seal, alter and drop; transactions and interrupts of the host."""

import os
import subprocess
import sys
import threading
import unittest

from support import BATCHES, BATCH_ROWS, PROGRAM, Case, ask, atsdb, attached, connect, sqlite3, stores

COUNT = "SELECT count(*) FROM readings"
ROWS = BATCHES * BATCH_ROWS
ONE_ROW = "INSERT INTO readings (time, id) VALUES ('2024-03-04', 99999)"


class Transactions(Case):
    def test_each_statement_sees_the_present_and_a_transaction_its_beginning(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        count = lambda: connection.execute(COUNT).fetchone()[0]
        self.assertEqual(count(), ROWS)
        atsdb("sql", store, ONE_ROW)
        self.assertEqual(count(), ROWS + 1)
        for end in ("COMMIT", "ROLLBACK"):
            connection.execute("BEGIN")
            before = count()
            atsdb("sql", store, ONE_ROW)
            atsdb("recompress", store)
            self.assertEqual(count(), before)
            self.assertEqual(connection.execute("SELECT sum(rows) FROM atsdb_tables(?)", [store]).fetchone()[0], before)
            connection.execute(end)
            # The next transaction begins at once, without a statement in between.
            connection.execute("BEGIN")
            self.assertEqual(count(), before + 1)
            connection.execute(end)

    def test_savepoints_do_not_end_a_snapshot(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        connection.execute("SAVEPOINT outer")
        first = connection.execute(COUNT).fetchone()
        connection.execute("SAVEPOINT inner")
        atsdb("sql", store, ONE_ROW)
        connection.execute("ROLLBACK TO inner")
        self.assertEqual(connection.execute(COUNT).fetchone(), first)
        connection.execute("RELEASE outer")
        self.assertEqual(connection.execute(COUNT).fetchone()[0], first[0] + 1)

    def test_a_snapshot_outlives_the_savepoint_in_which_it_was_taken(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        connection.execute("BEGIN")
        connection.execute("SAVEPOINT inner")
        first = connection.execute(COUNT).fetchone()
        connection.execute("ROLLBACK TO inner")
        atsdb("sql", store, ONE_ROW)
        self.assertEqual(connection.execute(COUNT).fetchone(), first)
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        self.assertEqual(connection.execute(COUNT).fetchone()[0], first[0] + 1)
        connection.execute("COMMIT")

    def test_a_transaction_that_begins_beside_an_open_scan_keeps_its_snapshot(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        scan = connection.execute("SELECT id FROM readings")
        scan.fetchone()
        connection.execute("BEGIN")
        first = connection.execute(COUNT).fetchone()
        self.assertEqual(len(scan.fetchall()), ROWS - 1)
        atsdb("sql", store, ONE_ROW)
        self.assertEqual(connection.execute(COUNT).fetchone(), first)
        connection.execute("COMMIT")

    def test_tables_of_a_statement_share_a_snapshot_while_rows_are_added(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        scan = connection.execute("SELECT id, (SELECT count(*) FROM readings) FROM readings")
        self.assertEqual(scan.fetchone()[1], ROWS)
        atsdb("sql", store, ONE_ROW)
        self.assertEqual({row[1] for row in scan}, {ROWS})

    def test_a_transaction_may_write_tables_of_the_host(self):
        store = self.store()
        connection = attached(store, path=self.path("own.db"), isolation_level=None)
        connection.execute("CREATE TABLE copy (id, time)")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO copy SELECT id, time FROM readings WHERE sensor = 's1'")
        self.assertGreater(connection.execute("SELECT count(*) FROM copy").fetchone()[0], 100)
        connection.execute("ROLLBACK")
        self.assertEqual(connection.execute("SELECT count(*) FROM copy").fetchone()[0], 0)

    def test_a_transaction_that_cannot_be_followed_is_an_error(self):
        connection = attached(stores()["fresh"], isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(COUNT)
        connection.execute("BEGIN")
        self.refused(connection, COUNT, "cannot take part in the transaction")

    def test_nothing_can_be_written(self):
        connection = attached(stores()["fresh"])
        for statement in ("INSERT INTO readings (id) VALUES (1)", "UPDATE readings SET id = 1", "DELETE FROM readings"):
            self.refused(connection, statement, "may not be modified")


class Others(Case):
    def test_answers_hold_while_another_process_writes_and_seals(self):
        store = self.path("live.db")
        atsdb("sql", store, "CREATE TABLE readings (time TIMESTAMP(3), batch INT, sensor TEXT) WITH (map = 'sensor:u32')")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, PROGRAM, store], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (writer.kill(), writer.communicate()))
        connection = attached(store, isolation_level=None)
        known, checks = 0, 0
        while writer.poll() is None or checks < 5:
            connection.execute("BEGIN")
            count = connection.execute(COUNT).fetchone()[0]
            # Batches have 100 rows and are committed in order: each is visible completely or not at all.
            batches = connection.execute("SELECT batch, count(*) FROM readings GROUP BY batch ORDER BY batch").fetchall()
            self.assertEqual(batches, [(batch, 100) for batch in range(count // 100)])
            times = connection.execute("SELECT time FROM readings WHERE sensor IN ('s1', 's7') ORDER BY time").fetchall()
            self.assertEqual(times, sorted(times))
            self.assertEqual(len(times), count // 5)
            self.assertEqual(connection.execute(COUNT).fetchone()[0], count)
            connection.execute("COMMIT")
            self.assertGreaterEqual(count, known)
            known, checks = count, checks + 1
        self.assertEqual(writer.wait(), 0)
        self.assertEqual(connection.execute(COUNT).fetchone()[0], ask(store, COUNT)[0][0])
        connection.close()
        self.assertIn("no damage", atsdb("verify", store))

    def test_a_host_that_has_the_file_open_keeps_its_locks(self):
        store = self.store()
        host = attached(store, path=store, isolation_level=None)
        host.execute("BEGIN")
        chunks = host.execute("SELECT count(*) FROM main.atsdb_chunk").fetchone()
        for _ in range(3):
            # Each connection opens and closes the file in this process, which must not release the first one's lock.
            attached(store).execute(COUNT).fetchone()
            atsdb("sql", store, ONE_ROW)
            atsdb("recompress", store)
        self.assertEqual(host.execute("SELECT count(*) FROM main.atsdb_chunk").fetchone(), chunks)
        host.execute("COMMIT")
        self.assertEqual(host.execute(COUNT).fetchone()[0], ROWS + 3)
        self.assertIn("no damage", atsdb("verify", store))

    def test_an_altered_table_is_followed_or_refused(self):
        store = self.store()
        connection = attached(store)
        prepared = lambda: connection.execute(COUNT + " WHERE sensor = 's1'").fetchone()[0]
        first = prepared()
        atsdb("sql", store, "ALTER TABLE readings SET (retention = '100 years')")
        self.assertEqual(prepared(), first)
        atsdb("sql", store, "ALTER TABLE readings ADD COLUMN extra INT")
        self.refused(connection, COUNT, "was altered", "create it again")
        connection.execute("DROP TABLE temp.readings")
        connection.execute(f"CREATE VIRTUAL TABLE temp.readings USING atsdb('{store}', 'readings')")
        self.assertEqual(connection.execute("SELECT count(*), count(extra) FROM readings").fetchone(), (ROWS, 0))
        atsdb("sql", store, "DROP TABLE readings")
        self.refused(connection, COUNT, "no table named readings")
        atsdb("sql", store, "CREATE TABLE readings (time TIMESTAMP(3), x INT)")
        self.refused(connection, COUNT, "was altered")

    def test_a_dropped_table_stays_readable_in_a_transaction(self):
        store = self.store()
        connection = attached(store, isolation_level=None)
        connection.execute("BEGIN")
        first = connection.execute("SELECT sum(id) FROM readings").fetchone()
        atsdb("sql", store, "DROP TABLE readings")
        self.assertEqual(connection.execute("SELECT sum(id) FROM readings").fetchone(), first)
        connection.execute("COMMIT")
        self.refused(connection, COUNT, "no table named readings")

    def test_a_file_that_was_replaced_is_opened_again(self):
        store = self.store()
        connection = attached(store)
        self.assertEqual(connection.execute(COUNT).fetchone()[0], ROWS)
        other = self.path("new.db")
        atsdb("copy", store, other)
        atsdb("sql", other, ONE_ROW)
        os.replace(other, store)
        self.assertEqual(connection.execute(COUNT).fetchone()[0], ROWS + 1)

    def test_a_rollup_is_read_while_it_is_up_to_date(self):
        store = self.store()
        atsdb("sql", store, "CREATE ROLLUP hourly ON readings EVERY '1 hour' AS SELECT sensor, count(*) AS n FROM readings "
                            "GROUP BY sensor; REFRESH ROLLUP hourly")
        connection = attached(store, "hourly")
        query = "SELECT time, sensor, n FROM hourly ORDER BY time, sensor"
        wanted = [(row[0].replace("Z", ".000Z"), *row[1:]) for row in ask(store, query)]
        self.assertEqual(connection.execute(query).fetchall(), wanted)
        atsdb("sql", store, ONE_ROW)
        self.refused(connection, query, "is a rollup that is not up to date", "REFRESH ROLLUP")
        # It does not keep the tables of the store from being attached.
        other = connect()
        self.assertEqual(other.execute("SELECT atsdb_attach(?)", (store,)).fetchone(), (2,))
        self.assertEqual(other.execute(COUNT).fetchone(), (ROWS + 1,))
        self.refused(other, query, "is a rollup that is not up to date", "REFRESH ROLLUP")
        atsdb("sql", store, "REFRESH ROLLUP hourly")
        for each in (connection, other):
            self.assertEqual(sum(row[2] for row in each.execute(query)), ROWS + 1)

    def test_a_persistent_table_works_in_another_connection(self):
        store, views = self.store(), self.path("views.db")
        connection = connect(views)
        connection.execute(f"CREATE VIRTUAL TABLE readings USING atsdb('{store}', 'readings', time='unixepoch')")
        connection.execute("CREATE VIEW first AS SELECT min(time) AS time FROM readings")
        connection.commit()
        connection.close()
        again = connect(f"file:{views}?mode=ro", uri=True, isolation_level=None)
        self.assertGreater(again.execute("SELECT time FROM first").fetchone()[0], 1_709_000_000)
        again.execute("BEGIN")
        count = again.execute(COUNT).fetchone()[0]
        atsdb("sql", store, ONE_ROW)
        self.assertEqual(again.execute(COUNT).fetchone()[0], count)
        again.execute("COMMIT")
        self.assertEqual(again.execute(COUNT).fetchone()[0], count + 1)


WRITER = f"""
import subprocess, sys
program, store = sys.argv[1:]
for batch in range(30):
    rows = ", ".join(f"('2024-03-0{{1 + batch % 5}} 00:{{number % 60:02}}:{{batch:02}}', {{batch}}, 's{{number % 10}}')" for number in range(100))
    subprocess.run([program, "sql", store, f"INSERT INTO readings VALUES {{rows}}"], check=True, stdout=subprocess.DEVNULL)
    if batch % 4 == 3:
        subprocess.run([program, "recompress", store], check=True, stdout=subprocess.DEVNULL)
"""


class Interrupts(Case):
    ENDLESS = "SELECT count(*) FROM readings a, readings b, readings c"

    def test_an_interrupt_ends_a_scan(self):
        connection = attached(stores()["fresh"], check_same_thread=False)
        is_over = threading.Event()

        def interrupt():
            # A call that comes before the scan begins interrupts nothing.
            while not is_over.wait(0.3):
                connection.interrupt()

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            self.refused(connection, self.ENDLESS, "interrupted")
        finally:
            is_over.set()
            thread.join()
        self.assertEqual(connection.execute(COUNT).fetchone()[0], ROWS)

    def test_an_interrupt_ends_a_scan_that_finds_no_rows(self):
        # Each chunk is read and gives no row, so SQLite itself has no occasion to notice the interrupt.
        store = self.store("fresh")
        connection = attached(store)
        asked = []
        def look():
            asked.append(1)
            return len(asked) > 2
        connection.set_progress_handler(look, 1000)
        self.refused(connection, "SELECT id FROM readings WHERE value > 1 AND value < 1.00000000001", "interrupted")
        connection.set_progress_handler(None, 0)
        self.assertEqual(connection.execute(COUNT).fetchone()[0], ROWS)


if __name__ == "__main__":
    unittest.main()
