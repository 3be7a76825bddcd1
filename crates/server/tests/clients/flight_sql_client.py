"""Flight SQL by ADBC's driver: queries, parameters, changes, transactions, metadata, bulk ingestion."""

import sys

try:
    import adbc_driver_flightsql.dbapi as flight_sql
    import adbc_driver_manager
    import pyarrow
except ImportError:
    print("no adbc_driver_flightsql")
    sys.exit(0)

url = sys.argv[1]


def refused(kind, work):
    try:
        work()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


def query(cursor, text, parameters=None):
    cursor.execute(text, parameters)
    return cursor.fetchall()


def queries():
    with flight_sql.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        assert query(cursor, "SELECT count(*) FROM readings") == [(3,)]
        cursor.execute("SELECT time, sensor, status, value, count FROM readings ORDER BY time")
        table = cursor.fetch_arrow_table()
        assert table.schema.field("sensor").type == pyarrow.string(), table.schema
        assert table.schema.field("time").type == pyarrow.timestamp("ms", "UTC"), table.schema
        assert table["sensor"].to_pylist() == ["s1", "s2", "s1"]
        assert table["value"].to_pylist() == [0.5, 1.5, None]
        # No rows, and no columns but rows.
        cursor.execute("SELECT sensor FROM readings WHERE false")
        assert cursor.fetch_arrow_table().schema.names == ["sensor"]
        # Many rows, in many messages.
        cursor.execute("SELECT value, repeat('x', 100) AS text FROM generate_series(1, 300000) AS t(value)")
        large = cursor.fetch_arrow_table()
        assert large.num_rows == 300_000 and max(large["value"].to_pylist()) == 300_000
        # A parameter keeps its type: a text that looks like a number stays text.
        assert query(cursor, "SELECT count FROM readings WHERE sensor = ? AND value > ?", ("s2", 1.0)) == [(2,)]
        assert query(cursor, "SELECT count FROM readings WHERE sensor = $1", ("s1",)) == [(1,), (3,)]
        assert query(cursor, "SELECT count FROM readings WHERE sensor = $1", ("s2",)) == [(2,)]
        assert query(cursor, "SELECT CAST($1 AS TEXT)", ("042",)) == [("042",)]
        # Errors say what and where.
        assert "nothing" in refused(flight_sql.Error, lambda: query(cursor, "SELECT * FROM nothing"))
        assert "syntax error" in refused(flight_sql.Error, lambda: query(cursor, "SELEC 1"))
        assert "division by zero" in refused(flight_sql.Error, lambda: query(cursor, "SELECT count / 0 FROM readings"))
        assert query(cursor, "SELECT 1") == [(1,)]
        # A file of the server.
        for text in ["SELECT * FROM '/etc/passwd'", "COPY sensors FROM '/etc/passwd'", "COPY sensors TO '/tmp/x.csv'"]:
            refused(flight_sql.Error, lambda: query(cursor, text))


def changes():
    with flight_sql.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        # A statement without rows is done when execute returns, though nobody fetches.
        cursor.execute("CREATE TABLE made (id INT PRIMARY KEY, name TEXT)")
        cursor.execute("INSERT INTO made VALUES (1, 'a'), (2, 'b')")
        with connection.cursor() as other:
            assert query(other, "SELECT count(*) FROM made") == [(2,)]
        cursor.executemany("INSERT INTO made VALUES (?, ?)", [(number, f"n{number}") for number in range(3, 1003)])
        assert cursor.rowcount == 1_000, cursor.rowcount
        # All or nothing: the last row has a key that exists.
        refused(flight_sql.Error, lambda: cursor.executemany("INSERT INTO made VALUES (?, ?)", [(5000, "x"), (1, "y")]))
        assert query(cursor, "SELECT count(*) FROM made") == [(1_002,)]
        assert query(cursor, "INSERT INTO made VALUES (2000, 'r') RETURNING id, name") == [(2000, "r")]
        cursor.execute("INSERT INTO made VALUES (2001, 'r') RETURNING id")
        assert query(cursor, "SELECT count(*) FROM made") == [(1_004,)], "once each"
        assert query(cursor, "UPDATE made SET name = 'u' WHERE id < $1 RETURNING id", (3,)) == [(1,), (2,)]
        cursor.adbc_statement.set_sql_query("DELETE FROM made WHERE id > 1002")
        assert cursor.adbc_statement.execute_update() == 2


