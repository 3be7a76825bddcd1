"""psycopg2: statements with values written into them, executemany, COPY, transactions."""

import io
import sys

import psycopg2
import psycopg2.errors
import psycopg2.extras

connection = psycopg2.connect(sys.argv[1])
with connection, connection.cursor() as cursor:
    cursor.execute("SELECT time, sensor, value FROM readings WHERE sensor = %s ORDER BY time", ("s1",))
    rows = cursor.fetchall()
    assert [(row[1], row[2]) for row in rows] == [("s1", 0.5), ("s1", None)], rows
    assert rows[0][0].isoformat() == "2024-01-01T00:00:00+00:00", rows
    cursor.execute("INSERT INTO sensors VALUES (%s, %s, %s)", (10, "it's", 1.5))
    cursor.copy_expert("COPY sensors FROM STDIN WITH CSV", io.StringIO('11,"a,b",\n12,c,2.5\n'))
try:
    with connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO sensors VALUES (13, 'gone', 1)")
        cursor.execute("SELECT 1/0")
    raise AssertionError("a division by zero went well")
except psycopg2.errors.DivisionByZero:
    pass
with connection, connection.cursor(cursor_factory=psycopg2.extras.DictCursor) as cursor:
    cursor.execute("SELECT name FROM sensors WHERE id = 10")
    assert cursor.fetchone()["name"] == "it's"
    out = io.StringIO()
    cursor.copy_expert("COPY (SELECT id, name FROM sensors WHERE id > 10 ORDER BY id) TO STDOUT WITH CSV", out)
    assert out.getvalue() == '11,"a,b"\n12,c\n', out.getvalue()
connection.close()
print("done")
