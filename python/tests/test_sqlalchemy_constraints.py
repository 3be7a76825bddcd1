"""Keys, CHECK constraints and foreign keys in the SQLAlchemy dialect."""

import pytest

sa = pytest.importorskip("sqlalchemy")


def test_unique_indexes_are_reflected(engine):
    metadata = sa.MetaData()
    sa.Table("rooms", metadata, sa.Column("id", sa.Integer), sa.Column("code", sa.Text, unique=True, index=True))
    metadata.create_all(engine)
    reflected, other = sa.MetaData(), sa.create_engine("atsdb://")
    sa.Table("rooms", reflected, autoload_with=engine)
    reflected.create_all(other)
    for one in (engine, other):
        assert sa.inspect(one).get_indexes("rooms") == [
            {"name": "ix_rooms_code", "column_names": ["code"], "unique": True}
        ]
        assert sa.inspect(one).get_unique_constraints("rooms") == []
    other.dispose()


def test_checks_hold_and_are_reflected(engine):
    metadata = sa.MetaData()
    check = sa.CheckConstraint("low < high", name="low_is_low")
    sa.Table("ranges", metadata, sa.Column("low", sa.Integer), sa.Column("high", sa.Integer), check)
    metadata.create_all(engine)
    reflected = sa.MetaData()
    reflected.reflect(engine)
    reflected.drop_all(engine)
    reflected.create_all(engine)
    assert sa.inspect(engine).get_check_constraints("ranges") == [{"name": "low_is_low", "sqltext": "low < high"}]
    insert = reflected.tables["ranges"].insert()
    with engine.begin() as connection:
        connection.execute(insert, [{"low": 1, "high": 2}, {"low": None, "high": 2}])
    with pytest.raises(sa.exc.IntegrityError, match="low_is_low"), engine.begin() as connection:
        connection.execute(insert, {"low": 2, "high": 1})


def test_foreign_keys_are_declared_kept_and_reflected(engine):
    metadata = sa.MetaData()
    parent = sa.Table("a", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False))
    child = sa.Table("b", metadata, sa.Column("a", sa.ForeignKey("a.id", ondelete="CASCADE")))
    metadata.create_all(engine)
    assert sa.inspect(engine).get_foreign_keys("b") == [
        {
            "name": "b_a_fkey",
            "constrained_columns": ["a"],
            "referred_schema": None,
            "referred_table": "a",
            "referred_columns": ["id"],
            "options": {"ondelete": "CASCADE"},
        }
    ]
    with engine.begin() as connection:
        connection.execute(parent.insert(), [{"id": 1}])
        connection.execute(child.insert(), [{"a": 1}])
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(child.insert(), [{"a": 2}])
    with engine.begin() as connection:
        connection.execute(parent.delete())
        assert connection.scalar(sa.select(sa.func.count()).select_from(child)) == 0
    metadata.drop_all(engine)


def test_deferred_foreign_keys_are_checked_at_the_end_and_reflected(engine):
    metadata = sa.MetaData()
    parent = sa.Table("a", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False))
    key = sa.ForeignKey("a.id", onupdate="CASCADE", deferrable=True, initially="DEFERRED", match="FULL")
    child = sa.Table("b", metadata, sa.Column("a", key))
    metadata.create_all(engine)
    options = {"onupdate": "CASCADE", "match": "FULL", "deferrable": True, "initially": "DEFERRED"}
    assert sa.inspect(engine).get_foreign_keys("b")[0]["options"] == options
    with engine.begin() as connection:
        connection.execute(child.insert(), [{"a": 1}])
        connection.execute(parent.insert(), [{"id": 1}])
    with engine.begin() as connection:
        connection.execute(parent.update().values(id=2))
        assert connection.scalars(sa.select(child.c.a)).all() == [2]
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(child.insert(), [{"a": 3}])
    metadata.drop_all(engine)
