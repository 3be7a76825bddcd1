"""The database interface of PEP 249.

>>> from atsdb import dbapi
>>> with dbapi.connect("memory:") as connection:
...     cursor = connection.cursor()
...     _ = cursor.execute("CREATE TABLE rooms (id INT PRIMARY KEY, name TEXT)")
...     _ = cursor.executemany("INSERT INTO rooms VALUES (?, ?)", [(1, "kitchen"), (2, "garden")])
...     connection.commit()
...     cursor.execute("SELECT name FROM rooms WHERE id = ?", (2,)).fetchone()
('garden',)

A statement that may change something begins a transaction, unless one is open or the connection is in ``autocommit``.
Queries begin none. Threads may share the module, but not connections.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import errors
from ._atsdb import Session
from .database import Database, Parameters, open
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from .result import Result

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """A date from seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """A time of day from seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """A point in time from seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])


class DBAPIType:
    """A kind of columns, equal to the type code of each of them."""

    def __init__(self, *names: str) -> None:
        self.names: frozenset[str] = frozenset(names)

    def __eq__(self, other: object) -> bool:
        return other in self.names if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.names)


STRING = DBAPIType("str")
BINARY = DBAPIType("bytes")
NUMBER = DBAPIType("bool", "int", "float", "Decimal")
DATETIME = DBAPIType("datetime", "date", "time", "timedelta")
ROWID = DBAPIType()

#: The beginning of a statement.
_QUERIES = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*(\w*)", re.DOTALL)
#: The words that begin a statement which changes nothing, unless one of the next words is in it.
_NO_CHANGE = {"", "SELECT", "WITH", "VALUES", "FROM", "TABLE", "EXPLAIN", "SHOW", "DESCRIBE", "DESC", "CHECKPOINT"}
#: Words of a change inside such a statement: in an item of WITH, after WITH, or SELECT INTO.
_CHANGE_INSIDE = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE|INTO)\b", re.IGNORECASE)
#: Texts, quoted names and comments, whose words change nothing.
_NO_WORDS = re.compile(
    r"\b[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
    r"|\$((?:[^\W\d]\w*)?)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/",
    re.DOTALL,
)
_BRACKETS = {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"}
_NAME = r'"(?:[^"]|"")+"|\w+'
#: An INSERT whose values are parameters, all of them.
_PLAIN_INSERT = re.compile(
    rf"\s*INSERT\s+INTO\s+(?:({_NAME})\.)?({_NAME})\s*(?:\(([^()]*)\))?\s*VALUES\s*\(([\s?,$\w]*)\)\s*;?\s*",
    re.IGNORECASE,
)
_NAMED_MARK = re.compile(r"\$([^\W\d]\w*)")


def connect(database: str | os.PathLike[str] | Database, *, autocommit: bool = False, **options: Any) -> Connection:
    """Connects to the store at a URL, with the options of ``atsdb.open``, or to one that is open."""
    if isinstance(database, Database):
        return Connection(database, owns=False, autocommit=autocommit)
    return Connection(open(database, **options), owns=True, autocommit=autocommit)


class Connection:
    """A connection with a separate transaction. As a context manager it commits at the end of the block, or rolls back
    if the block raises, and is closed."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, database: Database, *, owns: bool, autocommit: bool) -> None:
        self._database = database
        self._owns = owns
        self._session: Session | None = database._open_store().session()
        self._autocommit = autocommit
        #: The error after which the open transaction can only be rolled back.
        self._failure: Error | None = None

    def _open_session(self) -> Session:
        if self._session is None:
            raise ProgrammingError("the connection is closed")
        return self._session

    def cursor(self) -> Cursor:
        """A cursor, which executes statements and reads their results."""
        self._open_session()
        return Cursor(self)

    def execute(self, operation: str, parameters: Parameters = None) -> Cursor:
        """A new cursor that has executed a statement."""
        return self.cursor().execute(operation, parameters)

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a separate transaction. Switching this on commits the transaction that is open."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, autocommit: bool) -> None:
        if autocommit and not self._autocommit:
            self.commit()
        self._autocommit = autocommit

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._open_session().in_transaction

    def commit(self) -> None:
        """Makes the transaction's changes visible and durable, if one is open."""
        if not self._open_session().in_transaction:
            return
        failure, self._failure = self._failure, None
        try:
            self._open_session().execute("COMMIT")
        except errors.BY_KIND["sql"] as error:
            if failure is None:
                raise
            raise type(error)(f"{error.message}: {failure}", error.hint, error.sqlstate) from failure

    def rollback(self) -> None:
        """Discards the transaction's changes, if one is open."""
        self._failure = None
        if self._open_session().in_transaction:
            self._open_session().execute("ROLLBACK")

    def interrupt(self) -> None:
        """Stops the work of the connection; any thread may call it."""
        self._open_session().interrupt()

    def close(self) -> None:
        """Closes the connection. A transaction that is open is rolled back."""
        if self._open_session().in_transaction:
            self.rollback()
        self._session = None
        if self._owns:
            self._database.close()

    @contextlib.contextmanager
    def _executing(self, operation: str) -> Iterator[None]:
        """Begins a transaction for a statement that may change something. If one fails, its error is kept for the commit."""
        word = _first_word(operation)
        is_bracket, changes = word in _BRACKETS, _may_change(word, operation)
        session = self._open_session()
        if not self._autocommit and changes and not session.in_transaction:
            session.execute("BEGIN")
        try:
            yield
        except Error as error:
            if (changes or is_bracket) and session.in_transaction and self._failure is None:
                self._failure = error
            raise
        if changes or is_bracket:
            self._failure = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            self.close()


class Cursor:
    """Executes statements on a connection and reads their results, row by row, in bounded memory."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        #: The number of rows that ``fetchmany`` returns.
        self.arraysize = 1
        self.lastrowid: None = None
        self._result: Result | None = None
        self._row_count = -1
        self._is_closed = False

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]] | None:
        """Name and type of each column of the last result; ``None`` if it has no rows to read."""
        if self._result is None or (found := self._result._rows.description) is None:
            return None
        return [(name, python, None, None, None, None, nullable) for name, python, _, nullable in found]

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement changed; -1 for a query, whose rows are not counted. It stays known when
        the cursor is closed."""
        return self._row_count

    def _check(self) -> Session:
        if self._is_closed:
            raise ProgrammingError("the cursor is closed")
        return self.connection._open_session()

    def execute(self, operation: str, parameters: Parameters = None) -> Cursor:
        """Executes a statement, with values for its ``?``, ``$1`` or ``$name``."""
        session = self._check()
        self._forget()
        with self.connection._executing(operation):
            rows = session.execute(operation, parameters)
        self._result = Result(rows, lambda: None)
        self._row_count = -1 if rows.row_count is None else rows.row_count
        return self

    def executemany(
        self, operation: str, seq_of_parameters: Sequence[Sequence[Any]] | Sequence[Mapping[str, Any]]
    ) -> Cursor:
        """Executes a statement once for each set of values, all or none. A plain ``INSERT`` is one append."""
        session = self._check()
        self._forget()
        sets = list(seq_of_parameters)
        with self.connection._executing(operation):
            count = 0 if not sets else _append_all(session, operation, sets)
            if count is None:
                count = self._execute_each(session, operation, sets)
        self._row_count = count
        return self

    def _execute_each(self, session: Session, operation: str, sets: list[Any]) -> int:
        is_own = not session.in_transaction
        if is_own:
            session.execute("BEGIN")
        counts: list[int | None] = []
        try:
            for parameters in sets:
                rows = session.execute(operation, parameters)
                if rows.description is not None:
                    raise ProgrammingError("executemany is for statements that return no rows")
                counts.append(rows.row_count)
        except BaseException:
            if is_own:
                session.execute("ROLLBACK")
            raise
        if is_own:
            session.execute("COMMIT")
        return sum(count for count in counts if count is not None) if any(c is not None for c in counts) else -1

    def _forget(self) -> None:
        if self._result is not None:
            self._result.close()
        self._result, self._row_count = None, -1

    def _answer(self) -> Result:
        self._check()
        if self._result is None or self._result._rows.description is None:
            raise ProgrammingError("there are no rows to fetch", "execute a query first")
        return self._result

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or ``None`` after the last one."""
        return self._answer().fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next ``size`` rows, or ``arraysize``; fewer only at the end."""
        return self._answer().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._answer().fetchall()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._answer())

    def __next__(self) -> tuple[Any, ...]:
        return next(self._answer())

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing: each value brings its type."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values of any size are read."""

    def close(self) -> None:
        """Closes the cursor."""
        self._check()
        row_count = self._row_count
        self._forget()
        self._row_count, self._is_closed = row_count, True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_closed:
            self.close()


