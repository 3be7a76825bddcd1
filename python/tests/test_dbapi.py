"""PEP 249, beyond its compliance test."""

import pytest

import atsdb
from atsdb import dbapi


@pytest.fixture
def connection():
    with dbapi.connect("memory:") as connection:
        connection.execute("CREATE TABLE t (a INT, b TEXT DEFAULT 'none', c DOUBLE)")
        connection.commit()
        yield connection


def test_notices_are_warnings(connection):
    with pytest.warns(atsdb.NoticeWarning, match="column deleted_at becomes the time of table z") as found:
        connection.cursor().execute("CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMP)")
    assert [warning.filename for warning in found] == [__file__]


def test_a_change_begins_a_transaction_and_a_query_does_not(connection):
    connection.execute("SELECT 1").fetchall()
    connection.execute("  -- why\n /* ? */ (SELECT 1)").fetchall()
    assert not connection.in_transaction
    connection.execute("INSERT INTO t (a) VALUES (1)")
    assert connection.in_transaction
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    connection.autocommit = True
    connection.execute("INSERT INTO t (a) VALUES (1)")
    assert not connection.in_transaction
    connection.autocommit = False
    connection.rollback()
    assert connection.execute("SELECT * FROM t").fetchall() == [(1, "none", None)]
    connection.execute("DELETE FROM t")
    connection.autocommit = True
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "WITH one AS (SELECT 1 AS a) INSERT INTO t (a) SELECT a FROM one",
        "WITH added AS (INSERT INTO t (a) VALUES (1) RETURNING a) SELECT a FROM added",
        "with one as (select 1) update t set c = 1",
        r"WITH x AS (SELECT E'it\'s' AS b) INSERT INTO t (a) SELECT 1 FROM x WHERE b <> ''",
        "WITH x AS (SELECT $$it's$$ AS b) INSERT INTO t (a) SELECT 1 FROM x WHERE b <> ''",
        "SELECT a INTO u FROM t",
    ],
)
def test_a_change_within_a_query_begins_a_transaction(connection, statement):
    connection.execute(statement)
    assert connection.in_transaction
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with pytest.raises(atsdb.ProgrammingError):
        connection.execute("SELECT * FROM u")


def test_words_of_changes_in_texts_begin_no_transaction(connection):
    for query in [
        """SELECT 'INSERT', 1 AS "update" -- DELETE""",
        "WITH a AS (SELECT 'a''INTO' /* MERGE */) SELECT * FROM a",
    ]:
        connection.execute(query).fetchall()
        assert not connection.in_transaction


def test_a_commit_names_the_statement_that_failed(connection):
    connection.execute("CREATE TABLE keys (i INT PRIMARY KEY)")
    connection.execute("INSERT INTO keys VALUES (1)")
    # A query that fails leaves the transaction as it is.
    with pytest.raises(atsdb.SqlError, match="typo"):
        connection.execute("SELECT typo")
    with pytest.raises(atsdb.DuplicateKeyError):
        connection.execute("INSERT INTO keys VALUES (1)")
    with pytest.raises(atsdb.SqlError, match="has failed"):
        connection.execute("INSERT INTO keys VALUES (2)")
    with pytest.raises(atsdb.SqlError, match=r"had failed .*: table keys, key \(i\): \(1\) already exists") as raised:
        connection.commit()
    assert isinstance(raised.value.__cause__, atsdb.DuplicateKeyError)
    assert raised.value.sqlstate == "25P02"
    connection.execute("CREATE TABLE keys (i INT PRIMARY KEY)")
    connection.commit()


def test_what_was_rolled_back_is_not_named(connection):
    connection.execute("CREATE TABLE keys (i INT PRIMARY KEY)")
    connection.execute("INSERT INTO keys VALUES (1)")
    connection.execute("SAVEPOINT one")
    with pytest.raises(atsdb.DuplicateKeyError):
        connection.execute("INSERT INTO keys VALUES (1)")
    connection.execute("ROLLBACK TO one")
    with pytest.raises(atsdb.Error, match="nothing"):
        connection.execute("DROP TABLE nothing")
    with pytest.raises(atsdb.SqlError, match="nothing is stored: .*named nothing"):
        connection.commit()


