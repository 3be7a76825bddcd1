"""SQLAlchemy over psycopg 3 and over psycopg2: reflection, declarations, its own statements."""

import sys

import sqlalchemy as sa

for driver in ("psycopg", "psycopg2"):
    engine = sa.create_engine(sys.argv[1].replace("postgresql://", f"postgresql+{driver}://"))
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names()) >= {"readings", "sensors"}, inspector.get_table_names()
    assert inspector.get_view_names() == ["high"], inspector.get_view_names()
    assert inspector.has_table("sensors") and not inspector.has_table("nowhere")
    columns = {column["name"]: column for column in inspector.get_columns("readings")}
    assert isinstance(columns["time"]["type"], sa.TIMESTAMP) and columns["time"]["type"].timezone, columns
    assert isinstance(columns["count"]["type"], sa.BIGINT) and isinstance(columns["value"]["type"], sa.Double), columns
    assert not columns["time"]["nullable"] and columns["status"]["default"] == "'ok'::text", columns
    assert inspector.get_pk_constraint("sensors")["constrained_columns"] == ["id"]
    assert [unique["column_names"] for unique in inspector.get_unique_constraints("sensors")] == [["name"]]
    indexes = [index["name"] for index in inspector.get_indexes("readings")]
    assert indexes == ["readings_count"], indexes
    assert inspector.get_foreign_keys("sensors") == []
    sensors = sa.Table("sensors", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        names = connection.execute(sa.select(sensors.c.name).where(sensors.c.id < 3).order_by(sensors.c.id)).scalars()
        assert list(names) == ["s1", "s2"]
metadata = sa.MetaData()
made = sa.Table("made", metadata, sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False), sa.Column("name", sa.Text))
metadata.create_all(engine)
metadata.create_all(engine)
with engine.begin() as connection:
    connection.execute(made.insert(), [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
with engine.connect() as connection:
    connection.execute(made.update().where(made.c.id == 2).values(name="c"))
    connection.rollback()
    assert connection.execute(sa.select(made.c.name).order_by(made.c.id)).all() == [("a",), ("b",)]
print("done")
