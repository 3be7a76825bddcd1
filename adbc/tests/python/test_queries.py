"""Queries, results and parameters."""

import datetime as dt

import pyarrow
import pytest
from conftest import connect

UTC = dt.timezone.utc


def rows(connection, query, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall()


def test_a_result_is_an_arrow_table(readings):
    with readings.cursor() as cursor:
        cursor.execute("SELECT time, sensor, pm10, count FROM readings ORDER BY time")
        table = cursor.fetch_arrow_table()
    assert table.schema.field("time").type == pyarrow.timestamp("ms", "UTC")
    assert table.schema.field("sensor").type == pyarrow.dictionary(pyarrow.uint16(), pyarrow.string())
    assert table.schema.field("pm10").type == pyarrow.float32()
    assert table["sensor"].to_pylist() == ["kitchen", "garden", "garden", "kitchen"]
    assert table["pm10"].to_pylist() == [14.5, 3.25, None, 7.0]
    assert table["time"].to_pylist()[3] == dt.datetime(2024, 3, 1, 12, 0, 30, 500000, UTC)


def test_rows_come_as_tuples_and_batches(readings):
    assert rows(readings, "SELECT sensor, count FROM readings WHERE count > 2 ORDER BY count") == [
        ("garden", 3),
        ("kitchen", 4),
    ]
    with readings.cursor() as cursor:
        cursor.execute("SELECT count FROM readings ORDER BY count")
        assert [column[0] for column in cursor.description] == ["count"]
        assert cursor.fetchone() == (1,)
        assert cursor.fetchmany(2) == [(2,), (3,)]
        reader = cursor.execute("SELECT * FROM readings").fetch_record_batch()
        assert sum(batch.num_rows for batch in reader) == 4


def test_without_dictionaries_mapped_columns_are_text(readings, path):
    readings.close()
    with connect(path, conn_kwargs={"atsdb.dictionaries": "false"}) as plain:
        with plain.cursor() as cursor:
            cursor.execute("SELECT sensor FROM readings ORDER BY time")
            table = cursor.fetch_arrow_table()
            assert cursor.adbc_execute_schema("SELECT sensor FROM readings").field(0).type == pyarrow.string()
        assert table.schema.field(0).type == pyarrow.string()
        assert table[0].to_pylist() == ["kitchen", "garden", "garden", "kitchen"]
        assert plain.adbc_get_table_schema("readings").field("sensor").type == pyarrow.string()


def test_intervals_are_durations_if_the_caller_wants_them(path):
    query = "SELECT INTERVAL '1 day 2 seconds' AS length, ARRAY[INTERVAL '3 seconds'] AS lengths"
    with connect(path, **{"atsdb.durations": "true"}) as connection, connection.cursor() as cursor:
        assert cursor.adbc_execute_schema(query).field("length").type == pyarrow.duration("us")
        cursor.execute(query)
        table = cursor.fetch_arrow_table()
        assert table.schema.field("length").type == pyarrow.duration("us")
        assert table.to_pylist() == [
            {"length": dt.timedelta(days=1, seconds=2), "lengths": [dt.timedelta(seconds=3)]}
        ]
        with pytest.raises(connection.DataError, match="cannot hold an interval of months"):
            cursor.execute("SELECT INTERVAL '1 month'").fetchall()
        cursor.adbc_statement.set_options(**{"atsdb.durations": "false"})
        cursor.execute(query)
        assert cursor.fetch_arrow_table().schema.field("length").type == pyarrow.month_day_nano_interval()


def test_several_statements_answer_with_the_last_one(connection):
    assert rows(connection, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2); SELECT sum(x) FROM t;") == [(3,)]


def test_parameters_have_types(readings):
    at = dt.datetime(2024, 3, 1, 12, 0, 20, tzinfo=UTC)
    assert rows(readings, "SELECT count FROM readings WHERE time = ?", (at,)) == [(3,)]
    # A higher precision than the column: no row has this time, and the value is not truncated.
    finer = dt.datetime(2024, 3, 1, 12, 0, 20, 1, tzinfo=UTC)
    assert rows(readings, "SELECT count FROM readings WHERE time = ?", (finer,)) == []
    assert rows(readings, "SELECT count(*) FROM readings WHERE time < ?", (finer,)) == [(3,)]
    assert rows(readings, "SELECT count FROM readings WHERE sensor = $2 AND count < $1", (3, "garden")) == [(2,)]
    assert rows(readings, "SELECT count(*) FROM readings WHERE count > ?", (2.5,)) == [(2,)]
    assert rows(readings, "SELECT ?, ?, ?, ?", (1, "42", 0.5, None)) == [(1, "42", 0.5, None)]
    assert rows(readings, "SELECT 'a ?', \"count\" FROM readings WHERE count = ? -- ?", (1,)) == [("a ?", 1)]
    assert rows(readings, "SELECT count FROM readings ORDER BY count LIMIT ?", (1,)) == [(1,)]


def test_parameters_may_be_bound_by_name(readings):
    query = "SELECT count FROM readings WHERE sensor = $sensor AND count BETWEEN $low AND $high ORDER BY 1"
    assert rows(readings, query, {"low": 1, "high": 3, "sensor": "garden"}) == [(2,), (3,)]
    with pytest.raises(readings.ProgrammingError, match=r"\$high"):
        rows(readings, query, {"low": 1, "sensor": "garden"})


def test_a_query_is_run_for_each_row_of_its_parameters(readings):
    with readings.cursor() as cursor:
        cursor.adbc_statement.set_sql_query("SELECT sensor, count FROM readings WHERE count = ?")
        batch = pyarrow.record_batch([pyarrow.array([4, 7, 1, 2])], names=["count"])
        cursor.adbc_statement.bind(batch)
        stream, _ = cursor.adbc_statement.execute_query()
        table = pyarrow.RecordBatchReader._import_from_c(stream.address).read_all()
    assert table.column("count").to_pylist() == [4, 1, 2]


def test_the_number_of_parameters_is_checked(readings):
    with pytest.raises(readings.ProgrammingError, match="2 columns are bound, but the statement has 1 parameters"):
        rows(readings, "SELECT ?", (1, 2))
    with pytest.raises(readings.ProgrammingError):
        rows(readings, "SELECT ?")


def test_prepared_statements_say_what_they_take_and_answer(readings):
    with readings.cursor() as cursor:
        schema = cursor.adbc_prepare("SELECT sensor, pm10 FROM readings WHERE time > $from AND count = $n")
        assert schema.names == ["from", "n"]
        assert schema.types == [pyarrow.timestamp("ms", "UTC"), pyarrow.int32()]
        answer = cursor.adbc_execute_schema("SELECT sensor, pm10, count + 1 AS next FROM readings")
        assert answer.names == ["sensor", "pm10", "next"]
        assert len(cursor.adbc_execute_schema("DELETE FROM readings")) == 0
    assert rows(readings, "SELECT count(*) FROM readings") == [(4,)]


def test_changes_say_how_many_rows(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (x INT, y TEXT)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, None), (3, "c")])
        assert cursor.rowcount == 3
        cursor.executemany("DELETE FROM t WHERE x = ?", [(1,), (3,), (9,)])
        assert cursor.rowcount == 2
        cursor.execute("INSERT INTO t VALUES (?, ?) RETURNING x * 10", (5, "e"))
        assert cursor.fetchall() == [(50,)]
    assert rows(connection, "SELECT x, y FROM t ORDER BY x") == [(2, None), (5, "e")]


