"""Every type of SQL, written and read back."""

import copy
import datetime as dt
import decimal
import enum
import math
import pathlib
import pickle
import uuid

import pytest

import atsdb

UTC = dt.timezone.utc
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, UTC)
WHOLE = MOMENT.replace(microsecond=0)
MILLI = MOMENT.replace(microsecond=123000)

TYPES = [
    ("BOOLEAN", [True, False]),
    ("TINYINT", [-128, 127]),
    ("SMALLINT", [-(2**15), 2**15 - 1]),
    ("INT", [-(2**31), 2**31 - 1]),
    ("BIGINT", [-(2**63), 2**63 - 1]),
    ("TINYINT UNSIGNED", [0, 255]),
    ("SMALLINT UNSIGNED", [0, 2**16 - 1]),
    ("INT UNSIGNED", [0, 2**32 - 1]),
    ("BIGINT UNSIGNED", [0, 2**64 - 1]),
    ("REAL", [-0.5, 3.4028234663852886e38]),
    ("DOUBLE", [5e-324, -1.7976931348623157e308, 0.1]),
    ("TEXT", ["", "Žižkov 🌧", "a\0b", "it's"]),
    ("BLOB", [b"", b"\x00\xff'"]),
    ("TIMESTAMP(0)", [WHOLE, dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, tzinfo=UTC)]),
    ("TIMESTAMP(3)", [MILLI]),
    ("TIMESTAMP", [MOMENT, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)]),
    ("TIMESTAMP(9)", [MOMENT]),
    ("DATE", [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    ("DECIMAL(12, 2)", [decimal.Decimal("-9999999999.99"), decimal.Decimal("0.50")]),
    ("TIME", [dt.time(0), dt.time(23, 59, 59, 999999)]),
    ("UUID", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("JSON", ['{"a": [1, 2.50]}', "null"]),
    ("INTERVAL", [dt.timedelta(days=-1, seconds=7, microseconds=3), dt.timedelta(0)]),
    ("TEXT[]", [["a", None, "b, c"], [], ["{}"]]),
    ("mood", ["ok", "bad"]),
]


def create_table(db, sql_type):
    """Creates a table with a column of the type, which stands for an enumerated one if it is ``mood``."""
    if sql_type == "mood":
        db.sql("CREATE TYPE mood AS ENUM ('ok', 'bad')")
    db.sql(f"CREATE TABLE t (n INT, v {sql_type}) WITH (time = 'none')")


@pytest.mark.parametrize(("sql_type", "values"), TYPES, ids=[name for name, _ in TYPES])
def test_values_come_back_as_they_were(db, sql_type, values):
    create_table(db, sql_type)
    rows = [(number, value) for number, value in enumerate([*values, None])]
    db.append("t", rows)
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == rows
    db.sql("DELETE FROM t")
    for row in rows:
        db.sql("INSERT INTO t VALUES (?, ?)", row)
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == rows
    # Another store accepts what one exports.
    with atsdb.open("memory:") as other:
        create_table(other, sql_type)
        assert other.append("t", db.sql("SELECT * FROM t")) == (len(rows), True)
        assert other.sql("SELECT * FROM t ORDER BY n").fetchall() == rows


@pytest.mark.parametrize(("sql_type", "values"), TYPES, ids=[name for name, _ in TYPES])
def test_a_member_of_an_enumeration_stands_for_its_value(db, sql_type, values):
    create_table(db, sql_type)
    # Numbered names, since equal values are one member.
    members = enum.Enum("Values", {f"VALUE_{number}": value for number, value in enumerate([*values, None])})
    rows = [(number, member) for number, member in enumerate(members)]
    expected = [(number, member.value) for number, member in rows]
    db.append("t", rows)
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == expected
    db.sql("DELETE FROM t")
    for row in rows:
        db.sql("INSERT INTO t VALUES (?, ?)", row)
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == expected


class Text(str, enum.Enum):
    NOON = "12:00"
    NUMBER = "1.50"
    LENGTH = "1 day"
    IDENTITY = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    DOCUMENT = '{"a": 1}'


@pytest.mark.parametrize(
    ("sql_type", "member", "expected"),
    [
        ("TIME", Text.NOON, dt.time(12)),
        ("DECIMAL(8, 2)", Text.NUMBER, decimal.Decimal("1.50")),
        ("DECIMAL(8, 2)", enum.IntEnum("Number", {"TWO": 2}).TWO, decimal.Decimal("2.00")),
        ("INTERVAL", Text.LENGTH, dt.timedelta(days=1)),
        ("UUID", Text.IDENTITY, Text.IDENTITY.value),
        ("UUID", enum.Enum("Identity", {"A": uuid.UUID(int=7)}).A, str(uuid.UUID(int=7))),
        ("JSON", Text.DOCUMENT, Text.DOCUMENT.value),
        ("JSON", {"a": [Text.NOON, enum.Enum("Number", {"TWO": 2}).TWO]}, '{"a": ["12:00", 2]}'),
        ("TIME[]", [Text.NOON, None], [dt.time(12), None]),
    ],
    ids=str,
)
def test_a_member_that_is_written_is_its_value(db, sql_type, member, expected):
    db.sql(f"CREATE TABLE t (v {sql_type})")
    db.append("t", [(member,)])
    db.sql("INSERT INTO t VALUES (?)", (member,))
    assert db.sql("SELECT v FROM t").fetchall() == [(expected,)] * 2


class Endless(enum.Enum):
    ONE = 1

    @property
    def value(self):
        return self


def test_a_value_that_contains_itself_is_refused(db):
    db.sql("CREATE TABLE t (v INT)")
    endless = []
    endless.append(endless)
    for value in (Endless.ONE, endless):
        with pytest.raises(atsdb.InvalidValueError, match="parameter 1: .* contains itself"):
            db.sql("SELECT ?", (value,))
    with pytest.raises(atsdb.InvalidValueError):
        db.append("t", [(Endless.ONE,)])
    # One that is not its own value is the value of its value.
    outer = enum.Enum("Outer", {"A": enum.Enum("Inner", {"B": 7}).B}).A
    assert db.sql("SELECT ?", (outer,)).fetchall() == [(7,)]


@pytest.mark.parametrize("value", [10**38, decimal.Decimal("NaN"), dt.time(1, tzinfo=dt.timezone.utc), "\ud800"])
def test_a_value_that_no_parameter_can_have_is_an_error_of_its_kind(db, value):
    with pytest.raises(atsdb.InvalidValueError, match="^parameter 2: "):
        db.sql("SELECT ?, ?", (1, value))
    with pytest.raises(atsdb.InvalidValueError, match=r"^parameter \$late: "):
        db.sql("SELECT $late", {"late": value})


def test_floats_keep_what_compares_unequal(db):
    db.sql("CREATE TABLE t (n INT, v DOUBLE) WITH (time = 'none')")
    db.append("t", [(1, math.nan), (2, -0.0), (3, math.inf)])
    db.sql("INSERT INTO t VALUES (4, ?), (5, ?), (6, ?)", (math.nan, -0.0, -math.inf))
    found = [repr(value) for (value,) in db.sql("SELECT v FROM t ORDER BY n")]
    assert found == ["nan", "-0.0", "inf", "nan", "-0.0", "-inf"]


@pytest.mark.parametrize(
    "value",
    [
        decimal.Decimal("1.50"),
        dt.time(1, 2, 3, 4),
        dt.timedelta(days=1, seconds=2, microseconds=3),
        2**63,
        1e-7,
        MOMENT.replace(tzinfo=None),
    ],
)
def test_a_parameter_keeps_its_type(db, value):
    ((answer,),) = db.sql("SELECT ?", (value,)).fetchall()
    assert (type(answer), answer) == (type(value), value)


def test_other_values_become_those_of_sql(db):
    numpy = pytest.importorskip("numpy")
    identity = uuid.UUID(int=7)
    assert db.sql("SELECT ?", (identity,)).fetchall() == [(str(identity),)]
    assert db.sql("SELECT ?", (numpy.int64(7),)).fetchall() == [(7,)]
    assert db.sql("SELECT ?", (bytearray(b"ab"),)).fetchall() == [(b"ab",)]
    db.sql("CREATE TABLE t (time TIMESTAMP(9), n INT UNSIGNED) WITH (time = 'time')")
    db.append("t", [(numpy.datetime64("2024-01-01T00:00:00.123456789"), numpy.uint8(3)), (1, True)])
    early, late = sorted(row[0] for row in db.sql("SELECT time FROM t"))
    assert (early.nanosecond, late.nanosecond, late.microsecond) == (1, 789, 123456)


def test_arrays_and_lengths_of_time_of_numpy_are_parameters(db):
    numpy = pytest.importorskip("numpy")
    arrays = (numpy.array([1, 2]), numpy.array([], dtype="i8"))
    assert db.sql("SELECT 2 = ANY(?), 4 = ANY(?)", arrays).fetchall() == [(True, False)]
    moments = numpy.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    assert db.sql("SELECT TIMESTAMP '2024-01-02' = ANY(?)", (moments,)).fetchall() == [(True,)]
    for unit, text in [("ns", "00:00:00.000000005"), ("s", "00:00:05"), ("D", "120:00:00")]:
        assert db.sql("SELECT CAST(? AS TEXT)", (numpy.timedelta64(5, unit),)).fetchall() == [(text,)]


def test_missing_values_of_pandas_and_numpy_are_null(db):
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    missing = [pandas.NA, pandas.NaT, numpy.datetime64("NaT"), numpy.timedelta64("NaT")]
    for sql_type, _ in TYPES:
        create_table(db, sql_type)
        db.append("t", [(1, value) for value in missing])
        for value in missing:
            db.sql("INSERT INTO t VALUES (2, ?)", (value,))
        assert db.sql("SELECT count(*), count(v) FROM t").fetchall() == [(8, 0)], sql_type
        db.sql("DROP TABLE t")
    db.sql("CREATE TABLE a (v INT[])")
    db.append("a", [([1, pandas.NA],)])
    assert db.sql("SELECT v FROM a").fetchall() == [([1, None],)]


def test_documents_are_written_as_json(db):
    db.sql("CREATE TABLE t (n INT, v JSON) WITH (time = 'none')")
    document = {"a": [1, None, True], "Ž": "it's"}
    db.append("t", [(1, document), (2, [1, 2]), (3, True), (4, 1.5), (5, '{"b": 2}'), (6, None)])
    db.sql("INSERT INTO t VALUES (7, ?)", (document,))
    text = '{"a": [1, null, true], "Ž": "it\'s"}'
    found = [value for (value,) in db.sql("SELECT v FROM t ORDER BY n")]
    assert found == [text, "[1, 2]", "true", "1.5", '{"b": 2}', None, text]
    with pytest.raises(atsdb.InvalidValueError, match="row 1, column v: .*not JSON compliant"):
        db.append("t", [(8, {"a": math.nan})])
    with pytest.raises(atsdb.InvalidValueError, match="row 1, column v: .*not JSON serializable"):
        db.append("t", [(8, [object()])])


def test_zones_are_converted_to_utc(db):
    db.sql("CREATE TABLE t (v TIMESTAMP)")
    local = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    db.append("t", [(local,), (local.isoformat(),)])
    db.sql("INSERT INTO t VALUES (?)", (local,))
    assert db.sql("SELECT v FROM t").fetchall() == [(dt.datetime(2024, 7, 1, 10, tzinfo=UTC),)] * 3


def test_nanoseconds_are_kept(db):
    db.sql("CREATE TABLE t (v TIMESTAMP(9))")
    exact = atsdb.Timestamp.of(MOMENT, 789)
    db.append("t", [(exact,)])
    db.sql("INSERT INTO t VALUES (?)", (exact,))
    for (value,) in db.sql("SELECT v FROM t"):
        assert isinstance(value, atsdb.Timestamp)
        assert (value, value.nanosecond) == (MOMENT, 789)
    for copied in (copy.copy(exact), copy.deepcopy(exact), pickle.loads(pickle.dumps(exact))):
        assert (type(copied), copied, copied.nanosecond) == (atsdb.Timestamp, exact, 789)
    db.sql("CREATE TABLE coarse (v TIMESTAMP)")
    with pytest.raises(atsdb.InvalidValueError, match="finer than the column's unit"):
        db.append("coarse", [(exact,)])


def test_what_has_no_exact_object_is_refused(db):
    with pytest.raises(atsdb.InvalidValueError, match="a timedelta cannot hold"):
        db.sql("SELECT INTERVAL '1 month'").fetchall()
    assert db.sql("SELECT INTERVAL '1 day 2 seconds'").fetchall() == [(dt.timedelta(days=1, seconds=2),)]
    for day in ["12000-01-01", "0001-01-01 BC"]:
        with pytest.raises(atsdb.InvalidValueError, match="a date cannot hold"):
            db.sql(f"SELECT DATE '{day}'").fetchall()


def test_nested_values_are_lists_and_dicts(db):
    assert db.sql("SELECT [1, NULL, 3], struct(1, 'a'), NULL").fetchall() == [([1, None, 3], {"c0": 1, "c1": "a"}, None)]


@pytest.mark.parametrize(("column", "value"), [("DOUBLE", 2**53 + 1), ("REAL", 1e39), ("TINYINT", 128), ("INT", 1.5)])
def test_values_that_would_change_are_refused(db, column, value):
    db.sql(f"CREATE TABLE t (v {column})")
    with pytest.raises(atsdb.InvalidValueError):
        db.append("t", [(value,)])


def test_the_page_of_types_is_right(db):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "reference" / "types.md").read_text()
    rows = page.split("|---|---|---|---|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    assert [row[0].strip("`") for row in cells] == [name for name, _ in TYPES]
    for (sql_type, values), (_, _, arrow, python, *_) in zip(TYPES, cells):
        create_table(db, sql_type)
        db.append("t", [(value,) for value in values], columns=["v"])
        answer = db.sql("SELECT v FROM t")
        assert answer.types == [arrow.strip("`")]
        assert {f"`{type(value).__name__}`" for (value,) in answer} <= set(python.split(", "))
        db.sql("DROP TABLE t")


#: The types in the section "Values that go in" of the page.
GIVEN = [
    (None, "TEXT"),
    ("a", "TEXT"),
    (True, "BOOLEAN"),
    (7, "BIGINT"),
    (2**63, "BIGINT UNSIGNED"),
    (0.5, "DOUBLE"),
    (b"a", "BLOB"),
    (MOMENT, "TIMESTAMP"),
    (atsdb.Timestamp.of(MOMENT, 789), "TIMESTAMP(9)"),
    (dt.date(2024, 3, 1), "DATE"),
]


@pytest.mark.parametrize(("value", "sql_type"), GIVEN, ids=[f"{sql_type} {value}" for value, sql_type in GIVEN])
def test_a_parameter_has_the_type_of_its_value(db, value, sql_type):
    db.sql("CREATE TABLE t AS SELECT ? AS v", (value,))
    ((_, columns),) = db.sql("SHOW CREATE TABLE t").fetchall()
    assert f"v {sql_type}" in columns.replace("\n", " ").replace(",", " ").split(") WITH")[0] + " "
    assert db.sql("SELECT v FROM t").fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("query", "value", "answer"),
    [
        # An integer parameter is an integer in any expression, and a float is a float.
        ("SELECT 5 / ?", 2, 2),
        ("SELECT 5 / ?", 2.0, 2.5),
        ("SELECT n / ? FROM t", 2.0, 3.5),
        ("SELECT n + ? FROM t", 2**40, 2**40 + 7),
        # A text gets the type that its place requires.
        ("SELECT n FROM t WHERE n = ?", "7", 7),
        ("SELECT n FROM t WHERE time = ?", "2024-03-01", 7),
        ("SELECT n FROM t WHERE sensor = ?", "7", 7),
        ("SELECT n FROM t WHERE time = ?", dt.datetime(2024, 3, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), 7),
        ("SELECT n FROM t WHERE time < ?", dt.date(2024, 3, 2), 7),
        ("SELECT n FROM t WHERE time - ? < '2024-03-01'", dt.timedelta(microseconds=1), 7),
        ("SELECT n FROM t WHERE n > ?", decimal.Decimal("6.99"), 7),
        ("SELECT n FROM t WHERE n < ?", 2**70, 7),
        ("SELECT n FROM t LIMIT ?", 1, 7),
        ("SELECT ?::TEXT FROM t", None, None),
    ],
)
def test_a_parameter_is_used_with_its_type(db, query, value, answer):
    db.sql("CREATE TABLE t (time TIMESTAMP, n INT, sensor TEXT) WITH (map = 'sensor:u8')")
    db.sql("INSERT INTO t VALUES (?, ?, ?)", (dt.date(2024, 3, 1), 7, "7"))
    ((found,),) = db.sql(query, (value,)).fetchall()
    assert (type(found), found) == (type(answer), answer)
    assert db.sql(query, (value,)).fetchall() == [(answer,)]


def test_labels_of_an_enumerated_type_are_texts(db):
    create_table(db, "mood")
    db.append("t", [(1, "ok"), (2, "bad")])
    assert db.sql("SELECT n FROM t WHERE v > ?", ("ok",)).fetchall() == [(2,)]
    with pytest.raises(atsdb.InvalidValueError, match="good"):
        db.append("t", [(3, "good")])
    with pytest.raises(atsdb.InvalidValueError, match="good"):
        db.sql("INSERT INTO t VALUES (?, ?)", (3, "good"))
    assert db.sql("SELECT max(v), count(*) FROM t").fetchall() == [("bad", 2)]


def test_arrays_are_lists(db):
    db.sql("CREATE TABLE t (n INT, i INT[], d DECIMAL(9, 2)[], at TIMESTAMP[], u UUID[])")
    first = (1, [1, None, -7], [decimal.Decimal("1.50"), None], [MOMENT], [str(uuid.UUID(int=7))])
    db.append("t", [first, (2, None, None, None, None), (3, (), [], (), [])])
    db.sql("INSERT INTO t VALUES (?, ?, ?, ?, ?)", (4, *first[1:]))
    db.sql("INSERT INTO t VALUES (?, ?, ?, ?, ?)", (5, [], [1, decimal.Decimal("2.5")], None, []))
    empty = (3, [], [], [], [])
    fifth = (5, [], [decimal.Decimal("1.00"), decimal.Decimal("2.50")], None, [])
    rows = [first, (2, None, None, None, None), empty, (4, *first[1:]), fifth]
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == rows
    assert db.sql("SELECT n FROM t WHERE i = ? ORDER BY n", ([1, None, -7],)).fetchall() == [(1,), (4,)]
    assert db.sql("SELECT n FROM t WHERE i @> ? AND ? = ANY (u) ORDER BY n", ([-7], first[4][0])).fetchall() == [(1,), (4,)]
    db.sql("CREATE TABLE untyped (i INT[])")
    for untyped in [[], [None], [None, None]]:
        db.sql("INSERT INTO untyped VALUES ($1)", [untyped])
    assert db.sql("SELECT i FROM untyped ORDER BY cardinality(i)").fetchall() == [([],), ([None],), ([None, None],)]
    for wrong in ["ab", 7, [["nested"]], ["x"]]:
        with pytest.raises(atsdb.InvalidValueError):
            db.append("t", [(6, wrong, None, None, None)])
    with pytest.raises(TypeError):
        db.sql("SELECT ?", ([1, "a", b"b"],))
