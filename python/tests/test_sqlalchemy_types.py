"""The types of the SQLAlchemy dialect."""

import datetime as dt
import decimal
import uuid

import pytest

sa = pytest.importorskip("sqlalchemy")

UTC = dt.timezone.utc


NUMBER = uuid.UUID("04b5e5c6-f29b-4c29-b272-05d8c85fddd3")

#: For each type: a value, the type that the store has, and the type that is reflected.
TYPES = [
    (sa.Numeric(30, 10), decimal.Decimal("12345678901234567890.0123456789"), "DECIMAL(30, 10)", sa.NUMERIC),
    (sa.DECIMAL(5), decimal.Decimal("12345"), "DECIMAL(5, 0)", sa.NUMERIC),
    (sa.Numeric(), decimal.Decimal("0.123456789"), "DECIMAL(38, 9)", sa.NUMERIC),
    (sa.Float(), 0.1, "DOUBLE", sa.DOUBLE),
    (sa.Float(asdecimal=True), decimal.Decimal("0.5"), "DOUBLE", sa.DOUBLE),
    (sa.Numeric(6, 2, asdecimal=False), 1.25, "DECIMAL(6, 2)", sa.NUMERIC),
    (sa.Uuid(), NUMBER, "UUID", sa.UUID),
    (sa.UUID(as_uuid=False), str(NUMBER), "UUID", sa.UUID),
    (sa.Uuid(native_uuid=False), NUMBER, "TEXT", sa.TEXT),
    (sa.String(20), "word", "VARCHAR(20)", sa.VARCHAR),
    (sa.Unicode(4), "äöüß", "VARCHAR(4)", sa.VARCHAR),
    (sa.CHAR(3), "abc", "CHAR(3)", sa.CHAR),
    (sa.String(), "word", "TEXT", sa.TEXT),
    (sa.JSON(), {"a": [1, None, "x"]}, "JSON", sa.JSON),
    (sa.Time(), dt.time(1, 2, 3, 4), "TIME", sa.TIME),
    (sa.Interval(), dt.timedelta(days=-2, seconds=5, microseconds=6), "INTERVAL", sa.Interval),
    (sa.LargeBinary(), b"\x00\xff", "BLOB", sa.BLOB),
    (sa.DateTime(), dt.datetime(2024, 3, 1, 12), "TIMESTAMP", sa.TIMESTAMP),
    (sa.DateTime(timezone=True), dt.datetime(2024, 3, 1, 12, tzinfo=UTC), "TIMESTAMP", sa.TIMESTAMP),
    (sa.Date(), dt.date(2024, 3, 1), "DATE", sa.DATE),
    (sa.ARRAY(sa.Integer), [1, None, 3], "INT[]", sa.ARRAY),
    (sa.ARRAY(sa.Text, as_tuple=True), ("a", 'b,"c'), "TEXT[]", sa.ARRAY),
    (sa.ARRAY(sa.Numeric(6, 2)), [decimal.Decimal("1.25"), None], "DECIMAL(6, 2)[]", sa.ARRAY),
    (sa.ARRAY(sa.Uuid), [NUMBER, None], "UUID[]", sa.ARRAY),
    (sa.ARRAY(sa.DateTime), [dt.datetime(2024, 3, 1)], "TIMESTAMP[]", sa.ARRAY),
    (sa.ARRAY(sa.Time), [dt.time(1, 2), None], "TIME[]", sa.ARRAY),
    (sa.ARRAY(sa.Float), [], "DOUBLE[]", sa.ARRAY),
]


@pytest.mark.parametrize("type_, value, stored, reflected", TYPES, ids=[f"{type_!r}" for type_, *_ in TYPES])
def test_a_value_comes_back_as_it_was(engine, type_, value, stored, reflected):
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("a", type_))
    metadata.create_all(engine)
    with engine.begin() as connection:
        assert connection.execute(table.insert(), {"a": value}).inserted_primary_key == (1,)
        connection.execute(table.insert(), [{"a": value}, {"a": None if stored != "JSON" else sa.null()}])
        assert connection.scalars(sa.select(table.c.a).order_by(table.c.id)).all() == [value, value, None]
        found = connection.scalar(sa.select(table.c.a).where(table.c.id == 1))
        assert type(found) is type(value)
        if stored not in ("JSON", "DOUBLE[]"):
            assert connection.scalar(sa.select(sa.func.count()).where(table.c.a == value)) == 2
        rows = connection.execute(
            table.insert().returning(table.c.id, table.c.a, sort_by_parameter_order=True), [{"a": value}, {"a": value}]
        )
        assert rows.all() == [(4, value), (5, value)]
        statement = "SELECT type FROM atsdb.columns WHERE column_name = 'a'"
        assert connection.exec_driver_sql(statement).scalar() == stored
    again = sa.Table("t", sa.MetaData(), autoload_with=engine)
    assert isinstance(again.c.a.type, reflected) and again.c.a.nullable
    again.drop(engine)
    again.create(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql(statement).scalar() == stored


def test_a_numeric_that_an_expression_returns_is_a_decimal(engine):
    with engine.connect() as connection:
        for text in ["1", "CAST(1 AS DOUBLE)", "1.0"]:
            found = connection.scalar(sa.select(sa.literal_column(text, sa.Numeric)))
            assert found == 1 and isinstance(found, decimal.Decimal)


def test_parts_of_documents(engine):
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("data", sa.JSON))
    metadata.create_all(engine)
    data = table.c.data
    with engine.begin() as connection:
        connection.execute(table.insert(), {"data": {"a": {"b,c": [1, "x"]}, "n": 5, "t": True}})

        def found(what):
            return connection.scalar(sa.select(what))

        assert found(data["a"]) == {"b,c": [1, "x"]} and found(data["a"]["b,c"][0]) == 1
        assert found(data[("a", "b,c", 1)]) == "x" and found(data[("a", "b,c", 1)].as_string()) == "x"
        assert found(data["n"].as_integer() + 1) == 6 and found(data["t"].as_boolean()) is True
        assert found(sa.func.count().filter(data["n"].as_integer() == 5)) == 1
        literal = sa.select(data[("a", "b,c", 1)]).compile(engine, compile_kwargs={"literal_binds": True})
        assert connection.exec_driver_sql(str(literal)).scalar() == '"x"'


