"""Tables declared as dataclasses."""

import datetime as dt
import decimal
import enum
import typing
import uuid
from dataclasses import dataclass
from typing import Annotated, List, Optional

import pytest

import atsdb


@atsdb.table("readings", slice="month", key=["sensor"], retention="200 years", index=[["pm2.5"]])
@dataclass
class Reading:
    time: dt.datetime
    sensor: Annotated[str, atsdb.mapped("u32")]
    status: Annotated[Optional[str], atsdb.column(map="u8")]
    dust: Annotated[atsdb.Float32 | None, atsdb.column(rename="pm2.5")]
    count1: atsdb.Int32
    note: Annotated[str, atsdb.column(skip=True)] = "as read"


def reading(minute=0, **changes):
    values = {"sensor": "s1", "status": "ok", "dust": 1.5, "count1": 7, **changes}
    return Reading(dt.datetime(2024, 3, 1, 12, minute, tzinfo=dt.timezone.utc), **values)


def test_a_class_declares_its_table(db):
    statement = db.create_table(Reading)
    assert db.create_table(Reading) == statement
    ((_, shown),) = db.sql("SHOW CREATE TABLE readings").fetchall()
    assert shown == statement
    for part in [
        "time TIMESTAMP",
        "sensor TEXT",
        '"pm2.5" REAL',
        "count1 INT NOT NULL",
        "slice = 'month'",
        "map = 'sensor:u32, status:u8'",
        "retention = '200 years'",
    ]:
        assert part in statement, statement
    assert "note" not in statement


def test_instances_are_appended_and_read_back(db):
    rows = [reading(0), reading(1, status=None, dust=None)]
    assert db.append(rows, id="first") == (2, True)
    assert db.append(rows, id="first") == (2, False)
    assert db.append(Reading, []) == (0, True)
    assert db.append(iter([])) == (0, True)
    assert sorted(db.rows(Reading), key=lambda row: row.time) == [
        reading(0, note="as read"),
        reading(1, status=None, dust=None, note="as read"),
    ]
    assert [row.time.minute for row in db.rows(Reading, "status IS NOT NULL AND sensor = ?", ("s1",))] == [0]


def test_data_of_any_kind_is_appended_to_a_declared_table(db):
    polars = pytest.importorskip("polars")
    time = dt.datetime(2024, 3, 1, 12, tzinfo=dt.timezone.utc)
    frame = polars.DataFrame({"time": [time], "sensor": ["s1"], "pm2.5": [1.5], "count1": [7]})
    for data in [frame, [frame.lazy()], [(time, "s1", None, 1.5, 7)], [{"time": time, "sensor": "s1", "count1": 7}]]:
        assert db.append(Reading, data) == (1, True)
    assert [(row.status, row.count1) for row in db.rows(Reading)] == [(None, 7)] * 4
    assert [row.dust for row in db.rows(Reading, "status IS NULL AND \"pm2.5\" > 1")] == [1.5] * 3
    with pytest.raises(atsdb.UsageError, match="the columns are those of Reading"):
        db.append(Reading, [(time,)], columns=["time"])
    with pytest.raises(TypeError, match="not Reading"):
        db.append(reading())
    with pytest.raises(atsdb.UsageError, match="NoneType declares no table"):
        db.append([None])


@atsdb.table("lab.levels")
@dataclass
class Level:
    time: dt.datetime
    level: float


def test_a_declared_table_is_in_the_schema_that_its_name_begins_with(db):
    level = Level(dt.datetime(2024, 3, 1, tzinfo=dt.timezone.utc), 1.5)
    db.sql("CREATE SCHEMA Lab")
    assert "CREATE TABLE Lab.levels (" in db.create_table(Level)
    assert db.append([level], id="first") == (1, True)
    assert list(db.rows(Level)) == [level]
    assert db.sql("SELECT level FROM lab.levels").fetchall() == [(1.5,)]
    # Where the table is does not depend on the search path, nor on the case of the name.
    db.sql("SET search_path TO lab")
    assert db.append([level]) == (1, True)
    assert list(db.rows(Level)) == [level, level]


def test_a_point_is_part_of_a_name_that_begins_with_no_schema(db):
    level = Level(dt.datetime(2024, 3, 1, tzinfo=dt.timezone.utc), 1.5)
    assert db.append([level]) == (1, True)
    assert list(db.rows(Level)) == [level]
    assert db.sql('SELECT level FROM "lab.levels"').fetchall() == [(1.5,)]


