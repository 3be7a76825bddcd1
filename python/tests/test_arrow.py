"""Arrow between atsdb, pandas, Polars, pyarrow and DuckDB."""

import datetime as dt
import gc
import resource

import pytest

import atsdb

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

QUERY = "SELECT time, sensor, pm10, count FROM readings ORDER BY time"


def test_results_become_frames(readings):
    table = readings.sql(QUERY).arrow()
    assert table.column("sensor").to_pylist() == ["kitchen", "garden", "kitchen"]
    assert table.schema.field("time").type == pyarrow.timestamp("us", "UTC")
    frame = readings.sql(QUERY).polars()
    assert frame["pm10"].to_list() == [14.5, 3.25, None]
    assert frame.schema["sensor"] == polars.Categorical
    assert readings.sql(QUERY).pandas()["count"].tolist() == [1, 2, 3]
    assert readings.sql(QUERY).reader().read_all().to_pylist() == table.to_pylist()


def test_duckdb_reads_a_result_by_its_capsule(readings):
    result = readings.sql(QUERY)
    assert duckdb.sql("SELECT sensor, sum(count) FROM result GROUP BY 1 ORDER BY 1").fetchall() == [
        ("garden", 2),
        ("kitchen", 4),
    ]


def test_a_result_is_read_once(readings):
    result = readings.sql(QUERY)
    assert result.fetchone()[1] == "kitchen"
    with pytest.raises(atsdb.UsageError, match="read as tuples"):
        result.arrow()
    result = readings.sql(QUERY)
    assert result.arrow().num_rows == 3
    with pytest.raises(atsdb.UsageError, match="were read already"):
        result.arrow()
    assert readings.sql("DELETE FROM readings WHERE count = 99").arrow().num_columns == 0


def test_polars_gets_intervals_as_durations(db):
    db.sql("CREATE TABLE t (n INT, v INTERVAL) WITH (time = 'none')")
    lengths = [dt.timedelta(days=-1, seconds=7, microseconds=3), None]
    db.append("t", list(enumerate(lengths)))
    frame = db.sql("SELECT v, array_agg(v) AS every FROM t GROUP BY n, v ORDER BY n").polars()
    assert frame.schema == {"v": polars.Duration("us"), "every": polars.List(polars.Duration("us"))}
    assert frame.rows() == [(lengths[0], [lengths[0]]), (None, [None])]
    assert db.append("t", frame.select(polars.lit(2, polars.Int32).alias("n"), "v")) == (2, True)
    assert db.sql("SELECT v FROM t WHERE n = 2 ORDER BY v").fetchall() == [(lengths[0],), (None,)]
    assert db.sql("SELECT v FROM t").polars().height == 4
    for interval in ["1 month", "1 nanosecond", "200000000 days"]:
        with pytest.raises(atsdb.InvalidValueError, match="duration"):
            db.sql(f"SELECT INTERVAL '{interval}'").polars()


@pytest.mark.parametrize("read", ["arrow", "polars", "pandas", "fetchall"])
def test_a_query_that_fails_while_it_is_read_raises_its_error(db, read):
    db.sql("CREATE TABLE t (n INT) WITH (time = 'none')")
    db.append("t", [(1,), (0,)])
    with pytest.raises(atsdb.InvalidValueError, match="division by zero") as raised:
        getattr(db.sql("SELECT 10 / n FROM t"), read)()
    assert (raised.value.kind, "nullif" in raised.value.hint) == ("invalid_value", True)
    assert db.sql("SELECT count(*) FROM t").polars().item() == 2


def test_streams_leave_no_sessions_behind(readings):
    for _ in range(40):
        assert pyarrow.table(readings.sql(QUERY)).num_rows == 3
        assert len(readings.sql(QUERY).reader().read_next_batch()) > 0
        assert len(duckdb.from_arrow(readings.sql("SELECT count FROM readings").reader()).fetchall()) == 3
        readings.sql(QUERY).polars()
        with pytest.raises(atsdb.InvalidValueError):
            readings.sql("SELECT 10 / (count - count) FROM readings").arrow()
    gc.collect()
    # A thread that reads ahead may still be ending.
    assert len(readings._busy) == 0 and len(readings._free) < 20


def test_statements_do_not_disturb_a_stream(readings):
    streams = [readings.sql(QUERY).reader() for _ in range(3)]
    with readings.transaction():
        readings.sql("DELETE FROM readings")
    assert [stream.read_all().num_rows for stream in streams] == [3, 3, 3]


def test_the_schema_is_known_before_the_rows(readings):
    result = readings.sql(QUERY)
    assert pyarrow.schema(result).names == ["time", "sensor", "pm10", "count"]
    assert result.arrow().num_rows == 3


