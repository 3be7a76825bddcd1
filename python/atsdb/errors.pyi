"""The exceptions of atsdb, below those of PEP 249 one class for each kind of error, and the category of notices."""

class Warning(Exception): ...

class NoticeWarning(UserWarning):
    """A notice about a statement that has been executed, such as which column a CREATE TABLE has made the time."""

class Error(Exception):
    kind: str | None
    sqlstate: str | None
    message: str
    hint: str | None
    def __init__(self, message: str, hint: str | None = None, sqlstate: str | None = None) -> None: ...

class InterfaceError(Error): ...
class DatabaseError(Error): ...
class DataError(DatabaseError): ...
class OperationalError(DatabaseError): ...
class IntegrityError(DatabaseError): ...
class InternalError(DatabaseError): ...
class ProgrammingError(DatabaseError): ...
class NotSupportedError(DatabaseError): ...

class UsageError(ProgrammingError):
    """The call, option or URL is wrong: correct it."""

class SqlError(ProgrammingError):
    """The SQL text is wrong, or uses something that is not supported: correct it."""

class NotFoundError(ProgrammingError):
    """A table, column or file of that name does not exist."""

class ExistsError(ProgrammingError):
    """A table of that name exists already."""

class InvalidValueError(DataError):
    """A value does not fit its column."""

class DuplicateKeyError(IntegrityError):
    """A row's key exists already."""

class CheckViolationError(IntegrityError):
    """A row does not satisfy a CHECK constraint."""

class ForeignKeyViolationError(IntegrityError):
    """A row refers to a row that does not exist."""

class NotNullViolationError(IntegrityError):
    """A row has no value in a column that is NOT NULL."""

class LimitError(DataError):
    """A limit is reached."""

class ResourcesError(OperationalError):
    """A query needed more memory or time than it is allowed."""

class ConflictError(OperationalError):
    """Another writer changed the same thing first: read again and retry."""

class BusyError(OperationalError):
    """Another process held the store longer than the timeout: retry later."""

class CorruptError(InternalError):
    """Stored bytes are damaged."""

class NewerFormatError(NotSupportedError):
    """The store was written by a newer version."""

class NotAStoreError(OperationalError):
    """The path or URL does not name a store."""

class ReadOnlyError(OperationalError):
    """The store can be read but not written."""

class UnavailableError(OperationalError):
    """The medium failed: disk full, I/O error, lost connection."""

class InterruptedError(OperationalError):
    """The caller asked to stop."""

BY_KIND: dict[str, type[Error]]
__all__ = [
    "BusyError",
    "CheckViolationError",
    "ConflictError",
    "CorruptError",
    "DataError",
    "DatabaseError",
    "DuplicateKeyError",
    "Error",
    "ExistsError",
    "ForeignKeyViolationError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InterruptedError",
    "InvalidValueError",
    "LimitError",
    "NewerFormatError",
    "NotAStoreError",
    "NotFoundError",
    "NotNullViolationError",
    "NotSupportedError",
    "NoticeWarning",
    "OperationalError",
    "ProgrammingError",
    "ReadOnlyError",
    "ResourcesError",
    "SqlError",
    "UnavailableError",
    "UsageError",
]