def test_the_rows_of_a_table_that_does_not_exist(db):
    with pytest.raises(atsdb.NotFoundError, match="no table named readings"):
        list(db.rows(Reading))


def test_a_declaration_joins_a_transaction(db):
    with pytest.raises(RuntimeError), db.transaction():
        db.append([reading()])
        raise RuntimeError
    assert db.tables() == []
    with db.transaction():
        db.append([reading()])
    assert db.tables() == ["readings"]


def test_keys_and_policies_are_declared(db):
    @atsdb.table("levels", time=None, primary_key=["id"], unique=[["name"]], on_conflict="replace")
    @dataclass
    class Level:
        id: int
        name: str | None
        day: dt.date
        raw: bytes
        ok: bool
        level: float

    db.append([Level(1, "a", dt.date(2024, 1, 1), b"\x00", True, 0.5)])
    db.append([Level(1, "b", dt.date(2024, 1, 2), b"\x01", False, 1.5)])
    assert db.sql("SELECT * FROM levels").fetchall() == [(1, "b", dt.date(2024, 1, 2), b"\x01", False, 1.5)]


def test_a_table_with_other_columns_is_refused(db):
    db.sql("CREATE TABLE readings (time TIMESTAMP, sensor TEXT) WITH (time = 'time')")
    with pytest.raises(atsdb.UsageError, match="does not have the record's columns"):
        db.create_table(Reading)


def test_every_type_of_sql_has_a_field(db):
    @atsdb.table("t", time="at", unit="ms")
    @dataclass
    class Every:
        at: dt.datetime
        a: atsdb.Int8
        b: atsdb.Int16
        c: atsdb.Int32
        d: atsdb.Int64
        e: atsdb.UInt8
        f: atsdb.UInt16
        g: atsdb.UInt32
        h: atsdb.UInt64
        i: atsdb.Float32
        j: atsdb.Date
        k: Annotated[dt.datetime, atsdb.column("TIMESTAMP(9)")]

    db.create_table(Every)
    types = db.sql("SELECT data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position")
    assert [name for (name,) in types] == [
        "TIMESTAMP(3)",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "TINYINT UNSIGNED",
        "SMALLINT UNSIGNED",
        "INT UNSIGNED",
        "BIGINT UNSIGNED",
        "REAL",
        "DATE",
        "TIMESTAMP(9)",
    ]


def test_types_of_python_are_types_of_columns(db):
    @atsdb.table("t", time=None)
    @dataclass
    class Row:
        number: int
        opens: dt.time
        lasts: dt.timedelta | None
        price: decimal.Decimal
        cents: Annotated[decimal.Decimal, atsdb.column("DECIMAL(12, 2)")]
        identity: Annotated[str, atsdb.column("UUID")]
        document: Annotated[str | None, atsdb.column("JSON")]
        words: list[str]
        counts: list[atsdb.Int32 | None] | None
        moments: list[dt.datetime]
        prices: list[Annotated[decimal.Decimal, atsdb.column("DECIMAL(12, 2)")]]

    statement = db.create_table(Row)
    for part in [
        "opens TIME NOT NULL",
        "lasts INTERVAL,",
        "price DECIMAL(38, 9) NOT NULL",
        "cents DECIMAL(12, 2) NOT NULL",
        "identity UUID NOT NULL",
        "document JSON,",
        "words TEXT[] NOT NULL",
        "counts INT[],",
        "moments TIMESTAMP[] NOT NULL",
        "prices DECIMAL(12, 2)[] NOT NULL",
    ]:
        assert part in statement, (part, statement)
    moment = dt.datetime(2024, 3, 1, tzinfo=dt.timezone.utc)
    identity = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    number = decimal.Decimal("1.5")
    rows = [
        Row(1, dt.time(12), dt.timedelta(days=1), number, number, identity, "[1]", ["a"], [1, None], [moment], [number]),
        Row(2, dt.time(0), None, -number, -number, identity, None, [], None, [], []),
    ]
    assert db.append(rows) == (2, True)
    assert sorted(db.rows(Row), key=lambda row: row.number) == rows


Room = typing.NewType("Room", str)


