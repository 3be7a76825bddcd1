"""Reflection of SQLAlchemy's dialect ``atsdb://``: what the catalogue knows of schemas, tables, columns, keys and indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import exc
from sqlalchemy.dialects.postgresql import ENUM
from sqlalchemy.dialects.postgresql.base import ReflectedEnum
from sqlalchemy.engine import Connection, default, interfaces, reflection

from .sqlalchemy_types import reflected

#: The schema of temporary tables.
TEMPORARY = "pg_temp"


class AtsdbInspector(reflection.Inspector):
    """An inspector that also knows enumerated types."""

    def get_enums(self, schema: str | None = None) -> list[ReflectedEnum]:
        """The enumerated types of a schema; of the default one if none is said, of all with ``"*"``."""
        with self._operation_context() as connection:
            dialect: Any = self.dialect
            return list(dialect.get_enums(connection, schema, info_cache=self.info_cache))


class AtsdbReflection(default.DefaultDialect):
    """The part of the dialect that an inspector asks."""

    inspector = AtsdbInspector

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        statement = (
            "SELECT schema_name FROM information_schema.schemata "
            "WHERE schema_name NOT IN ('atsdb', 'information_schema') ORDER BY 1"
        )
        return [name for (name,) in connection.exec_driver_sql(statement)]

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "BASE TABLE")

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "VIEW")

    @reflection.cache
    def get_temp_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        views = self.get_temp_view_names(connection)
        return [name for name in self._names(connection, TEMPORARY, "LOCAL TEMPORARY") if name not in views]

    @reflection.cache
    def get_temp_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        statement = "SELECT table_name FROM information_schema.views WHERE table_schema = ? ORDER BY 1"
        return [name for (name,) in connection.exec_driver_sql(statement, (TEMPORARY,))]

    def _names(self, connection: Connection, schema: str | None, kind: str) -> list[str]:
        statement = (
            "SELECT table_name FROM information_schema.tables "
            "WHERE lower(table_schema) = ? AND table_type = ? ORDER BY 1"
        )
        schema = schema or self._default_schema()
        return [name for (name,) in connection.exec_driver_sql(statement, (schema.lower(), kind))]

    def _default_schema(self) -> str:
        return self.default_schema_name or "public"

    @reflection.cache
    def get_sequence_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        statement = "SELECT name FROM atsdb.tables WHERE kind = 'sequence' ORDER BY 1"
        return self._of_schema(connection.exec_driver_sql(statement).scalars(), schema)

    @reflection.cache
    def get_materialized_view_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        statement = "SELECT name FROM atsdb.materialized_views ORDER BY 1"
        return self._of_schema(connection.exec_driver_sql(statement).scalars(), schema)

    def _of_schema(self, names: Iterable[str], schema: str | None) -> list[str]:
        """The names without their schema, of those that are in it."""
        prefix = _catalogue_name(schema or self._default_schema(), "").lower()
        found = [name[len(prefix) :] for name in names if name.lower().startswith(prefix)]
        return found if prefix else [name for name in found if "." not in name]

    @reflection.cache
    def has_sequence(
        self, connection: Connection, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        names = self.get_sequence_names(connection, schema)
        return sequence_name.lower() in [name.lower() for name in names]

    @reflection.cache
    def get_enums(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[ReflectedEnum]:
        default_schema = self._default_schema()
        statement = "SELECT type_schema, type_name, labels FROM atsdb.types ORDER BY 1, 2"
        wanted = (schema or default_schema).lower()
        return [
            {"name": name, "schema": place, "visible": place == default_schema, "labels": labels}
            for place, name, labels in connection.exec_driver_sql(statement)
            if wanted in ("*", place.lower())
        ]

    def has_type(self, connection: Connection, type_name: str, schema: str | None = None, **kw: Any) -> bool:
        names = [enumeration["name"] for enumeration in self.get_enums(connection, schema)]
        return type_name.lower() in [name.lower() for name in names]

    @reflection.cache
    def has_schema(self, connection: Connection, schema_name: str, **kw: Any) -> bool:
        return schema_name.lower() in [name.lower() for name in self.get_schema_names(connection)]

    @reflection.cache
    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return self._found(connection, table_name, schema) is not None

    def _found(self, connection: Connection, table_name: str, schema: str | None) -> tuple[str, str] | None:
        """Schema and name of a table or view as they were declared: names ignore case. A name without a schema may be
        that of a temporary table, which hides others."""
        schemas = [TEMPORARY, self._default_schema()] if schema is None else [schema]
        statement = (
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE lower(table_schema) = ? AND lower(table_name) = ?"
        )
        for one in schemas:
            found = connection.exec_driver_sql(statement, (one.lower(), table_name.lower())).first()
            if found is not None:
                return str(found[0]), str(found[1])
            # They are no tables of the SQL standard.
            for name in self.get_materialized_view_names(connection, one):
                if name.lower() == table_name.lower():
                    return one, name
        return None

    def _stored_name(self, connection: Connection, table_name: str, schema: str | None) -> tuple[str, str]:
        found = self._found(connection, table_name, schema)
        if found is None:
            raise exc.NoSuchTableError(table_name if schema is None else f"{schema}.{table_name}")
        return found

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedColumn]:
        stored = self._stored_name(connection, table_name, schema)
        # The SQL standard has no materialized views, and no types of one's own.
        statement = (
            "SELECT a.column_name, a.nullable, a.default_value, a.type, a.map, t.type_schema, t.type_name, t.labels, "
            "identity_generation, identity_start, identity_increment, identity_minimum, identity_maximum, identity_cycle "
            "FROM atsdb.columns a LEFT JOIN atsdb.types t ON t.type = a.type LEFT JOIN information_schema.columns c "
            "ON c.column_name = a.column_name AND c.table_schema = ? AND c.table_name = ? "
            "WHERE a.table_name = ? ORDER BY a.position"
        )
        rows = connection.exec_driver_sql(statement, (*stored, _catalogue_name(*stored)))
        columns: list[Any] = []
        for column, nullable, default_text, type_name, width, place, enumeration, labels, *numbers in rows:
            generation, *numbers = numbers
            described: dict[str, Any] = {
                "name": column,
                "type": reflected(type_name) if labels is None else ENUM(*labels, name=enumeration, schema=_said(place)),
                "nullable": nullable,
                "default": default_text,
                "autoincrement": generation is not None,
            }
            if generation is not None:
                described["identity"] = _identity(generation, *numbers)
            if width and labels is None:
                described["dialect_options"] = {"atsdb_map": width}
            columns.append(described)
        return columns

    @reflection.cache
    def get_table_options(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, Any]:
        """The options of a stored table, except ``atsdb_preload``, which the catalogue does not show."""
        stored = self._stored_name(connection, table_name, schema)
        statement = (
            "SELECT kind, time_column, CASE WHEN type LIKE '%INT%' THEN time_unit END, slice, series_key, retention, "
            "on_conflict FROM atsdb.tables t LEFT JOIN atsdb.columns c ON c.table_name = t.name AND is_time "
            "WHERE t.name = ?"
        )
        found = connection.exec_driver_sql(statement, (_catalogue_name(*stored),)).first()
        if found is None or found[0] not in ("series", "plain"):
            return {}
        kind, time, unit, width, key, retention, on_conflict = found
        options = {
            "time": time or "none",
            "time_unit": unit,
            "slice": width,
            "key": key if kind == "series" else None,
            "retention": retention,
            "on_conflict": on_conflict,
        }
        return {f"atsdb_{name}": value for name, value in options.items() if value is not None}

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedPrimaryKeyConstraint:
        found = self._constraints(connection, table_name, schema, "PRIMARY KEY")
        if not found:
            return {"constrained_columns": [], "name": None}
        (name, columns), *_ = found.items()
        return {"constrained_columns": columns, "name": name}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedUniqueConstraint]:
        found = self._constraints(connection, table_name, schema, "UNIQUE")
        return [{"name": name, "column_names": columns} for name, columns in found.items()]

    def _constraints(
        self, connection: Connection, table_name: str, schema: str | None, kind: str
    ) -> dict[str, list[str]]:
        stored = self._stored_name(connection, table_name, schema)
        statement = (
            "SELECT constraint_name, column_name FROM information_schema.table_constraints "
            "JOIN information_schema.key_column_usage USING (constraint_schema, constraint_name, table_name) "
            "WHERE constraint_schema = ? AND table_name = ? AND constraint_type = ? "
            "ORDER BY constraint_name, ordinal_position"
        )
        found: dict[str, list[str]] = {}
        for constraint, column in connection.exec_driver_sql(statement, (*stored, kind)):
            found.setdefault(constraint, []).append(column)
        return found

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedForeignKeyConstraint]:
        stored = self._stored_name(connection, table_name, schema)
        statement = (
            "SELECT key_name, f.columns, p.table_schema, p.table_name, parent_columns, on_update, on_delete, "
            "match_option, is_deferrable, is_deferred "
            "FROM atsdb.foreign_keys f JOIN information_schema.tables p ON lower(parent) = lower("
            "CASE p.table_schema WHEN 'public' THEN p.table_name ELSE p.table_schema || '.' || p.table_name END) "
            "WHERE f.table_name = ? ORDER BY key_name"
        )
        rows = connection.exec_driver_sql(statement, (_catalogue_name(*stored),))
        return [
            {
                "name": name,
                "constrained_columns": columns,
                "referred_schema": None if schema is None and parent_schema == stored[0] else parent_schema,
                "referred_table": parent,
                "referred_columns": parent_columns,
                "options": _options_of_foreign_key(*options),
            }
            for name, columns, parent_schema, parent, parent_columns, *options in rows
        ]

    @reflection.cache
    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedIndex]:
        stored = self._stored_name(connection, table_name, schema)
        statement = "SELECT index_name, columns, is_unique FROM atsdb.indexes WHERE table_name = ? ORDER BY index_name"
        rows = connection.exec_driver_sql(statement, (_catalogue_name(*stored),))
        return [
            {"name": index, "column_names": [one.strip() for one in columns.split(",")], "unique": is_unique}
            for index, columns, is_unique in rows
        ]

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedCheckConstraint]:
        stored = self._stored_name(connection, table_name, schema)
        statement = "SELECT check_name, condition FROM atsdb.checks WHERE table_name = ? ORDER BY check_name"
        rows = connection.exec_driver_sql(statement, (_catalogue_name(*stored),))
        return [{"name": name, "sqltext": condition} for name, condition in rows]

    @reflection.cache
    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedTableComment:
        self._stored_name(connection, table_name, schema)
        return {"text": None}

    @reflection.cache
    def get_view_definition(self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any) -> str:
        stored = self._stored_name(connection, view_name, schema)
        statement = (
            "SELECT view_definition FROM information_schema.views WHERE table_schema = ? AND table_name = ? "
            "UNION ALL SELECT query FROM atsdb.materialized_views WHERE name = ?"
        )
        found = connection.exec_driver_sql(statement, (*stored, _catalogue_name(*stored))).scalar()
        if found is None:
            raise exc.NoSuchTableError(view_name)
        return str(found)


def _identity(generation: str, start: str, increment: str, least: str, greatest: str, cycle: str) -> dict[str, Any]:
    """What the catalogue says of the numbers of a column. How many are reserved ahead is no part of it."""
    return {
        "always": generation == "ALWAYS",
        "start": int(start),
        "increment": int(increment),
        "minvalue": int(least),
        "maxvalue": int(greatest),
        "cycle": cycle == "YES",
        "cache": 1,
    }


def _options_of_foreign_key(
    on_update: str, on_delete: str, match: str, is_deferrable: bool, is_deferred: bool
) -> dict[str, Any]:
    """The options of a foreign key that differ from the defaults."""
    options: dict[str, Any] = {"onupdate": on_update, "ondelete": on_delete}
    options = {event: rule for event, rule in options.items() if rule != "NO ACTION"}
    if match != "NONE":
        options["match"] = match
    if is_deferrable:
        options["deferrable"] = True
        options["initially"] = "DEFERRED" if is_deferred else "IMMEDIATE"
    return options


def _catalogue_name(schema: str, name: str) -> str:
    """The name of a table in the tables of the schema ``atsdb``."""
    return name if schema.lower() == "public" else f"{schema}.{name}"


def _said(schema: str) -> str | None:
    """The schema of a type, if its name must say it."""
    return None if schema == "public" else schema
