"""The SQLAlchemy dialect."""

import datetime as dt
import decimal

import pytest

import atsdb

sa = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")

UTC = dt.timezone.utc


@pytest.fixture
def readings(engine):
    metadata = sa.MetaData()
    table = sa.Table(
        "readings",
        metadata,
        sa.Column("time", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("sensor", sa.String(20), primary_key=True, atsdb_map="u32"),
        sa.Column("value", sa.Float),
        sa.Column("count", sa.Integer, index=True),
        sa.Column("code", sa.Text, unique=True),
        atsdb_time="time",
        atsdb_slice="month",
        atsdb_retention="200 years",
    )
    metadata.create_all(engine)
    return table


def row(day, **changes):
    values = {"sensor": "s1", "value": day / 2, "count": day, "code": f"c{day}", **changes}
    return {"time": dt.datetime(2024, 1, day, tzinfo=UTC), **values}


def test_rows_are_inserted_selected_changed_and_deleted(engine, readings):
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(day) for day in range(1, 6)])
        connection.execute(readings.insert().values(**row(6, value=None)))
        found = connection.execute(sa.select(readings.c.count, readings.c.value).where(readings.c.count > 4)).all()
        assert sorted(found) == [(5, 2.5), (6, None)]
        assert connection.execute(readings.update().where(readings.c.count == 2).values(value=9.0)).rowcount == 1
        assert connection.execute(readings.delete().where(readings.c.time >= row(4)["time"])).rowcount == 3
    with engine.connect() as connection:
        grouped = sa.select(readings.c.sensor, sa.func.sum(readings.c.value)).group_by(readings.c.sensor)
        assert connection.execute(grouped).all() == [("s1", 11.0)]
        paged = sa.select(readings.c.count).order_by(readings.c.time.desc()).limit(1).offset(1)
        assert connection.scalars(paged).all() == [2]
        named = sa.select(readings.c.count).where(readings.c.sensor.in_(["s1", "s2"]), readings.c.code.like("c%"))
        assert sorted(connection.scalars(named)) == [1, 2, 3]


def test_a_block_that_raises_stores_nothing(engine, readings):
    with pytest.raises(RuntimeError), engine.begin() as connection:
        connection.execute(readings.insert(), [row(1)])
        raise RuntimeError
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(readings)) == 0
        connection.execute(readings.insert(), [row(1)])
        connection.rollback()
        assert connection.scalar(sa.select(sa.func.count()).select_from(readings)) == 0
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(readings.insert(), [row(1)])
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(readings)) == 1


def test_a_key_that_is_there_is_an_integrity_error(engine, readings):
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(1)])
    with pytest.raises(sa.exc.IntegrityError) as raised, engine.begin() as connection:
        connection.execute(readings.insert(), [row(1)])
    assert isinstance(raised.value.orig, atsdb.DuplicateKeyError)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_null_where_none_may_be_is_an_integrity_error(engine, rows):
    strict = sa.Table("strict", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("a", sa.Text, nullable=False))
    strict.create(engine)
    with pytest.raises(sa.exc.IntegrityError) as raised, engine.begin() as connection:
        connection.execute(strict.insert(), [{"id": number, "a": None} for number in range(rows)])
    assert isinstance(raised.value.orig, atsdb.NotNullViolationError)


def test_rows_come_back_from_an_insert(engine, readings):
    with engine.begin() as connection:
        statement = readings.insert().returning(readings.c.count, readings.c.sensor)
        assert sorted(connection.execute(statement, [row(1), row(2)]).all()) == [(1, "s1"), (2, "s1")]


def test_tables_are_reflected(engine, readings):
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW latest AS SELECT * FROM readings")
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["readings"]
    assert inspector.get_view_names() == ["latest"]
    assert inspector.get_schema_names() == ["public"]
    assert inspector.has_table("READINGS") and not inspector.has_table("nothing")
    columns = {column["name"]: column for column in inspector.get_columns("readings")}
    assert [(name, str(column["type"]), column["nullable"]) for name, column in columns.items()] == [
        ("time", "TIMESTAMP", False),
        ("sensor", "VARCHAR(20)", False),
        ("value", "DOUBLE", True),
        ("count", "INTEGER", True),
        ("code", "TEXT", True),
    ]
    assert inspector.get_pk_constraint("readings")["constrained_columns"] == ["time", "sensor"]
    assert inspector.get_unique_constraints("readings") == [{"name": "readings_code_key", "column_names": ["code"]}]
    assert inspector.get_indexes("readings") == [
        {"name": "ix_readings_count", "column_names": ["count"], "unique": False}
    ]
    assert inspector.get_foreign_keys("readings") == []
    assert "FROM readings" in inspector.get_view_definition("latest")
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nothing")


