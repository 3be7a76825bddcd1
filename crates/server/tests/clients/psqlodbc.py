"""psqlODBC, PostgreSQL's driver for ODBC, by pyodbc: parameters, batches, the catalogue, cursors, errors."""

import datetime
import decimal
import sys
import urllib.parse

import pyodbc

url = urllib.parse.urlsplit(sys.argv[1])


def connect(**options):
    keys = {
        "Driver": "{PostgreSQL Unicode}",
        "Server": url.hostname,
        "Port": url.port,
        "Database": url.path[1:],
        "UID": url.username,
        **options,
    }
    return pyodbc.connect(";".join(f"{key}={value}" for key, value in keys.items()), autocommit=True)


def fails(state, action, *arguments):
    try:
        action(*arguments)
    except pyodbc.Error as error:
        assert error.args[0] == state, error
    else:
        raise AssertionError(f"{state} was expected")


# Statements are prepared by the server, or values become a part of their text; rows come at once or by a cursor.
number = 10
for options in ({}, {"UseServerSidePrepare": 0}, {"UseDeclareFetch": 1, "Fetch": 2}, {"Protocol": "7.4-2"}):
    connection = connect(**options)
    cursor = connection.cursor()
    rows = cursor.execute("SELECT sensor, value, count FROM readings WHERE count >= ? ORDER BY time", 2).fetchall()
    assert [tuple(row) for row in rows] == [("s2", 1.5, 2), ("s1", None, 3)], rows
    times = cursor.execute("SELECT time FROM readings WHERE time > ?", datetime.datetime(2024, 1, 1, 0, 1)).fetchall()
    assert [row.time for row in times] == [datetime.datetime(2024, 1, 1, 0, 2)], times
    cursor.executemany("INSERT INTO sensors VALUES (?, ?, ?)", [(number + i, f"s{number + i}", i / 2) for i in range(10)])
    row = cursor.execute("SELECT name, height FROM sensors WHERE id = ?", number + 1).fetchone()
    assert tuple(row) == (f"s{number + 1}", 0.5), row
    fails("23505", cursor.execute, "INSERT INTO sensors VALUES (1, 'again', NULL)")
    fails("42P01", cursor.execute, "SELECT * FROM nowhere")
    connection.autocommit = False
    assert cursor.execute("DELETE FROM sensors").rowcount == 2 + number
    if "Protocol" in options:
        # With this option the driver sets a savepoint before each statement: an error does not end the transaction.
        fails("42703", cursor.execute, "SELECT nothing FROM sensors")
        assert cursor.execute("SELECT count(*) FROM sensors").fetchval() == 0
    connection.rollback()
    connection.autocommit = True
    number += 10

connection = connect()
cursor = connection.cursor()
assert sorted(row.table_name for row in cursor.tables(schema="public", tableType="TABLE")) == ["readings", "sensors"]
assert [row.table_name for row in cursor.tables(schema="public", tableType="VIEW")] == ["high"]
columns = [(row.column_name, row.type_name, row.nullable) for row in cursor.columns(table="sensors", schema="public")]
assert columns == [("id", "int4", 0), ("name", "text", 0), ("height", "float4", 1)], columns
assert [row.column_name for row in cursor.primaryKeys("sensors", schema="public")] == ["id"]
indexes = sorted(row.index_name for row in cursor.statistics("readings", schema="public") if row.index_name)
assert indexes == ["readings_count"], indexes
assert cursor.foreignKeys("sensors").fetchall() == []
assert cursor.procedures().fetchall() is not None
assert cursor.getTypeInfo(pyodbc.SQL_INTEGER).fetchone().type_name == "int4"

cursor.execute("CREATE TABLE every (b BYTEA, f BOOLEAN, n NUMERIC(10, 2), d DATE, t TIME, u UUID, x TEXT)")
values = (
    b"\x00\xff",
    True,
    decimal.Decimal("12.50"),
    datetime.date(2024, 2, 29),
    datetime.time(12, 30),
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "ü",
)
cursor.execute("INSERT INTO every VALUES (?, ?, ?, ?, ?, ?, ?)", values)
row = cursor.execute("SELECT * FROM every").fetchone()
assert (row.b, str(row.f), row.n, row.d, row.t, row.x) == (values[0], "1", *values[2:5], values[6]), row
assert str(row.u).lower() == values[5], row
cursor.execute("DROP TABLE every")
print("done")
