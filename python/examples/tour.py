# A tour of atsdb in Python: half an hour of readings, kept, asked and moved. Run it with `python tour.py`, or cell by cell
# in an editor that knows `# %%`.

# %% A table is a class
import datetime as dt
import math
from dataclasses import dataclass
from typing import Annotated

import duckdb
import polars
import sqlalchemy

import atsdb


@atsdb.table("readings", slice="day", retention="200 years")
@dataclass
class Reading:
    time: dt.datetime
    sensor: Annotated[str, atsdb.mapped("u32")]
    pm10: atsdb.Float32 | None
    count: atsdb.Int32


db = atsdb.open("tour.db")
print(db.create_table(Reading))

# %% Rows are appended, all or none; a batch that is sent twice counts once
start = dt.datetime(2024, 3, 1, 12, tzinfo=dt.timezone.utc)
rows = [
    Reading(start + dt.timedelta(seconds=second), f"s{second % 5}", 10 + math.sin(second / 60), second)
    for second in range(1800)
]
print(db.append(rows, id="first half hour"))
again = db.append(rows, id="first half hour")
assert again == atsdb.Appended(rows=1800, stored=False)

# %% SQL answers as tuples, or as frames of Polars and pandas, without a copy
minutes = db.sql(
    """SELECT time_bucket(INTERVAL '5 minutes', time) AS minute, sensor, avg(pm10) AS mean
       FROM readings WHERE sensor = ? GROUP BY 1, 2 ORDER BY 1""",
    ("s1",),
).polars()
print(minutes)
assert minutes.height == 6

# %% A large result is a stream: this holds a few batches at a time
highest = max(batch.column(0).to_pylist()[-1] for batch in db.sql("SELECT pm10 FROM readings").reader())
print(highest)

# %% DuckDB joins a result with whatever it knows
places = polars.DataFrame({"sensor": ["s0", "s1"], "place": ["kitchen", "garden"]})
found = db.sql("SELECT sensor, count FROM readings")
query = "SELECT place, sum(count) AS total FROM found JOIN places USING (sensor) GROUP BY 1 ORDER BY 1"
joined = duckdb.sql(query).fetchall()
print(joined)
assert [place for place, _ in joined] == ["garden", "kitchen"]

# %% A transaction is all or nothing
try:
    with db.transaction():
        db.sql("DELETE FROM readings")
        raise RuntimeError("on second thoughts")
except RuntimeError:
    assert db.sql("SELECT count(*) FROM readings").fetchone() == (1800,)

# %% Frames go in as they come out
frame = polars.DataFrame({"time": [start + dt.timedelta(days=1)], "sensor": ["s9"], "pm10": [7.5], "count": [1]})
print(db.append("readings", frame))

# %% Files are imported: types, time and mapped columns are found out
folder = globals().get("EXAMPLES", "../../examples")
imported = db.import_file(f"{folder}/weather.csv.gz", "weather", null="NA")
print(imported.rows, imported.notes)
print(db.sql("SELECT origin, round(avg(temp), 1), max(temp) FROM weather GROUP BY 1 ORDER BY 1").fetchall())

# %% SQLAlchemy knows the store, too
engine = sqlalchemy.create_engine("atsdb://", connect_args={"database": db})
print(sqlalchemy.inspect(engine).get_table_names())

# %% How much it takes, sealed
db.recompress()
for table in db.stats():
    print(f"{table['name']}: {table['rows']} rows, {table['bytes_per_row']:.2f} bytes a row")

# %% Errors say what to do next
try:
    db.sql("SELECT pm01 FROM readings")
except atsdb.SqlError as error:
    print(error.message, "-", error.hint)

# %% A backup holds what is new
print(db.backup("backups", keep=7))
db.close()
print("the end of the tour")