def test_a_reflected_table_is_used_and_declared_again(engine, readings):
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(1)])
    metadata = sa.MetaData()
    metadata.reflect(engine)
    found = metadata.tables["readings"]
    assert found.c.sensor.dialect_options["atsdb"]["map"] == "u32"
    with engine.connect() as connection:
        assert connection.scalars(sa.select(found.c.value)).all() == [0.5]
    metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []
    metadata.create_all(engine)
    assert sa.inspect(engine).get_table_names() == ["readings"]


def test_classes_are_mapped(engine):
    class Base(orm.DeclarativeBase):
        pass

    class Room(Base):
        __tablename__ = "rooms"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
        name: orm.Mapped[str | None]
        size: orm.Mapped[decimal.Decimal]
        opened: orm.Mapped[dt.date]
        raw: orm.Mapped[bytes]
        is_open: orm.Mapped[bool]

    Base.metadata.create_all(engine)
    values = {"size": decimal.Decimal("2.5"), "opened": dt.date(2024, 1, 1), "raw": b"\x00", "is_open": True}
    with orm.Session(engine) as session:
        session.add_all([Room(id=number, name=f"room {number}", **values) for number in range(3)])
        session.commit()
        room = session.scalars(sa.select(Room).where(Room.name == "room 1")).one()
        assert (room.id, room.size, room.opened, room.raw, room.is_open) == (1, *values.values())
        room.name = None
        session.commit()
        session.delete(session.get(Room, 2))
        session.commit()
        assert session.execute(sa.select(Room.id, Room.name).order_by(Room.id)).all() == [(0, "room 0"), (1, None)]


def test_an_engine_shares_one_store(tmp_path):
    engine = sa.create_engine(f"atsdb:///{tmp_path}/a.db?durability=normal&maintenance=false")
    with engine.connect() as one, engine.connect() as two:
        one.exec_driver_sql("CREATE TABLE t (a INT)")
        one.commit()
        assert two.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    engine.dispose()
    with atsdb.open(tmp_path / "a.db") as db:
        assert db.tables() == ["t"]
        engine = sa.create_engine("atsdb://", connect_args={"database": db})
        assert sa.inspect(engine).get_table_names() == ["t"]


def test_pandas_reads_by_the_dialect(engine, readings):
    pandas = pytest.importorskip("pandas")
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(1), row(2)])
    frame = pandas.read_sql(sa.select(readings).order_by(readings.c.time), engine)
    assert frame["value"].tolist() == [0.5, 1.0]
    frame.to_sql("copy", engine, index=False)
    assert sorted(pandas.read_sql_table("copy", engine)["count"]) == [1, 2]


def test_pandas_writes_its_index(engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"time": pandas.to_datetime(["2024-01-01", "2024-01-02"]), "count": [1, 2]})
    frame.to_sql("indexed", engine)
    frame.to_sql("indexed", engine, if_exists="append")
    found = pandas.read_sql("indexed", engine, index_col="index")
    assert sorted(zip(found.index, found["count"])) == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert sa.inspect(engine).get_indexes("indexed")[0]["column_names"] == ["index"]


@pytest.mark.parametrize("word", ["index", "key", "fulltext", "spatial", "order", "time", "primary", "unique", "check"])
def test_columns_have_any_name(engine, word):
    metadata = sa.MetaData()
    table = sa.Table("words", metadata, sa.Column(word, sa.Integer), sa.Column("other", sa.Integer))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{word: 1, "other": 2}])
        assert connection.execute(sa.select(table.c[word])).all() == [(1,)]


