"""ADBC's driver of PostgreSQL: Arrow tables by COPY in binary, queries, parameters, transactions, metadata, errors."""

import datetime
import sys

import adbc_driver_postgresql.dbapi as dbapi
import pyarrow

midnight = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
with dbapi.connect(sys.argv[1]) as connection:
    with connection.cursor() as cursor:
        cursor.execute("SELECT time, sensor, value, count FROM readings ORDER BY time")
        table = cursor.fetch_arrow_table()
        assert table.to_pylist()[2] == {
            "time": midnight + datetime.timedelta(minutes=2), "sensor": "s1", "value": None, "count": 3,
        }, table
        cursor.execute("SELECT sensor FROM readings WHERE count = $1", (3,))
        assert cursor.fetchall() == [("s1",)]
        rows = pyarrow.table(
            {
                "time": pyarrow.array([midnight + datetime.timedelta(seconds=i) for i in range(10)], pyarrow.timestamp("us", "UTC")),
                "host": ["a"] * 10,
                "v": pyarrow.array(range(10), pyarrow.int64()),
                "x": pyarrow.array([0.5, None] * 5),
            }
        )
        assert cursor.adbc_ingest("ingested", rows, mode="create") == 10
        assert cursor.adbc_ingest("ingested", rows, mode="append") == 10
        cursor.execute("SELECT DISTINCT * FROM ingested ORDER BY time")
        assert cursor.fetch_arrow_table().to_pylist() == rows.to_pylist()
        cursor.executemany("INSERT INTO sensors VALUES ($1, $2, $3)", [(10, "ten", 0.5), (11, "eleven", None)])
    connection.commit()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM sensors")
        connection.rollback()
        cursor.execute("SELECT count(*) FROM sensors")
        assert cursor.fetchone() == (4,)
        try:
            cursor.execute("SELECT * FROM nowhere")
            raise AssertionError("a table that is not there was read")
        except dbapi.ProgrammingError as error:
            assert error.sqlstate == "42P01", error
        connection.rollback()

    [catalog] = connection.adbc_get_objects(depth="all", catalog_filter="air", table_name_filter="sensors").read_all().to_pylist()
    schema = next(schema for schema in catalog["catalog_db_schemas"] if schema["db_schema_name"] == "public")
    [table] = schema["db_schema_tables"]
    assert (table["table_name"], table["table_type"]) == ("sensors", "table"), table
    assert [column["column_name"] for column in table["table_columns"]] == ["id", "name", "height"]
    keys = {constraint["constraint_type"]: constraint["constraint_column_names"] for constraint in table["table_constraints"]}
    assert keys == {"PRIMARY KEY": ["id"], "UNIQUE": ["name"]}, keys
    assert connection.adbc_get_table_schema("sensors").names == ["id", "name", "height"]
    assert connection.adbc_get_info()["vendor_name"] == "PostgreSQL"
print("done")
