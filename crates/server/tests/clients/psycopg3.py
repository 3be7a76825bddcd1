"""psycopg 3: parameters in text and in binary, a pipeline, COPY, server-side cursors, errors."""

import datetime
import sys

import psycopg

url = sys.argv[1]
utc = datetime.timezone.utc
with psycopg.connect(url, autocommit=True) as connection:
    assert connection.info.server_version == 150000, connection.info.server_version
    for binary in (False, True):
        with connection.cursor(binary=binary) as cursor:
            cursor.execute("SELECT time, sensor, value, count FROM readings WHERE count >= %s ORDER BY time", (2,))
            rows = cursor.fetchall()
            assert rows == [
                (datetime.datetime(2024, 1, 1, 0, 1, tzinfo=utc), "s2", 1.5, 2),
                (datetime.datetime(2024, 1, 1, 0, 2, tzinfo=utc), "s1", None, 3),
            ], rows
            since = datetime.datetime(2024, 1, 1, 0, 1, tzinfo=utc)
            cursor.execute("SELECT count(*) FROM readings WHERE time >= %s", (since,))
            assert cursor.fetchone() == (2,)
            cursor.execute("SELECT sensor FROM readings WHERE sensor = ANY(%s) ORDER BY 1", (["s2", "s3"],))
            assert cursor.fetchall() == [("s2",)]
    connection.execute("INSERT INTO sensors VALUES (%s, %s, %s)", (10, "42", None))
    # A prepared statement, run several times.
    for number in range(20):
        row = connection.execute("SELECT name FROM sensors WHERE id = %s", (10,), prepare=True).fetchone()
        assert row == ("42",), row
    with connection.cursor().copy("COPY sensors (id, name) FROM STDIN") as copy:
        for number in range(1000):
            copy.write_row((1000 + number, f"copied {number}"))
    with connection.cursor().copy("COPY (SELECT id, name FROM sensors WHERE id < 1003 ORDER BY id) TO STDOUT") as copy:
        copied = list(copy.rows())
        assert copied[-1] == ("1002", "copied 2"), copied
    with connection.pipeline():
        for number in range(100):
            connection.execute("INSERT INTO sensors VALUES (%s, %s, %s)", (5000 + number, f"piped {number}", 0.5))
    try:
        connection.execute("INSERT INTO sensors VALUES (1, 'again', NULL)")
        raise AssertionError("a key that is there was taken")
    except psycopg.errors.UniqueViolation:
        pass
    try:
        connection.execute("SELECT * FROM nowhere")
        raise AssertionError("a table that is not there was read")
    except psycopg.errors.UndefinedTable:
        pass
with psycopg.connect(url) as connection:
    with connection.cursor("named") as cursor:
        cursor.execute("SELECT id FROM sensors ORDER BY id")
        assert len(cursor.fetchmany(10)) == 10
        assert len(cursor.fetchall()) == 1093
    connection.execute("DELETE FROM sensors")
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM sensors").fetchone() == (1103,)
print("done")