@pytest.mark.parametrize(
    "options, declared",
    [
        ((), "BY DEFAULT AS IDENTITY"),
        ((sa.Identity(),), "BY DEFAULT AS IDENTITY"),
        ((sa.Identity(always=True, start=10, increment=5),), "ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5)"),
    ],
)
def test_a_key_numbers_the_rows(engine, options, declared):
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("id", sa.BigInteger, *options, primary_key=True), sa.Column("a", sa.Text))
    metadata.create_all(engine)
    first, step = (10, 5) if "START" in declared else (1, 1)
    with engine.begin() as connection:
        text = connection.exec_driver_sql("SELECT sql FROM atsdb.tables").scalar()
        assert f"id BIGINT GENERATED {declared}" in text
        assert connection.execute(table.insert().values(a="x")).inserted_primary_key == (first,)
        assert connection.execute(table.insert()).inserted_primary_key == (first + step,)
        connection.execute(table.insert(), [{"a": "y"}, {"a": "z"}])
        many = table.insert().returning(table.c.id, sort_by_parameter_order=True)
        numbers = connection.scalars(many, [{"a": f"m{at}"} for at in range(2_000)]).all()
        assert numbers == [first + at * step for at in range(4, 2_004)]
        ordered = connection.scalars(sa.select(table.c.a).order_by(table.c.id).limit(3).offset(3)).all()
        assert ordered == ["z", "m0", "m1"]
    (column, _) = sa.inspect(engine).get_columns("t")
    assert column["autoincrement"] is True
    assert column["identity"] == {
        "always": "ALWAYS" in declared,
        "start": first,
        "increment": step,
        "minvalue": 1,
        "maxvalue": 2**63 - 1,
        "cycle": False,
        "cache": 1,
    }


@pytest.mark.parametrize(
    "type_, options, bounds",
    [
        (sa.Integer, {}, (1, 2**31 - 1)),
        (sa.SmallInteger, {"increment": -2}, (-(2**15), -1)),
        (sa.BigInteger, {"start": -5, "increment": 3}, (-5, 2**63 - 1)),
        (sa.BigInteger, {"start": 7, "increment": -3, "always": True}, (-(2**63), 7)),
    ],
)
def test_a_reflected_table_can_be_created(engine, type_, options, bounds):
    metadata = sa.MetaData()
    sa.Table("t", metadata, sa.Column("id", type_, sa.Identity(**options), primary_key=True), sa.Column("a", sa.Text))
    metadata.create_all(engine)
    reflected = sa.MetaData()
    sa.Table("t", reflected, autoload_with=engine)
    other = sa.create_engine("atsdb://")
    reflected.create_all(other)
    (column, _), (again, _) = (sa.inspect(one).get_columns("t") for one in (engine, other))
    assert (column["identity"]["minvalue"], column["identity"]["maxvalue"]) == bounds
    assert again["identity"] == column["identity"]
    other.dispose()


@pytest.mark.parametrize(
    "columns, options",
    [
        ([("time", sa.DateTime, False), ("k", sa.Text, True)], {"time": "time", "slice": "month", "key": "k", "retention": "2 years"}),
        ([("at", sa.BigInteger, False), ("n", sa.Integer, True)], {"time": "at", "time_unit": "ms", "slice": "day"}),
        ([("at", sa.DateTime, False), ("n", sa.Integer, True)], {"time": "none"}),
    ],
)
@pytest.mark.parametrize("schema", [None, "lab"])
def test_options_of_tables_are_reflected(engine, columns, options, schema):
    metadata, again = sa.MetaData(), sa.MetaData()
    given = {f"atsdb_{name}": value for name, value in options.items()}
    columns = [sa.Column(name, type_, nullable=nullable) for name, type_, nullable in columns]
    sa.Table("t", metadata, *columns, schema=schema, **given)
    other = sa.create_engine("atsdb://")
    for each in (engine, other):
        with each.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA lab")
    metadata.create_all(engine)
    assert sa.inspect(engine).get_table_options("t", schema=schema) == given
    sa.Table("t", again, schema=schema, autoload_with=engine)
    again.create_all(other)
    assert sa.inspect(other).get_table_options("t", schema=schema) == given
    other.dispose()


def test_views_and_temporary_tables_have_no_options(engine):
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (time TIMESTAMP, a INT) WITH (slice = 'month')")
        connection.exec_driver_sql("CREATE VIEW v AS SELECT a FROM t")
        connection.exec_driver_sql("CREATE TEMPORARY TABLE own (time TIMESTAMP)")
        inspector = sa.inspect(connection)
        assert inspector.get_table_options("v") == {} and inspector.get_table_options("own") == {}
        with pytest.raises(sa.exc.NoSuchTableError):
            inspector.get_table_options("none")


