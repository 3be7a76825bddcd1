"""The store: statements, appends, transactions, files, copies."""

import datetime as dt
import threading
import zipfile

import pytest

import atsdb


def test_a_result_is_read_in_one_of_many_ways(readings):
    query = "SELECT sensor, count FROM readings ORDER BY count"
    expected = [("kitchen", 1), ("garden", 2), ("kitchen", 3)]
    assert readings.sql(query).fetchall() == expected
    assert list(readings.sql(query)) == expected
    result = readings.sql(query)
    assert (result.fetchone(), result.fetchmany(1), result.fetchmany(5), result.fetchone()) == (
        expected[0],
        expected[1:2],
        expected[2:],
        None,
    )
    assert result.columns == ["sensor", "count"]
    assert result.types == ["Dictionary(UInt32, Utf8)", "Int32"]


def test_a_statement_says_what_it_did(readings):
    assert repr(readings.sql("UPDATE readings SET count = 9 WHERE sensor = 'kitchen'")) == "<atsdb.Result UPDATE, 2 rows>"
    done = readings.sql("DELETE FROM readings WHERE count = 9")
    assert (done.verb, done.row_count, done.columns, done.fetchall()) == ("DELETE", 2, [], [])


def test_several_statements_answer_with_the_last(db):
    assert db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT a FROM t").fetchall() == [(1,)]


def test_parameters_are_values_and_nothing_else(db):
    db.sql("CREATE TABLE t (a TEXT, b INT)")
    evil = "'); DROP TABLE t; --"
    db.sql("INSERT INTO t VALUES (?, ?)", (evil, -5))
    db.sql("INSERT INTO t VALUES ($a, $b)", {"a": None, "b": 7})
    db.sql("INSERT INTO t VALUES ($2, $1)", (8, "$1 ? it's"))
    assert db.sql("SELECT a, b FROM t ORDER BY b").fetchall() == [(evil, -5), (None, 7), ("$1 ? it's", 8)]
    # Question marks in texts, names and comments are not parameters.
    assert db.sql("""SELECT '?''?' AS "a?", ? -- ?\n/* ? /* $1 */ ? */""", (1,)).fetchall() == [("?'?", 1)]
    assert db.sql("SELECT 1-?", (-1,)).fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("query", "values", "message"),
    [
        ("SELECT ?", None, "no values are given"),
        ("SELECT ?, ?", (1,), "has a parameter 2, but 1 values are given"),
        ("SELECT ?", (1, 2), "2 values are given, but the statement has 1 parameters"),
        ("SELECT $a", {"b": 1}, "no value is given for the parameter $a"),
        ("SELECT $a", (1,), "needs a mapping"),
    ],
)
def test_wrong_parameters_are_refused(db, query, values, message):
    with pytest.raises(atsdb.ProgrammingError, match=message.replace("$", r"\$")):
        db.sql(query, values)


def test_a_value_without_a_type_in_sql_is_refused(db):
    with pytest.raises(TypeError, match="a value of type object cannot be a parameter"):
        db.sql("SELECT ?", (object(),))
    with pytest.raises(TypeError, match="not a str"):
        db.sql("SELECT ?", "1")


def test_rows_come_as_tuples_lists_dicts_and_from_generators(readings):
    time = dt.datetime(2024, 3, 3, tzinfo=dt.timezone.utc)
    readings.append("readings", [{"TIME": time, "sensor": "roof"}, [time, "roof", 1, 2]])
    readings.append("readings", ((time, "roof") for _ in range(3)), columns=["time", "sensor"])
    assert readings.sql("SELECT pm10, count FROM readings WHERE sensor = 'roof' ORDER BY count").fetchall() == [
        (1.0, 2),
        *[(None, None)] * 4,
    ]


