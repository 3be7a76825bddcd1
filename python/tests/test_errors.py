"""Exceptions, and the table of error kinds from which they are made."""

import pathlib
import pickle
import re

import pytest

import atsdb
from atsdb import dbapi, errors
from atsdb._atsdb import ERROR_KINDS


def test_each_kind_of_error_has_a_class():
    assert len(errors.BY_KIND) == len(ERROR_KINDS) == 20
    for kind, base, sqlstate in ERROR_KINDS:
        error = errors.BY_KIND[kind]
        assert (error.kind, error.sqlstate) == (kind, sqlstate)
        assert issubclass(error, getattr(atsdb, base))
        assert getattr(atsdb, error.__name__) is error
    assert issubclass(atsdb.DatabaseError, atsdb.Error)
    assert dbapi.Error is atsdb.Error


def test_the_stub_lists_the_classes():
    stub = pathlib.Path(atsdb.__file__).with_name("errors.pyi").read_text()
    listed = dict(re.findall(r"^class (\w+)\((\w+)\)", stub, re.MULTILINE))
    for kind, base, _ in ERROR_KINDS:
        name = errors.BY_KIND[kind].__name__
        assert name == base or listed[name] == base, name


def test_an_exception_says_what_happened_and_what_to_do(db):
    db.sql("CREATE TABLE t (value INT)")
    with pytest.raises(atsdb.SqlError) as raised:
        db.sql("SELECT valeu FROM t")
    error = raised.value
    assert (error.kind, error.sqlstate) == ("sql", "42703")
    assert error.message == "no column named valeu"
    assert error.hint == "did you mean value?"
    assert str(error) == "no column named valeu (did you mean value?)"


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("SELEC 1", "42601"),
        ("SELECT * FROM nope", "42P01"),
        ("DROP TABLE nope", "42P01"),
        ("SELECT nope FROM t", "42703"),
        ("SELECT nope(1)", "42883"),
        ("SELECT a, count(*) FROM t", "42803"),
        ("CREATE TABLE t (a INT)", "42P07"),
        ("INSERT INTO t VALUES ('x')", "22P02"),
        ("SELECT a / 0 FROM (VALUES (1)) AS v(a)", "22012"),
        ("SELECT CAST('99999999999' AS INT)", "22003"),
        ("RELEASE SAVEPOINT nope", "25P01"),
    ],
)
def test_an_error_has_the_sqlstate_of_postgres(db, text, sqlstate):
    db.sql("CREATE TABLE t (a INT)")
    with pytest.raises(atsdb.DatabaseError) as raised:
        db.sql(text).fetchall()
    assert raised.value.sqlstate == sqlstate


def test_an_exception_survives_pickling():
    unknown = pickle.loads(pickle.dumps(atsdb.SqlError("no table named t", None, "42P01")))
    assert (unknown.sqlstate, atsdb.SqlError.sqlstate) == ("42P01", "42601")
    error = pickle.loads(pickle.dumps(atsdb.ConflictError("somebody was faster", "try again")))
    assert (type(error), str(error)) == (atsdb.ConflictError, "somebody was faster (try again)")


def test_a_key_that_is_there_is_an_integrity_error(db):
    db.sql("CREATE TABLE t (a INT PRIMARY KEY)")
    db.append("t", [(1,)])
    with pytest.raises(atsdb.IntegrityError) as raised:
        db.append("t", [(1,)])
    assert raised.value.kind == "duplicate_key"


def test_a_row_that_breaks_a_check_is_an_integrity_error(db):
    db.sql("CREATE TABLE t (a INT CHECK (a > 0))")
    with pytest.raises(atsdb.CheckViolationError) as raised:
        db.append("t", [(1,), (0,)])
    assert isinstance(raised.value, atsdb.IntegrityError)
    assert (raised.value.kind, raised.value.sqlstate) == ("check_violation", "23514")
    assert raised.value.message == 'new row for relation "t" violates check constraint "t_a_check"'
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


