"""The dialect ``atsdb://`` of SQLAlchemy.

>>> import sqlalchemy as sa
>>> engine = sa.create_engine("atsdb://", connect_args={})
>>> metadata = sa.MetaData()
>>> readings = sa.Table(
...     "readings",
...     metadata,
...     sa.Column("time", sa.DateTime, nullable=False),
...     sa.Column("sensor", sa.Text, atsdb_map="u32"),
...     sa.Column("pm10", sa.REAL),
...     atsdb_time="time",
... )
>>> metadata.create_all(engine)
>>> with engine.begin() as connection:
...     rows = [{"time": "2024-03-01 12:00:00", "sensor": "s1", "pm10": 14.5}]
...     _ = connection.exec_driver_sql("INSERT INTO readings VALUES (?, ?, ?)", [tuple(rows[0].values())])
...     connection.scalar(sa.select(sa.func.count()).select_from(readings))
1

``atsdb://`` is a store in memory, ``atsdb:///air.db`` a file, and ``atsdb:////tmp/air.db`` an absolute path. For a store on a
server write ``create_engine("atsdb://", connect_args={"database": URL})`` with its URL. The connections of an engine share one open store.

A table takes ``atsdb_time``, ``atsdb_time_unit``, ``atsdb_slice``, ``atsdb_key``, ``atsdb_retention``, ``atsdb_preload`` and
``atsdb_on_conflict``, and a column ``atsdb_map``. Foreign keys, sequences and identity columns do not exist.
"""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

from sqlalchemy import exc, pool, sql, types
from sqlalchemy.engine import URL, Connection, default, interfaces
from sqlalchemy.sql import compiler

from . import dbapi
from .database import Database, open

_OPTIONS = ("time", "time_unit", "slice", "key", "retention", "preload", "on_conflict")

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
    "TIMESTAMP(0)": types.TIMESTAMP(timezone=True),
    "TIMESTAMP(3)": types.TIMESTAMP(timezone=True),
    "TIMESTAMP": types.TIMESTAMP(timezone=True),
    "TIMESTAMP(9)": types.TIMESTAMP(timezone=True),
    "DATE": types.DATE(),
}


class AtsdbDateTime(types.DateTime):
    """A time. It has a zone, UTC, if the type says so, as SQLAlchemy expects it."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        if self.timezone:
            return None
        return lambda time: None if time is None else time.replace(tzinfo=None)


class AtsdbTypeCompiler(compiler.GenericTypeCompiler):
    """Writes the type names of atsdb."""

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP"

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DECIMAL = visit_NUMERIC

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BLOB"

    def visit_unicode(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_string(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        return "TEXT"

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        return "TEXT"


class AtsdbDDLCompiler(compiler.DDLCompiler):
    """Writes declarations with the options of atsdb."""

    def post_create_table(self, table: Any) -> str:
        given = table.dialect_options["atsdb"]
        options = [(name, given[name]) for name in _OPTIONS if given[name] is not None]
        widths = [(column.name, column.dialect_options["atsdb"]["map"]) for column in table.columns]
        maps = [f"{name}:{width}" for name, width in widths if width is not None]
        if maps:
            options.append(("map", ", ".join(maps)))
        if not options:
            return ""
        values = [(name, value if isinstance(value, str) else ", ".join(value)) for name, value in options]
        return " WITH (" + ", ".join(f"{name} = {_literal(value)}" for name, value in values) + ")"

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> str:
        raise exc.CompileError("atsdb has no foreign keys")


class AtsdbCompiler(compiler.SQLCompiler):
    """Writes statements in PostgreSQL's dialect."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text


    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Nothing: transactions take no locks. Of two that change the same rows the later one fails."""
        return ""

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._regexp_match(binary, "~", **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._regexp_match(binary, "!~", **kw)

    def _regexp_match(self, binary: Any, operator: str, **kw: Any) -> str:
        flags = binary.modifiers["flags"]
        if flags not in (None, "i"):
            raise exc.CompileError(f"regexp_match takes the flag i, not {flags!r}")
        return str(self._generate_generic_binary(binary, f" {operator}{'*' if flags else ''} ", **kw))

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        flags = binary.modifiers["flags"]
        arguments = f"{self.process(binary.left, **kw)}, {self.process(binary.right, **kw)}"
        return f"regexp_replace({arguments}{'' if flags is None else ', ' + _literal(flags)})"


class AtsdbIdentifierPreparer(compiler.IdentifierPreparer):
    """Quotes names that would begin something else in a list of columns, as MySQL's indexes do, and those that SQL has."""

    reserved_words = compiler.RESERVED_WORDS | {"fulltext", "index", "key", "spatial"}


class AtsdbExecutionContext(default.DefaultExecutionContext):
    """Passes statements on unchanged."""


