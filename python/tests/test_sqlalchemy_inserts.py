"""Inserts of the SQLAlchemy dialect that meet rows with the same key, and how many rows a statement has changed."""

import pytest

sa = pytest.importorskip("sqlalchemy")

from atsdb.sqlalchemy import insert  # noqa: E402


@pytest.fixture
def rooms(engine):
    metadata = sa.MetaData()
    table = sa.Table(
        "rooms",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, unique=True),
        sa.Column("size", sa.Integer),
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        rows = [{"id": 1, "name": "kitchen", "size": 10}, {"id": 2, "name": "garden", "size": 20}]
        assert connection.execute(sa.insert(table), rows).rowcount == 2
    return table


def test_rows_with_the_same_key_are_skipped_or_changed(engine, rooms):
    again = insert(rooms).values([{"id": 2, "name": "garden", "size": 5}, {"id": 3, "name": "attic", "size": 5}])
    with engine.begin() as connection:
        assert connection.execute(again.on_conflict_do_nothing()).rowcount == 1
        added = again.on_conflict_do_update(index_elements=["id"], set_={"size": rooms.c.size + again.excluded.size})
        assert connection.execute(added).rowcount == 2
        large = again.on_conflict_do_update(
            index_elements=[rooms.c.name], set_={"size": again.excluded.size}, where=rooms.c.size > 20
        )
        assert connection.execute(large.returning(rooms.c.id)).all() == [(2,)]
        assert connection.execute(sa.select(rooms).order_by("id")).all() == [
            (1, "kitchen", 10),
            (2, "garden", 5),
            (3, "attic", 10),
        ]


def test_a_statement_says_how_many_rows_it_has_changed(engine, rooms):
    with engine.begin() as connection:
        assert connection.execute(sa.insert(rooms).values(id=4, size=1)).rowcount == 1
        copied = sa.insert(rooms).from_select(["id"], sa.select(rooms.c.id + 10))
        assert connection.execute(copied).rowcount == 3
        assert connection.execute(sa.update(rooms).values(size=0)).rowcount == 6
        assert connection.execute(sa.delete(rooms).where(rooms.c.id > 10)).rowcount == 3


def test_pandas_says_how_many_rows_it_has_written(engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
    assert frame.to_sql("frames", engine, index=False) == 3
    assert frame.to_sql("frames", engine, index=False, if_exists="append", method="multi") == 3