def test_a_long_result_is_streamed(path):
    with connect(path, **{"atsdb.memory_bytes": "64 MiB"}) as connection, connection.cursor() as cursor:
        # All rows together take 8 GB.
        cursor.execute("SELECT value FROM generate_series(1, 1000000000) AS series(value)")
        reader = cursor.fetch_record_batch()
        first = reader.read_next_batch()
        assert 0 < first.num_rows < 1_000_000
        assert 1 <= first.column(0)[0].as_py() <= 1_000_000_000
        reader.close()
    with connect(path) as connection:
        assert rows(connection, "SELECT 1") == [(1,)]


def test_temporary_files_have_a_limit(path):
    sort = "SELECT repeat('x', 100) || v AS t FROM generate_series(1, 500000) g(v) ORDER BY t DESC OFFSET 499999"
    with connect(path, **{"atsdb.memory_bytes": "50 MiB", "atsdb.temp_bytes": "1 MiB"}) as connection:
        with pytest.raises(connection.Error, match="limit for temporary files"):
            rows(connection, sort)


def test_types_go_there_and_back(connection):
    table = pyarrow.table(
        {
            "bool": pyarrow.array([True, None, False]),
            "i8": pyarrow.array([-128, None, 127], pyarrow.int8()),
            "i64": pyarrow.array([-(2**63), None, 2**63 - 1], pyarrow.int64()),
            "u8": pyarrow.array([0, None, 255], pyarrow.uint8()),
            "u64": pyarrow.array([0, None, 2**64 - 1], pyarrow.uint64()),
            "f32": pyarrow.array([0.1, None, float("inf")], pyarrow.float32()),
            "f64": pyarrow.array([0.1, None, -0.0], pyarrow.float64()),
            "text": pyarrow.array(["", None, "žluťoučký kůň"]),
            "blob": pyarrow.array([b"", None, b"\x00\xff"]),
            "date": pyarrow.array([dt.date(1969, 12, 31), None, dt.date(2024, 2, 29)]),
            "s": pyarrow.array([0, None, -1], pyarrow.timestamp("s", "UTC")),
            "ns": pyarrow.array([0, None, 2**62], pyarrow.timestamp("ns", "UTC")),
        }
    )
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("types", table) == 3
        cursor.execute("SELECT * FROM types")
        found = cursor.fetch_arrow_table()
    assert found.equals(table)