def test_identities_documents_and_named_types_are_types_of_columns(db):
    @atsdb.table("t", time=None)
    @dataclass
    class Row:
        identity: uuid.UUID
        document: dict[str, int] | None
        anything: dict
        room: Annotated[Room, atsdb.mapped("u8")]
        others: list[uuid.UUID]

    statement = db.create_table(Row)
    for part in ["identity UUID NOT NULL", "document JSON,", "anything JSON NOT NULL", "room:u8", "others UUID[] NOT NULL"]:
        assert part in statement, (part, statement)
    identity = uuid.UUID(int=7)
    db.append([Row(identity, {"a": 1}, {"b": [2]}, Room("attic"), [identity])])
    assert list(db.rows(Row, "identity = ?", (identity,))) == [
        Row(str(identity), '{"a": 1}', '{"b": [2]}', Room("attic"), [str(identity)])
    ]


class Status(enum.Enum):
    OK = "ok"
    LATE = "late"


class Floor(enum.IntEnum):
    CELLAR = -1
    ROOF = 3


class Kind(str, enum.Enum):
    AIR = "air"
    WATER = "water"


def test_an_enumeration_has_the_type_of_its_values(db):
    @atsdb.table("t", time=None)
    @dataclass
    class Row:
        status: Status
        level: Floor
        kind: Annotated[Kind | None, atsdb.mapped("u8")]
        short: Annotated[Floor, atsdb.column("SMALLINT")]
        seen: list[Status]

    statement = db.create_table(Row)
    for part in ["status TEXT NOT NULL", "level BIGINT NOT NULL", "kind TEXT,", "kind:u8", "short SMALLINT", "seen TEXT[]"]:
        assert part in statement, (part, statement)
    db.append([Row(Status.OK, Floor.ROOF, Kind.AIR, Floor.CELLAR, [Status.OK, Status.LATE])])
    db.append([Row(Status.LATE, Floor.CELLAR, None, Floor.ROOF, [])])
    # Values come back, not members.
    found = db.sql("SELECT * FROM t ORDER BY level").fetchall()
    assert found == [("late", -1, None, 3, []), ("ok", 3, "air", -1, ["ok", "late"])]
    assert [type(value) for value in found[1]] == [str, int, str, int, list]
    assert list(db.rows(Row, "status = ? AND kind = ?", (Status.OK, Kind.AIR))) == [Row(*found[1])]


def test_a_field_of_an_enumeration_fits_a_column_of_an_enumerated_type(db):
    db.sql("CREATE TYPE mood AS ENUM ('ok', 'late')")
    db.sql("CREATE TABLE t (status mood NOT NULL)")

    @atsdb.table("t", time=None)
    @dataclass
    class Row:
        status: Status

    db.append([Row(Status.LATE), Row(Status.OK)])
    assert db.sql("SELECT status FROM t ORDER BY status").fetchall() == [("ok",), ("late",)]
    assert db.sql("SELECT count(*) FROM t WHERE status > ?", (Status.OK,)).fetchone() == (1,)


def test_wrong_declarations_are_refused_with_the_reason(db):
    with pytest.raises(atsdb.UsageError, match="not a dataclass"):
        atsdb.table("t")(int)
    with pytest.raises(atsdb.UsageError, match="declares no table"):
        db.create_table(dict)
    with pytest.raises(atsdb.UsageError, match="a skipped field is not a column"):
        atsdb.column(skip=True, map="u8")

    def refusal(hint, **options):
        @atsdb.table("t", time=None, **options)
        @dataclass
        class Row:
            a: hint

        with pytest.raises(atsdb.Error) as refused:
            db.create_table(Row)
        return str(refused.value)

    assert "has a type that no column can have" in refusal(complex)
    assert "has a type that no column can have" in refusal(int | str)
    assert "has a type that no column can have" in refusal(list[complex])
    assert "has a type that no column can have" in refusal(List)
    assert "has a type that no column can have" in refusal(enum.Enum("Mixed", {"A": "a", "B": 1}))
    assert "has a type that no column can have" in refusal(enum.Enum("Empty", {}))
    assert "there are no arrays of BLOB" in refusal(list[bytes])
    assert "there are no arrays of BIGINT[]" in refusal(list[list[int]])
    assert "unknown column type VARCHAR2" in refusal(Annotated[int, atsdb.column("VARCHAR2")])
    assert "two options type" in refusal(Annotated[atsdb.Int8, atsdb.column("INT")])
    assert "cannot be mapped" in refusal(Annotated[int, atsdb.mapped()])
    assert "unknown map width u64" in refusal(Annotated[str, atsdb.mapped("u64")])
    assert "no column named b" in refusal(int, key=["b"])
    assert "unknown slice width" in refusal(int, slice="decade")
    assert "unknown on_conflict" in refusal(int, on_conflict="x")