def test_times_are_texts_in_the_forms_of_sql(readings):
    texts = ["2024/03/03 12:00", "2024-3-3 12:00 PM", "20240303T120000Z", "2024-03-02T24:00:00"]
    readings.append("readings", [(text, "roof", 1.0, 1) for text in texts])
    with pytest.raises(atsdb.DataError, match="cannot read the time"):
        readings.append("readings", [("2024-03-02T24:01", "roof", 1.0, 1)])
    found = readings.sql("SELECT count(*) FROM readings WHERE sensor = 'roof' AND time >= '2024-03-03' GROUP BY time")
    assert sorted(found.fetchall()) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([("2024-01-01", "a", 1.0)], atsdb.DataError, "row 1 has 3 values, but table readings has 4 columns"),
        ([("2024-01-01", "a", 1.0, "x")], atsdb.DataError, "row 1, column count: "),
        ([("2024-01-01", "a", 1.0, 1), ("2024-01-01", 5, 1.0, 1)], atsdb.DataError, "row 2, column sensor: "),
        ([("2024-01-01", "a", 1.0, 2**40)], atsdb.DataError, "row 1, column count: "),
        ([("soon", "a", 1.0, 2)], atsdb.DataError, "row 1, column time: cannot read the time"),
        ([(None, "a", 1.0, 2)], atsdb.DataError, "time"),
        ([{"tim": "2024-01-01"}], atsdb.ProgrammingError, "no column named tim .did you mean time"),
        ([5], TypeError, "a row is a tuple, a list or a dict"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_none_is_stored(readings, rows, error, message):
    with pytest.raises(error, match=message):
        readings.append("readings", rows)
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]


def test_a_batch_with_an_id_counts_once(readings):
    rows = [("2024-04-01", "kitchen", 1.0, 4)]
    assert readings.append("readings", rows, id="batch 7") == atsdb.Appended(rows=1, stored=True)
    assert readings.append("readings", rows, id="batch 7") == atsdb.Appended(rows=1, stored=False)
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(4,)]


def test_rows_that_a_table_keeps_out_are_not_counted(db):
    db.sql("CREATE TABLE t (a INT PRIMARY KEY) WITH (on_conflict = 'keep')")
    assert db.append("t", [(1,), (2,)]) == (2, True)
    assert db.append("t", [(2,), (3,)]) == (1, True)
    with db.transaction():
        assert db.append("t", [(3,), (4,)]) == (1, True)


def test_a_transaction_is_all_or_nothing(readings):
    with readings.transaction():
        readings.append("readings", [("2024-04-01", "roof", 1.0, 4)])
        readings.sql("DELETE FROM readings WHERE sensor = 'kitchen'")
        assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(2,)]
        assert readings.in_transaction
    assert not readings.in_transaction
    with pytest.raises(RuntimeError, match="no"), readings.transaction():
        readings.append("readings", [("2024-04-01", "roof", 1.0, 5)])
        raise RuntimeError("no")
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(2,)]


def test_a_statement_that_fails_ends_its_transaction(readings):
    with pytest.raises(atsdb.ProgrammingError, match="rolled back|has failed"), readings.transaction():
        readings.append("readings", [("2024-04-01", "roof", 1.0, 4)])
        with pytest.raises(atsdb.DataError):
            readings.sql("INSERT INTO readings (time, count) VALUES ('2024-04-01', 'x')")
        readings.append("readings", [("2024-04-01", "roof", 1.0, 5)])
    assert not readings.in_transaction
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]


def test_what_a_transaction_cannot_hold_is_refused(readings):
    with readings.transaction():
        with pytest.raises(atsdb.UsageError, match="cannot be a batch with an id"):
            readings.append("readings", [("2024-04-01", "roof", 1.0, 4)], id="x")
        with pytest.raises(atsdb.UsageError, match="a separate batch"):
            readings.import_file("x.csv", "readings")


def test_files_are_imported_once(db, tmp_path):
    file = tmp_path / "air.csv"
    file.write_text("time,sensor,pm10\n2024-03-01 12:00:00,s1,14\n2024-03-01 12:00:10,s2,-\n")
    done = db.import_file(file, "air", null="-", map={"sensor": "u8"}, id="air.csv")
    assert (done.rows, done.stored, done.skipped) == (2, True, 0)
    assert db.import_file([str(file)], "air", null=["-"], id="air.csv").stored is False
    assert db.sql("SELECT sensor, pm10 FROM air ORDER BY sensor").fetchall() == [("s1", 14), ("s2", None)]
    assert db.tables() == ["air"]
    with pytest.raises(atsdb.Error, match="none.csv"):
        db.import_file(tmp_path / "none.csv", "air")
    with pytest.raises(atsdb.UsageError, match="unknown format xml"):
        db.import_file(file, "air", format="xml")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("x,y,z\n1,2,3\n", {"columns": {"b": "y", "a": "x"}}, [("a", "b"), (1, 2)]),
        ("x,y,z\n1,2,3\n", {"columns": ["z", "x"]}, [("x", "z"), (1, 3)]),
        ("x,y,z\n1,2,3\n", {"omit": "y"}, [("x", "z"), (1, 3)]),
        ("x,y,z\n1,2,3\n", {"unpivot": ["y", "z"], "into": ("k", "v")}, [("x", "k", "v"), (1, "y", 2), (1, "z", 3)]),
        ("a report\nx;y\n1;2,5\n", {"skip": 1, "decimal_comma": True}, [("x", "y"), (1, 2.5)]),
        ('x,y\n1,"a"\n', {"quotes": False}, [("x", "y"), (1, '"a"')]),
        ('{"meta": 1, "items": [{"x": 1}, {"x": 2}]}', {"records": "items"}, [("x",), (1,), (2,)]),
        ("x\ty\n1\t\\N\n", {"format": "text", "header": True}, [("x", "y"), (1, None)]),
        (
            "time,x\n2024-07-01 12:00:00,1\n",
            {"zone": "Europe/Prague"},
            [("time", "x"), (dt.datetime(2024, 7, 1, 10, tzinfo=dt.timezone.utc), 1)],
        ),
    ],
)
def test_files_are_read_as_the_options_say(db, tmp_path, text, options, expected):
    file = tmp_path / "x.json" if text.startswith("{") else tmp_path / "x.csv"
    file.write_text(text)
    assert db.import_file(file, "t", **options).rows == len(expected) - 1
    result = db.sql("SELECT * FROM t ORDER BY 1, 2" if len(expected[0]) > 1 else "SELECT * FROM t ORDER BY 1")
    assert [tuple(result.columns), *result.fetchall()] == expected