def test_numbers_with_other_bounds_are_refused(engine):
    metadata = sa.MetaData()
    sa.Table("t", metadata, sa.Column("id", sa.Integer, sa.Identity(maxvalue=42), primary_key=True))
    with pytest.raises(sa.exc.DBAPIError, match="MAXVALUE"):
        metadata.create_all(engine)


def test_a_given_number_is_stored_or_refused(engine):
    metadata = sa.MetaData()
    free = sa.Table("f", metadata, sa.Column("id", sa.Integer, primary_key=True))
    fixed = sa.Table("a", metadata, sa.Column("id", sa.Integer, sa.Identity(always=True), primary_key=True))
    own = sa.Table("o", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False))
    silent = sa.Table("s", metadata, sa.Column("id", sa.Integer, primary_key=True), implicit_returning=False)
    metadata.create_all(engine)
    with engine.begin() as connection:
        assert connection.execute(free.insert().values(id=7)).inserted_primary_key == (7,)
        assert connection.execute(silent.insert()).inserted_primary_key == (1,)
    for values in [{"id": 7}, [{"id": 7}, {"id": 8}]]:
        with pytest.raises(sa.exc.DBAPIError), engine.begin() as connection:
            connection.execute(fixed.insert(), values)
    with pytest.raises(sa.exc.DBAPIError), engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO o DEFAULT VALUES"))
    assert "identity" not in sa.inspect(engine).get_columns("o")[0]


def test_a_sequence_numbers_rows(engine):
    metadata = sa.MetaData()
    numbers = sa.Sequence("numbers", start=5, metadata=metadata)
    table = sa.Table("t", metadata, sa.Column("id", sa.Integer, numbers, primary_key=True), sa.Column("a", sa.Text))
    metadata.create_all(engine)
    assert sa.inspect(engine).get_sequence_names() == ["numbers"]
    with engine.begin() as connection:
        assert connection.execute(table.insert().values(a="x")).inserted_primary_key == (5,)
        assert connection.scalar(numbers) == 6
    metadata.drop_all(engine)
    assert not sa.inspect(engine).has_sequence("numbers")


def test_objects_get_their_numbers_in_order(engine):
    class Base(orm.DeclarativeBase):
        pass

    class Visit(Base):
        __tablename__ = "visits"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        page: orm.Mapped[str]
        left: orm.Mapped[dt.datetime | None]

    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        visits = [Visit(page=f"/{at}") for at in range(10)]
        session.add_all(visits)
        session.commit()
        assert [visit.id for visit in visits] == list(range(1, 11))
        assert session.scalars(sa.select(Visit.page).where(Visit.id == 3, Visit.left.is_(None))).one() == "/2"


def test_the_time_is_a_column_that_is_never_null(engine):
    def declared(*columns, **options):
        metadata = sa.MetaData()
        sa.Table("t", metadata, *columns, **options)
        metadata.create_all(engine)
        with engine.begin() as connection:
            text = connection.exec_driver_sql("SELECT sql FROM atsdb.tables").scalar()
        metadata.drop_all(engine)
        return text

    time = sa.Column("time", sa.DateTime, nullable=False)
    assert "time = 'time'" in declared(time, sa.Column("left", sa.DateTime))
    assert "time = 'none'" in declared(sa.Column("left", sa.DateTime))
    assert "time = 'left'" in declared(sa.Column("left", sa.DateTime), atsdb_time="left")
    assert "slice = 'month'" in declared(sa.Column("left", sa.DateTime), atsdb_slice="month")