def test_elements_of_arrays(engine):
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("a", sa.ARRAY(sa.Integer)))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), {"a": [1, 2, 3]})
        assert connection.execute(sa.select(table.c.a[1], table.c.a[2:3])).one() == (1, [2, 3])
        assert connection.scalar(sa.select(sa.literal(2) == sa.any_(table.c.a))) is True
        assert connection.scalar(sa.select(table.c.a + [4])) == [1, 2, 3, 4]
        literal = sa.select(table.c.a).where(table.c.a == [1, 2, 3])
        assert connection.exec_driver_sql(
            str(literal.compile(engine, compile_kwargs={"literal_binds": True}))
        ).scalar() == [1, 2, 3]
    nested = sa.Table("n", sa.MetaData(), sa.Column("a", sa.ARRAY(sa.Integer, dimensions=2)))
    with pytest.raises(sa.exc.CompileError, match="one dimension"):
        nested.create(engine)


def test_arrays_compare_as_in_postgres(engine):
    from sqlalchemy.dialects import postgresql

    metadata = sa.MetaData()
    columns = [sa.Column("a", postgresql.ARRAY(sa.Integer)), sa.Column("s", postgresql.ARRAY(sa.Text))]
    table = sa.Table("t", metadata, sa.Column("n", sa.Integer), *columns)
    metadata.create_all(engine)
    a, s = table.c.a, table.c.s
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"n": 1, "a": [1, 2], "s": ["x"]}, {"n": 2, "a": [3], "s": ["y", "z"]}])
        for condition, found in [
            (a.contains([1]), [1]),
            (a.contains(postgresql.array([3])), [2]),
            (a.contained_by([1, 2, 5]), [1]),
            (a.overlap([3, 4]), [2]),
            (s.overlap(postgresql.array(["x", "w"])), [1]),
            (s.contains(["y"]), [2]),
            (a.contains(postgresql.array([], type_=sa.Integer)), [1, 2]),
            (sa.any_(a) == 2, [1]),
            (sa.all_(a) == 3, [2]),
        ]:
            assert connection.scalars(sa.select(table.c.n).where(condition).order_by(table.c.n)).all() == found
    reflected = sa.Table("t", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        assert connection.scalars(sa.select(reflected.c.n).where(reflected.c.a.contains([3]))).all() == [2]
        assert connection.scalars(sa.select(reflected.c.n).where(reflected.c.s.overlap(["x"]))).all() == [1]


def test_reflected_times_keep_their_digits(engine):
    types = ["TIMESTAMP", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(3)[]"]
    columns = ", ".join(f"c{number} {type_}" for number, type_ in enumerate(types))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t ({columns}) WITH (time = 'none')")
        table = sa.Table("t", sa.MetaData(), autoload_with=connection)
        table.drop(connection)
        table.create(connection)
        found = connection.exec_driver_sql("SELECT type FROM atsdb.columns WHERE table_name = 't' ORDER BY position")
        assert found.scalars().all() == types
        time = dt.datetime(2024, 3, 1, 12, 30, tzinfo=UTC)
        connection.execute(table.insert(), {"c0": time, "c1": time, "c2": time, "c3": time, "c4": [time]})
        assert connection.execute(sa.select(table)).one()[:3] == (time, time, time)


def test_times_have_a_zone_if_their_type_has(engine):
    metadata = sa.MetaData()
    types = {"plain": sa.DateTime(), "zoned": sa.DateTime(timezone=True), "length": sa.Interval()}
    table = sa.Table("times", metadata, *(sa.Column(name, type_) for name, type_ in types.items()))
    metadata.create_all(engine)
    time, length = dt.datetime(2024, 3, 1, 12), dt.timedelta(days=2, seconds=5)
    with engine.begin() as connection:
        connection.execute(table.insert(), {"plain": time, "zoned": time.replace(tzinfo=UTC), "length": length})
        assert connection.execute(sa.select(table)).all() == [(time, time.replace(tzinfo=UTC), length)]
