"""pandas over SQLAlchemy and psycopg: frames become tables, in parts or at once, and tables become frames."""

import sys

import pandas
import sqlalchemy

engine = sqlalchemy.create_engine(sys.argv[1].replace("postgresql://", "postgresql+psycopg://"))
frame = pandas.DataFrame(
    {
        "time": pandas.date_range("2024-01-01", periods=1_000, freq="min", tz="UTC"),
        "host": ["a", "b"] * 500,
        "v": range(1_000),
        "x": [0.5, None] * 500,
        "ok": [True, False] * 500,
    }
)
frame.to_sql("frame", engine, index=False, if_exists="fail", method="multi", chunksize=500)
frame.to_sql("frame", engine, index=False, if_exists="append")
for table in ("indexed", "indexed"):
    frame.to_sql(table, engine, index_label="i", if_exists="replace")
try:
    frame.to_sql("frame", engine)
    raise AssertionError("a table that is there was created")
except ValueError:
    pass

found = pandas.read_sql_table("indexed", engine, index_col="i").sort_index()
pandas.testing.assert_frame_equal(found, frame, check_names=False, check_dtype=False)
query = sqlalchemy.text("SELECT count(*) AS n FROM frame WHERE x IS NULL AND time >= :since")
assert pandas.read_sql_query(query, engine, params={"since": frame.time[10]}).n[0] == 2 * 495
parts = list(pandas.read_sql("SELECT * FROM indexed ORDER BY i", engine, chunksize=300))
assert [len(part) for part in parts] == [300, 300, 300, 100]
print("done")
