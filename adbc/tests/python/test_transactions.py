"""Transactions, read-only connections, cancelling."""

import threading
import time

import pyarrow
import pytest
from conftest import connect


def one(connection, query):
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def run(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_nothing_is_there_before_commit_and_nothing_after_rollback(path):
    with connect(path) as writer, connect(path) as reader:
        run(writer, "CREATE TABLE t (x INT)")
        writer.commit()
        run(writer, "INSERT INTO t VALUES (1)")
        with writer.cursor() as cursor:
            cursor.adbc_ingest("t", pyarrow.table({"x": [2, 3]}), mode="append")
        assert one(writer, "SELECT count(*) FROM t") == 3
        assert one(reader, "SELECT count(*) FROM t") == 0
        writer.rollback()
        assert one(writer, "SELECT count(*) FROM t") == 0
        run(writer, "INSERT INTO t VALUES (4)")
        writer.commit()
        # A transaction sees the store as it was at its first statement.
        assert one(reader, "SELECT count(*) FROM t") == 0
        reader.rollback()
        assert one(reader, "SELECT count(*) FROM t") == 1


def test_a_transaction_that_is_not_committed_is_rolled_back(path):
    with connect(path, autocommit=True) as connection:
        run(connection, "CREATE TABLE t (x INT)")
    with connect(path) as connection:
        run(connection, "INSERT INTO t VALUES (1)")
    with connect(path, autocommit=True) as connection:
        assert one(connection, "SELECT count(*) FROM t") == 0


def test_autocommit_is_an_option(path):
    with connect(path, autocommit=True) as connection, connect(path, autocommit=True) as other:
        assert connection.adbc_connection.get_option("adbc.connection.autocommit") == "true"
        run(connection, "CREATE TABLE t (x INT)")
        run(connection, "INSERT INTO t VALUES (1)")
        assert one(other, "SELECT count(*) FROM t") == 1
        with pytest.raises(connection.ProgrammingError, match="autocommit") as refused:
            connection.adbc_connection.commit()
        assert refused.value.sqlstate == "25P01"
        connection.adbc_connection.set_autocommit(False)
        run(connection, "INSERT INTO t VALUES (2)")
        assert one(other, "SELECT count(*) FROM t") == 1
        connection.adbc_connection.set_autocommit(True)
        assert one(other, "SELECT count(*) FROM t") == 2


def test_the_second_of_two_writers_has_a_conflict(path):
    with connect(path, autocommit=True) as connection:
        run(connection, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1)")
    with connect(path) as first, connect(path) as second:
        run(first, "UPDATE t SET x = 2")
        run(second, "UPDATE t SET x = 3")
        first.commit()
        with pytest.raises(second.OperationalError) as conflict:
            second.commit()
        assert conflict.value.sqlstate == "40001"
        assert one(first, "SELECT x FROM t") == 2


def test_a_change_for_many_rows_is_all_or_nothing(path):
    with connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (x INT PRIMARY KEY)")
        with pytest.raises(connection.IntegrityError):
            cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (1,)])
        assert one(connection, "SELECT count(*) FROM t") == 0


def test_a_read_only_connection_reads(readings, path):
    for other in [connect(path, conn_kwargs={"adbc.connection.readonly": "true"}), connect(path, **{"atsdb.read_only": "true"})]:
        with other:
            assert one(other, "SELECT count(*) FROM readings") == 4
            for statement in ["DELETE FROM readings", "CREATE TABLE t (x INT)"]:
                with pytest.raises(other.ProgrammingError) as refused:
                    run(other, statement)
                assert refused.value.sqlstate == "25006"
                other.rollback()
            with pytest.raises(other.ProgrammingError), other.cursor() as cursor:
                cursor.adbc_ingest("t", pyarrow.table({"x": [1]}))
            other.rollback()
    assert one(readings, "SELECT count(*) FROM readings") == 4


def test_read_only_may_be_switched(readings, path):
    with connect(path, autocommit=True) as connection:
        handle = connection.adbc_connection
        handle.set_options(**{"adbc.connection.readonly": "true"})
        assert handle.get_option("adbc.connection.readonly") == "true"
        with pytest.raises(connection.ProgrammingError):
            run(connection, "DELETE FROM readings")
        handle.set_options(**{"adbc.connection.readonly": "false"})
        run(connection, "DELETE FROM readings WHERE count = 1")
        assert one(connection, "SELECT count(*) FROM readings") == 3


def cancelled(connection, work, cancel):
    """Runs work and cancels it from another thread. Returns how long it took, and its error."""
    is_over = threading.Event()

    def ask():
        # A request that comes before the work begins cancels nothing, so another follows.
        pause = 0.5
        while not is_over.wait(pause):
            cancel()
            pause = 10

    thread = threading.Thread(target=ask)
    thread.start()
    begun = time.monotonic()
    try:
        with pytest.raises(Exception) as error:
            work()
    finally:
        is_over.set()
        thread.join()
    return time.monotonic() - begun, error.value


LONG = "SELECT count(*) FROM generate_series(1, 1000000000000) AS a(x) WHERE x % 7 = 9"


def test_a_statement_and_a_connection_can_be_cancelled(path):
    with connect(path, autocommit=True) as connection:
        with connection.cursor() as cursor:
            for cancel in [cursor.adbc_cancel, connection.adbc_cancel]:
                took, error = cancelled(connection, lambda: cursor.execute(LONG), cancel)
                assert took < 300 and isinstance(error, connection.OperationalError), error
                assert error.sqlstate == "57014"
        assert one(connection, "SELECT 1") == 1


def test_a_query_may_have_a_time_limit(path):
    with connect(path, **{"atsdb.timeout_seconds": "0.5"}) as connection:
        with pytest.raises(connection.OperationalError):
            run(connection, LONG)


def test_threads_have_connections_of_their_own(path):
    with connect(path, autocommit=True) as connection:
        run(connection, "CREATE TABLE t (x INT)")
        failures = []

        def work(number):
            try:
                with connection.adbc_clone() as own, own.cursor() as cursor:
                    for _ in range(5):
                        cursor.adbc_ingest("t", pyarrow.table({"x": [number] * 100}), mode="append")
                        own.commit()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert one(connection, "SELECT count(*) FROM t") == 2000
