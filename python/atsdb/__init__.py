"""A time-series store that lives inside the SQL database you already run.

>>> import atsdb
>>> db = atsdb.open("memory:")
>>> _ = db.sql("CREATE TABLE readings (time TIMESTAMP, sensor TEXT, pm10 REAL) WITH (time = 'time')")
>>> db.append("readings", [("2024-03-01 12:00:00", "s1", 14.5), ("2024-03-01 12:00:10", "s1", 15.0)])
Appended(rows=2, stored=True)
>>> db.sql("SELECT sensor, count(*), max(pm10) FROM readings GROUP BY sensor").fetchall()
[('s1', 2, 15.0)]
>>> db.close()

``open`` returns a ``Database``, and its method ``sql`` a ``Result``. ``atsdb.dbapi`` is the interface of PEP 249, and
``atsdb.sqlalchemy`` the dialect ``atsdb://`` of SQLAlchemy.
"""

from . import errors
from ._atsdb import __version__
from .database import Appended, Database, Imported, open
from .errors import *  # noqa: F403
from .result import Result
from .tables import (
    Column,
    Date,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    TableOptions,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    column,
    mapped,
    table,
    table_options,
)
from .times import Timestamp

__all__ = [
    "Appended",
    "Column",
    "Database",
    "Date",
    "Float32",
    "Imported",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Result",
    "TableOptions",
    "Timestamp",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "__version__",
    "column",
    "mapped",
    "open",
    "table",
    "table_options",
]
__all__ += errors.__all__
