"""Threads, Ctrl-C, and other work while a statement runs."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import atsdb

# Imported early: otherwise Ctrl-C could end a long import instead of a query.
pyarrow = pytest.importorskip("pyarrow")

#: A query that takes minutes.
SLOW = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 100000) b WHERE a.a % 7 = b.b % 11"


@pytest.fixture
def ctrl_c_soon():
    """A function that presses Ctrl-C half a second after it is called."""
    # A background job of a shell ignores Ctrl-C, and Python then installs no handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    yield timer.start
    timer.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("read", ["fetchall", "fetchone", "arrow"])
def test_ctrl_c_ends_a_query(db, ctrl_c_soon, read):
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ctrl_c_soon()
        getattr(db.sql(SLOW), read)()
    assert time.monotonic() - started < 300
    assert db.sql("SELECT 1").fetchall() == [(1,)]


def test_ctrl_c_ends_a_statement_and_stores_nothing(db, ctrl_c_soon):
    db.sql("CREATE TABLE t (a BIGINT)")
    with pytest.raises(KeyboardInterrupt):
        ctrl_c_soon()
        db.sql(f"INSERT INTO t {SLOW}")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_ctrl_c_ends_an_append(db, ctrl_c_soon):
    db.sql("CREATE TABLE t (a BIGINT)")
    batch = pyarrow.RecordBatch.from_pydict({"a": list(range(1000))})

    def endless():
        while True:
            yield batch

    with pytest.raises(KeyboardInterrupt):
        ctrl_c_soon()
        db.append("t", pyarrow.RecordBatchReader.from_batches(batch.schema, endless()))
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def interrupted(db, work):
    """Does work in another thread, which is asked to stop until it does, and returns its error."""
    done, errors = threading.Event(), []

    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 300
    while not done.wait(0.002) and time.monotonic() < deadline:
        db.interrupt()
    assert done.is_set()
    thread.join()
    (error,) = errors
    return error


def test_another_thread_ends_an_append(db):
    db.sql("CREATE TABLE t (a BIGINT)")
    batch = pyarrow.RecordBatch.from_pydict({"a": list(range(1000))})

    def endless(item):
        while True:
            yield item

    for data in [endless((1,)), endless(batch), pyarrow.RecordBatchReader.from_batches(batch.schema, endless(batch))]:
        error = interrupted(db, lambda: db.append("t", data))
        assert isinstance(error, atsdb.InterruptedError) and "the append was interrupted" in str(error)
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_another_thread_ends_an_import(db, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("time,n\n" + "2024-01-01 00:00:00,1\n" * 1_000_000)
    error = interrupted(db, lambda: db.import_file(file, "t"))
    assert isinstance(error, atsdb.InterruptedError) and "the import was interrupted" in str(error)
    assert db.tables() == []
    db.close()
    db.interrupt()


def test_other_threads_run_while_a_query_runs(db):
    done = threading.Event()
    seen = 0

    def query():
        with pytest.raises(atsdb.InterruptedError):
            db.sql(SLOW).fetchall()
        done.set()

    thread = threading.Thread(target=query)
    thread.start()
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        seen += 1
    # If the query kept other threads waiting, it would be over now.
    assert not done.is_set() and seen > 100
    deadline = time.monotonic() + 300
    # A request that comes before the query runs interrupts nothing, so another follows.
    while not done.is_set() and time.monotonic() < deadline:
        db.interrupt()
        done.wait(5)
    assert done.is_set()
    thread.join()


def test_threads_share_a_store_and_have_transactions_of_their_own(db):
    db.sql("CREATE TABLE t (thread INT, n INT)")
    errors = []

    def work(number):
        try:
            for n in range(20):
                with db.transaction():
                    db.append("t", [(number, n)])
                    ((own,),) = db.sql("SELECT count(*) FROM t WHERE thread = ?", (number,)).fetchall()
                    assert own == n + 1
                db.sql("SELECT * FROM t").fetchall()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(80,)]


def test_rows_are_read_in_another_thread_than_the_query(db):
    result = db.sql("SELECT * FROM generate_series(1, 100000)")
    found = []
    thread = threading.Thread(target=lambda: found.append(pyarrow.table(result).num_rows))
    thread.start()
    thread.join()
    assert found == [100_000]


def test_a_process_ends_while_results_are_open():
    script = f"import atsdb\ndb = atsdb.open('memory:')\nrows = db.sql('SELECT * FROM generate_series(1, 1000000)')\nnext(rows)\nstream = db.sql({SLOW!r}).__arrow_c_stream__()\nprint('end')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


FORKED = """
import os, sys, warnings
import atsdb

warnings.simplefilter("ignore", DeprecationWarning)
path = sys.argv[1]
early = os.fork()
if early == 0:
    with atsdb.open(path + ".child") as db:
        db.sql("CREATE TABLE t (a INT)")
        os._exit(0 if db.append("t", [(1,)]).rows == 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(early, 0)[1]) == 0

db = atsdb.open(path)
db.sql("CREATE TABLE t (a INT)")
db.append("t", [(1,)] * 10_000)
rows = db.sql("SELECT a FROM t")
rows.fetchone()
late = os.fork()
if late == 0:
    calls = [
        lambda: db.sql("SELECT 1"),
        lambda: db.append("t", [(1,)]),
        db.tables,
        rows.fetchall,
        lambda: atsdb.open(path + ".other"),
    ]
    for call in calls:
        try:
            call()
        except atsdb.UsageError as error:
            assert "forked" in str(error), error
        else:
            os._exit(2)
    rows.close()
    db.close()
    # Ends as programs do, and not by os._exit: nothing waits for threads that are not there.
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(late, 0)[1]) == 0
assert len(rows.fetchall()) == 9_999
assert db.append("t", [(1,)]).rows == 1
db.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_is_refused_instead_of_waiting_forever(tmp_path):
    run = [sys.executable, "-c", FORKED, str(tmp_path / "air.db")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
