"""Shared fixtures."""

import pytest

import atsdb


@pytest.fixture
def db():
    """An empty store in memory."""
    with atsdb.open("memory:") as database:
        yield database


@pytest.fixture
def readings(db):
    """A store with a series table of three rows."""
    db.sql(
        "CREATE TABLE readings (time TIMESTAMP, sensor TEXT, pm10 REAL, count INT)"
        " WITH (time = 'time', map = 'sensor:u32')"
    )
    rows = [
        ("2024-03-01 12:00:00", "kitchen", 14.5, 1),
        ("2024-03-01 12:00:10", "garden", 3.25, 2),
        ("2024-03-02 12:00:00", "kitchen", None, 3),
    ]
    assert db.append("readings", rows) == (3, True)
    return db


@pytest.fixture
def engine():
    """An engine of SQLAlchemy over an empty store in memory."""
    sa = pytest.importorskip("sqlalchemy")
    engine = sa.create_engine("atsdb://")
    yield engine
    engine.dispose()
