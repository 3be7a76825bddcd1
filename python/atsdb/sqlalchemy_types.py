"""The types of SQLAlchemy's dialect ``atsdb://``: how each is declared, bound, read and reflected."""

from __future__ import annotations

import decimal
import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import exc, types
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import compiler, sqltypes, type_api

#: What a processor of values is.
_Processor = Callable[[Any], Any]

#: Types of SQL, as the catalogue names them.
_TYPES: dict[str, types.TypeEngine[Any]] = {
    "BOOLEAN": types.BOOLEAN(),
    "TINYINT": types.SMALLINT(),
    "SMALLINT": types.SMALLINT(),
    "INT": types.INTEGER(),
    "BIGINT": types.BIGINT(),
    "TINYINT UNSIGNED": types.SMALLINT(),
    "SMALLINT UNSIGNED": types.INTEGER(),
    "INT UNSIGNED": types.BIGINT(),
    "BIGINT UNSIGNED": types.NUMERIC(20, 0),
    "REAL": types.REAL(),
    "DOUBLE": types.DOUBLE(),
    "TEXT": types.TEXT(),
    "BLOB": types.BLOB(),
    "DATE": types.DATE(),
    "TIME": types.TIME(),
    "UUID": types.UUID(),
    "JSON": types.JSON(),
    "INTERVAL": types.Interval(),
}
_TIMESTAMP = re.compile(r"TIMESTAMP(?:\((\d)\))?")
_DECIMAL = re.compile(r"DECIMAL\((\d+), *(\d+)\)")
_TEXT = re.compile(r"(VARCHAR|CHAR)\((\d+)\)")


def reflected(name: str) -> types.TypeEngine[Any]:
    """The type of SQLAlchemy for one that the catalogue names."""
    if name.endswith("[]"):
        # The one with `contains`, `contained_by` and `overlap`.
        return postgresql.ARRAY(reflected(name[:-2]))
    if digits := _DECIMAL.fullmatch(name):
        return types.NUMERIC(int(digits[1]), int(digits[2]))
    if text := _TEXT.fullmatch(name):
        return types.CHAR(int(text[2])) if text[1] == "CHAR" else types.VARCHAR(int(text[2]))
    if found := _TIMESTAMP.fullmatch(name):
        # Only PostgreSQL's type has digits.
        return postgresql.TIMESTAMP(timezone=True, precision=int(found[1])) if found[1] else types.TIMESTAMP(timezone=True)
    return _TYPES.get(name, types.NullType())


class AtsdbDateTime(types.DateTime):
    """A time. It has a zone, UTC, if the type says so, as SQLAlchemy expects it."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        if self.timezone:
            return None
        return lambda time: None if time is None else time.replace(tzinfo=None)


class AtsdbNumeric(types.Numeric):  # type: ignore[type-arg]
    """A decimal number, read as a ``Decimal``. So are integers and floats that an expression of this type returns."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        if not self.asdecimal:
            return lambda value: None if value is None else float(value)
        return lambda value: value if isinstance(value, decimal.Decimal | None) else decimal.Decimal(str(value))