def _first_word(operation: str) -> str:
    """The word that a statement begins with, in upper case."""
    found = _QUERIES.match(operation)
    return found.group(1).upper() if found else ""


def _may_change(word: str, operation: str) -> bool:
    """Whether a statement with this first word may change something."""
    if word not in _NO_CHANGE:
        return word not in _BRACKETS
    if word not in ("", "SELECT", "WITH", "FROM") or _CHANGE_INSIDE.search(operation) is None:
        return False
    return _CHANGE_INSIDE.search(_NO_WORDS.sub(" ", operation)) is not None


def _append_all(session: Session, operation: str, sets: list[Any]) -> int | None:
    """Appends rows at once, if that is what the statement does with each of them; else ``None``."""
    found = _PLAIN_INSERT.fullmatch(operation)
    if found is None:
        return None
    *names, listed, written = found.groups()
    parts = [_unquoted(name) for name in names if name is not None]
    # An append takes the schema and a point for a part of the name.
    if any("." in part for part in parts):
        return None
    table = ".".join(parts)
    marks = [mark.strip() for mark in written.split(",")]
    rows = _in_order(marks, sets)
    if rows is None:
        return None
    try:
        of_table = session.columns(table)
    except errors.BY_KIND["not_found"]:
        return None
    columns = of_table if listed is None else [_unquoted(name.strip()) for name in listed.split(",")]
    known, named = {name.lower() for name in of_table}, {name.lower() for name in columns}
    if len(marks) != len(columns) or len(named) != len(columns) or not named <= known:
        return None
    # `None` if a value does not fit unchanged: INSERT converts more types, and its errors are more precise.
    return session.append_all(table, rows, columns)


def _in_order(marks: list[str], sets: list[Any]) -> list[Any] | None:
    """The values of each set in the order of the parameters; ``None`` if a set is not of their style."""
    if all(mark == "?" for mark in marks) or marks == [f"${number}" for number in range(1, len(marks) + 1)]:
        return sets if all(isinstance(row, (tuple, list)) for row in sets) else None
    found = [_NAMED_MARK.fullmatch(mark) for mark in marks]
    names = [mark.group(1) for mark in found if mark is not None]
    if len(set(names)) != len(marks) or not all(isinstance(row, dict) and row.keys() == set(names) for row in sets):
        return None
    return [tuple(row[name] for name in names) for row in sets]


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