def test_a_file_of_an_archive_is_imported(db, tmp_path):
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("one.csv", "x\n1\n")
        archive.writestr("two.csv", "x\n2\n")
    db.import_file(tmp_path / "both.zip", "t", sheet="two.csv")
    assert db.sql("SELECT x FROM t").fetchall() == [(2,)]


def test_figures_say_what_a_table_holds(readings):
    (stats,) = readings.stats("readings")
    assert (stats["name"], stats["rows"], stats["slices"]) == ("readings", 3, 2)
    assert [column[:3] for column in stats["columns"]][:2] == [("time", "TIMESTAMP", None), ("sensor", "TEXT", "u32")]
    before, after = readings.recompress("readings")
    assert before > 0 and after > 0
    assert readings.stats()[0]["fresh_chunks"] == 0
    with pytest.raises(atsdb.NotFoundError):
        readings.stats("nothing")


def test_a_store_is_backed_up_restored_and_copied(readings, tmp_path):
    done = readings.backup(tmp_path / "backups", keep=2, verify=True)
    assert (done["tables"], done["rows"]) == (1, 3)
    with atsdb.open(tmp_path / "restored.db") as restored:
        assert restored.restore(tmp_path / "backups")["rows"] == 3
        assert restored.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]
    done = readings.copy(tmp_path / "copy.db", tables=["readings"], end=dt.datetime(2024, 3, 2))
    assert done["rows"] == 2
    with atsdb.open(tmp_path / "copy.db", read_only=True) as copy:
        assert copy.sql("SELECT count(*) FROM readings").fetchall() == [(2,)]
        with pytest.raises(atsdb.ReadOnlyError):
            copy.append("readings", [("2024-04-01", "roof", 1.0, 4)])


def test_a_closed_store_refuses_work(tmp_path):
    db = atsdb.open(tmp_path / "a.db")
    rows = db.sql("SELECT * FROM generate_series(1, 3)")
    db.close()
    db.close()
    assert [row[0] for row in rows] == [1, 2, 3]
    with pytest.raises(atsdb.UsageError, match="closed"):
        db.sql("SELECT 1")


def test_options_reach_the_store(tmp_path):
    with pytest.raises(atsdb.Error):
        atsdb.open(tmp_path / "none.db", create=False)
    with pytest.raises(atsdb.UsageError, match="durability"):
        atsdb.open("memory:", durability="some")
    with atsdb.open("memory:", timeout=0.1, threads=1, memory_bytes=1 << 28, cache_bytes=1 << 20) as db:
        with pytest.raises(atsdb.ResourcesError):
            db.sql(SLOW).fetchall()
    with pytest.raises(atsdb.UsageError, match="timeout"):
        atsdb.open("memory:", timeout=-1)