def transactions():
    with flight_sql.connect(url) as connection:
        with connection.cursor() as cursor, flight_sql.connect(url, autocommit=True) as outside:
            def seen():
                with outside.cursor() as other:
                    return query(other, "SELECT count(*) FROM made")[0][0]

            before = seen()
            cursor.execute("INSERT INTO made VALUES (3000, 't')")
            assert query(cursor, "SELECT count(*) FROM made") == [(before + 1,)]
            assert seen() == before
            connection.rollback()
            assert seen() == before
            # The same text in the next transaction.
            cursor.execute("INSERT INTO made VALUES (?, ?)", (3000, "t"))
            connection.commit()
            assert seen() == before + 1
            cursor.execute("INSERT INTO made VALUES (?, ?)", (3001, "t"))
            connection.commit()
            assert seen() == before + 2
            # Rows that nobody has read yet do not keep the transaction from ending.
            cursor.execute("SELECT value, repeat('x', 100) FROM generate_series(1, 1000000) AS t(value)")
            with connection.cursor() as second:
                second.execute("INSERT INTO made VALUES (3002, 't')")
            connection.commit()
            assert seen() == before + 3
            # After a failed statement only a rollback is accepted.
            refused(flight_sql.Error, lambda: cursor.execute("INSERT INTO made VALUES (1, 'again')"))
            connection.rollback()
            cursor.execute("DELETE FROM made WHERE id >= 3000")
            connection.commit()
            assert seen() == before


def metadata():
    with flight_sql.connect(url, autocommit=True) as connection:
        info = connection.adbc_get_info()
        assert info["vendor_name"] == "atsdb", info
        assert set(connection.adbc_get_table_types()) == {"TABLE", "VIEW", "ROLLUP", "MATERIALIZED VIEW"}
        objects = connection.adbc_get_objects(depth="all", table_name_filter="reading%").read_all().to_pylist()
        [catalog] = objects
        assert catalog["catalog_name"] == "atsdb", catalog
        [schema] = catalog["catalog_db_schemas"]
        assert schema["db_schema_name"] == "public"
        [table] = schema["db_schema_tables"]
        assert (table["table_name"], table["table_type"]) == ("readings", "TABLE"), table
        columns = [column["column_name"] for column in table["table_columns"]]
        assert columns == ["time", "sensor", "status", "value", "count"]
        assert connection.adbc_get_table_schema("sensors").names == ["id", "name", "height"]
        assert connection.adbc_get_table_schema("high").names == ["sensor", "value"]
        refused(flight_sql.Error, lambda: connection.adbc_get_table_schema("nothing"))
        with connection.cursor() as cursor:
            cursor.adbc_prepare("SELECT sensor, count FROM readings WHERE value > $1 AND time < $2")
            assert cursor.adbc_execute_schema("SELECT 1 AS one").names == ["one"]
            parameters = cursor.adbc_prepare("SELECT 1 FROM readings WHERE value > $1 AND time < $2")
            assert [field.type for field in parameters] == [pyarrow.float64(), pyarrow.timestamp("ms", "UTC")]


def ingestion():
    times = pyarrow.array(range(0, 100_000_000, 1_000), pyarrow.timestamp("ms", "UTC"))
    count = len(times)
    sensors = pyarrow.array([f"s{number % 10}" for number in range(count)])
    rows = pyarrow.table({"time": times, "sensor": sensors.dictionary_encode(), "value": [0.5] * count})
    with flight_sql.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        def counted(table):
            return query(cursor, f"SELECT count(*), count(DISTINCT sensor) FROM {table}")

        assert cursor.adbc_ingest("bulk", rows, mode="create") == count
        assert counted("bulk") == [(count, 10)]
        message = refused(flight_sql.Error, lambda: cursor.adbc_ingest("bulk", rows, mode="create"))
        assert "already exists" in message, message
        assert cursor.adbc_ingest("bulk", rows.to_reader(max_chunksize=7_000), mode="append") == count
        assert counted("bulk") == [(2 * count, 10)]
        assert cursor.adbc_ingest("bulk", rows.slice(0, 5), mode="replace") == 5
        assert counted("bulk") == [(5, 5)]
        assert cursor.adbc_ingest("bulk", rows.slice(0, 5), mode="create_append") == 5
        refused(flight_sql.Error, lambda: cursor.adbc_ingest("missing", rows, mode="append"))
        # Wrong columns, and a batch in the middle that does not fit: nothing is stored.
        refused(flight_sql.Error, lambda: cursor.adbc_ingest("bulk", pyarrow.table({"other": [1]}), mode="append"))
        assert counted("bulk") == [(10, 5)]

        def broken():
            schema = pyarrow.schema([("id", pyarrow.int32()), ("name", pyarrow.string())])
            good = pyarrow.record_batch([list(range(10_000, 20_000)), ["n"] * 10_000], schema=schema)
            bad = pyarrow.record_batch([[1], ["twice"]], schema=schema)
            return pyarrow.RecordBatchReader.from_batches(schema, [good, good.slice(0, 0), bad])

        before = query(cursor, "SELECT count(*) FROM made")
        refused(flight_sql.Error, lambda: cursor.adbc_ingest("made", broken(), mode="append"))
        assert query(cursor, "SELECT count(*) FROM made") == before
        # The time column was found: the table is sliced.
        assert "time = 'time'" in query(cursor, "SHOW CREATE TABLE bulk")[0][-1]


queries()
changes()
transactions()
metadata()
ingestion()
print("done")
