"""The driver under test is the library that ATSDB_ADBC names."""

import os

import adbc_driver_manager.dbapi as dbapi
import pytest

DRIVER = os.environ["ATSDB_ADBC"]


def connect(uri, autocommit=False, conn_kwargs=None, **options):
    return dbapi.connect(
        driver=DRIVER, db_kwargs={"uri": str(uri), **options}, conn_kwargs=conn_kwargs, autocommit=autocommit
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "air.db"


@pytest.fixture
def connection(path):
    with connect(path) as connection:
        yield connection


@pytest.fixture
def readings(connection):
    """A connection to a store with a series table of four rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE readings (time TIMESTAMP(3), sensor TEXT NOT NULL, pm10 REAL, count INT, "
            "PRIMARY KEY (sensor, time)) WITH (time = 'time', map = 'sensor:u16')"
        )
        cursor.execute(
            "INSERT INTO readings VALUES ('2024-03-01 12:00:00', 'kitchen', 14.5, 1), "
            "('2024-03-01 12:00:10', 'garden', 3.25, 2), ('2024-03-01 12:00:20', 'garden', NULL, 3), "
            "('2024-03-01 12:00:30.5', 'kitchen', 7, 4)"
        )
        cursor.execute("CREATE VIEW tops AS SELECT sensor, max(pm10) AS highest FROM readings GROUP BY sensor")
    connection.commit()
    return connection
