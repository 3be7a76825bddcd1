"""psycopg against a server with two databases: databases.py URL, where the URL names the first one, air."""

import sys

import psycopg
from psycopg import conninfo

url = sys.argv[1]


def connect(database):
    return psycopg.connect(conninfo.make_conninfo(url, dbname=database), autocommit=True)


for value, database in enumerate(["air", "machines"], start=1):
    with connect(database) as connection:
        assert connection.info.dbname == database
        assert connection.execute("SELECT current_database()").fetchone() == (database,)
        connection.execute("CREATE TABLE own (a INT, b TEXT)")
        with connection.cursor().copy("COPY own (a, b) FROM STDIN") as copy:
            for row in range(value * 100):
                copy.write_row((row, database))
        # A prepared statement, which the server keeps planned.
        for _ in range(10):
            found = connection.execute("SELECT count(*), min(b) FROM own WHERE a >= %s", (0,), prepare=True).fetchone()
            assert found == (value * 100, database), found
        names = connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
        assert names == [("air",), ("machines",)], names
try:
    connect("nowhere")
except psycopg.OperationalError as error:
    assert 'database "nowhere" does not exist' in str(error), error
else:
    raise AssertionError("there is a database named nowhere")
print("done")