class AtsdbUuid(types.Uuid):  # type: ignore[type-arg]
    """A UUID. The store returns it as text."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        if not self.native_uuid:
            return super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call]
        return (lambda value: None if value is None else uuid.UUID(value)) if self.as_uuid else None


class AtsdbInterval(type_api.NativeForEmulated, sqltypes._AbstractInterval):
    """A length of time, a ``timedelta``."""

    __visit_name__ = "INTERVAL"
    native = True

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> AtsdbInterval:
        return cls()

    def as_generic(self, allow_nulltype: bool = False) -> types.Interval:
        return types.Interval(native=True)

    def literal_processor(self, dialect: Any) -> Any:
        return lambda length: f"INTERVAL '{length.days} days {length.seconds}.{length.microseconds:06} seconds'"


class AtsdbJsonPath(types.JSON.JSONPathType):
    """A path into a document: an array of texts."""

    __visit_name__ = "JSONPATH"
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Any:
        return _array_text

    def literal_processor(self, dialect: Any) -> Any:
        return lambda path: f"CAST({literal(_array_text(path))} AS TEXT[])"


class AtsdbArray(types.ARRAY):  # type: ignore[type-arg]
    """An array of one dimension, a ``list``."""

    @property
    def render_bind_cast(self) -> bool:  # type: ignore[override]
        """Whether a parameter is cast: one that is written as text."""
        return self.item_type._type_affinity in (types.String, types.Uuid)

    def _processor(self, of_item: _Processor | None, collected: Callable[[Iterable[Any]], Any]) -> _Processor | None:
        if of_item is None and collected is list:
            return None

        def process(items: Any) -> Any:
            if items is None:
                return None
            return collected(items if of_item is None else (None if item is None else of_item(item) for item in items))

        return process

    def bind_processor(self, dialect: Any) -> Any:
        """A list, or a text, whose type follows from its position: that of an empty list, of texts and of UUIDs."""
        collected = _array_text if self.render_bind_cast else lambda items: list(items) or "{}"
        return self._processor(self.item_type.dialect_impl(dialect).bind_processor(dialect), collected)

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        of_item = self.item_type.dialect_impl(dialect).result_processor(dialect, coltype)
        return self._processor(of_item, tuple if self.as_tuple else list)

    def literal_processor(self, dialect: Any) -> Any:
        of_item = self.item_type.dialect_impl(dialect).literal_processor(dialect)
        if of_item is None:
            return None
        name = dialect.type_compiler_instance.process(self)

        def process(items: Any) -> str:
            texts = ("NULL" if item is None else of_item(item) for item in items)
            return f"CAST(ARRAY[{', '.join(texts)}] AS {name})"

        return process


class AtsdbEnum(postgresql.ENUM):
    """An enumerated type, which ``create_all`` creates. A text for it needs no cast."""

    render_bind_cast = False

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> Any:
        """An ``Enum`` without a name is text."""
        native: Any = super()
        return native.adapt_emulated_to_native(impl, **kw) if impl.name else impl.adapt_to_emulated(types.Enum, **kw)


#: The classes that take the place of SQLAlchemy's.
COLSPECS: dict[type[types.TypeEngine[Any]], type[types.TypeEngine[Any]]] = {
    types.ARRAY: AtsdbArray,
    types.DateTime: AtsdbDateTime,
    types.Enum: AtsdbEnum,
    postgresql.ENUM: AtsdbEnum,
    # A kind of Numeric in SQLAlchemy 2.0.
    types.Float: types.Float,
    types.Interval: AtsdbInterval,
    types.JSON.JSONPathType: AtsdbJsonPath,
    types.Numeric: AtsdbNumeric,
    types.Uuid: AtsdbUuid,
}


class AtsdbTypeCompiler(compiler.GenericTypeCompiler):
    """Writes the type names of atsdb."""

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        if (type_.dimensions or 1) > 1:
            raise exc.CompileError("an array of atsdb has one dimension")
        return f"{self.process(type_.item_type, **kw)}[]"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP"

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        digits = getattr(type_, "precision", None)
        return "TIMESTAMP" if digits is None else f"TIMESTAMP({digits})"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:
        return "INTERVAL"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:
        return "BYTEA"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BYTEA"

    def visit_string(self, type_: Any, **kw: Any) -> str:
        return f"VARCHAR({type_.length})" if type_.length else "TEXT"

    visit_unicode = visit_string

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        return str(self.visit_ENUM(type_, **kw)) if isinstance(type_, AtsdbEnum) else "TEXT"

    def visit_ENUM(self, type_: Any, **kw: Any) -> str:
        preparer: Any = self.dialect.identifier_preparer
        return str(preparer.format_type(type_))

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "UUID" if type_.native_uuid else "TEXT"

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        return "UUID"

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        return "JSON"

    def visit_JSONPATH(self, type_: Any, **kw: Any) -> str:
        return "TEXT[]"


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _array_text(items: Any) -> Any:
    """The text of an array. A text is one already."""
    if items is None or isinstance(items, str):
        return items
    escaped = ("NULL" if item is None else '"' + re.sub(r'(["\\])', r"\\\1", str(item)) + '"' for item in items)
    return "{" + ",".join(escaped) + "}"