TIME = dt.datetime(2024, 4, 1, tzinfo=dt.timezone.utc)
COLUMNS = {"time": [TIME, TIME], "sensor": ["roof", None], "pm10": [1.5, None], "count": [7, 8]}


def frames():
    yield "polars", lambda: polars.DataFrame(COLUMNS)
    yield "polars lazy", lambda: polars.LazyFrame(COLUMNS)
    yield "polars categorical", lambda: polars.DataFrame(COLUMNS).with_columns(polars.col("sensor").cast(polars.Categorical))
    yield "pandas", lambda: pandas.DataFrame(COLUMNS)
    yield "pandas by index", lambda: pandas.DataFrame(COLUMNS).set_index("time")
    yield "pandas filtered", lambda: pandas.concat([pandas.DataFrame(COLUMNS)] * 2).iloc[[0, 3]]
    yield "table", lambda: pyarrow.table(COLUMNS)
    yield "batch", lambda: pyarrow.RecordBatch.from_pydict(COLUMNS)
    yield "reader", lambda: pyarrow.table(COLUMNS).to_reader()
    yield "duckdb", lambda: duckdb.from_arrow(pyarrow.table(COLUMNS))
    yield "batches", lambda: [one_row(pyarrow.table(COLUMNS), row) for row in (0, 1)]
    yield "generated frames", lambda: (one_row(polars.DataFrame(COLUMNS), row) for row in (0, 1))
    yield "lazy frames", lambda: [one_row(polars.LazyFrame(COLUMNS), row) for row in (0, 1)]
    yield "pandas frames", lambda: (pandas.DataFrame(COLUMNS)[row : row + 1] for row in (0, 1))
    yield "frames of two libraries", lambda: [pandas.DataFrame(COLUMNS)[:1], one_row(pyarrow.table(COLUMNS), 1)]


def one_row(frame, row):
    return frame.slice(row, 1)


@pytest.mark.parametrize("frame", [make for _, make in frames()], ids=[name for name, _ in frames()])
def test_frames_are_appended(readings, frame):
    assert readings.append("readings", frame()) == (2, True)
    found = readings.sql("SELECT * FROM readings WHERE time = ? ORDER BY count", (TIME,)).fetchall()
    assert found == [(TIME, "roof", 1.5, 7), (TIME, None, None, 8)]


def test_frames_after_another_are_one_batch(readings):
    frame = polars.DataFrame(COLUMNS)
    wide = frame.with_columns(count=polars.lit(2**40))
    for late, error, message in [
        (wide, atsdb.InvalidValueError, "count"),
        ((TIME, "roof", 1.5, 7), TypeError, "item 3 is of type tuple"),
    ]:
        with pytest.raises(error, match=message):
            readings.append("readings", iter([frame, frame, late]))
        assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]
    assert readings.append("readings", [frame, frame], id="both") == (4, True)
    assert readings.append("readings", [frame, frame], id="both") == (4, False)
    with readings.transaction():
        readings.append("readings", [frame, frame])
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(11,)]