#: Statements after which a constraint of the table would be broken, and their exceptions.
BROKEN = [
    ("INSERT INTO c VALUES (2, NULL, 1)", "NotNullViolationError", "23502"),
    ("INSERT INTO c (id) VALUES (2)", "NotNullViolationError", "23502"),
    ("UPDATE c SET a = NULL", "NotNullViolationError", "23502"),
    ("ALTER TABLE c ALTER COLUMN p SET NOT NULL", "NotNullViolationError", "23502"),
    ("INSERT INTO c VALUES (1, 1, 1)", "DuplicateKeyError", "23505"),
    ("INSERT INTO c VALUES (2, 0, 1)", "CheckViolationError", "23514"),
    ("INSERT INTO c VALUES (2, 1, 9)", "ForeignKeyViolationError", "23503"),
    ("DELETE FROM p", "ForeignKeyViolationError", "23503"),
]


@pytest.mark.parametrize(("statement", "name", "sqlstate"), BROKEN, ids=[statement for statement, *_ in BROKEN])
def test_what_breaks_a_constraint_is_an_integrity_error(db, statement, name, sqlstate):
    db.sql("CREATE TABLE p (id INT PRIMARY KEY)")
    db.sql("CREATE TABLE c (id INT PRIMARY KEY, a INT NOT NULL CHECK (a > 0), p INT REFERENCES p)")
    db.sql("INSERT INTO p VALUES (1)")
    db.sql("INSERT INTO c VALUES (1, 1, 1), (7, 1, NULL)")
    with pytest.raises(atsdb.IntegrityError) as raised:
        db.sql(statement)
    assert (type(raised.value), raised.value.sqlstate) == (getattr(atsdb, name), sqlstate)
    connection = dbapi.connect(db)
    with pytest.raises(dbapi.IntegrityError):
        connection.execute(statement)
        connection.commit()
    connection.close()
    assert db.sql("SELECT count(*) FROM c").fetchone() == (2,)


def test_a_row_without_a_value_that_it_needs_is_an_integrity_error(db):
    db.sql("CREATE TABLE t (a INT NOT NULL, b INT)")
    cursor = dbapi.connect(db).cursor()
    for append in [
        lambda: db.append("t", [(None, 1)]),
        lambda: db.append("t", [{"b": 1}]),
        lambda: db.append("t", [(1,)], columns=["b"]),
        lambda: cursor.executemany("INSERT INTO t VALUES (?, ?)", [(None, 1), (None, 2)]),
        lambda: cursor.executemany("INSERT INTO t (b) VALUES (?)", [(1,), (2,)]),
    ]:
        with pytest.raises(atsdb.NotNullViolationError) as raised:
            append()
        assert (raised.value.kind, raised.value.sqlstate) == ("not_null_violation", "23502")
        cursor.connection.rollback()
    # A wrong value is none of integrity, also beside a column that is NOT NULL.
    with pytest.raises(atsdb.InvalidValueError):
        db.append("t", [("x", 1)])
    assert db.sql("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_conflict_is_an_operational_error(db):
    db.sql("CREATE TABLE t (a INT)")
    db.append("t", [(1,)])
    with pytest.raises(atsdb.ConflictError), db.transaction():
        db.sql("UPDATE t SET a = 2")
        other = dbapi.connect(db, autocommit=True)
        other.execute("UPDATE t SET a = 3")
    assert db.sql("SELECT a FROM t").fetchall() == [(3,)]
    assert issubclass(atsdb.ConflictError, atsdb.OperationalError)


def test_damage_is_reported(tmp_path):
    import sqlite3

    path = tmp_path / "a.db"
    with atsdb.open(path, maintenance=False) as db:
        db.sql("CREATE TABLE t (a TEXT)")
        db.append("t", [(f"value {n * 7919 % 10007}",) for n in range(10_000)])
    with sqlite3.connect(path) as raw:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        blobs = [
            (table, column)
            for table in tables
            for _, column, kind, *_ in raw.execute(f'PRAGMA table_info("{table}")')
            if kind == "BLOB"
        ]
        changed = 0
        for table, column in blobs:
            wanted = f'SELECT rowid, "{column}" FROM "{table}" WHERE length("{column}") > 1000'
            try:
                found = raw.execute(wanted).fetchall()
            except sqlite3.OperationalError:
                continue
            for rowid, blob in found:
                damaged = bytearray(blob)
                damaged[len(blob) // 2] ^= 1
                raw.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (bytes(damaged), rowid))
                changed += 1
    raw.close()
    assert changed > 0
    with atsdb.open(path) as db, pytest.raises(atsdb.CorruptError) as raised:
        db.sql("SELECT a FROM t").fetchall()
    assert isinstance(raised.value, atsdb.InternalError)