class AtsdbDialect(default.DefaultDialect):
    """``atsdb://``"""

    name = "atsdb"
    driver = "atsdb"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = False
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_alter = True
    supports_default_values = False
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_sequences = False
    postfetch_lastrowid = False
    insert_returning = True
    update_returning = True
    delete_returning = True
    use_insertmanyvalues = True
    default_paramstyle = "qmark"
    colspecs = {types.DateTime: AtsdbDateTime}
    default_schema_name = "public"
    max_identifier_length = 200
    cte_follows_insert = False

    type_compiler_cls = AtsdbTypeCompiler
    ddl_compiler = AtsdbDDLCompiler
    statement_compiler = AtsdbCompiler
    preparer = AtsdbIdentifierPreparer
    execution_ctx_cls = AtsdbExecutionContext
    construct_arguments = [
        (sql.schema.Table, {name: None for name in _OPTIONS}),
        (sql.schema.Column, {"map": None}),
    ]

    def __init__(self, json_serializer: Any = None, json_deserializer: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._json_serializer = json_serializer
        self._json_deserializer = json_deserializer
        self._lock = threading.Lock()
        self._databases: dict[tuple[Any, ...], Database] = {}

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        options: dict[str, Any] = {name: _option(value) for name, value in url.query.items()}
        return [], {"database": url.database or "memory:", **options}

    def connect(self, *args: Any, **options: Any) -> Any:
        """A connection to the store that the engine has opened with its first connection."""
        place = options.pop("database")
        if isinstance(place, Database):
            return dbapi.connect(place)
        key = (place, *sorted(options.items()))
        with self._lock:
            if key not in self._databases:
                self._databases[key] = open(place, **options)
            return dbapi.connect(self._databases[key])

    def do_terminate(self, dbapi_connection: Any) -> None:
        dbapi_connection.interrupt()
        dbapi_connection.close()

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        return False

    def _check_max_identifier_length(self, connection: Connection) -> int | None:
        return None

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        from . import __version__

        return tuple(int(part) for part in __version__.split("."))

    def get_isolation_level_values(self, dbapi_connection: Any) -> list[interfaces.IsolationLevel]:
        return ["REPEATABLE READ", "AUTOCOMMIT"]

    def get_default_isolation_level(self, dbapi_connection: Any) -> interfaces.IsolationLevel:
        return "REPEATABLE READ"

    def get_isolation_level(self, dbapi_connection: Any) -> interfaces.IsolationLevel:
        return "AUTOCOMMIT" if dbapi_connection.autocommit else "REPEATABLE READ"

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        dbapi_connection.autocommit = level == "AUTOCOMMIT"

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        return ["public"]

    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "BASE TABLE")

    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "VIEW")

    def _names(self, connection: Connection, schema: str | None, kind: str) -> list[str]:
        statement = (
            "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_type = ? ORDER BY 1"
        )
        return [name for (name,) in connection.exec_driver_sql(statement, (schema or "public", kind))]

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        statement = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND lower(table_name) = ?"
        found = connection.exec_driver_sql(statement, (schema or "public", table_name.lower())).scalar()
        return bool(found)

    def _stored_name(self, connection: Connection, table_name: str, schema: str | None) -> str:
        """The name as it was declared: names ignore case."""
        statement = "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND lower(table_name) = ?"
        name = connection.exec_driver_sql(statement, (schema or "public", table_name.lower())).scalar()
        if name is None:
            raise exc.NoSuchTableError(table_name)
        return str(name)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedColumn]:
        name = self._stored_name(connection, table_name, schema)
        statement = (
            "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns "
            "WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position"
        )
        rows = connection.exec_driver_sql(statement, (schema or "public", name)).all()
        maps = self._maps(connection, name)
        columns: list[Any] = []
        for column, data_type, nullable, default_text in rows:
            described: dict[str, Any] = {
                "name": column,
                "type": _TYPES.get(data_type, types.NullType()),
                "nullable": nullable == "YES",
                "default": default_text,
                "autoincrement": False,
            }
            if maps.get(column):
                described["dialect_options"] = {"atsdb_map": maps[column]}
            columns.append(described)
        return columns

    def _maps(self, connection: Connection, table_name: str) -> dict[str, str | None]:
        statement = "SELECT column_name, map FROM atsdb.columns WHERE table_name = ?"
        return {name: width for name, width in connection.exec_driver_sql(statement, (table_name,))}

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedPrimaryKeyConstraint:
        found = self._constraints(connection, table_name, schema, "PRIMARY KEY")
        if not found:
            return {"constrained_columns": [], "name": None}
        (name, columns), *_ = found.items()
        return {"constrained_columns": columns, "name": name}

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedUniqueConstraint]:
        found = self._constraints(connection, table_name, schema, "UNIQUE")
        return [{"name": name, "column_names": columns} for name, columns in found.items()]

    def _constraints(
        self, connection: Connection, table_name: str, schema: str | None, kind: str
    ) -> dict[str, list[str]]:
        name = self._stored_name(connection, table_name, schema)
        statement = (
            "SELECT constraint_name, column_name FROM information_schema.table_constraints "
            "JOIN information_schema.key_column_usage USING (constraint_schema, constraint_name, table_name) "
            "WHERE constraint_schema = ? AND table_name = ? AND constraint_type = ? "
            "ORDER BY constraint_name, ordinal_position"
        )
        found: dict[str, list[str]] = {}
        for constraint, column in connection.exec_driver_sql(statement, (schema or "public", name, kind)):
            found.setdefault(constraint, []).append(column)
        return found

    def get_foreign_keys(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        self._stored_name(connection, table_name, schema)
        return []

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedIndex]:
        name = self._stored_name(connection, table_name, schema)
        statement = "SELECT index_name, columns FROM atsdb.indexes WHERE table_name = ? ORDER BY index_name"
        rows = connection.exec_driver_sql(statement, (name,))
        return [
            {"name": index, "column_names": [one.strip() for one in columns.split(",")], "unique": False}
            for index, columns in rows
        ]

    def get_view_definition(self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any) -> str:
        statement = "SELECT view_definition FROM information_schema.views WHERE lower(table_name) = ?"
        found = connection.exec_driver_sql(statement, (view_name.lower(),)).scalar()
        if found is None:
            raise exc.NoSuchTableError(view_name)
        return str(found)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _option(value: Any) -> Any:
    """An option of a URL, which is text, as ``atsdb.open`` takes it."""
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.isdigit() else value
