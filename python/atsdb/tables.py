"""Tables declared as dataclasses.

>>> from dataclasses import dataclass
>>> from datetime import datetime
>>> from typing import Annotated
>>> import atsdb

>>> @atsdb.table("readings", retention="2 years")
... @dataclass
... class Reading:
...     time: datetime
...     sensor: Annotated[str, atsdb.mapped("u32")]
...     pm2_5: Annotated[atsdb.Float32 | None, atsdb.column(rename="pm2.5")]
...     note: Annotated[str, atsdb.column(skip=True)] = ""

Each field is a column. ``bool``, ``int``, ``float``, ``str``, ``bytes``, ``datetime``, ``date``, ``time``, ``timedelta``,
``Decimal``, ``UUID`` and lists of them have a type of SQL, and a ``dict`` is a JSON document. An ``enum.Enum`` has the type of
its members' values. Rows that are read have these values, and texts for a ``UUID`` and a ``dict``. ``atsdb.Int8`` to
``atsdb.UInt64`` and ``atsdb.Float32`` name a narrower type, and ``atsdb.column`` any other, such as ``UUID`` and ``JSON`` for a ``str``. ``| None`` makes a column that takes NULL.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from .errors import BY_KIND

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class Column:
    """The content of a field's annotation about its column."""

    type: str | None = None
    map: str | None = None
    rename: str | None = None
    skip: bool = False


def column(
    type: str | None = None, *, map: str | None = None, rename: str | None = None, skip: bool = False
) -> Column:
    """Describes a field's column, in ``Annotated[...]``.

    ``type`` is a type of SQL. ``map`` (``"u8"``, ``"u16"`` or ``"u32"``) makes a mapped column, whose dictionary holds up
    to 256, 65,536 or 4,294,967,296 strings. ``rename`` is the column's name. A field with ``skip`` is not a column.
    """
    if skip and (type or map or rename):
        raise BY_KIND["usage"]("a skipped field is not a column", "drop skip, or the other options")
    return Column(type, map, rename, skip)


def mapped(width: str = "u32") -> Column:
    """A mapped column: few distinct strings, stored as indices into a dictionary."""
    return Column(map=width)


Int8 = Annotated[int, Column("TINYINT")]
Int16 = Annotated[int, Column("SMALLINT")]
Int32 = Annotated[int, Column("INT")]
Int64 = Annotated[int, Column("BIGINT")]
UInt8 = Annotated[int, Column("TINYINT UNSIGNED")]
UInt16 = Annotated[int, Column("SMALLINT UNSIGNED")]
UInt32 = Annotated[int, Column("INT UNSIGNED")]
UInt64 = Annotated[int, Column("BIGINT UNSIGNED")]
Float32 = Annotated[float, Column("REAL")]
Date = Annotated[datetime.date, Column("DATE")]


@dataclass(frozen=True)
class TableOptions:
    """The options of a declared table besides its columns."""

    name: str
    time: str | None = "time"
    unit: str = "us"
    slice: str = "day"
    key: Sequence[str] = ()
    primary_key: Sequence[str] = ()
    unique: Sequence[Sequence[str]] = ()
    index: Sequence[Sequence[str]] = ()
    on_conflict: str = "error"
    retention: str | None = None
    preload: str | None = None


def table(
    name: str,
    *,
    time: str | None = "time",
    unit: str = "us",
    slice: str = "day",
    key: Sequence[str] = (),
    primary_key: Sequence[str] = (),
    unique: Sequence[Sequence[str]] = (),
    index: Sequence[Sequence[str]] = (),
    on_conflict: str = "error",
    retention: str | None = None,
    preload: str | None = None,
) -> Callable[[_Class], _Class]:
    """Declares that a dataclass is a row of this table, for ``Database.create_table`` and ``Database.append``.

    ``time`` names the column of the time, ``None`` makes a plain table. ``unit`` (``"s"``, ``"ms"``, ``"us"``, ``"ns"``) is
    its unit, ``slice`` (``"hour"`` to ``"year"``) the width of slices. ``key`` is the series key; ``primary_key`` and
    ``unique`` name columns of unique keys, and ``on_conflict`` (``"error"``, ``"replace"``, ``"keep"``) what happens to a
    row whose key already exists. ``index`` names the columns of indexes. ``retention`` and ``preload`` are durations
    such as ``"90 days"``. Names are those of columns.
    """
    options = TableOptions(name, time, unit, slice, key, primary_key, unique, index, on_conflict, retention, preload)

    def declare(cls: _Class) -> _Class:
        if not dataclasses.is_dataclass(cls):
            raise BY_KIND["usage"](f"{cls.__name__} is not a dataclass", "write @atsdb.table above @dataclass")
        cls.__atsdb_table__ = options  # type: ignore[attr-defined]
        return cls

    return declare