class OneArray:
    """Exports an array, not a stream."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def test_an_array_of_structs_is_appended(readings):
    batch = pyarrow.RecordBatch.from_pydict(COLUMNS)
    assert readings.append("readings", OneArray(batch)) == (2, True)
    with pytest.raises(TypeError, match="must be a struct array"):
        readings.append("readings", OneArray(pyarrow.array([1, 2])))


@pytest.mark.parametrize("column", [polars.Series("count", [1]), pandas.Series([1]), pyarrow.chunked_array([[1]])])
def test_a_column_without_others_is_refused(readings, column):
    with pytest.raises(TypeError, match="no columns with names: append a frame"):
        readings.append("readings", column)


def test_a_frame_that_does_not_fit_is_refused_and_none_of_it_stored(readings):
    good = pyarrow.RecordBatch.from_pydict(COLUMNS)
    late = good.set_column(3, "count", pyarrow.array([2**40, 1]))
    schema = pyarrow.schema([*[good.schema.field(position) for position in range(3)], ("count", pyarrow.int64())])
    batches = [good.cast(schema), late.cast(schema)]
    with pytest.raises(atsdb.InvalidValueError, match="count"):
        readings.append("readings", pyarrow.RecordBatchReader.from_batches(schema, batches))
    with pytest.raises(atsdb.Error, match="nothing"):
        readings.append("readings", polars.DataFrame({"time": [TIME], "nothing": [1]}))
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]


def test_an_error_of_the_source_ends_the_append(readings):
    schema = pyarrow.RecordBatch.from_pydict(COLUMNS).schema

    def batches():
        yield pyarrow.RecordBatch.from_pydict(COLUMNS)
        raise ValueError("the source is dry")

    with pytest.raises(atsdb.Error, match="the source is dry"):
        readings.append("readings", pyarrow.RecordBatchReader.from_batches(schema, batches()))
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]


def test_a_transaction_does_not_commit_a_part_of_an_append(readings):
    batch = pyarrow.RecordBatch.from_pydict(COLUMNS)
    row = (TIME, "roof", 1.5, 7)

    def broken(items):
        yield from items
        raise RuntimeError("the source is dry")

    for data in [
        pyarrow.RecordBatchReader.from_batches(batch.schema, broken([batch])),
        broken([batch]),
        broken([row] * 70_000),
    ]:
        with pytest.raises(atsdb.SqlError, match="had failed"), readings.transaction():
            with pytest.raises(Exception, match="the source is dry"):
                readings.append("readings", data)
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(3,)]
    # One that fails before any of its rows is in the transaction leaves the transaction as it is.
    with readings.transaction():
        with pytest.raises(RuntimeError):
            readings.append("readings", broken([row]))
        readings.append("readings", [row])
    assert readings.sql("SELECT count(*) FROM readings").fetchall() == [(4,)]


def test_reading_a_large_result_needs_little_memory(tmp_path):
    rows = 6_000_000
    with atsdb.open(tmp_path / "large.db", cache_bytes=1 << 20, memory_bytes=1 << 28) as db:
        db.sql("CREATE TABLE t (a BIGINT, b BIGINT, c BIGINT, d BIGINT)")
        db.sql(f"INSERT INTO t SELECT value, value * 7, value % 1000, value FROM generate_series(1, {rows})")
        assert sum(batch.num_rows for batch in db.sql("SELECT * FROM t LIMIT 100000").reader()) == 100_000
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        counted = sum(batch.num_rows for batch in db.sql("SELECT * FROM t").reader())
        fetched = db.sql("SELECT a FROM t")
        first = fetched.fetchmany(1000)
        fetched.close()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert (counted, len(first)) == (rows, 1000)
    # The whole result takes 192 MB.
    assert grown < 100_000_000, f"{grown} bytes"


def test_appending_many_frames_needs_little_memory(tmp_path):
    def frames(count):
        for first in range(0, count * 100_000, 100_000):
            number = polars.int_range(first, first + 100_000, eager=True)
            yield polars.DataFrame({"a": number, "b": number * 7, "c": number % 1000, "d": number + 1})

    with atsdb.open(tmp_path / "large.db", cache_bytes=1 << 20) as db:
        db.sql("CREATE TABLE t (a BIGINT, b BIGINT, c BIGINT, d BIGINT)")
        db.append("t", frames(5))
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert db.append("t", frames(60)).rows == 6_000_000
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    # All frames together take 192 MB.
    assert grown < 100_000_000, f"{grown} bytes"


@pytest.mark.parametrize("place", ["memory", "file"])
def test_sealed_columns_are_read_without_copies(tmp_path, place):
    """Two queries return the same buffers: those of the cache of columns. Polars takes them as they are."""
    with atsdb.open("memory:" if place == "memory" else tmp_path / "air.db", cache_bytes=256 << 20) as db:
        db.sql(
            "CREATE TABLE t (time TIMESTAMP, big BIGINT, real DOUBLE, word TEXT, name TEXT)"
            " WITH (time = 'time', map = 'name:u8', slice = 'year')"
        )
        db.sql(
            "INSERT INTO t SELECT CAST(TIMESTAMP '2024-01-01' + INTERVAL '1 second' * value AS TIMESTAMP), value,"
            " value / 3.0, 'word ' || value, 'name ' || (value % 5) FROM generate_series(1, 100000)"
        )
        db.recompress()

        def batches():
            return list(db.sql("SELECT time, big, real, word, name FROM t").reader())

        def buffers(column):
            return column.buffers() + (column.dictionary.buffers() if hasattr(column, "dictionary") else [])

        def addresses(batch):
            return [[buffer and buffer.address for buffer in buffers(column)] for column in batch.columns]

        batches()
        one, two = batches(), batches()
        assert sum(batch.num_rows for batch in one) == 100_000
        assert [addresses(batch) for batch in one] == [addresses(batch) for batch in two]
        frame = polars.DataFrame(one[0])
        for name in ("big", "real"):
            assert frame[name].to_arrow().buffers()[1].address == one[0].column(name).buffers()[1].address