def test_tables_in_schemas(engine):
    metadata = sa.MetaData(schema="lab")
    table = sa.Table(
        "Pings",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("note", sa.String, atsdb_map="u8", index=True),
        sa.Column("code", sa.Integer, unique=True),
    )
    other = sa.Table("Pings", sa.MetaData(), sa.Column("a", sa.Text))
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("lab"))
        metadata.create_all(connection)
        other.create(connection)
        connection.exec_driver_sql("CREATE VIEW lab.notes AS SELECT note FROM lab.\"Pings\"")
        assert connection.execute(table.insert().values(note="x", code=1)).inserted_primary_key == (1,)
        assert connection.execute(sa.select(table.c.note, other.c.a).join(other, sa.true(), isouter=True)).all() == [
            ("x", None)
        ]
    inspector = sa.inspect(engine)
    assert inspector.default_schema_name == "public"
    assert inspector.get_schema_names() == ["lab", "public"] and inspector.has_schema("lab")
    assert inspector.get_table_names() == ["Pings"] and inspector.get_table_names("lab") == ["Pings"]
    assert inspector.get_view_names("lab") == ["notes"] and inspector.get_view_names() == []
    assert inspector.has_table("pings", "lab") and not inspector.has_table("notes")
    columns = inspector.get_columns("Pings", "lab")
    assert [column["name"] for column in columns] == ["id", "note", "code"]
    assert columns[1]["dialect_options"] == {"atsdb_map": "u8"}
    assert [column["name"] for column in inspector.get_columns("Pings")] == ["a"]
    assert inspector.get_pk_constraint("Pings", "lab")["constrained_columns"] == ["id"]
    assert [one["column_names"] for one in inspector.get_unique_constraints("Pings", "lab")] == [["code"]]
    assert [one["column_names"] for one in inspector.get_indexes("Pings", "lab")] == [["note"]]
    assert inspector.get_indexes("Pings") == []
    assert "note" in inspector.get_view_definition("notes", "lab")
    with pytest.raises(sa.exc.NoSuchTableError, match="lab.nothing"):
        inspector.get_columns("nothing", "lab")
    found = sa.MetaData()
    found.reflect(engine, schema="lab")
    assert list(found.tables) == ["lab.Pings"]
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP VIEW lab.notes")
    metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names("lab") == []


def test_temporary_tables(engine):
    own = sa.Table(
        "own",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, unique=True),
        prefixes=["TEMPORARY"],
    )
    hidden = sa.Table("own", sa.MetaData(), sa.Column("id", sa.Text), sa.Column("other", sa.Text))
    with engine.connect() as connection, engine.connect() as second:
        hidden.create(connection)
        own.create(connection)
        connection.exec_driver_sql("CREATE TEMPORARY VIEW names AS SELECT name FROM own")
        connection.commit()
        assert connection.execute(own.insert().values(name="x")).inserted_primary_key == (1,)
        assert connection.scalars(sa.select(own.c.name)).all() == ["x"]
        inspector = sa.inspect(connection)
        assert inspector.get_temp_table_names() == ["own"] and inspector.get_temp_view_names() == ["names"]
        assert inspector.get_table_names() == ["own"] and inspector.has_table("names")
        columns = {column["name"]: str(column["type"]) for column in inspector.get_columns("own")}
        assert columns == {"id": "INTEGER", "name": "TEXT"}
        assert inspector.get_pk_constraint("own")["constrained_columns"] == ["id"]
        stored = {column["name"]: str(column["type"]) for column in inspector.get_columns("own", "public")}
        assert stored == {"id": "TEXT", "other": "TEXT"}
        assert sa.inspect(second).get_temp_table_names() == []
        assert not sa.inspect(second).has_table("names")


def test_changes_return_rows(engine, readings):
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(1), row(2)])
        update = readings.update().where(readings.c.count == 2).values(value=9.0).returning(readings.c.value)
        assert connection.scalars(update).all() == [9.0]
        assert sorted(connection.scalars(readings.delete().returning(readings.c.count))) == [1, 2]


def test_operators_are_postgresqls(engine, readings):
    with engine.begin() as connection:
        connection.execute(readings.insert(), [row(1), row(2, sensor="S2")])
        sensor = readings.c.sensor

        def found(condition):
            return connection.scalars(sa.select(sensor).where(condition)).all()

        assert found(sensor.regexp_match("^s.$")) == ["s1"] and found(~sensor.regexp_match("^s.$")) == ["S2"]
        assert sorted(found(sensor.regexp_match("^s", flags="i"))) == ["S2", "s1"]
        with pytest.raises(sa.exc.CompileError, match="flag"):
            found(sensor.regexp_match("s", flags="x"))
        assert connection.scalar(sa.select(sensor.regexp_replace("[0-9]", "X")).where(sensor == "s1")) == "sX"
        # Transactions take no locks, so there is nothing to ask for.
        assert connection.scalars(sa.select(sensor).with_for_update().order_by(sensor)).all() == ["S2", "s1"]
        assert connection.scalar(sa.select(sa.literal("a") + "b")) == "ab"