def table_options(cls: type) -> TableOptions:
    """The options that ``atsdb.table`` has given a class."""
    options = cls.__dict__.get("__atsdb_table__")
    if options is None:
        raise BY_KIND["usage"](f"{cls.__name__} declares no table", "decorate it with @atsdb.table(NAME)")
    return typing.cast(TableOptions, options)


_SQL_TYPES = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "TEXT",
    bytes: "BLOB",
    datetime.date: "DATE",
    datetime.time: "TIME",
    datetime.timedelta: "INTERVAL",
    decimal.Decimal: "DECIMAL(38, 9)",
    uuid.UUID: "UUID",
    dict: "JSON",
}
_TIMESTAMPS = {"s": "TIMESTAMP(0)", "ms": "TIMESTAMP(3)", "us": "TIMESTAMP", "ns": "TIMESTAMP(9)"}


@dataclass(frozen=True)
class FieldColumn:
    """A field that is a column."""

    attribute: str
    name: str
    sql_type: str
    nullable: bool
    map: str | None


@dataclass(frozen=True)
class Declaration:
    """A declared table, as the extension module reads it."""

    name: str
    columns: list[FieldColumn]
    time: str | None
    unit: str
    slice: str
    key: list[str]
    primary_key: list[str]
    unique: list[list[str]]
    index: list[list[str]]
    on_conflict: str
    retention: str | None
    preload: str | None


def declaration(cls: type) -> Declaration:
    """The declaration of a class that ``atsdb.table`` has decorated."""
    options = table_options(cls)
    hints = typing.get_type_hints(cls, include_extras=True)
    columns = [
        found
        for field in dataclasses.fields(cls)
        if (found := _field_column(cls, field.name, hints[field.name], options)) is not None
    ]
    return Declaration(
        options.name,
        columns,
        options.time,
        options.unit,
        options.slice,
        list(options.key),
        list(options.primary_key),
        [list(names) for names in options.unique],
        [list(names) for names in options.index],
        options.on_conflict,
        options.retention,
        options.preload,
    )


def _field_column(cls: type, attribute: str, hint: Any, options: TableOptions) -> FieldColumn | None:
    said, nullable, python_type = _read_hint(hint)
    if any(one.skip for one in said):
        return None

    def only(option: str) -> Any:
        values = {value for one in said if (value := getattr(one, option)) is not None}
        if len(values) > 1:
            raise BY_KIND["usage"](f"the field {cls.__name__}.{attribute} has two options {option}")
        return values.pop() if values else None

    sql_type = only("type") or _sql_type(python_type, options)
    if sql_type is None:
        message = f"the field {cls.__name__}.{attribute} has a type that no column can have: {python_type!r}"
        raise BY_KIND["usage"](message, "annotate it: Annotated[..., atsdb.column('TYPE OF SQL')]")
    return FieldColumn(attribute, only("rename") or attribute, sql_type, nullable, only("map"))


def _sql_type(python_type: Any, options: TableOptions) -> str | None:
    """The SQL type of a Python type; ``None`` if it has none."""
    if typing.get_origin(python_type) is list and (elements := typing.get_args(python_type)):
        said, _, element = _read_hint(elements[0])
        named = [one.type for one in said if one.type is not None]
        of_element = named[0] if named else _sql_type(element, options)
        return None if of_element is None else f"{of_element}[]"
    if isinstance(python_type, enum.EnumMeta):
        # A member stands for its value.
        types_of_values = {type(member.value) for member in typing.cast("type[enum.Enum]", python_type)}
        return _sql_type(types_of_values.pop(), options) if len(types_of_values) == 1 else None
    if python_type is datetime.datetime:
        return _TIMESTAMPS.get(options.unit)
    return _SQL_TYPES.get(dict if typing.get_origin(python_type) is dict else python_type)


def _read_hint(hint: Any) -> tuple[list[Column], bool, Any]:
    """The description of the column in an annotation, whether ``None`` is allowed, and the type without either."""
    if isinstance(hint, typing.NewType):
        return _read_hint(hint.__supertype__)
    # Python 3.12 has it, and `typing_extensions` before.
    if type(hint).__name__ == "TypeAliasType":
        return _read_hint(hint.__value__)
    if typing.get_origin(hint) is Annotated:
        inner, *extras = typing.get_args(hint)
        said, nullable, python_type = _read_hint(inner)
        return [*said, *(extra for extra in extras if isinstance(extra, Column))], nullable, python_type
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        if len(members) == 1:
            said, _, python_type = _read_hint(members[0])
            return said, True, python_type
    return [], False, hint
