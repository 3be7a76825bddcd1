"""The values of each type, in each of the ways in which results are read."""

import datetime as dt
import decimal

import pytest

from atsdb import dbapi

UTC = dt.timezone.utc
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, UTC)
IDENTITY = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
LENGTH = dt.timedelta(days=1, seconds=2)

#: A type of SQL, and a value of it as Python has it.
SCALARS = [
    ("BOOLEAN", True),
    ("BIGINT UNSIGNED", 2**64 - 1),
    ("REAL", 0.5),
    ("BLOB", b"\x00\xff"),
    ("TIMESTAMP", MOMENT),
    ("DATE", dt.date(2024, 2, 29)),
    ("TIME", dt.time(12, 30, 0, 500000)),
    ("INTERVAL", LENGTH),
    ("DECIMAL(12, 2)", decimal.Decimal("10.50")),
    ("DECIMAL(38)", decimal.Decimal(10**37)),
    ("UUID", IDENTITY),
    ("JSON", '{"a": [1, 2.50]}'),
    ("mood", "ok"),
]

#: One of each type that the elements of arrays have.
ARRAYS = [
    ("BOOLEAN[]", [True, False]),
    ("SMALLINT[]", [-1, 2]),
    ("INT[]", [-1, 2]),
    ("BIGINT[]", [-(2**63), 2]),
    ("REAL[]", [0.5, -1.0]),
    ("DOUBLE[]", [0.1, -1.0]),
    ("DECIMAL(9, 2)[]", [decimal.Decimal("1.50"), decimal.Decimal("-7.00")]),
    ("TEXT[]", ["a", "b, c"]),
    ("TIMESTAMP[]", [MOMENT]),
    ("DATE[]", [dt.date(2024, 2, 29)]),
    ("TIME[]", [dt.time(12, 30), dt.time(0, 0, 0, 1)]),
    ("UUID[]", [IDENTITY]),
]

QUERY = "SELECT v FROM t ORDER BY n"
each_type = pytest.mark.parametrize(("sql_type", "value"), SCALARS + ARRAYS, ids=[name for name, _ in SCALARS + ARRAYS])


@pytest.fixture
def table(db, sql_type, value):
    """A store with a table of the value, and of NULL."""
    db.sql("CREATE TYPE mood AS ENUM ('bad', 'ok')")
    db.sql(f"CREATE TABLE t (n INT, v {sql_type}) WITH (time = 'none')")
    db.append("t", [(0, value), (1, None)])
    return db


#: How Python reads the column of a result.
READERS = {
    "fetchall": lambda result: [row[0] for row in result.fetchall()],
    "fetchmany": lambda result: [row[0] for row in result.fetchmany(1) + result.fetchmany(5)],
    "fetchone": lambda result: [result.fetchone()[0], result.fetchone()[0]],
    "iteration": lambda result: [row[0] for row in result],
}


@pytest.mark.parametrize("reader", READERS)
@each_type
def test_python_reads_objects_of_the_type(table, value, reader):
    # The texts differ if the types or the digits of decimals do.
    expected = repr([value, None])
    assert repr(READERS[reader](table.sql(QUERY))) == expected
    connection = dbapi.connect(table)
    cursor = connection.execute(QUERY)
    assert [column[:2] for column in cursor.description] == [("v", type(value).__name__)]
    assert repr(READERS[reader](cursor)) == expected
    connection.close()


#: What the libraries have for a `timedelta`: months, days and nanoseconds.
PARTS = (0, 1, 2_000_000_000)


@each_type
def test_pyarrow_reads_the_values(table, value):
    pytest.importorskip("pyarrow")
    expected = PARTS if value == LENGTH else value
    assert table.sql(QUERY).arrow().column("v").to_pylist() == [expected, None]
    assert [found for batch in table.sql(QUERY).reader() for found in batch.column(0).to_pylist()] == [expected, None]


@each_type
def test_polars_reads_the_values(table, value):
    pytest.importorskip("polars")
    assert table.sql(QUERY).polars()["v"].to_list() == [value, None]


@each_type
def test_pandas_reads_the_values(table, sql_type, value):
    pytest.importorskip("pandas")
    if sql_type in ("INTERVAL", "TIMESTAMP[]"):
        pytest.skip("pandas has other types for them")
    (found,) = table.sql("SELECT v FROM t WHERE n = 0").pandas()["v"].tolist()
    assert (list(found) if isinstance(value, list) else found) == value
