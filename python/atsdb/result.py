"""The result of a statement."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._atsdb import Rows
from .errors import BY_KIND

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: The number of rows that iteration converts at a time.
_ROWS_AT_A_TIME = 1024

#: The number of rows that a notebook shows.
_ROWS_SHOWN = 20

#: The number of characters of a value that a notebook shows.
_CHARACTERS_SHOWN = 200


class Result:
    """The rows of a query, or the effect of another statement.

    Rows are computed while they are read, and read once: as tuples (``for row in result``, ``fetchone``, ``fetchmany``,
    ``fetchall``), or as Arrow (``arrow``, ``polars``, ``pandas``, ``reader``, or anything that takes an object with
    ``__arrow_c_stream__``, such as DuckDB). Only the methods that return all rows hold all rows in memory.
    """

    def __init__(self, rows: Rows, release: Callable[[], None]) -> None:
        self._rows = rows
        self._release: Callable[[], None] | None = release
        #: Whether one of the methods below reads the stream, and not its owner.
        self._reads_stream = False
        self._waiting: list[tuple[Any, ...]] = []
        if rows.is_done:
            self._released()

    @property
    def columns(self) -> list[str]:
        """The names of the columns; empty if the statement returns no rows."""
        return [name for name, *_ in self._rows.description or []]

    @property
    def types(self) -> list[str]:
        """The Arrow types of the columns."""
        return [arrow for _, _, arrow, _ in self._rows.description or []]

    @property
    def verb(self) -> str:
        """The kind of statement: ``SELECT``, ``INSERT``, ``CREATE TABLE``."""
        return self._rows.verb

    @property
    def row_count(self) -> int | None:
        """The number of rows that a statement has inserted, changed or deleted; ``None`` for a query."""
        return self._rows.row_count

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or ``None`` after the last one."""
        if not self._waiting:
            self._waiting = self._fetch(_ROWS_AT_A_TIME)
            self._waiting.reverse()
        return self._waiting.pop() if self._waiting else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next ``size`` rows, fewer only at the end."""
        rows = self._waiting[-1 : -size - 1 : -1] if size > 0 else []
        del self._waiting[len(self._waiting) - len(rows) :]
        return rows + self._fetch(size - len(rows)) if len(rows) < size else rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        rows = self._waiting[::-1]
        self._waiting = []
        return rows + self._fetch(None)

    def _peek(self, count: int) -> list[tuple[Any, ...]]:
        """The next ``count`` rows, fewer only at the end. They stay unread."""
        rows = self._waiting[-1 : -count - 1 : -1]
        if len(rows) == count:
            return rows
        try:
            return rows + self._rows.peek(count - len(rows))
        except BaseException:
            self.close()
            raise

    def _fetch(self, count: int | None) -> list[tuple[Any, ...]]:
        try:
            rows = self._rows.fetch(count)
        except BaseException:
            self.close()
            raise
        if self._rows.is_done:
            self._released()
        return rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows that are left as a stream of Arrow batches, by the PyCapsule protocol. Nothing is copied."""
        return self._stream(durations=False)

    def _stream(self, durations: bool) -> object:
        if self._waiting:
            raise BY_KIND["usage"]("rows of this result were already read as tuples", "read it as tuples or as Arrow")
        capsule = self._rows.stream(durations)
        if not self._reads_stream:
            # From now on the owner of the stream runs the query. The session is used again after that.
            self._released()
        return capsule

    def __arrow_c_schema__(self) -> object:
        """The schema, by the PyCapsule protocol."""
        return self._rows.schema()

    def reader(self) -> pyarrow.RecordBatchReader:
        """The rows that are left as a ``pyarrow.RecordBatchReader``, with bounded memory."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self)

    def arrow(self) -> pyarrow.Table:
        """All rows that are left as a ``pyarrow.Table``."""
        import pyarrow

        table: pyarrow.Table = self._read(lambda: pyarrow.table(self))
        return table

    def polars(self) -> polars.DataFrame:
        """All rows that are left as a Polars frame. Polars has no intervals: they are durations in microseconds."""
        import polars

        frame: polars.DataFrame = self._read(lambda: polars.DataFrame(_WithDurations(self)))
        return frame

    def pandas(self) -> pandas.DataFrame:
        """All rows that are left as a pandas frame."""
        frame: pandas.DataFrame = _with_distinct_categories(self.arrow()).to_pandas()
        return frame

    def _read(self, read: Callable[[], Any]) -> Any:
        self._reads_stream = True
        try:
            answer = read()
        except BaseException:
            # The query has failed, or Ctrl-C has ended it, while another library read the stream, which knows no more
            # than a message.
            self._rows.check_raised()
            raise
        finally:
            self._reads_stream = False
        self._released()
        return answer

    def close(self) -> None:
        """Discards the rows that are not read. The query stops."""
        self._waiting = []
        self._rows.close()
        self._released()

    def _released(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_release", None) is not None:
            self.close()

    def __repr__(self) -> str:
        if self._rows.description is None:
            return f"<atsdb.Result {self.verb}, {self.row_count} rows>"
        described = ", ".join(f"{name}: {arrow}" for name, arrow in zip(self.columns, self.types, strict=True))
        return f"<atsdb.Result {described}>"

    def _repr_html_(self) -> str:
        """The next rows as a table, for notebooks. They stay unread."""
        if self._rows.description is None:
            return f"<pre>{html.escape(repr(self))}</pre>"
        rows = self._peek(_ROWS_SHOWN + 1)
        columns = zip(map(html.escape, self.columns), map(html.escape, self.types), strict=True)
        names = "".join(f"<th>{name}<br><small>{arrow}</small></th>" for name, arrow in columns)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_ROWS_SHOWN])
        table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
        if len(rows) > _ROWS_SHOWN:
            return f"{table}<p>The next {_ROWS_SHOWN} rows; more follow.</p>"
        return table if rows else f"{table}<p>No rows are left to read.</p>"


def _cell(value: Any) -> str:
    """A value as a cell of a table in HTML."""
    if value is None:
        return "<td><em>NULL</em></td>"
    text = str(value)
    if len(text) > _CHARACTERS_SHOWN:
        text = f"{text[:_CHARACTERS_SHOWN]}…"
    return f"<td>{html.escape(text)}</td>"


class _WithDurations:
    """The stream of a result, with durations in place of intervals."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._result._stream(durations=True)


def _with_distinct_categories(table: pyarrow.Table) -> pyarrow.Table:
    """A table whose dictionaries list each string once, as the categories of pandas must: those of a result may have come
    from several chunks."""
    import pyarrow

    for position, field in enumerate(table.schema):
        if not pyarrow.types.is_dictionary(field.type):
            continue
        column = table.column(position)
        if any(len(chunk.dictionary.unique()) != len(chunk.dictionary) for chunk in column.chunks):
            distinct = column.cast(field.type.value_type).dictionary_encode()
            table = table.set_column(position, field.name, distinct)
    return table