def test_temporary_files_of_queries_and_imports_have_one_limit(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", "time,v\n" + "2024-01-01,1\n" * 100_000)
    sort = "SELECT repeat('x', 100) || v AS t FROM generate_series(1, 500000) g(v) ORDER BY t DESC OFFSET 499999"
    with atsdb.open("memory:", memory_bytes=50 << 20, temp_bytes=1 << 20) as db:
        for work in [lambda: db.sql(sort).fetchall(), lambda: db.import_file(tmp_path / "rows.zip", "t")]:
            with pytest.raises(atsdb.ResourcesError, match="limit for temporary files"):
                work()
    with atsdb.open("memory:", temp_bytes=64 << 20) as db:
        assert db.import_file(tmp_path / "rows.zip", "t").rows == 100_000


def test_sizes_and_durations_are_numbers_or_texts(tmp_path):
    sort = "SELECT repeat('x', 100) || v AS t FROM generate_series(1, 500000) g(v) ORDER BY t DESC OFFSET 499999"
    with atsdb.open("memory:", memory_bytes="50 MiB", temp_bytes="1MiB", cache_bytes="8 MB", timeout="2 minutes") as db:
        with pytest.raises(atsdb.ResourcesError, match="limit for temporary files"):
            db.sql(sort).fetchall()
    with atsdb.open("memory:", timeout="100 ms", threads=1) as db, pytest.raises(atsdb.ResourcesError):
        db.sql(SLOW).fetchall()
    for options, message in [
        ({"memory_bytes": "much"}, "memory_bytes: cannot read the size"),
        ({"memory_bytes": 1.5}, "the option memory_bytes is a number of bytes, .*, not 1.5"),
        ({"cache_bytes": -1}, "the option cache_bytes is a number of bytes"),
        ({"temp_bytes": []}, "the option temp_bytes is a number of bytes"),
        ({"timeout": "1 month"}, "timeout: cannot read the duration"),
        ({"timeout": b"1s"}, "the option timeout is a number of seconds"),
        ({"timeout": -1}, "timeout: "),
        ({"threads": "two"}, "the option threads is an int, not 'two'"),
        ({"create": "no"}, "the option create is True or False, not 'no'"),
        ({"durability": 1}, "the option durability is a text, not 1"),
        ({"password": 1}, "the option password is a text, not 1"),
    ]:
        with pytest.raises(atsdb.UsageError, match=message):
            atsdb.open(tmp_path / "none.db", **options)
    assert not (tmp_path / "none.db").exists()


def test_rows_are_appended_to_temporary_tables(db):
    pyarrow = pytest.importorskip("pyarrow")
    db.sql("CREATE TABLE t (a TEXT)")
    db.sql("CREATE TEMPORARY TABLE t (id INT GENERATED BY DEFAULT AS IDENTITY, a INT)")
    assert db.append("t", [(1,), (2,)], columns=["a"]) == (2, True)
    assert db.append("t", pyarrow.table({"a": [3]})) == (1, True)
    assert db.append("t", [(4,)], columns=["a"]) == (1, True)
    with db.transaction():
        assert db.append("t", [(5,)], columns=["a"]) == (1, True)
    assert db.sql("SELECT * FROM t ORDER BY id").fetchall() == [(number, number) for number in range(1, 6)]
    assert db.sql("SELECT count(*) FROM public.t").fetchone() == (0,)
    assert db.sql("SELECT lastval()").fetchone() == (5,)
    with pytest.raises(atsdb.UsageError, match="temporary table t cannot be a batch with an id"):
        db.append("t", [{"a": 6}], id="once")


def test_temporary_tables_belong_to_the_thread(db):
    db.sql("CREATE TABLE stored (a INT)")
    unread = db.sql("SELECT 1 UNION ALL SELECT 2")
    db.sql("CREATE TEMPORARY TABLE own (a INT)")
    reading = db.sql("SELECT 1 UNION ALL SELECT 2")
    assert db.append("own", [(1,)]).rows == 1 and db.sql("SELECT count(*) FROM own").fetchone() == (1,)
    assert len(unread.fetchall()) == len(reading.fetchall()) == 2

    def in_a_thread(work):
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
        return found

    def others():
        with pytest.raises(atsdb.NotFoundError):
            db.append("own", [(2,)])
        db.sql("CREATE TEMPORARY TABLE mine (a INT)")
        return db.append("mine", [(1,)]).rows

    assert in_a_thread(others) == [1]
    named_mine = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'mine'"
    # The temporary table has ended with its thread, whatever the number of the next one is.
    for _ in range(20):
        assert in_a_thread(lambda: db.sql(named_mine).fetchone()) == [(0,)]
    assert db.sql("SELECT a FROM own").fetchall() == [(1,)]
    db.sql("DROP TABLE own")


#: A query that takes minutes.
SLOW = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 100000) b WHERE a.a % 7 = b.b % 11"
