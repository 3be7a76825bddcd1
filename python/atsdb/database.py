"""An open store."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, NamedTuple, TypeVar

from ._atsdb import Session, Store
from .errors import BY_KIND
from .result import Result
from .tables import declaration, table_options

#: The name that pyarrow gives to a level of an index that has none.
_UNNAMED_LEVEL = re.compile(r"__index_level_\d+__")

_Row = TypeVar("_Row")

#: Values for the parameters of a statement: for ``?`` and ``$1`` in order, or for ``$name`` by name.
Parameters = Sequence[Any] | Mapping[str, Any] | None


class Appended(NamedTuple):
    """The result of an append."""

    #: The number of its rows.
    rows: int
    #: ``False`` if a batch with the same id was stored before: then these rows are not stored again.
    stored: bool


class Imported(NamedTuple):
    """The result of an import."""

    #: The number of rows in the files.
    rows: int
    #: ``False`` if a batch with the same id was stored before.
    stored: bool
    #: Bytes of the files, as they are on disk.
    bytes_read: int
    #: The number of bad records that were left out.
    skipped: int
    #: The choices of the import that were not obvious.
    notes: list[str]


@dataclass(frozen=True)
class _StoreOptions:
    durability: str
    create: bool
    read_only: bool
    maintenance: bool
    password: str | None
    cache_bytes: int | str | None
    memory_bytes: int | str | None
    temp_bytes: int | str | None
    threads: int | None
    timeout: float | str | None


@dataclass(frozen=True)
class _ImportOptions:
    format: str | None
    delimiter: str | None
    header: bool | None
    skip: int | None
    quotes: bool
    records: str | None
    sheet: str | None
    columns: list[tuple[str, str]]
    omit: list[str]
    unpivot: list[str]
    into: tuple[str, str]
    decimal_comma: bool
    zone: str | None
    times_until: int
    time: list[str]
    time_unit: str | None
    date_order: str | None
    map: list[tuple[str, str | None]]
    slice: str | None
    key: list[str]
    null: list[str]
    skip_bad: bool
    file_column: str | None


def open(
    url: str | os.PathLike[str],
    *,
    durability: str = "full",
    create: bool = True,
    read_only: bool = False,
    maintenance: bool = True,
    password: str | None = None,
    cache_bytes: int | str | None = None,
    memory_bytes: int | str | None = None,
    temp_bytes: int | str | None = None,
    threads: int | None = None,
    timeout: float | str | None = None,
) -> Database:
    """Opens the store at a URL: a path, ``sqlite:DIR?shards=N``, ``postgresql://...``, ``mariadb://...`` or ``memory:``.

    ``durability`` is ``"full"``, ``"normal"`` or ``"off"``: the event that an acknowledged commit survives. With
    ``create`` the store is created if it does not exist. ``maintenance`` seals slices and drops expired ones in the
    background. All queries together use ``threads`` threads and ``memory_bytes`` of memory, and a single one half of
    that. ``temp_bytes`` is the space that temporary files of queries and imports may take together: by default half of
    what is free in their folder. ``cache_bytes`` is the size of the cache of columns. A size is a number of bytes or a
    text such as ``"512 MiB"``. ``timeout`` is the time limit of a query: in seconds, or a text such as ``"500ms"``.
    """
    options = _StoreOptions(
        durability, create, read_only, maintenance, password, cache_bytes, memory_bytes, temp_bytes, threads, timeout
    )
    return Database(Store(os.fspath(url), options))


class Database:
    """An open store; ``atsdb.open`` makes it. Threads may share it: each has its own transaction."""

    def __init__(self, store: Store) -> None:
        self._store: Store | None = store
        # A result that is garbage-collected while the lock is held gives its session back.
        self._lock = threading.RLock()
        #: Sessions that are free, once no owner of a stream reads from them: see ``Session.is_idle``.
        self._free: list[Session] = []
        #: The sessions that threads keep: see ``_is_kept``. They end with the thread.
        self._pinned: weakref.WeakKeyDictionary[threading.Thread, Session] = weakref.WeakKeyDictionary()
        #: Sessions that run a statement, or whose results are being read.
        self._busy: set[Session] = set()

    def _open_store(self) -> Store:
        if self._store is None:
            raise BY_KIND["usage"]("the store is closed", "open it again")
        return self._store

    def _take(self) -> Session:
        """The session that this thread keeps, or one for a single statement."""
        store = self._open_store()
        with self._lock:
            session = self._pinned.get(threading.current_thread())
            if session is None:
                session = next((free for free in reversed(self._free) if free.is_idle), None)
                if session is not None:
                    self._free.remove(session)
        if session is None:
            session = store.session()
        with self._lock:
            self._busy.add(session)
        return session

    def _give(self, session: Session) -> None:
        """Pins the session to this thread if it must keep it, and frees it otherwise."""
        thread, is_kept = threading.current_thread(), _is_kept(session)
        with self._lock:
            self._busy.discard(session)
            if is_kept:
                self._pinned[thread] = session
                return
            if self._pinned.get(thread) is session:
                del self._pinned[thread]
            if self._store is not None and session not in self._free:
                self._free.append(session)

    def sql(self, query: str, params: Parameters = None) -> Result:
        """Runs one or several SQL statements and returns the result of the last one.

        ``params`` are the values of ``?`` or ``$1`` as a sequence, or of ``$name`` as a mapping. A value is never
        parsed as SQL.
        """
        session = self._take()
        try:
            rows = session.execute(query, params)
        except BaseException:
            self._give(session)
            raise
        if _is_kept(session):
            self._give(session)
            return Result(rows, lambda: None)
        return Result(rows, lambda: self._give(session))

    def append(
        self,
        table: str | type | Iterable[Any],
        data: Any = None,
        *,
        id: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Appended:
        """Appends rows to a table, all or none; when it returns, they are as durable as the store was opened for.

        ``data`` is anything that exports Arrow (Polars and pandas frames, pyarrow tables and readers, DuckDB relations), an
        iterable of such objects, or an iterable of tuples in the order of the table's columns (or of ``columns``), of dicts,
        or of instances of a class that ``atsdb.table`` has declared. These name their table, so ``append(instances)`` is
        enough: it creates the table if it does not exist. So does ``append(CLASS, data)``, with data of any kind.

        With an ``id`` the rows are a batch that counts once, however often it is sent. In a transaction they become visible
        with its commit, and have no id.
        """
        if data is None:
            if isinstance(table, (str, type)):
                raise BY_KIND["usage"]("there is nothing to append", "append(TABLE, ROWS), or append(INSTANCES)")
            first, data = _peeked(_rows(table))
            if not first:
                return Appended(0, True)
            table = type(first[0])
        if isinstance(table, str):
            with self._session() as session:
                return _append(session, table, data, id, None if columns is None else list(columns), None)
        if not isinstance(table, type):
            raise TypeError(f"the name of a table is a str, not {type(table).__name__}")
        if columns is not None:
            raise BY_KIND["usage"](f"the columns are those of {table.__name__}", "leave out columns, or name the table")
        declared = declaration(table)
        names = [column.name for column in declared.columns]
        attributes = [column.attribute for column in declared.columns]
        with self._session() as session:
            session.create_table(declared)
            return _append(session, declared.name, data, id, names, attributes)

    @contextlib.contextmanager
    def _session(self) -> Iterator[Session]:
        session = self._take()
        try:
            yield session
        finally:
            self._give(session)

    def create_table(self, cls: type) -> str:
        """Creates the table of a class that ``atsdb.table`` has declared, and returns the statement that does so.

        If the table exists, it must have the same columns. Otherwise it is a ``UsageError``.
        """
        with self._session() as session:
            return session.create_table(declaration(cls))

    def rows(self, cls: type[_Row], where: str = "TRUE", params: Parameters = None) -> Iterator[_Row]:
        """The rows of a declared class's table as its instances, in bounded memory. Fields that are not columns
        have their defaults."""
        declared = declaration(cls)
        names = ", ".join(quoted(column.name) for column in declared.columns)
        attributes = [column.attribute for column in declared.columns]
        with self._session() as session:
            table = session.sql_name(declared.name)
        with self.sql(f"SELECT {names} FROM {table} WHERE {where}", params) as result:
            for row in result:
                yield cls(**dict(zip(attributes, row)))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Database]:
        """A transaction of this thread: committed at the end of the block, rolled back if it raises.

        It takes no locks. If another writer has changed the same rows, the commit raises ``ConflictError``, and nothing is
        stored. If another writer has added a row of the same key, it raises ``DuplicateKeyError``, or ``ConflictError``
        after ``ON CONFLICT``.
        """
        self.sql("BEGIN")
        try:
            yield self
        except BaseException:
            if self.in_transaction:
                self.sql("ROLLBACK")
            raise
        if self.in_transaction:
            try:
                self.sql("COMMIT")
            except BaseException:
                if self.in_transaction:
                    self.sql("ROLLBACK")
                raise

    @property
    def in_transaction(self) -> bool:
        """Whether this thread has a transaction open."""
        with self._lock:
            session = self._pinned.get(threading.current_thread())
        return session is not None and session.in_transaction

    def import_file(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        table: str,
        *,
        id: str | None = None,
        format: str | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        skip: int | None = None,
        quotes: bool = True,
        records: str | None = None,
        sheet: str | None = None,
        columns: str | Sequence[str] | Mapping[str, str] = (),
        omit: str | Sequence[str] = (),
        unpivot: str | Sequence[str] = (),
        into: tuple[str, str] = ("name", "value"),
        decimal_comma: bool = False,
        zone: str | None = None,
        time: str | Sequence[str] = (),
        time_unit: str | None = None,
        date_order: str | None = None,
        map: Sequence[str] | Mapping[str, str | None] = (),
        slice: str | None = None,
        key: str | Sequence[str] = (),
        null: str | Sequence[str] = (),
        skip_bad: bool = False,
        file_column: str | None = None,
    ) -> Imported:
        """Imports files into a table, as one batch: separated values, JSON, Parquet, Arrow IPC, line protocol, sheets of
        workbooks, plain, compressed or in a zip archive.

        A table that does not exist is created from what the files show: types, time column, mapped columns. The options are
        those of ``atsdb import``, with these differences: ``map`` names columns, or gives their widths; ``columns`` names the
        columns to read, or gives for each column of the table its name in the files; ``records`` is ``--path``, and
        ``quotes=False`` is ``--no-quotes``.
        """
        if self.in_transaction:
            raise BY_KIND["usage"]("an import is a separate batch", "import outside of the transaction")
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        options = _ImportOptions(
            format,
            delimiter,
            header,
            skip,
            quotes,
            records,
            sheet,
            list(columns.items()) if isinstance(columns, Mapping) else [(name, name) for name in _texts(columns)],
            _texts(omit),
            _texts(unpivot),
            into,
            decimal_comma,
            zone,
            int(datetime.now().timestamp()),
            _texts(time),
            time_unit,
            date_order,
            list(map.items()) if isinstance(map, Mapping) else [(name, None) for name in _texts(map)],
            slice,
            _texts(key),
            _texts(null),
            skip_bad,
            file_column,
        )
        done = self._open_store().import_files(table, [os.fspath(one) for one in paths], options, id)
        return Imported(**done)

    def tables(self) -> list[str]:
        """The names of the tables, views and rollups."""
        return self._open_store().tables()

    def stats(self, table: str | None = None) -> list[dict[str, Any]]:
        """Figures of one table, or of all: rows, slices, chunks, bytes, and the encoding and bytes of each column."""
        return self._open_store().stats(table)

    def recompress(self, table: str | None = None) -> tuple[int, int]:
        """Seals the slices of one table, or of all, now, and returns the bytes before and after."""
        return self._open_store().recompress(table)

    def backup(
        self, archive: str | os.PathLike[str], *, tables: Sequence[str] = (), keep: int | None = None, verify: bool = True
    ) -> dict[str, Any]:
        """Backs up the store to a directory or to ``s3://BUCKET/PREFIX``, while writers continue. Only what the archive
        lacks is written. ``keep`` is the number of backups that are kept: older ones are deleted. Unless ``verify`` is
        false, what was written is read back and compared."""
        return self._open_store().backup(os.fspath(archive), list(tables), keep, verify)

    def restore(
        self, archive: str | os.PathLike[str], id: str | None = None, *, overwrite: bool = False, verify: bool = True
    ) -> dict[str, Any]:
        """Restores the latest backup of an archive, or the one with this id, into this store. Unless ``verify`` is false,
        what was written is read back and checked before it becomes visible."""
        return self._open_store().restore(os.fspath(archive), id, overwrite, verify)

    def copy(
        self,
        url: str | os.PathLike[str],
        *,
        tables: Sequence[str] = (),
        start: str | date | None = None,
        end: str | date | None = None,
        overwrite: bool = False,
        verify: bool = True,
    ) -> dict[str, Any]:
        """Copies the store, some tables or a range of times to the store at a URL, which is created if it does not exist.
        A repeated copy transfers only what is new. Unless ``verify`` is false, the source is checked first, and what was
        written is read back and checked before it becomes visible."""
        times = (_moment(start), _moment(end))
        return self._open_store().copy(os.fspath(url), list(tables), *times, overwrite, verify)

    @property
    def warnings(self) -> list[str]:
        """Conditions under which the store cannot keep a promise, such as settings of its server."""
        return self._open_store().warnings()

    def interrupt(self) -> None:
        """Stops all statements, appends, imports and copies that threads run on this store now, and the queries whose rows
        they read. Each raises ``InterruptedError``. Streams that other libraries read are not stopped."""
        with self._lock:
            sessions = list(self._busy)
        for session in sessions:
            session.interrupt()
        if self._store is not None:
            self._store.interrupt()

    def close(self) -> None:
        """Closes the store. Transactions that are open are rolled back; results that are still read stay readable."""
        store, self._store = self._store, None
        with self._lock:
            self._free.clear()
            self._pinned.clear()
            self._busy.clear()
        if store is not None:
            store.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_kept(session: Session) -> bool:
    """Whether a thread must keep a session: for its open transaction, its temporary tables, or its search path."""
    return session.in_transaction or session.has_temporary_tables or session.has_search_path


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _texts(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _moment(time: str | date | None) -> str | None:
    if isinstance(time, datetime) and time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    return time.isoformat() if isinstance(time, date) else time


def _append(
    session: Session, table: str, data: Any, id: str | None, names: list[str] | None, attributes: list[str] | None
) -> Appended:
    """Appends what exports Arrow, by itself or item by item, or rows. ``names`` and ``attributes`` are those of the columns
    that tuples and objects have values for."""
    if _exports_arrow(data):
        return Appended(*session.append_arrow(table, [_arrow(data)], id))
    first, rows = _peeked(_rows(data))
    if first and _exports_arrow(first[0]):
        return Appended(*session.append_arrow(table, map(_arrow, rows), id))
    return Appended(*session.append_rows(table, rows, names, attributes, id))


def _peeked(rows: Iterable[Any]) -> tuple[list[Any], Iterable[Any]]:
    """The first of some rows, unless there are none, and all of them."""
    rest = iter(rows)
    first = list(itertools.islice(rest, 1))
    return first, itertools.chain(first, rest)


def _rows(data: Any) -> Iterable[Any]:
    if isinstance(data, Mapping) or isinstance(data, (str, bytes)) or dataclasses.is_dataclass(data):
        raise TypeError(f"rows are an iterable of tuples or dicts, not {type(data).__name__}")
    rows: Iterable[Any] = data
    return rows


def _exports_arrow(data: Any) -> bool:
    """Whether an object exports Arrow, or `_arrow` makes it one that does."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__") or _library(data) is not None


def _library(data: Any) -> str | None:
    """The library of a frame whose Arrow export needs options."""
    frame = type(data).__module__.partition(".")[0], type(data).__name__
    return frame[0] if frame in (("pandas", "DataFrame"), ("polars", "LazyFrame")) else None


def _arrow(data: Any) -> Any:
    """Converts a frame whose Arrow export needs options to an object that exports Arrow without them."""
    library = _library(data)
    if library == "pandas":
        import pyarrow

        # The store checks the names of all data, but pyarrow refuses these before, with an error of its own.
        repeated = data.columns[data.columns.duplicated()]
        if len(repeated):
            raise BY_KIND["usage"](f"column {repeated[0]} is given twice", "give each column once")
        table = pyarrow.Table.from_pandas(data)
        # Levels of the index without a name, such as those that a filter leaves, are no columns.
        return table.drop_columns([name for name in table.column_names if _UNNAMED_LEVEL.fullmatch(name)])
    return data.collect() if library == "polars" else data