def test_connections_see_what_is_committed():
    with atsdb.open("memory:") as db:
        one, two = dbapi.connect(db), dbapi.connect(db)
        one.execute("CREATE TABLE t (a INT)")
        one.commit()
        one.execute("INSERT INTO t VALUES (1)")
        assert two.execute("SELECT count(*) FROM t").fetchone() == (0,)
        one.commit()
        assert two.execute("SELECT count(*) FROM t").fetchone() == (1,)
        one.execute("DELETE FROM t")
        one.close()
        assert two.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_block_commits_or_rolls_back(tmp_path):
    with dbapi.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (a INT)")
    with pytest.raises(RuntimeError), dbapi.connect(tmp_path / "a.db") as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        raise RuntimeError
    with dbapi.connect(tmp_path / "a.db", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize(
    ("statement", "rows", "expected"),
    [
        ("INSERT INTO t VALUES (?, ?, ?)", [(1, "x", 0.5), (2, None, None)], [(1, "x", 0.5), (2, None, None)]),
        ('insert into "t" (c, a, b) values (?,?,?);', [(0.5, 1, "x")], [(1, "x", 0.5)]),
        # Column b gets its default, and c has none.
        ("INSERT INTO t (a) VALUES (?)", [(1,), (2,)], [(1, "none", None), (2, "none", None)]),
        # Column c has no default.
        ("INSERT INTO t (B, a) VALUES (?, ?)", [("x", 1), (None, 2)], [(1, "x", None), (2, None, None)]),
        # SQL converts values that an append refuses.
        ("INSERT INTO t VALUES (?, ?, ?)", [("1", "x", "0.5")], [(1, "x", 0.5)]),
        ("INSERT INTO t VALUES ($a, $b, 1.5)", [{"a": 1, "b": "x"}], [(1, "x", 1.5)]),
        ("INSERT INTO t VALUES (?, 'a?', ?)", [(1, 2.5)], [(1, "a?", 2.5)]),
    ],
)
def test_many_rows_are_inserted(connection, statement, rows, expected):
    cursor = connection.cursor().executemany(statement, rows)
    assert cursor.rowcount == len(rows)
    assert connection.in_transaction
    connection.commit()
    assert connection.execute("SELECT * FROM t ORDER BY a").fetchall() == expected


def test_an_insert_of_many_rows_is_an_append_where_both_do_the_same(connection):
    session = connection._open_session()
    assert session.append_all("t", [(1, "x")], ["a", "b"]) == 1
    assert session.append_all("t", [(1, 0.5)], ["a", "c"]) == 1
    assert connection.execute("SELECT b FROM t WHERE c = 0.5").fetchall() == [("none",)]
    connection.execute("CREATE TABLE numbered (id INT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP NOT NULL, a INT)")
    assert session.append_all("numbered", [(1,)], ["a"]) is None
    for statement in ["INSERT INTO t (a, a) VALUES (?, ?)", "INSERT INTO t (a, z) VALUES (?, ?)"]:
        with pytest.raises(atsdb.ProgrammingError):
            connection.cursor().executemany(statement, [(1, 2)])
        connection.rollback()


def test_columns_that_an_insert_of_many_rows_does_not_name_get_their_defaults(connection, monkeypatch):
    def row_by_row(*_):
        raise AssertionError("the rows are inserted one by one")

    monkeypatch.setattr(dbapi.Cursor, "_execute_each", row_by_row)
    connection.execute(
        "CREATE TABLE d (a INT, kind TEXT NOT NULL DEFAULT 'new', price DECIMAL(6, 2) DEFAULT 1.5, "
        "day DATE DEFAULT '2024-03-01', at TIMESTAMP NOT NULL DEFAULT now(), id BIGINT GENERATED ALWAYS AS IDENTITY) "
        "WITH (time = 'none', map = 'kind:u8')"
    )
    cursor = connection.cursor()
    for statement, rows in [
        ("INSERT INTO d (a) VALUES (?)", [(1,), (2,)]),
        ("INSERT INTO d (a, kind) VALUES ($1, $2)", [(3, "old"), (4, "new")]),
        ("INSERT INTO d (kind, a) VALUES ($kind, $a)", [{"a": 5, "kind": "old"}, {"kind": "x", "a": 6}]),
    ]:
        assert cursor.executemany(statement, rows).rowcount == 2
    connection.commit()
    others = "price = 1.5 AND day = '2024-03-01' AND at > '2024-03-01' AND id = a"
    assert cursor.execute(f"SELECT a, kind, {others} FROM d ORDER BY a").fetchall() == [
        (number + 1, kind, True) for number, kind in enumerate(["new", "new", "old", "new", "old", "x"])
    ]


def test_many_rows_of_a_table_in_a_schema_are_an_append(connection, monkeypatch):
    connection.execute("CREATE SCHEMA lab")
    connection.execute('CREATE TABLE lab."T 1" (a INT, b TEXT)')
    connection.execute('CREATE TABLE "T 1" (a INT, b TEXT)')
    connection.commit()
    connection.cursor().executemany('INSERT INTO public."T 1" VALUES (?, ?)', [(9, "z")])
    connection.commit()
    # A name with a point in it is that of a table in no schema.
    with pytest.raises(atsdb.ProgrammingError, match="lab.T 1"):
        connection.cursor().executemany('INSERT INTO "lab.T 1" VALUES (?, ?)', [(9, "z")])
    connection.rollback()

    def row_by_row(*_):
        raise AssertionError("the rows are inserted one by one")

    monkeypatch.setattr(dbapi.Cursor, "_execute_each", row_by_row)
    connection.cursor().executemany('INSERT INTO "lab"."t 1" (b, a) VALUES (?, ?)', [("x", 1), ("y", 2)])
    assert connection.execute('SELECT * FROM lab."T 1" ORDER BY a').fetchall() == [(1, "x"), (2, "y")]
    assert connection.execute('SELECT * FROM "T 1"').fetchall() == [(9, "z")]


def test_many_changes_are_all_or_nothing(connection):
    connection.autocommit = True
    connection.cursor().executemany("INSERT INTO t (a) VALUES (?)", [(1,), (2,)])
    cursor = connection.cursor().executemany("UPDATE t SET c = ? WHERE a = ?", [(0.5, 1), (1.5, 2), (2.5, 3)])
    assert cursor.rowcount == 2
    with pytest.raises(atsdb.Error):
        connection.cursor().executemany("UPDATE t SET c = ? WHERE a = ?", [(9, 1), ("x", 2)])
    assert not connection.in_transaction
    assert connection.execute("SELECT c FROM t ORDER BY a").fetchall() == [(0.5,), (1.5,)]
    with pytest.raises(atsdb.ProgrammingError, match="no rows"):
        connection.cursor().executemany("SELECT ?", [(1,)])
    assert connection.cursor().executemany("INSERT INTO t (a) VALUES (?)", []).rowcount == 0


def test_a_cursor_describes_its_columns(connection):
    cursor = connection.execute("SELECT a, b, c, now() AS d, X'00' AS e FROM t")
    assert [name for name, *_ in cursor.description] == ["a", "b", "c", "d", "e"]
    kinds = [dbapi.NUMBER, dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME, dbapi.BINARY]
    assert all(described[1] == kind for described, kind in zip(cursor.description, kinds))
    assert dbapi.STRING != dbapi.NUMBER and cursor.description[0][1] != dbapi.ROWID
    assert cursor.rowcount == -1
    assert connection.execute("INSERT INTO t (a) VALUES (1), (2)").rowcount == 2


def test_what_is_closed_refuses_work(connection):
    cursor = connection.cursor()
    cursor.close()
    with pytest.raises(dbapi.ProgrammingError, match="cursor is closed"):
        cursor.execute("SELECT 1")
    other = dbapi.connect("memory:")
    cursor = other.cursor()
    other.close()
    for use in (other.commit, other.cursor, other.close, lambda: cursor.execute("SELECT 1")):
        with pytest.raises(dbapi.ProgrammingError, match="connection is closed"):
            use()
    with pytest.raises(dbapi.ProgrammingError, match="no rows to fetch"):
        connection.execute("INSERT INTO t (a) VALUES (1)").fetchone()


def test_many_rows_are_refused_as_one_is():
    with dbapi.connect("memory:") as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (id INT GENERATED ALWAYS AS IDENTITY, a INT)")
        connection.commit()
        statement = "INSERT INTO t VALUES (?, ?)"
        for insert in [lambda: cursor.execute(statement, (7, 1)), lambda: cursor.executemany(statement, [(7, 1), (8, 1)])]:
            with pytest.raises(dbapi.ProgrammingError, match="ALWAYS|always"):
                insert()
            connection.rollback()
        assert cursor.executemany("INSERT INTO t (a) VALUES (?)", [(1,), (2,)]).rowcount == 2
        assert cursor.execute("SELECT max(a) FROM t").fetchone() == (2,)


def test_many_rows_go_where_one_does(monkeypatch):
    def row_by_row(*_):
        raise AssertionError("the rows are inserted one by one")

    monkeypatch.setattr(dbapi.Cursor, "_execute_each", row_by_row)
    with dbapi.connect("memory:") as connection:
        cursor = connection.cursor()
        for statement in ["CREATE SCHEMA lab", "CREATE TABLE t (a INT)", "CREATE TABLE lab.t (a INT)"]:
            cursor.execute(statement)
        cursor.execute("SET search_path TO lab, public")
        assert cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)]).rowcount == 2
        counts = "SELECT (SELECT count(*) FROM public.t), (SELECT count(*) FROM lab.t)"
        assert cursor.execute(counts).fetchone() == (0, 2)
